// Collectives of a group: every member calls them, in one order.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "distributed/block_shares.h"
#include "distributed/group.h"
#include "distributed/work_state.h"
#include "kernbench/torch/tensor.h"

namespace kernbench::distributed {

/// The blocks of a collective, as one rank has them: see BlockArguments.
struct BlockPlan {
  std::vector<BlockRow> inputs, outputs;
  BlockShares sent, received;
  std::vector<torch::Tensor> read, written;
  std::vector<torch::Tensor> results;  // all outputs of the call
  int device = 0;
  bool empty = false;       // all ranks know that no element moves
  bool replicated = false;  // by the tensor that decides who moves what
  /// From what the kernels have written to the tensors of the caller, where replicas must be written, too.
  std::vector<std::pair<torch::Tensor, torch::Tensor>> redistribute = {};
};

/// A collective as one rank calls it.
struct CollectiveCall {
  const char* name = "";  // of the API: "all_reduce"
  CollectiveOperation operation = CollectiveOperation::barrier;
  CollectiveFingerprint fingerprint = {};
  torch::Tensor tensor = {};           // undefined: there is none
  bool writes = true;                  // the tensor
  CollectiveArguments arguments = {};  // without the tensor and the blocks
  std::shared_ptr<const BlockPlan> blocks = {};
  std::shared_ptr<const Replicas> replicas = {};  // of a tensor of partial sums
  std::int64_t block_bytes = 0;                   // of all blocks of a rank; the same on all ranks
  bool equal_blocks = true;                       // of an all-to-all they may differ
  bool names_algorithm = false;                   // ranks compare which one they take
};

/// Checks the call against those of other ranks and enqueues the kernel of the group's algorithm: on the current
/// stream, or with `async_op` on the group's own behind it. When the group communicates for the first time it waits for
/// the others on the host; with `async_op` whoever waits for the work does.
std::shared_ptr<WorkState> issue(GroupHandle& handle, CollectiveCall call, bool async_op);

/// What a call returns to a rank that is not a member of the group.
torch::distributed::WorkRef no_work(Where call);

/// What a collective returns that has been issued: nothing, with `async_op` a handle. `result`: the tensors that it
/// writes.
torch::distributed::WorkRef finish(std::shared_ptr<WorkState> state, bool async_op, std::vector<torch::Tensor> result);

}  // namespace kernbench::distributed
