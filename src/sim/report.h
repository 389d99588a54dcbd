// Texts about a simulation that cannot go on. Every text is a function of the simulation alone.
#pragma once

#include <string>
#include <vector>

#include "kernbench/units.h"
#include "sim/errors.h"
#include "sim/wait_graph.h"

namespace kernbench::sim {

class Fiber;

/// "waits for mailbox a", "sleeps until 5 us".
Predicate doing(const Fiber& fiber);

/// One line per fiber, "  rank 0 (last known at bench.cpp:41) waits for mailbox a", the first few of many. The place is
/// left out where none is known.
std::string list_fibers(const std::vector<Fiber*>& fibers);

/// Explains why `waiting` (the foreground fibers, by agent) will wait for ever: everything they wait for, transitively.
/// `unfinished` is what else is under way; it tells what programs of the devices belong to.
DeadlockError explain_deadlock(Time now, const std::vector<Fiber*>& waiting,
                               const std::vector<const WaitNode*>& unfinished);

/// What a run that is stopped before its end says of its fibers: "; fibers then:" and a line for each, and before that
/// which of them wait in vain by then, and for whom.
std::string describe_unfinished_run(const std::vector<Fiber*>& fibers, const std::vector<const WaitNode*>& unfinished);

/// Why polling will never end, as far as that is known: "rank 1 has ended without calling send …". Empty, or ends with
/// a line feed.
std::string describe_polling(const std::vector<Fiber*>& fibers, const std::vector<const WaitNode*>& unfinished);

}  // namespace kernbench::sim
