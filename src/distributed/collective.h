// Collectives of a group: every member calls them, in one order.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "distributed/algorithms/neighbours.h"
#include "distributed/group.h"
#include "distributed/work_state.h"
#include "kernbench/torch/tensor.h"

namespace kernbench::distributed {

/// A collective as one rank calls it.
struct CollectiveCall {
  const char* name = "";    // of the API: "all_reduce"
  std::string kernel = {};  // name of the launch: "ring_allreduce"
  CollectiveFingerprint fingerprint = {};
  torch::Tensor tensor = {};  // undefined: there is none
  /// As DeviceWork::body.
  std::function<void(const RingPlace& ring, const std::shared_ptr<tl::Tensor>& flat)> body = {};
};

/// Checks the call against those of other ranks and enqueues its kernel. When the group communicates for the first time
/// it waits for the others on the host; with `async_op` whoever waits for the work does.
std::shared_ptr<WorkState> issue(GroupHandle& handle, CollectiveCall call, bool async_op);

}  // namespace kernbench::distributed
