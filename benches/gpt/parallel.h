// Where and how a rank computes its part of a model, and what its parts are made of.
#pragma once

#include <kernbench/kernbench.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "weights.h"

namespace benches::gpt {

class AssumedRouting;
class NotedChoices;

struct Parallel {
  int rank = 0, size = 1;  // of the tensor parallel group
  bool sequence = false;   // tokens are shared between the layers
  torch::Device device = torch::kCPU;
  kernbench::DType dtype = torch::kFloat;
  bool overlap = false;            // communication beside the products
  int stage = 0, stages = 1;       // of the pipeline: which of the consecutive layers a rank has
  std::int64_t micro_batches = 1;  // in which the prompts of a pass go through the stages
  /// Whether the ranks share so many tokens between the layers: only those that they divide.
  bool shares(std::int64_t tokens) const { return sequence && size > 1 && tokens % size == 0; }
  bool is_first() const { return stage == 0; }
  bool is_last() const { return stage + 1 == stages; }
  // ---- of a mixture of experts ----
  bool experts = false;                     // a rank has whole experts, not a part of each
  const AssumedRouting* assumed = nullptr;  // what is taken for the router's choices without data
  NotedChoices* noted = nullptr;            // what was chosen; for a model on the host: what is to be chosen
  double capacity = 0;                      // rows of an expert at most, in even shares; 0: none is dropped
};

/// A rank's part of `whole`: rows or columns of a weight.
inline Part part_of(const Parallel& parallel, std::int64_t dimension, std::int64_t whole, std::int64_t first = 0) {
  const std::int64_t part = whole / parallel.size;
  return {dimension, first + parallel.rank * part, first + (parallel.rank + 1) * part};
}

/// Without data nothing is sent: what lies where is all that times depend on. `name`: of the weight, by which an error
/// about the device's memory tells what is there.
inline Tensor on_device(const Parallel& parallel, const Tensor& weight, const std::string& name) {
  if (parallel.device.is_cpu()) return weight.to(parallel.dtype);
  const auto options = torch::dtype(parallel.dtype).device(parallel.device).name(name);
  return kernbench::data_enabled() ? weight.to(options) : torch::empty(weight.sizes(), options);
}

/// Rows one behind the other.
inline Tensor joined(const std::vector<Tensor>& parts) {
  if (kernbench::data_enabled()) return torch::cat(parts, 0);
  Shape sizes = parts.front().sizes().vec();
  for (std::size_t i = 1; i < parts.size(); ++i) sizes[0] += parts[i].size(0);
  return torch::empty(sizes);
}

/// x Aᵀ + b with the rank's rows or columns of A.
struct Product {
  Tensor weight, bias;
  Tensor operator()(const Tensor& x) const {
    return torch::linear(x, weight, bias.defined() ? std::optional(bias) : std::nullopt);
  }
};

}  // namespace benches::gpt
