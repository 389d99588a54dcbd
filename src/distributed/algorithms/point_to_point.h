// A tensor from one rank to another: each PE sends what it holds to its counterpart, tile by tile.
#pragma once

#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {

void send_tensor(const tl::Tensor& x, const tensor::DevicePart& to, std::int64_t tile_elements, std::int64_t window);
void receive_tensor(const tl::Tensor& x, const tensor::DevicePart& from, std::int64_t tile_elements);

}  // namespace kernbench::distributed
