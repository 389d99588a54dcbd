#include "distributed/algorithms/ring_broadcast.h"

namespace kernbench::distributed {

void ring_broadcast(const RingPlace& ring, const tl::Tensor& x, std::int64_t root) {
  const bool is_root = ring.rank == root;
  const bool is_last = (ring.rank + 1) % ring.size == root;
  for (std::size_t shard = 0; shard < x.local_shard_count(); ++shard) {
    const auto box = x.local_shard(shard);
    for_each_tile({box.offset[0], box.offset[0] + box.shape[0]}, ring.tile_elements,
                  [&](std::int64_t at, std::int64_t elements) {
                    tl::Tile tile;
                    if (is_root) {
                      if (!is_last) tile = tl::load(x, {at}, {elements});
                    } else {
                      tile = receive_from(ring.previous, elements, x.dtype());
                      tl::store(x, {at}, tile);
                    }
                    if (!is_last) send_to(ring.next, tile, ring.window);
                  });
  }
  finish_sending();
}

void ring_barrier(const RingPlace& ring) {
  tl::Tile token = tl::full({1}, 0, DType::u8);
  for (std::int64_t step = 1; step < ring.size; ++step) {
    send_to(ring.next, token, ring.window);
    token = receive_from(ring.previous, 1, DType::u8);
  }
  finish_sending();
}

}  // namespace kernbench::distributed
