// The channels between the PEs of several SIPs that the kernels of a group use.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "distributed/algorithm_spec.h"
#include "distributed/channel_pool.h"
#include "runtime/context.h"
#include "runtime/device_part.h"
#include "runtime/queue_set.h"
#include "runtime/worker_group.h"

namespace kernbench::distributed {

using PartPair = std::pair<runtime::DevicePart, runtime::DevicePart>;

/// Keeps channels while their group or a launch uses them. Those of ranks that have been taken back are closed at the
/// end: whoever gets their entries next must find nothing of theirs.
class ChannelKeeper {
 public:
  ChannelKeeper(std::shared_ptr<runtime::QueueSet> set, std::shared_ptr<runtime::WorkerGroup> workers,
                std::shared_ptr<ChannelPool> pool)
      : set_(std::move(set)), workers_(std::move(workers)), pool_(std::move(pool)) {}
  ~ChannelKeeper();
  ChannelKeeper(const ChannelKeeper&) = delete;
  ChannelKeeper& operator=(const ChannelKeeper&) = delete;
  runtime::QueueSet* set() const { return set_.get(); }
  /// The run is over: what ranks that were taken back have left in the channels is not missing.
  void run_is_over() {
    if (set_ && workers_ && workers_->cancelled()) set_->table()->forget_unreceived();
  }

 private:
  std::shared_ptr<runtime::QueueSet> set_;
  std::shared_ptr<runtime::WorkerGroup> workers_;  // none: the main program
  std::shared_ptr<ChannelPool> pool_;
};

/// For every pair (from, to): from each PE of one part to its counterpart on the other. Parts are all SIPs or all PEs.
/// Their installation is under way then, if there is room in the tables; launches wait for it (LaunchPlan::queues).
/// `what` says in errors what they are for.
std::shared_ptr<SharedChannels> channels_between(runtime::HostContext& context, const std::string& name,
                                                 const std::vector<PartPair>& pairs, const AlgorithmSpec& algorithm,
                                                 const std::string& what);

}  // namespace kernbench::distributed
