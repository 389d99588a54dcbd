// How the program of a collective on one PE talks to its counterparts: the programs on the same PE of other SIPs, or on
// the only PEs of other ranks.
#pragma once

#include <cstdint>

#include "distributed/algorithms/range.h"
#include "kernbench/tl.h"
#include "tensor/placement/device_part.h"

namespace kernbench::distributed {

/// The calling PE's counterpart.
tl::Peer counterpart_on(const tensor::DevicePart& part);
/// Sends a tile to the counterpart on `part`, and goes on while at most `window` have not left.
void send_to(const tensor::DevicePart& part, const tl::Tile& tile, std::int64_t window);
/// Waits for the next tile from the counterpart on `part`, of `elements` elements. A store of a tile that is still to
/// come would hold up the PE's DMA queue for other programs, of which one may make what that rank waits for.
tl::Tile receive_from(const tensor::DevicePart& part, std::int64_t elements, DType dtype);
/// Waits until all that was sent has left.
void finish_sending();

/// Calls body(offset, elements) for each tile of the range.
template <class Body>
void for_each_tile(Range range, std::int64_t tile_elements, const Body& body) {
  for (std::int64_t at = range.begin; at < range.end; at += tile_elements) {
    body(at, range.end - at < tile_elements ? range.end - at : tile_elements);
  }
}
/// Calls body(range) for each shard of the one-dimensional tensor that the calling PE holds.
template <class Body>
void for_each_local_shard(const tl::Tensor& x, const Body& body) {
  for (std::size_t shard = 0; shard < x.local_shard_count(); ++shard) {
    const auto box = x.local_shard(shard);
    body(Range{box.offset[0], box.offset[0] + box.shape[0]});
  }
}

}  // namespace kernbench::distributed
