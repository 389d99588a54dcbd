// What a group needs to move data: the devices of its ranks, the channels between them, and a stream for each rank.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "distributed/algorithms/neighbours.h"
#include "distributed/meeting.h"
#include "event/waitable.h"
#include "runtime/context.h"
#include "runtime/queue_set.h"

namespace kernbench::distributed {

class Group;

/// Devices and channels of one group. Made when its ranks first communicate: all of them must come then.
class Communicator {
 public:
  explicit Communicator(const Group& group);

  /// Binds a member to its device. ValueError when another member has that device, or the member another one already.
  void bind(int member, int device);
  /// Likewise, for a collective; the result is set when all members have come, which may be now, and null for a group
  /// of one. `what` names the call for reports.
  runtime::CompletionRef ready(runtime::HostContext& context, int member, int device, const std::string& what);
  /// Set when a member has communicated in the group, which tells its device.
  const runtime::CompletionRef& bound(int member) const { return bound_[static_cast<std::size_t>(member)]; }
  int device(int member) const { return devices_[static_cast<std::size_t>(member)]; }
  /// The neighbours are known when all members have come.
  RingPlace place(int member, DType dtype) const;
  /// Of the ring; null for a group of one.
  const std::shared_ptr<runtime::QueueSet>& channels() const { return ring_; }

 private:
  std::vector<std::pair<int, int>> ring_pairs() const;

  const Group& group_;
  std::vector<int> devices_;  // by member; -1: not known yet
  std::vector<runtime::CompletionRef> bound_;
  std::shared_ptr<Meeting> meeting_;
  std::shared_ptr<runtime::QueueSet> ring_;
};

}  // namespace kernbench::distributed
