#include "hardware/server_kind.h"

#include <utility>

#include "hardware/layout.h"
#include "topology/network.h"

namespace kernbench::hardware {

namespace {

using topology::Endpoint;
using topology::RouteHop;

/// Finds out what the links of a network join by walking its routes.
class LinkWalk {
 public:
  explicit LinkWalk(const topology::Network& network)
      // Those that no walk within a SIP, or to the host, meets.
      : network_(network), kinds_(network.links().size(), ServerKind::sip_link) {
    const topology::Topology& topology = network.topology();
    for (const Endpoint& endpoint : network.endpoints()) {
      if (endpoint.kind == Endpoint::Kind::host) continue;
      walk_to_host(endpoint);
      if (endpoint.kind == Endpoint::Kind::pe) walk_to_neighbours(endpoint, topology.sip.cubes, topology.cube.pes);
    }
  }
  std::vector<ServerKind> take() { return std::move(kinds_); }

 private:
  void mark(const RouteHop& hop, ServerKind kind) { kinds_[hop.link.value] = kind; }

  /// Between the host's link and that of the endpoint come the IO chiplet's and routers.
  void walk_to_host(const Endpoint& endpoint) {
    const auto inward = network_.route(Endpoint::host(), endpoint),
               outward = network_.route(endpoint, Endpoint::host());
    mark(inward.front(), ServerKind::host_link);
    mark(outward.back(), ServerKind::host_link);
    if (endpoint.kind == Endpoint::Kind::io_cpu) return;
    mark(inward[1], ServerKind::io_link);
    mark(outward[outward.size() - 2], ServerKind::io_link);
    mark(inward.back(), ServerKind::port);
    mark(outward.front(), ServerKind::port);
  }

  /// One router further to the east and to the south, and back.
  void walk_to_neighbours(const Endpoint& pe, const MeshExtent& cubes, const MeshExtent& pes) {
    const std::int32_t x = pe.cube.value % cubes.width * pes.width + pe.pe.value % pes.width;
    const std::int32_t y = pe.cube.value / cubes.width * pes.height + pe.pe.value / pes.width;
    const auto walk = [&](std::int32_t to_x, std::int32_t to_y) {
      if (to_x == cubes.width * pes.width || to_y == cubes.height * pes.height) return;
      const CubeId cube{to_y / pes.height * cubes.width + to_x / pes.width};
      const PeId neighbour{to_y % pes.height * pes.width + to_x % pes.width};
      const Endpoint there = Endpoint::pe_port({pe.sip, cube, neighbour});
      const ServerKind kind = cube == pe.cube ? ServerKind::noc_link : ServerKind::cube_link;
      mark(network_.route(pe, there)[1], kind);
      mark(network_.route(there, pe)[1], kind);
    };
    walk(x + 1, y);
    walk(x, y + 1);
  }

  const topology::Network& network_;
  std::vector<ServerKind> kinds_;
};

}  // namespace

std::string_view name(ServerKind kind) {
  switch (kind) {
    case ServerKind::host_link:
      return "host link";
    case ServerKind::sip_link:
      return "SIP link";
    case ServerKind::io_link:
      return "IO link";
    case ServerKind::cube_link:
      return "cube link";
    case ServerKind::noc_link:
      return "NoC link";
    case ServerKind::port:
      return "port";
    case ServerKind::hbm_channel:
      return "HBM channel";
    case ServerKind::sram:
      return "SRAM";
    case ServerKind::tcm_port:
      break;
  }
  return "TCM port";
}

std::vector<ServerKind> server_kinds(const topology::Topology& topology) {
  const topology::Network network(topology);
  const Layout layout(topology, network.links().size());
  std::vector<ServerKind> kinds = LinkWalk(network).take();
  for (std::int64_t pe = 0; pe < layout.pe_count(); ++pe) {
    kinds.insert(kinds.end(), static_cast<std::size_t>(layout.channels()), ServerKind::hbm_channel);
    kinds.push_back(ServerKind::tcm_port);
  }
  kinds.insert(kinds.end(), static_cast<std::size_t>(layout.cube_count()), ServerKind::sram);
  return kinds;
}

}  // namespace kernbench::hardware
