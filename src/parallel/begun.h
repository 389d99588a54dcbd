// Communication that has begun: the result, which is there when the current stream has waited for it.
#pragma once

#include <utility>

#include "kernbench/distributed.h"
#include "parallel/group_of.h"

namespace kernbench::tp {

class Begun {
 public:
  Begun(torch::Tensor result, torch::distributed::WorkRef work) : result_(std::move(result)), work_(std::move(work)) {}
  /// What is given to the current stream from now on sees the result.
  torch::Tensor wait() const {
    if (work_) work_->wait();
    return result_;
  }

 private:
  torch::Tensor result_;
  torch::distributed::WorkRef work_;  // null: nothing to wait for
};

/// As the mappings reduce_from_tensor_model_parallel_region and reduce_scatter_to_sequence_parallel_region; with
/// `async_op` the current stream goes on.
Begun begin_reduce(const torch::Tensor& x, const GroupOf& of, bool async_op);
Begun begin_reduce_scatter(const torch::Tensor& x, const GroupOf& of, const char* call, bool async_op);

}  // namespace kernbench::tp
