// The channels between the PEs of several SIPs that the kernels of a group use.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "distributed/channels/channel_pool.h"
#include "runtime/context.h"
#include "runtime/queues/queue_set.h"
#include "runtime/streams/worker_group.h"
#include "tensor/placement/device_part.h"

namespace kernbench::distributed {

class Group;

using PartPair = std::pair<tensor::DevicePart, tensor::DevicePart>;

/// Keeps channels while their group or a launch uses them. Those of ranks or groups that have been taken back are
/// closed at the end: whoever gets their entries next must find nothing of theirs.
class ChannelKeeper {
 public:
  ChannelKeeper(std::shared_ptr<runtime::QueueSet> set, std::shared_ptr<runtime::WorkerGroup> workers,
                std::shared_ptr<const bool> failed, std::shared_ptr<ChannelPool> pool)
      : set_(std::move(set)), workers_(std::move(workers)), failed_(std::move(failed)), pool_(std::move(pool)) {}
  ~ChannelKeeper();
  ChannelKeeper(const ChannelKeeper&) = delete;
  ChannelKeeper& operator=(const ChannelKeeper&) = delete;
  runtime::QueueSet* set() const { return set_.get(); }
  /// At the end of the run: what ranks that were taken back have left in the channels is not missing.
  void forget_if_taken_back() {
    if (set_ && taken_back()) set_->table()->forget_unreceived();
  }

 private:
  bool taken_back() const { return (workers_ && workers_->cancelled()) || *failed_; }

  std::shared_ptr<runtime::QueueSet> set_;
  std::shared_ptr<runtime::WorkerGroup> workers_;  // none: the main program
  std::shared_ptr<const bool> failed_;             // the process group
  std::shared_ptr<ChannelPool> pool_;
};

/// For every pair (from, to): from each PE of one part to its counterpart on the other. Parts are all SIPs or all PEs.
/// Their installation is under way then, if there is room in the tables; launches wait for it (LaunchPlan::queues).
/// They are the group's: once it has failed, what is in them will not be received any more. `what` says in errors what
/// they are for.
std::shared_ptr<SharedChannels> channels_between(runtime::HostContext& context, const Group& group, const Name& name,
                                                 const std::vector<PartPair>& pairs, const std::string& what);

}  // namespace kernbench::distributed
