#include "hardware/tcm/tcm.h"

#include <cassert>

#include "base/text.h"

namespace kernbench::hardware {

ServerSpec tcm_port_spec(const topology::TcmSpec& tcm, PeCoordinate pe, event::AgentId agent) {
  ServerSpec spec;
  spec.name = to_text(pe) + ".tcm.dma";
  spec.bandwidth = tcm.bandwidth;
  spec.latency = Time::picoseconds(1);  // the smallest that a server has
  spec.credits = tcm.credits;
  spec.agent = agent;
  return spec;
}

Bytes TcmAllocator::rounded(Bytes request) const {
  const std::int64_t unit = alignment_.count();
  return Bytes((request.count() + unit - 1) / unit * unit);
}

OperationName TcmAllocator::reserve(Bytes request) {
  assert(rounded(request) <= capacity_);
  return take(rounded(request).count());
}

void TcmAllocator::release(Bytes request) {
  give_back(rounded(request).count(), releaser_);
}

}  // namespace kernbench::hardware
