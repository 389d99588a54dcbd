#include "tensor/placement/work_boxes.h"

#include <algorithm>

#include "kernbench/placement.h"

namespace kernbench::tensor {

using addressing::Shard;

std::vector<Shard> work_boxes(const addressing::TensorDescriptor& tensor) {
  const std::int64_t item = item_size(tensor.dtype);
  const auto& [cubes, pes, granule] = tensor.interleaving;
  std::vector<Shard> boxes;
  for (const Shard& array : tensor.arrays) {
    for (ShardSpec& part : resolve_dp_policy({}, array.shape, item, pes, cubes, array.owner.sip)) {
      Shard box{.owner = {part.sip, CubeId{array.owner.cube.value + part.cube.value},
                          PeId{array.owner.pe.value + part.pe.value}},
                .offset = std::move(part.offset),
                .shape = std::move(part.shape),
                .va = 0};
      std::int64_t first = 0;  // element of the array
      for (std::size_t d = 0; d < array.shape.size(); ++d) {
        first = first * array.shape[d] + box.offset[d];
        box.offset[d] += array.offset[d];
      }
      box.va = array.va + static_cast<std::uint64_t>(first * item);
      boxes.push_back(std::move(box));
    }
  }
  std::ranges::sort(
      boxes, [](const Shard& a, const Shard& b) { return a.owner != b.owner ? a.owner < b.owner : a.va < b.va; });
  return boxes;
}

}  // namespace kernbench::tensor
