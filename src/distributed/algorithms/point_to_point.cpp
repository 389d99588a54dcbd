#include "distributed/algorithms/point_to_point.h"

namespace kernbench::distributed {
namespace {

template <class Body>
void for_each_local_tile(const tl::Tensor& x, std::int64_t tile_elements, const Body& body) {
  for_each_local_shard(x, [&](Range shard) { for_each_tile(shard, tile_elements, body); });
}

}  // namespace

void send_tensor(const tl::Tensor& x, const tensor::DevicePart& to, std::int64_t tile_elements, std::int64_t window) {
  for_each_local_tile(x, tile_elements, [&](std::int64_t at, std::int64_t elements) {
    send_to(to, tl::load(x, {at}, {elements}), window);
  });
  finish_sending();
}

void receive_tensor(const tl::Tensor& x, const tensor::DevicePart& from, std::int64_t tile_elements) {
  const tl::Peer sender = counterpart_on(from);
  for_each_local_tile(x, tile_elements, [&](std::int64_t at, std::int64_t elements) {
    // The program waits for the message, not the store: at the head of a DMA queue that would hold up other programs of
    // the PE, even the send without which, by way of other ranks, the message never comes.
    tl::store(x, {at}, tl::recv(x.dtype(), {elements}, sender));
  });
}

}  // namespace kernbench::distributed
