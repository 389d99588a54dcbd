#include "topology/bisection.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

namespace kernbench::topology {
namespace {

constexpr std::size_t kLower = 0, kUpper = 1;

std::size_t half_of(const Network& network, std::int32_t sip) {
  const SystemTopology kind = network.topology().system.topology;
  if (kind != SystemTopology::torus_2d && kind != SystemTopology::mesh_2d) {
    return sip < network.topology().system.sips / 2 ? kLower : kUpper;
  }
  const MeshExtent extent = network.system().extent();
  const bool wide = extent.width >= extent.height;
  const std::int32_t place = wide ? sip % extent.width : sip / extent.width;
  return place < (wide ? extent.width : extent.height) / 2 ? kLower : kUpper;
}

}  // namespace

Bandwidth bisection_bandwidth(const Network& network) {
  std::set<std::pair<std::int32_t, std::int32_t>> down;
  for (std::uint32_t id = 0; id < network.links().size(); ++id) {
    const auto hop = network.link({id}).failed ? network.between_sips({id}) : std::nullopt;
    if (!hop) continue;
    down.emplace(hop->from, hop->to);
    down.emplace(hop->to, hop->from);
  }
  std::array<std::int64_t, 2> leaving{}, arriving{};  // bytes per second, of links out of and into each half
  const SystemGraph& system = network.system();
  for (std::uint32_t id = 0; id < network.links().size(); ++id) {
    const auto hop = network.between_sips({id});
    if (!hop || down.contains({hop->from, hop->to})) continue;
    const bool up = system.is_switch(hop->to), from_switch = system.is_switch(hop->from);
    const bool crosses = up || from_switch || half_of(network, hop->from) != half_of(network, hop->to);
    if (!crosses) continue;
    const std::int64_t bandwidth = network.link({id}).spec.payload_rate().count();
    if (!from_switch) leaving[half_of(network, hop->from)] += bandwidth;
    if (!up) arriving[half_of(network, hop->to)] += bandwidth;
  }
  return Bandwidth::bytes_per_second(std::min({leaving[kLower], arriving[kUpper], leaving[kUpper], arriving[kLower]}));
}

}  // namespace kernbench::topology
