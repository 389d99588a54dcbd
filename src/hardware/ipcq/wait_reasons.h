// The words for waits at queues that others look for.
#pragma once

#include <string_view>

namespace kernbench::hardware {

/// How the reason begins for which a send waits that finds no free slot.
inline constexpr std::string_view kCreditReason = "a credit of ";

/// How the message begins of the error that slots do not fit into their memory.
inline constexpr std::string_view kOutOfSlots = "out of memory for queues in ";

}  // namespace kernbench::hardware
