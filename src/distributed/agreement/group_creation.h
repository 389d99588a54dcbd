// One new_group of a job: every rank must ask for the same group.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "distributed/algorithm_spec.h"
#include "distributed/ranks/rank_barrier.h"
#include "runtime/context.h"

namespace kernbench::distributed {

class Group;

class GroupCreation {
 public:
  /// What a rank asks for.
  struct Wanted {
    std::vector<int> ranks;  // of the group
    AlgorithmSpec algorithm;
    std::string algorithm_name;  // empty: that of the default group
    std::source_location where = {};
    bool is_like(const Wanted& other) const { return ranks == other.ranks && algorithm == other.algorithm; }
  };

  /// `number`: from 1; `ranks`: those of the default group.
  GroupCreation(std::size_t number, const std::shared_ptr<Roster>& roster, std::vector<int> ranks);

  /// A rank calls it: suspends it until all have called, and returns the group. ProgramError ("DistributedError") on
  /// every rank when they do not ask for the same, also when some can no longer call.
  std::shared_ptr<Group> call(runtime::HostContext& context, int rank, Wanted wanted);
  /// Ranks that differ are judged, if all that have not called have left the default group.
  void judge_if_all_others_left();
  /// Nothing is left that could make ranks call: those that differ are judged as they are. False: none do.
  bool judge_without_missing();
  /// Null before all have called.
  const std::shared_ptr<Group>& group() const { return group_; }

 private:
  struct Side {
    Wanted wanted;
    std::vector<int> ranks;  // that called it
  };
  void note(int rank, Wanted wanted);
  void conclude(runtime::HostContext& context);
  std::string text() const;
  std::exception_ptr mismatch() const;

  std::size_t number_;
  std::shared_ptr<Roster> roster_;
  RankBarrier barrier_;
  std::vector<Side> sides_;
  std::shared_ptr<Group> group_;
  std::exception_ptr error_;
};

}  // namespace kernbench::distributed
