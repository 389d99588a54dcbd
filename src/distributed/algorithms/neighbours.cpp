#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {

tl::Peer counterpart_on(const tensor::DevicePart& part) {
  const auto cube = static_cast<std::int32_t>(tl::cube_id()), pe = static_cast<std::int32_t>(tl::pe_id());
  const PeCoordinate there = part.counterpart({part.sip(), CubeId{cube}, PeId{pe}});
  return tl::peer_at(there.sip.value, there.cube.value, there.pe.value);
}

void send_to(const tensor::DevicePart& part, const tl::Tile& tile, std::int64_t window) {
  tl::isend(tile, counterpart_on(part));
  tl::wait_group(window);
}

tl::Tile receive_from(const tensor::DevicePart& part, std::int64_t elements, DType dtype) {
  return tl::recv(dtype, {elements}, counterpart_on(part));
}

void finish_sending() {
  tl::wait_group(0);
}

}  // namespace kernbench::distributed
