#include "addressing/shard_pairs.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <set>

namespace kernbench::addressing {

namespace {

using Extents = std::vector<std::int64_t>;

/// A part of the copied box: from `low` to `high` in each dimension, counted in the box.
struct Part {
  std::uint32_t shard = 0;
  Extents low, high;
};

/// What a shard holds of the box of `shape` at `offset`; nothing when that is empty.
std::optional<Part> part_of(const Shard& shard, std::uint32_t index, std::span<const std::int64_t> offset,
                            std::span<const std::int64_t> shape) {
  Part part{index, {}, {}};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    part.low.push_back(std::max<std::int64_t>(shard.offset[i] - offset[i], 0));
    part.high.push_back(std::min(shard.offset[i] + shard.shape[i] - offset[i], shape[i]));
    if (part.low.back() >= part.high.back()) return std::nullopt;
  }
  return part;
}

/// Of all shards, or of one of each set of replicas.
std::vector<Part> parts_of(const TensorDescriptor& tensor, std::span<const std::int64_t> offset,
                           std::span<const std::int64_t> shape, bool all_copies) {
  std::vector<Part> parts;
  std::set<std::uint64_t> seen;  // replicas share their virtual address
  for (std::uint32_t i = 0; i < tensor.stored().size(); ++i) {
    auto part = part_of(tensor.stored()[i], i, offset, shape);
    if (part && (all_copies || seen.insert(tensor.stored()[i].va).second)) parts.push_back(std::move(*part));
  }
  return parts;
}

Extents sum(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  Extents result(a.begin(), a.end());
  for (std::size_t i = 0; i < b.size(); ++i) result[i] += b[i];
  return result;
}

}  // namespace

std::vector<ShardPair> pair_shards(const TensorDescriptor& source, std::span<const std::int64_t> source_offset,
                                   const TensorDescriptor& destination,
                                   std::span<const std::int64_t> destination_offset,
                                   std::span<const std::int64_t> shape) {
  assert(source_offset.size() == shape.size() && destination_offset.size() == shape.size());
  std::vector<ShardPair> pairs;
  const auto sources = parts_of(source, source_offset, shape, false);
  for (const Part& to : parts_of(destination, destination_offset, shape, true)) {
    for (const Part& from : sources) {
      Extents low, extent;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        low.push_back(std::max(to.low[i], from.low[i]));
        extent.push_back(std::min(to.high[i], from.high[i]) - low.back());
        if (extent.back() <= 0) break;
      }
      if (!extent.empty() && extent.back() <= 0) continue;
      pairs.push_back({.source = from.shard,
                       .destination = to.shard,
                       .source_offset = sum(source_offset, low),
                       .destination_offset = sum(destination_offset, low),
                       .shape = std::move(extent)});
    }
  }
  return pairs;
}

}  // namespace kernbench::addressing
