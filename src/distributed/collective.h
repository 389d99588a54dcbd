// Collectives of a group: every member calls them, in one order.
#pragma once

#include <memory>

#include "distributed/algorithms/algorithm.h"
#include "distributed/group.h"
#include "distributed/work_state.h"
#include "kernbench/torch/tensor.h"

namespace kernbench::distributed {

/// A collective as one rank calls it.
struct CollectiveCall {
  const char* name = "";  // of the API: "all_reduce"
  CollectiveOperation operation = CollectiveOperation::barrier;
  CollectiveFingerprint fingerprint = {};
  torch::Tensor tensor = {};           // undefined: there is none
  CollectiveArguments arguments = {};  // without the tensor
};

/// Checks the call against those of other ranks and enqueues the kernel of the group's algorithm. When the group
/// communicates for the first time it waits for the others on the host; with `async_op` whoever waits for the work
/// does.
std::shared_ptr<WorkState> issue(GroupHandle& handle, CollectiveCall call, bool async_op);

}  // namespace kernbench::distributed
