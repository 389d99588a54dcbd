#include "tile/library/gemm_servers.h"

#include <algorithm>
#include <utility>

#include "tile/library/gemm_units.h"
#include "topology/router_grid.h"

namespace kernbench::tile::library {

namespace {

/// The servers of one PE, and of its router.
enum Kind : std::uint32_t { slice, from_slice, to_slice, from_pe, to_pe, tcm, east, west, south, north, kinds };

}  // namespace

GemmServers::GemmServers(const topology::Topology& topology)
    : topology_(topology),
      routers_(static_cast<std::uint32_t>(topology.sip.cubes.count() * topology.cube.pes.count())),
      channels_(channels_of_slice(topology)) {
  const MeshExtent cubes = topology.sip.cubes, pes = topology.cube.pes;
  servers_.resize(static_cast<std::size_t>(routers_) * (kinds + channels_));
  for (std::size_t i = static_cast<std::size_t>(routers_) * kinds; i < servers_.size(); ++i)
    servers_[i].ns_of_byte = ns_of_byte(topology.cube.hbm.channel_bandwidth());
  const double noc = ns_of_byte(topology.cube.noc.link.payload_rate()),
               lane = ns_of_byte(topology.sip.link.payload_rate());
  for (std::int32_t y = 0; y < cubes.height * pes.height; ++y) {
    for (std::int32_t x = 0; x < cubes.width * pes.width; ++x) {
      Server* at = &servers_[static_cast<std::size_t>(router(x, y)) * kinds];
      at[slice].ns_of_byte = ns_of_byte(topology.cube.slice_bandwidth());
      for (const Kind kind : {from_slice, to_slice, from_pe, to_pe}) at[kind].ns_of_byte = noc;
      at[tcm].ns_of_byte = ns_of_byte(topology.pe.tcm.bandwidth);
      at[east].ns_of_byte = (x + 1) % pes.width == 0 ? lane * pes.height : noc;
      at[west].ns_of_byte = x % pes.width == 0 ? lane * pes.height : noc;
      at[south].ns_of_byte = (y + 1) % pes.height == 0 ? lane * pes.width : noc;
      at[north].ns_of_byte = y % pes.height == 0 ? lane * pes.width : noc;
    }
  }
  routes_.emplace_back();
  numbers_.resize(2 * static_cast<std::size_t>(routers_) * routers_);
}

void GemmServers::clear() {
  for (Server& server : servers_) server.free = server.hole_begin = server.hole_end = 0;
}

std::uint32_t GemmServers::router(std::int32_t x, std::int32_t y) const {
  return static_cast<std::uint32_t>(y * topology_.sip.cubes.width * topology_.cube.pes.width + x);
}

/// Along x first, then along y.
void GemmServers::add_links(Route& route, PeCoordinate from, PeCoordinate to) const {
  const MeshExtent pes = topology_.cube.pes;
  const topology::RouterPlace target = topology::router_place(topology_, to.cube, to.pe);
  const double noc = ns(topology_.cube.noc.link.latency), between = ns(topology_.sip.link.latency);
  topology::RouterPlace here = topology::router_place(topology_, from.cube, from.pe);
  const auto step = [&](std::int32_t& at, std::int32_t end, std::int32_t length, Kind up, Kind down) {
    while (at != end) {
      const bool forward = at < end;
      route.servers.push_back(router(here.x, here.y) * kinds + (forward ? up : down));
      const std::int32_t next = forward ? at + 1 : at - 1;
      route.latency += next / length == at / length ? noc : between;
      at = next;
    }
  };
  step(here.x, target.x, pes.width, east, west);
  step(here.y, target.y, pes.height, south, north);
  route.latency += 2 * noc;
}

std::uint32_t GemmServers::router(PeCoordinate pe) const {
  const auto [x, y] = topology::router_place(topology_, pe.cube, pe.pe);
  return router(x, y);
}

std::uint32_t& GemmServers::number(PeCoordinate from, PeCoordinate to, bool write) {
  const std::size_t pairs = static_cast<std::size_t>(routers_) * routers_;
  return numbers_[(write ? pairs : 0) + static_cast<std::size_t>(router(from)) * routers_ + router(to)];
}

std::uint32_t GemmServers::add(Route route) {
  routes_.push_back(std::move(route));
  return static_cast<std::uint32_t>(routes_.size() - 1);
}

std::uint32_t GemmServers::read(PeCoordinate from, PeCoordinate to) {
  std::uint32_t& known = number(from, to, false);
  if (known != 0) return known;
  Route route;
  route.slice = router(from) * kinds + slice;
  route.servers.push_back(route.slice);
  if (from != to) {
    route.servers.push_back(router(from) * kinds + from_slice);
    add_links(route, from, to);
    route.servers.push_back(router(to) * kinds + to_pe);
  }
  route.servers.push_back(router(to) * kinds + tcm);
  return known = add(std::move(route));
}

std::uint32_t GemmServers::write(PeCoordinate from, PeCoordinate to) {
  std::uint32_t& known = number(from, to, true);
  if (known != 0) return known;
  Route route;
  route.slice = router(to) * kinds + slice;
  route.servers.push_back(router(from) * kinds + tcm);
  if (from != to) {
    route.servers.push_back(router(from) * kinds + from_pe);
    add_links(route, from, to);
    route.servers.push_back(router(to) * kinds + to_slice);
  }
  route.servers.push_back(route.slice);
  return known = add(std::move(route));
}

/// When it starts. Bursts of other routes that came late leave a hole, which those that are earlier there take.
double GemmServers::serve(Server& server, double at, double service) {
  const double in_hole = std::max(at, server.hole_begin);
  if (in_hole + service <= server.hole_end) {
    server.hole_begin = in_hole + service;
    return in_hole;
  }
  const double start = std::max(at, server.free);
  if (start - server.free > server.hole_end - server.hole_begin)
    server.hole_begin = server.free, server.hole_end = start;
  server.free = start + service;
  return start;
}

GemmServers::Passed GemmServers::pass(std::uint32_t number, double at, double bytes, const GemmLeg& leg) {
  const Route& route = routes_[number];
  Passed passed;
  double tail = 0;
  for (const std::uint32_t index : route.servers) {
    Server& server = servers_[index];
    const bool at_slice = index == route.slice;
    const double service = (at_slice ? bytes * leg.occupied : bytes) * server.ns_of_byte;
    double start = at, end = 0;
    if (at_slice && leg.granules > 0) {
      Server& channel = servers_[routers_ * kinds + index / kinds * channels_ + leg.channel];
      const double occupied = bytes * leg.occupied / leg.granules * channel.ns_of_byte;
      start = serve(channel, at, occupied);
      end = start + occupied;
    }
    start = serve(server, start, service);
    tail = std::max({start + service, end, tail});
    at = start;
    if (passed.next == 0) passed.next = tail;
  }
  passed.end = tail + route.latency;
  return passed;
}

}  // namespace kernbench::tile::library
