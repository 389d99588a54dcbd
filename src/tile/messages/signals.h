// Waits of programs for signal words, and the messages when nobody signals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/window/signal_unit.h"
#include "tile/messages/window_access.h"

namespace kernbench::tile {

struct SignalCondition {
  std::int32_t word;
  std::string text;  // ">= 3"
  hardware::SignalWait::Condition met;
};
/// Suspends the program until a word of its own meets a condition; returns the value that did.
std::int64_t wait_for_signal(const WindowAccess& access, const SignalCondition& condition);

/// What a word of the program's own is now.
std::int64_t read_signal(const WindowAccess& access, std::int32_t word);

/// One round of a barrier.
struct BarrierRound {
  tl::Scope scope;
  std::int64_t generation;  // of the scope's barriers
  std::int32_t word;
  const std::vector<std::int32_t>* group;  // its members
};
/// Suspends the program until the word has counted as many barriers.
void wait_for_barrier(const WindowAccess& access, const BarrierRound& round);

}  // namespace kernbench::tile
