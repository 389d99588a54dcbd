#include "topology/alike_sips.h"

#include <cassert>

namespace kernbench::topology {

std::string why_not_alike(const Topology& topology) {
  if (topology.system.topology == SystemTopology::mesh_2d)
    return "those of a mesh_2d at its edge have fewer neighbours";
  if (!topology.overrides.empty()) return "single parts of the machine are overridden (`overrides`)";
  return "";
}

AlikeSips::AlikeSips(const SystemSpec& system) : kind_(system.topology), extent_(SystemGraph(system).extent()) {
  assert(kind_ != SystemTopology::mesh_2d);
}

SipId AlikeSips::seen_from(SipId from, SipId to) const {
  const auto [width, height] = extent_;
  const std::int32_t x = (to.value % width - from.value % width + width) % width;
  const std::int32_t y = (to.value / width - from.value / width + height) % height;
  return SipId{y * width + x};
}

SipHop AlikeSips::like(const SipHop& hop) const {
  if (kind_ == SystemTopology::switched) {
    const auto sips = static_cast<std::int32_t>(extent_.count());
    return hop.from == sips ? SipHop{sips, 0, hop.channel} : SipHop{0, sips, hop.channel};
  }
  return {0, seen_from(SipId{hop.from}, SipId{hop.to}).value, hop.channel};
}

bool AlikeSips::is_neighbour(SipId sip) const {
  const auto next = [](std::int32_t steps, std::int32_t length) { return steps == 1 || steps == length - 1; };
  const std::int32_t x = sip.value % extent_.width, y = sip.value / extent_.width;
  return (y == 0 && next(x, extent_.width)) || (x == 0 && next(y, extent_.height));
}

bool AlikeSips::ways_are_alike(SipId to) const {
  if (kind_ != SystemTopology::ring_1d && kind_ != SystemTopology::torus_2d) return true;
  const auto half_way = [](std::int32_t steps, std::int32_t length) { return length > 2 && 2 * steps == length; };
  return !half_way(to.value % extent_.width, extent_.width) && !half_way(to.value / extent_.width, extent_.height);
}

}  // namespace kernbench::topology
