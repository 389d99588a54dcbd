// The place of a call in the user's source.
#pragma once

#include <source_location>

namespace kernbench {

/// The file and line of a call. Functions that start work, wait, or check what they are given take it as their last
/// argument, which nobody writes: errors, waits, tables and traces name the line. Where{}: not known.
using Where = std::source_location;

}  // namespace kernbench
