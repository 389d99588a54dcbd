// Which rank of a group has called which collective, so that calls that do not fit are found when they are made.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "distributed/fingerprint.h"

namespace kernbench::distributed {

struct WorkState;

/// The collectives of one group, by sequence number, until every rank has called them.
class Ledger {
 public:
  /// Global ranks of the members, in their order.
  explicit Ledger(std::vector<int> ranks) : ranks_(std::move(ranks)), called_(ranks_.size()) {}

  /// Member `member` calls its next collective; returns its sequence number, from 1. ProgramError ("DistributedError")
  /// in PyTorch's words when a member that called this one before did something else.
  std::uint64_t call(int member, CollectiveFingerprint fingerprint);
  /// The work of a call, which fails when another member's call does not fit.
  void attach(std::uint64_t sequence, const std::shared_ptr<WorkState>& work);
  /// Global ranks that have not called collective `sequence`.
  std::vector<int> missing(std::uint64_t sequence) const;
  /// "ALLREDUCE (sequence number 2) of group 1: called by ranks {0}, never by ranks {1}" for each collective that some
  /// members have called and others have not, unless it failed. `group` is the name of it.
  void append_unmatched(const std::string& group, std::vector<std::string>& texts) const;
  /// Of the latest call of a member; 0 before its first.
  std::uint64_t sequence(int member) const { return called_[static_cast<std::size_t>(member)]; }

 private:
  ProgramError mismatch(const CollectiveFingerprint& first, int first_rank, const CollectiveFingerprint& second,
                        int second_rank) const;
  /// The call of the lowest member that has made it; members that agree need no second one.
  struct Call {
    CollectiveFingerprint fingerprint;
    std::size_t member = 0;
    std::size_t callers = 0;
    std::vector<std::weak_ptr<WorkState>> works = {};
    std::exception_ptr error = {};  // a call that did not fit
  };
  std::vector<int> ranks_;
  std::vector<std::uint64_t> called_;  // sequence number of the latest call, by member
  std::map<std::uint64_t, Call> open_;
};

}  // namespace kernbench::distributed
