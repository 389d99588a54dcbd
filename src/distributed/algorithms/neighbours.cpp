#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {

void send_to(int sip, const tl::Tile& tile, std::int64_t window) {
  tl::isend(tile, tl::peer_at(sip, tl::cube_id(), tl::pe_id()));
  tl::wait_group(window);
}

tl::Tile receive_from(int sip, std::int64_t elements, DType dtype) {
  return tl::recv(dtype, {elements}, tl::peer_at(sip, tl::cube_id(), tl::pe_id()));
}

void finish_sending() {
  tl::wait_group(0);
}

}  // namespace kernbench::distributed
