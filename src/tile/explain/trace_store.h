// Traces of programs that exchange messages, kept while the path of another program may lead there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tile/explain/record.h"

namespace kernbench::tile {

/// A receive waits for a send of a program that may belong to another launch and may have ended long before the
/// receiver's launch completes. Traces are kept until all launches that were under way when their program ended have
/// completed: who begins later finds the message there, and does not wait for it. At most kMostOperations records are
/// kept; the programs that ended first are forgotten first.
class TraceStore {
 public:
  static constexpr std::size_t kMostOperations = std::size_t{1} << 18;

  /// A launch whose programs send or receive is under way from `now` on; returns what names it.
  std::uint64_t begin_launch(Time now);
  /// It has completed, and its path has been found.
  void end_launch(std::uint64_t launch);

  /// A program of such a launch has begun; its trace grows while it runs.
  void begin(const std::shared_ptr<ProgramTrace>& trace);
  /// It has ended.
  void end(const std::shared_ptr<ProgramTrace>& trace);
  /// It has failed: nothing is known of it.
  void forget(const ProgramTrace& trace);

  /// The trace of the program of this agent that ran at `at`, in order of operations; null if it is not kept.
  const ProgramTrace* find(sim::AgentId agent, Time at) const;

 private:
  void drop_first();

  std::set<std::pair<Time, std::uint64_t>> launches_;  // under way, with the time of their beginning
  std::uint64_t begun_ = 0;
  std::map<sim::AgentId, std::shared_ptr<ProgramTrace>> running_;
  std::map<sim::AgentId, std::deque<std::shared_ptr<ProgramTrace>>> ended_by_agent_;  // in order of time
  std::deque<std::shared_ptr<ProgramTrace>> ended_;                                   // likewise
  std::size_t operations_ = 0;                                                        // of those that have ended
};

}  // namespace kernbench::tile
