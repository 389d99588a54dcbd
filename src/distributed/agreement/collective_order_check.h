// Which rank of a group has called which collective, and who is wrong when calls differ.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "distributed/agreement/fingerprint.h"
#include "kernbench/error.h"
#include "runtime/streams/worker_group.h"

namespace kernbench::distributed {

struct WorkState;

/// Members that made the same call.
struct CallSide {
  CollectiveFingerprint fingerprint;
  std::vector<int> ranks;                             // global
  std::vector<CollectiveFingerprint> exchanges = {};  // of an all-to-all: what each of them sends and expects
};

/// The error of a collective in which not all did the same, in PyTorch's words. The side of more than half of the
/// callers is right, and the others are to blame; without such a side nobody is. The order of the sides does not
/// matter.
ProgramError mismatch(std::vector<CallSide> sides, const std::vector<int>& missing);

/// The collectives of one group, by sequence number, until every member has called them.
class CollectiveOrderCheck {
 public:
  /// Global ranks of the members, in their order.
  explicit CollectiveOrderCheck(std::vector<int> ranks) : ranks_(std::move(ranks)), called_(ranks_.size()) {}

  /// Member `member` calls its next collective; returns its sequence number, from 1.
  std::uint64_t call(int member, CollectiveFingerprint fingerprint);
  /// What the kernels of a collective that has been called belong to, made by `make` for its first caller; null when
  /// all have called it.
  template <class Make>
  runtime::CommandScopeRef scope(std::uint64_t sequence, Make make) {
    const auto found = open_.find(sequence);
    if (found == open_.end()) return nullptr;
    if (!found->second.scope) found->second.scope = make();
    return found->second.scope;
  }
  /// The work of a call.
  void attach(std::uint64_t sequence, const std::shared_ptr<WorkState>& work);

  /// The first collective in which calls differ.
  std::optional<std::uint64_t> conflict() const;
  /// Whether all members have called that, or can no longer call it.
  bool can_judge(const std::vector<bool>& left) const;
  /// The error of the first conflict, with those missing that have not called it. REQUIRES: conflict().
  ProgramError verdict() const;

  /// All that not every member has called is given up: from which number on, its scopes, and its works that exist.
  struct Abandoned {
    std::uint64_t first = 0;
    std::vector<runtime::CommandScopeRef> scopes;
    std::vector<std::shared_ptr<WorkState>> works;
  };
  Abandoned abandon();

  /// Global ranks that have not called collective `sequence`.
  std::vector<int> missing(std::uint64_t sequence) const;
  /// "ALLREDUCE (sequence number 2) of group 1: called by ranks {0}, never by ranks {1}" for each collective that some
  /// members have called and others have not. `group` is the name of it.
  void append_unmatched(const std::string& group, std::vector<std::string>& texts) const;
  /// Of the latest call of a member; 0 before its first.
  std::uint64_t sequence(int member) const { return called_[static_cast<std::size_t>(member)]; }

 private:
  struct Call {
    std::vector<CallSide> sides;
    std::size_t callers = 0;
    std::vector<std::weak_ptr<WorkState>> works;
    runtime::CommandScopeRef scope;
  };
  std::vector<int> ranks_;
  std::vector<std::uint64_t> called_;  // sequence number of the latest call, by member
  std::map<std::uint64_t, Call> open_;
  std::set<std::uint64_t> conflicts_;
};

}  // namespace kernbench::distributed
