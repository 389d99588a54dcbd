// Why a deadlock cannot end: who will never act, or who waits for each other.
#pragma once

#include <string>
#include <vector>

#include "sim/deadlock_graph.h"

namespace kernbench::sim {

/// The causes, the first one to be told first: "rank 1 has ended without calling BARRIER …, for which rank 0 waits",
/// "cycle: rank 0 -> …". Where host programs wait for each other, what follows from it on the devices is none; alike
/// ones are one. Empty only when nothing in the graph waits for anything.
std::vector<std::string> causes_of(const DeadlockGraph& graph);

/// Those that hold already while other events are still to come: who has ended without the call that others wait for,
/// and cycles. Often empty.
std::vector<std::string> causes_so_far(const DeadlockGraph& graph);

/// Those of a run in which all that still happens is polling: the same, and who has ended without a call that nobody
/// waits for, since those who need it poll.
std::vector<std::string> causes_of_polling(const DeadlockGraph& graph);

}  // namespace kernbench::sim
