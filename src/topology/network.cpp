#include "topology/network.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"
#include "topology/index.h"
#include "topology/router_grid.h"

namespace kernbench::topology {
namespace {

LinkEnd io_end(SipId sip) {
  return {LinkEnd::Kind::io, {sip, {}, {}}};
}

std::int32_t sram_ports(const Topology& topology) {
  return topology.cube.sram.ports == SramPorts::every_router ? topology.cube.pes.count() : 1;
}

}  // namespace

Network::Network(const Topology& topology, const std::optional<AlikeSips>& alike)
    : topology_(topology), system_(topology.system), alike_(alike) {
  add_system_links();
  mesh_first_ = static_cast<std::uint32_t>(links_.size());
  cubes_.resize(index(topology_.sip.cubes.count()));
  nodes_.resize(index(topology_.pes_per_sip()));
  const std::int32_t sips = alike_ ? 1 : topology_.system.sips;
  for (std::int32_t sip = 0; sip < sips; ++sip) {
    add_sip(SipId{sip});
    if (sip == 0) links_.reserve(mesh_first_ + std::size_t{sip_links_} * static_cast<std::size_t>(sips));
  }
  if (!topology_.overrides.empty()) override_links();
}

void Network::add_system_links() {
  const LinkEnd host{LinkEnd::Kind::host, {}}, sip_switch{LinkEnd::Kind::sip_switch, {}};
  for (std::int32_t sip = 0; sip < topology_.system.sips; ++sip) {
    add({PartKind::host_to_sip, sip}, LinkKind::host, host, io_end(SipId{sip}), topology_.host.link);
  }
  for (std::int32_t node = 0; node < system_.node_count(); ++node) {
    system_first_.push_back(static_cast<std::uint32_t>(links_.size()));
    const bool down = system_.is_switch(node);
    for (const std::int32_t to : system_.neighbours(node)) {
      const bool up = system_.is_switch(to);
      const PartId part = down ? PartId(PartKind::switch_to_sip, to)
                          : up ? PartId(PartKind::io_to_switch, SipId{node})
                               : PartId(PartKind::io_to_sip, SipId{node}, to);
      add(part, LinkKind::sip, down ? sip_switch : io_end(SipId{node}), up ? sip_switch : io_end(SipId{to}),
          topology_.system.link);
    }
  }
}

void Network::add_sip(SipId sip) {
  const auto base = static_cast<std::uint32_t>(links_.size());
  add_io(sip);
  for (std::int32_t cube = 0; cube < topology_.sip.cubes.count(); ++cube) add_cube({sip, CubeId{cube}}, base);
  sip_links_ = static_cast<std::uint32_t>(links_.size()) - base;
}

void Network::add_io(SipId sip) {
  const LinkEnd io = io_end(sip);
  add({PartKind::io_to_host, sip}, LinkKind::host, io, {LinkEnd::Kind::host, {}}, topology_.host.link);
  const PartKind inward = io_spans_edge() ? PartKind::io_row_to_mesh : PartKind::io_to_mesh;
  const PartKind outward = io_spans_edge() ? PartKind::io_row_from_mesh : PartKind::io_from_mesh;
  for (std::int32_t row = 0; row < io_rows(); ++row) {
    const LinkEnd router{LinkEnd::Kind::router, pe_at(sip, {0, row})};
    const LinkSpec spec = io_spans_edge() ? lane({0, row}, Direction::west) : topology_.sip.link;
    add({inward, sip, row}, LinkKind::io, io, router, spec);
    add({outward, sip, row}, LinkKind::io, router, io, spec);
  }
}

/// The links between something and its router.
void Network::add_attached(PartKind outward, PartKind inward, const LinkEnd& end, const LinkSpec& spec) {
  const LinkEnd router{LinkEnd::Kind::router, end.at};
  add({outward, end.at}, LinkKind::endpoint, end, router, spec);
  add({inward, end.at}, LinkKind::endpoint, router, end, spec);
}

void Network::add_cube(CubeCoordinate cube, std::uint32_t base) {
  cubes_[index(cube.cube.value)] = static_cast<std::uint32_t>(links_.size()) - base;
  const PeCoordinate first{cube.sip, cube.cube, PeId{0}};
  add_attached(PartKind::m_cpu_inject, PartKind::m_cpu_eject, {LinkEnd::Kind::m_cpu, first}, topology_.cube.noc.link);
  LinkSpec sram = topology_.cube.noc.link;
  sram.bandwidth = topology_.cube.sram.bandwidth;
  if (topology_.cube.sram.ports == SramPorts::first_router) {
    add_attached(PartKind::sram_out, PartKind::sram_in, {LinkEnd::Kind::sram, first}, sram);
  } else {
    for (PeCoordinate at = first; at.pe.value < topology_.cube.pes.count(); ++at.pe.value)
      add_attached(PartKind::sram_port_out, PartKind::sram_port_in, {LinkEnd::Kind::sram, at}, sram);
  }
  for (std::int32_t pe = 0; pe < topology_.cube.pes.count(); ++pe) add_pe({cube.sip, cube.cube, PeId{pe}}, base);
}

void Network::add_pe(PeCoordinate pe, std::uint32_t base) {
  const GridPosition at = position(pe.cube, pe.pe);
  const LinkSpec& noc = topology_.cube.noc.link;
  Node& node = nodes_[node_at(at)];
  const auto next = [&] { return static_cast<std::uint32_t>(links_.size()) - base; };
  node.first = next();
  add_attached(PartKind::pe_inject, PartKind::pe_eject, {LinkEnd::Kind::pe, pe}, noc);
  add_attached(PartKind::hbm_out, PartKind::hbm_in, {LinkEnd::Kind::hbm_slice, pe}, noc);
  const LinkEnd here{LinkEnd::Kind::router, pe};
  const auto router = [&](Direction direction, PartKind kind, GridPosition to, bool exists) {
    if (!exists) return;
    node.router[static_cast<std::size_t>(direction)] = next();
    add({kind, pe}, leaves_cube(at, direction) ? LinkKind::cube : LinkKind::noc, here,
        {LinkEnd::Kind::router, pe_at(pe.sip, to)}, lane(at, direction));
  };
  router(Direction::east, PartKind::router_east, {at.x + 1, at.y}, at.x + 1 < grid().width);
  router(Direction::west, PartKind::router_west, {at.x - 1, at.y}, at.x > 0);
  router(Direction::north, PartKind::router_north, {at.x, at.y - 1}, at.y > 0);
  router(Direction::south, PartKind::router_south, {at.x, at.y + 1}, at.y + 1 < grid().height);
}

bool Network::leaves_cube(GridPosition at, Direction direction) const {
  const auto [width, height] = topology_.cube.pes;
  switch (direction) {
    case Direction::east:
      return (at.x + 1) % width == 0;
    case Direction::west:
      return at.x % width == 0;
    case Direction::north:
      return at.y % height == 0;
    case Direction::south:
      break;
  }
  return (at.y + 1) % height == 0;
}

LinkSpec Network::lane(GridPosition at, Direction direction) const {
  if (!leaves_cube(at, direction)) return topology_.cube.noc.link;
  const auto [width, height] = topology_.cube.pes;
  const bool horizontal = direction == Direction::east || direction == Direction::west;
  LinkSpec lane = topology_.sip.link;
  const std::int64_t share = lane.bandwidth.count() / (horizontal ? height : width);
  lane.bandwidth = Bandwidth::bytes_per_second(std::max<std::int64_t>(share, 1));
  return lane;
}

MeshExtent Network::grid() const {
  return {topology_.sip.cubes.width * topology_.cube.pes.width, topology_.sip.cubes.height * topology_.cube.pes.height};
}

Network::GridPosition Network::position(CubeId cube, PeId pe) const {
  const RouterPlace place = router_place(topology_, cube, pe);
  return {place.x, place.y};
}

// The router that an endpoint of the mesh hangs off. The M_CPU has PeId 0, and so has the only port of an SRAM.
Network::GridPosition Network::position(Endpoint endpoint) const {
  return position(endpoint.cube, endpoint.pe);
}

std::size_t Network::node_at(GridPosition at) const {
  const MeshExtent pes = topology_.cube.pes;
  const std::int32_t cube = at.y / pes.height * topology_.sip.cubes.width + at.x / pes.width;
  const std::int32_t pe = at.y % pes.height * pes.width + at.x % pes.width;
  return index(cube * pes.count() + pe);
}

PeCoordinate Network::pe_at(SipId sip, GridPosition at) const {
  const auto node = static_cast<std::int32_t>(node_at(at));
  return {sip, CubeId{node / topology_.cube.pes.count()}, PeId{node % topology_.cube.pes.count()}};
}

std::uint32_t Network::sip_base(SipId sip) const {
  return mesh_first_ + (alike_ ? 0 : static_cast<std::uint32_t>(sip.value) * sip_links_);
}

LinkId Network::system_link(const SipHop& any) const {
  const SipHop hop = alike_ ? alike_->like(any) : any;
  const auto& neighbours = system_.neighbours(hop.from);
  const auto found = std::ranges::lower_bound(neighbours, hop.to);
  assert(found != neighbours.end() && *found == hop.to);
  return {system_first_[index(hop.from)] + static_cast<std::uint32_t>(found - neighbours.begin())};
}

LinkId Network::io_link(SipId sip, GridPosition router, bool inward) const {
  return {sip_base(sip) + kIoToHost + 1 + 2 * static_cast<std::uint32_t>(router.y) + (inward ? 0 : 1)};
}

// The link from an endpoint of the mesh to its router (outward), or back.
LinkId Network::attachment(Endpoint endpoint, bool outward) const {
  const std::uint32_t base = sip_base(endpoint.sip);
  const std::uint32_t direction = outward ? 0 : 1;
  switch (endpoint.kind) {
    case Endpoint::Kind::m_cpu:
      return {base + cubes_[index(endpoint.cube.value)] + direction};
    case Endpoint::Kind::sram:
      return {base + cubes_[index(endpoint.cube.value)] + 2 + 2 * static_cast<std::uint32_t>(endpoint.pe.value) +
              direction};
    case Endpoint::Kind::pe:
      return {base + nodes_[node_at(position(endpoint))].first + direction};
    case Endpoint::Kind::hbm_slice:
      return {base + nodes_[node_at(position(endpoint))].first + 2 + direction};
    case Endpoint::Kind::host:
    case Endpoint::Kind::io_cpu:
      break;
  }
  assert(false && "no endpoint of the mesh");
  return {};
}

std::vector<Endpoint> Network::endpoints() const {
  std::vector<Endpoint> all{Endpoint::host()};
  for (std::int32_t sip = 0; sip < topology_.system.sips; ++sip) {
    all.push_back(Endpoint::io_cpu(SipId{sip}));
    for (std::int32_t cube = 0; cube < topology_.sip.cubes.count(); ++cube) {
      all.push_back(Endpoint::m_cpu({SipId{sip}, CubeId{cube}}));
      for (std::int32_t port = 0; port < sram_ports(topology_); ++port)
        all.push_back(Endpoint::sram({SipId{sip}, CubeId{cube}, PeId{port}}));
      for (std::int32_t pe = 0; pe < topology_.cube.pes.count(); ++pe) {
        const PeCoordinate at{SipId{sip}, CubeId{cube}, PeId{pe}};
        all.push_back(Endpoint::pe_port(at));
        all.push_back(Endpoint::hbm_slice(at));
      }
    }
  }
  return all;
}

bool Network::contains(Endpoint endpoint) const {
  const auto below = [](std::int32_t value, std::int32_t limit) { return value >= 0 && value < limit; };
  const bool in_sip = below(endpoint.sip.value, topology_.system.sips);
  const bool in_cube = in_sip && below(endpoint.cube.value, topology_.sip.cubes.count());
  switch (endpoint.kind) {
    case Endpoint::Kind::host:
      return endpoint == Endpoint::host();
    case Endpoint::Kind::io_cpu:
      return in_sip && endpoint == Endpoint::io_cpu(endpoint.sip);
    case Endpoint::Kind::m_cpu:
      return in_cube && endpoint.pe == PeId{};
    case Endpoint::Kind::sram:
      return in_cube && below(endpoint.pe.value, sram_ports(topology_));
    case Endpoint::Kind::pe:
    case Endpoint::Kind::hbm_slice:
      return in_cube && below(endpoint.pe.value, topology_.cube.pes.count());
  }
  return false;
}

std::vector<RouteHop> Network::route(Endpoint from, Endpoint to) const {
  using Kind = Endpoint::Kind;
  assert(contains(from) && contains(to));
  std::vector<RouteHop> hops;
  const auto is_pe_or_slice = [](Endpoint e) { return e.kind == Kind::pe || e.kind == Kind::hbm_slice; };
  const bool same_place = from.sip == to.sip && from.cube == to.cube && from.pe == to.pe;
  if (from == to || (same_place && is_pe_or_slice(from) && is_pe_or_slice(to))) return hops;

  if (from.kind == Kind::host) {
    hops.push_back({LinkId{alike_ ? 0 : static_cast<std::uint32_t>(to.sip.value)}, 0});
    enter(to, 0, hops);
  } else if (to.kind == Kind::host) {
    leave(from, hops);
    hops.push_back({LinkId{sip_base(from.sip) + kIoToHost}, 0});
  } else if (from.sip != to.sip) {
    leave(from, hops);
    for (const SipHop& hop : system_.path(from.sip, to.sip)) hops.push_back({system_link(hop), hop.channel});
    enter(to, 1, hops);
  } else if (to.kind == Kind::io_cpu) {
    leave(from, hops);
  } else if (from.kind == Kind::io_cpu) {
    enter(to, 0, hops);
  } else {
    hops.push_back({attachment(from, true), 0});
    cross(from.sip, position(from), position(to), 0, hops);
    hops.push_back({attachment(to, false), 0});
  }
  return hops;
}

// From an endpoint to its SIP's IO chiplet.
void Network::leave(Endpoint from, std::vector<RouteHop>& hops) const {
  if (from.kind == Endpoint::Kind::io_cpu) return;
  const GridPosition last = io_router(position(from));
  hops.push_back({attachment(from, true), 0});
  cross(from.sip, position(from), last, 0, hops);
  hops.push_back({io_link(from.sip, last, false), 0});
}

// From a SIP's IO chiplet to an endpoint.
void Network::enter(Endpoint to, std::uint8_t channel, std::vector<RouteHop>& hops) const {
  if (to.kind == Endpoint::Kind::io_cpu) return;
  const GridPosition first = io_router(position(to));
  hops.push_back({io_link(to.sip, first, true), channel});
  cross(to.sip, first, position(to), channel, hops);
  hops.push_back({attachment(to, false), channel});
}

// Through the routers of a SIP, along x first.
void Network::cross(SipId sip, GridPosition from, GridPosition to, std::uint8_t channel,
                    std::vector<RouteHop>& hops) const {
  const std::uint32_t base = sip_base(sip);
  const auto hop = [&](Direction direction) {
    const Node& node = nodes_[node_at(from)];
    hops.push_back({LinkId{base + node.router[static_cast<std::size_t>(direction)]}, channel});
  };
  for (; from.x < to.x; ++from.x) hop(Direction::east);
  for (; from.x > to.x; --from.x) hop(Direction::west);
  for (; from.y > to.y; --from.y) hop(Direction::north);
  for (; from.y < to.y; ++from.y) hop(Direction::south);
}

Time Network::latency(std::span<const RouteHop> route) const {
  Time sum;
  for (const RouteHop& hop : route) sum += link(hop.link).spec.latency;
  return sum;
}

Endpoint sram_port(const Topology& topology, PeCoordinate of) {
  if (topology.cube.sram.ports == SramPorts::every_router) return Endpoint::sram(of);
  return Endpoint::sram({of.sip, of.cube, PeId{}});
}

std::string to_text(Endpoint endpoint) {
  const CubeCoordinate cube{endpoint.sip, endpoint.cube};
  const PeCoordinate pe{endpoint.sip, endpoint.cube, endpoint.pe};
  switch (endpoint.kind) {
    case Endpoint::Kind::host:
      return "host";
    case Endpoint::Kind::io_cpu:
      return kernbench::to_text(endpoint.sip) + ".io";
    case Endpoint::Kind::m_cpu:
      return kernbench::to_text(cube) + ".m_cpu";
    case Endpoint::Kind::pe:
      return kernbench::to_text(pe);
    case Endpoint::Kind::hbm_slice:
      return kernbench::to_text(pe) + ".hbm";
    case Endpoint::Kind::sram:
      return (endpoint.pe == PeId{} ? kernbench::to_text(cube) : kernbench::to_text(pe)) + ".sram";
  }
  return {};
}

}  // namespace kernbench::topology
