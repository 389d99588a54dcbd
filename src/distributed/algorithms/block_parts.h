// The blocks of a collective in parts of as many tiles as a channel has slots: a rank that goes on to the next part
// has received what it was sent of this one, so that channels cannot fill up.
#pragma once

#include <algorithm>
#include <cstdint>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

class BlockParts {
 public:
  explicit BlockParts(const RankView& ranks) : ranks_(ranks) {}

  /// Parts of the longest of the shares.
  std::int64_t count(std::span<const Pieces> shares) const {
    std::int64_t most = 0;
    for (const Pieces& share : shares) most = std::max(most, tiles_of(share, ranks_.tile_elements));
    return tl::cdiv(most, ranks_.window);
  }
  /// Calls body(tile) for the tiles of a part of a share.
  template <class Body>
  void for_each_tile_of(const Pieces& share, std::int64_t part, const Body& body) const {
    for_each_tile(share, ranks_.tile_elements, part * ranks_.window, ranks_.window, body);
  }

 private:
  const RankView& ranks_;
};

inline const Pieces& of(std::span<const Pieces> shares, std::int64_t rank) {
  return shares[static_cast<std::size_t>(rank)];
}
inline const BlockRow& of(std::span<const BlockRow> blocks, std::int64_t rank) {
  return blocks[static_cast<std::size_t>(rank)];
}

}  // namespace kernbench::distributed
