// Parameters of layers: a rank's part of a master weight that every rank makes alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "kernbench/placement.h"
#include "kernbench/torch/tensor.h"
#include "parallel/group_of.h"

namespace kernbench::tp {

struct MasterWeight {
  const char* layer;  // for errors
  std::int64_t rows = 0, columns = 0;
  /// Fills the weight, a host tensor of f32; without one it is normal with a deviation of 0.02.
  const std::function<void(torch::Tensor& weight)>& init_method;
};

/// ValueError unless the group's size divides `size`: "LAYER: NAME (10) must be divisible by TP world size (4)".
void check_divides(const char* layer, const char* name, std::int64_t size, int world_size);

/// The rank's part along `dimension`, on the host. ValueError when init_method has assigned another shape.
torch::Tensor part_of(const MasterWeight& master, std::int64_t dimension, const GroupOf& of);

torch::Tensor on_device(const torch::Tensor& host, torch::ScalarType type, const std::optional<DPPolicy>& placement);

}  // namespace kernbench::tp
