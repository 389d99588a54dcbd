// The machine as a graph: endpoints, directed links, and the one route from each endpoint to each other.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/coordinates.h"
#include "topology/spec.h"
#include "topology/system_graph.h"

namespace kernbench::topology {

/// Whatever can send or receive on the fabric.
struct Endpoint {
  enum class Kind : std::uint8_t { host, io_cpu, m_cpu, pe, hbm_slice };
  Kind kind = Kind::host;
  SipId sip;
  CubeId cube;
  PeId pe;

  static Endpoint host() { return {}; }
  static Endpoint io_cpu(SipId sip) { return {Kind::io_cpu, sip, {}, {}}; }
  static Endpoint m_cpu(CubeCoordinate at) { return {Kind::m_cpu, at.sip, at.cube, {}}; }
  static Endpoint pe_port(PeCoordinate at) { return {Kind::pe, at.sip, at.cube, at.pe}; }
  static Endpoint hbm_slice(PeCoordinate at) { return {Kind::hbm_slice, at.sip, at.cube, at.pe}; }
  constexpr auto operator<=>(const Endpoint&) const = default;
};

struct LinkId {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const LinkId&) const = default;
};

/// One direction of a physical link.
struct Link {
  std::string name;  // "sip0.cube2.pe5.router.east"
  LinkSpec spec;     // of this lane
};

/// A link and the virtual channel that a packet uses on it.
struct RouteHop {
  LinkId link;
  std::uint8_t channel = 0;
  constexpr auto operator<=>(const RouteHop&) const = default;
};

/// All links of a machine in structural order, and its routes (dimension-ordered; see docs/topology.md).
///
/// The routers of a SIP, one for each PE, form one grid: the one of PE (px, py) in cube (cx, cy) stands at
/// (cx * w + px, cy * h + py), where w x h is the mesh of PEs in a cube. East is +x, south is +y. Packets go along x
/// first. A link that crosses the border of a cube is a lane of that edge of the cube and has an equal part of the
/// edge's bandwidth. The M_CPU hangs off the router of its cube's PE 0, the IO chiplet off the router at (0, 0).
///
/// Between SIPs, packets go from IO chiplet to IO chiplet (SystemGraph has the paths and the channels used there).
/// Within a SIP they use channel 0 until they have crossed a link between SIPs and channel 1 after that.
///
/// A route costs arithmetic only: O(1) for each hop.
class Network {
 public:
  /// Requires a checked topology.
  explicit Network(const Topology& topology);

  const Topology& topology() const { return topology_; }
  const SystemGraph& system() const { return system_; }
  const std::vector<Link>& links() const { return links_; }
  const Link& link(LinkId id) const { return links_[id.value]; }

  /// All endpoints in structural order: the host, then for each SIP its IO_CPU, and for each cube its M_CPU and each
  /// PE with its HBM slice.
  std::vector<Endpoint> endpoints() const;
  bool contains(Endpoint endpoint) const;

  /// The hops from one endpoint to another. Empty from an endpoint to itself, and between a PE and its own HBM slice,
  /// which are wired directly. Requires that both exist.
  std::vector<RouteHop> route(Endpoint from, Endpoint to) const;
  /// The sum of the latencies of the links of a route.
  Time latency(std::span<const RouteHop> route) const;

 private:
  enum class Direction : std::uint8_t { east, west, north, south };
  struct GridPosition {
    std::int32_t x = 0;
    std::int32_t y = 0;
    constexpr auto operator<=>(const GridPosition&) const = default;
  };
  struct Node {
    std::uint32_t first = 0;                // PE: inject, eject, hbm.out, hbm.in
    std::array<std::uint32_t, 4> router{};  // by Direction; 0 where the grid ends
  };

  void add(std::string name, const LinkSpec& spec) { links_.push_back({std::move(name), spec}); }
  void add_system_links();
  void add_sip(SipId sip);
  void add_cube(CubeCoordinate cube, std::uint32_t base);
  void add_pe(PeCoordinate pe, std::uint32_t base);
  LinkSpec lane(GridPosition at, Direction direction) const;

  MeshExtent grid() const;
  GridPosition position(CubeId cube, PeId pe) const;
  GridPosition position(Endpoint endpoint) const;
  std::size_t node_at(GridPosition at) const;
  std::uint32_t sip_base(SipId sip) const;
  LinkId system_link(const SipHop& hop) const;
  LinkId attachment(Endpoint endpoint, bool outward) const;
  void leave(Endpoint from, std::vector<RouteHop>& hops) const;
  void enter(Endpoint to, std::uint8_t channel, std::vector<RouteHop>& hops) const;
  void cross(SipId sip, GridPosition from, GridPosition to, std::uint8_t channel, std::vector<RouteHop>& hops) const;

  Topology topology_;
  SystemGraph system_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> system_first_;  // by node of the system graph: its first link to a neighbour
  std::uint32_t mesh_first_ = 0;             // first link of SIP 0; each SIP has sip_links_ of them in the same order
  std::uint32_t sip_links_ = 0;
  std::vector<std::uint32_t> cubes_;  // by cube: offset of its M_CPU's links in its SIP
  std::vector<Node> nodes_;           // by cube and PE: offsets of its links in its SIP
};

/// "host", "sip0.io", "sip0.cube2.m_cpu", "sip0.cube2.pe5", "sip0.cube2.pe5.hbm".
std::string to_text(Endpoint endpoint);

}  // namespace kernbench::topology
