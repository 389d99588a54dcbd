// Cuts the copy from one tensor to another into pairs of shards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "addressing/tensor_descriptor.h"

namespace kernbench::addressing {

/// A box in one shard of each of two tensors. Offsets are in the tensors, in elements.
struct ShardPair {
  std::uint32_t source = 0, destination = 0;  // indices in the descriptors' stored()
  std::vector<std::int64_t> source_offset, destination_offset, shape;
};

/// Cuts the copy of a box of `shape` from one tensor to another into boxes that have one shard on each side. Each
/// replica of the destination gets each element once, from the replica of the source with the lowest coordinate. By
/// shard of the destination, then of the source. REQUIRES: equal ranks, and the boxes lie in their tensors.
std::vector<ShardPair> pair_shards(const TensorDescriptor& source, std::span<const std::int64_t> source_offset,
                                   const TensorDescriptor& destination,
                                   std::span<const std::int64_t> destination_offset,
                                   std::span<const std::int64_t> shape);

}  // namespace kernbench::addressing
