#include "hardware/tcm/tcm.h"

#include <cassert>

#include "base/text.h"
#include "topology/buffers.h"

namespace kernbench::hardware {

ServerSpec tcm_port_spec(const topology::Topology& topology, PeCoordinate pe, sim::AgentId agent) {
  const topology::TcmSpec& tcm = topology.pe.tcm;
  ServerSpec spec;
  spec.part = {PartKind::tcm_port, pe};
  spec.name = to_text(spec.part);
  spec.bandwidth = tcm.bandwidth;
  spec.latency = Time::picoseconds(1);  // the smallest that a server has
  spec.buffer = tcm.buffer.value_or(topology::derived_buffer(spec.bandwidth, spec.latency, topology.cube));
  spec.agent = agent;
  return spec;
}

Bytes TcmAllocator::rounded(Bytes request) const {
  const std::int64_t unit = alignment_.count();
  return Bytes((request.count() + unit - 1) / unit * unit);
}

CommandRef TcmAllocator::reserve(Bytes request) {
  assert(rounded(request) <= capacity_);
  return take(rounded(request).count());
}

void TcmAllocator::release(Bytes request) {
  give_back(rounded(request).count(), releaser_);
}

std::string TcmAllocator::wanted_text() const {
  if (units_wanted() == 0) return "";
  return " (" + to_text(Bytes(units_wanted())) + " wanted, " + to_text(capacity_ - used()) + " of " +
         to_text(capacity_) + " free)";
}

}  // namespace kernbench::hardware
