// What the stages of a pipeline send each other: activations to the next stage, words from the last one to the first.
#pragma once

#include <kernbench/distributed.h>
#include <kernbench/tp.h>

#include <cstdint>
#include <vector>

#include "parallel.h"

namespace benches::gpt {

namespace tp = kernbench::tp;

/// A rank's place between the ranks of its pipeline parallel group, whose members have the same part of other layers.
class Pipeline {
 public:
  explicit Pipeline(const Parallel& parallel) : parallel_(parallel) {}

  /// The activations of the stage before, of this shape.
  Tensor receive(const Shape& sizes) const {
    const Tensor x = torch::empty(sizes, torch::dtype(parallel_.dtype).device(parallel_.device));
    torch::distributed::recv(x, tp::get_pipeline_model_parallel_prev_rank());
    return x;
  }
  /// To the next stage; what comes after in the stream goes on meanwhile.
  void send(const Tensor& x) {
    sent_.push_back(torch::distributed::isend(x.contiguous(), tp::get_pipeline_model_parallel_next_rank()));
  }
  /// What is given to the stream from now on comes after all that was sent.
  void wait() {
    for (const auto& work : sent_) work->wait();
    sent_.clear();
  }
  /// The last stage's words [1, batch], on the last and the first stage; on others a tensor of that shape, which nobody
  /// reads.
  Tensor words(const Tensor& of_last, std::int64_t batch) const {
    if (parallel_.stages == 1) return of_last;
    if (parallel_.is_last()) {
      torch::distributed::send(of_last.contiguous(), tp::get_pipeline_model_parallel_first_rank());
      return of_last;
    }
    const Tensor ids = torch::empty({1, batch}, torch::dtype(torch::kLong).device(parallel_.device));
    if (parallel_.is_first()) torch::distributed::recv(ids, tp::get_pipeline_model_parallel_last_rank());
    return ids;
  }

 private:
  Parallel parallel_;
  std::vector<torch::distributed::WorkRef> sent_;
};

}  // namespace benches::gpt
