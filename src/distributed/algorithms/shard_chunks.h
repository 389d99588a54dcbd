// A shard cut into one chunk for each rank, of which a part at a time is under way.
#pragma once

#include <algorithm>
#include <cstdint>

#include "distributed/algorithms/algorithm.h"
#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {

/// Chunks of ceil(length / ranks) elements, the last ones shorter or empty, in parts of as many tiles as a channel has
/// slots.
class ShardChunks {
 public:
  ShardChunks(Range shard, const RankView& ranks)
      : shard_(shard),
        chunk_(tl::cdiv(shard.end - shard.begin, ranks.size)),
        part_(ranks.tile_elements * ranks.window) {}

  std::int64_t parts() const { return tl::cdiv(chunk_, part_); }
  /// A part of a chunk, in the tensor; empty when it ends where it begins, or before.
  Range part_of(std::int64_t chunk, std::int64_t part) const {
    const std::int64_t begin = shard_.begin + chunk * chunk_;
    return {begin + part * part_, std::min(begin + std::min((part + 1) * part_, chunk_), shard_.end)};
  }

 private:
  Range shard_;
  std::int64_t chunk_, part_;
};

}  // namespace kernbench::distributed
