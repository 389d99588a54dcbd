// Finds the least number of slots with which a program does not end in a deadlock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "report/result.h"

namespace kernbench::report {

/// Runs the program that got stuck once more, with queues of at least so many slots (SimulateOptions::least_slots).
using RunWithSlots = std::function<RunResult(std::int32_t least_slots)>;

/// What is looked for at most; the most that a collectives file can ask for.
inline constexpr std::int32_t kMostSlots = 65536;

/// Whether a send waits for a free slot, so that more of them may help.
bool waits_for_slot(const ErrorResult& error);

/// Why `error` is, or is not, a matter of slots: the least number of them with which the program does not end in a
/// deadlock, found by doubling and bisection. Nothing is run when no send waits for a slot, and no further once none
/// does: more slots change nothing then. Empty for an error that is no deadlock.
std::optional<SlotAdvice> find_least_slots(const ErrorResult& error, const RunWithSlots& run_with);

}  // namespace kernbench::report
