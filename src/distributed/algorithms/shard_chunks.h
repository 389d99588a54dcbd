// A shard cut into one chunk for each rank, of which a part at a time is under way.
#pragma once

#include <algorithm>
#include <cstdint>

#include "distributed/algorithms/algorithm.h"
#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {

/// Chunks of ceil(length / their number) elements, as many as ranks unless another number is given, the last ones
/// shorter or empty, in parts of as many tiles as a channel has slots, unless the elements of a part are given.
class ShardChunks {
 public:
  ShardChunks(Range shard, const RankView& ranks) : ShardChunks(shard, ranks, ranks.size) {}
  ShardChunks(Range shard, const RankView& ranks, std::int64_t chunks)
      : ShardChunks(shard, chunks, ranks.tile_elements * ranks.window) {}
  ShardChunks(Range shard, std::int64_t chunks, std::int64_t elements_of_a_part)
      : shard_(shard), chunk_(tl::cdiv(shard.end - shard.begin, chunks)), part_(elements_of_a_part) {}

  std::int64_t parts() const { return tl::cdiv(chunk_, part_); }
  /// A part of a chunk, in the tensor; empty when it ends where it begins, or before.
  Range part_of(std::int64_t chunk, std::int64_t part) const {
    const std::int64_t begin = shard_.begin + chunk * chunk_;
    return {begin + part * part_, std::min(begin + std::min((part + 1) * part_, chunk_), shard_.end)};
  }
  /// All of `count` chunks, which follow each other in the tensor; empty like a part.
  Range all_of(std::int64_t first, std::int64_t count) const {
    const std::int64_t begin = shard_.begin + first * chunk_;
    return {begin, std::min(begin + count * chunk_, shard_.end)};
  }

 private:
  Range shard_;
  std::int64_t chunk_, part_;
};

}  // namespace kernbench::distributed
