// The machine as a graph: endpoints, directed links, and the one route from each endpoint to each other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/part.h"
#include "kernbench/coordinates.h"
#include "topology/alike_sips.h"
#include "topology/spec.h"
#include "topology/system_graph.h"

namespace kernbench::topology {

/// Whatever can send or receive on the fabric.
struct Endpoint {
  enum class Kind : std::uint8_t { host, io_cpu, m_cpu, pe, hbm_slice, sram };
  Kind kind = Kind::host;
  SipId sip;
  CubeId cube;
  PeId pe;

  static Endpoint host() { return {}; }
  static Endpoint io_cpu(SipId sip) { return {Kind::io_cpu, sip, {}, {}}; }
  static Endpoint m_cpu(CubeCoordinate at) { return {Kind::m_cpu, at.sip, at.cube, {}}; }
  static Endpoint pe_port(PeCoordinate at) { return {Kind::pe, at.sip, at.cube, at.pe}; }
  static Endpoint hbm_slice(PeCoordinate at) { return {Kind::hbm_slice, at.sip, at.cube, at.pe}; }
  /// A port of the SRAM: see sram_port.
  static Endpoint sram(PeCoordinate at) { return {Kind::sram, at.sip, at.cube, at.pe}; }
  constexpr auto operator<=>(const Endpoint&) const = default;
};

struct LinkId {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const LinkId&) const = default;
};

/// What a link is for.
enum class LinkKind : std::uint8_t {
  host,     // PCIe, between the host and an IO chiplet
  sip,      // between IO chiplets of SIPs, or between one and a switch
  io,       // between an IO chiplet and the mesh
  cube,     // a lane between two cubes
  noc,      // between two routers of a cube
  endpoint  // between a router and its PE, HBM slice, SRAM or M_CPU
};

/// What a link begins or ends at.
struct LinkEnd {
  enum class Kind : std::uint8_t { host, sip_switch, io, router, m_cpu, pe, hbm_slice, sram };
  Kind kind = Kind::host;
  PeCoordinate at;  // of a router: its PE
  constexpr auto operator<=>(const LinkEnd&) const = default;
};

/// One direction of a physical link.
struct Link {
  std::string name;  // "sip0.cube2.pe5.router.east": to_text(part)
  LinkSpec spec;     // of this lane
  PartId part;
  LinkKind kind = LinkKind::endpoint;
  bool failed = false;
  LinkEnd from, to;
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
/// edge's bandwidth. The M_CPU hangs off the router of its cube's PE 0, and so does the SRAM, unless it has a port at
/// every router. Each of the SRAM's links has its bandwidth, and the latency and buffer of the cube's links.
///
/// The IO chiplet hangs off the router at (0, 0) by a link of its own, or off all routers of the first column, each by
/// a lane of its cube's west edge. In the latter case packets leave and enter the mesh in the row of their endpoint in
/// it.
///
/// Between SIPs, packets go from IO chiplet to IO chiplet (SystemGraph has the paths and the channels used there).
/// Within a SIP they use channel 0 until they have crossed a link between SIPs and channel 1 after that.
///
/// A route costs arithmetic only: O(1) for each hop.
class Network {
 public:
  /// Requires a checked topology, but for its overrides: throws ConfigurationError with what is wrong with them.
  /// `alike`: as SIP 0 sees it, when all SIPs do the same. Of the links in a SIP there are those of SIP 0, and each
  /// route goes over the links of SIP 0 that are like its own.
  explicit Network(const Topology& topology, const std::optional<AlikeSips>& alike = {});

  const Topology& topology() const { return topology_; }
  const SystemGraph& system() const { return system_; }
  const std::vector<Link>& links() const { return links_; }
  const Link& link(LinkId id) const { return links_[id.value]; }

  /// What a link between IO chiplets, or one and the switch, connects; its channel is 0. None for any other link.
  std::optional<SipHop> between_sips(LinkId id) const;
  /// Two endpoints whose route goes over a link that is not between SIPs.
  std::pair<Endpoint, Endpoint> users_of(LinkId id) const;

  /// All endpoints in structural order: the host, then for each SIP its IO_CPU, and for each cube its M_CPU, the ports
  /// of its SRAM and each PE with its HBM slice.
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

  // Offset of an IO chiplet's link to the host in its SIP. Those to and from the mesh follow, row by row.
  static constexpr std::uint32_t kIoToHost = 0;

  void add(const PartId& part, LinkKind kind, const LinkEnd& from, const LinkEnd& to, const LinkSpec& spec) {
    links_.push_back({to_text(part), spec, part, kind, false, from, to});
  }
  void add_attached(PartKind outward, PartKind inward, const LinkEnd& end, const LinkSpec& spec);
  void override_links();
  static Endpoint user_at(const LinkEnd& end, const LinkEnd& other);
  void add_system_links();
  void add_sip(SipId sip);
  void add_io(SipId sip);
  void add_cube(CubeCoordinate cube, std::uint32_t base);
  void add_pe(PeCoordinate pe, std::uint32_t base);
  bool leaves_cube(GridPosition at, Direction direction) const;
  LinkSpec lane(GridPosition at, Direction direction) const;
  bool io_spans_edge() const { return topology_.sip.io.attachment == IoAttachment::west_edge; }
  std::int32_t io_rows() const { return io_spans_edge() ? grid().height : 1; }
  /// The router of the IO chiplet's links that serve the router at a place.
  GridPosition io_router(GridPosition served) const { return {0, io_spans_edge() ? served.y : 0}; }
  LinkId io_link(SipId sip, GridPosition router, bool inward) const;

  MeshExtent grid() const;
  GridPosition position(CubeId cube, PeId pe) const;
  GridPosition position(Endpoint endpoint) const;
  std::size_t node_at(GridPosition at) const;
  PeCoordinate pe_at(SipId sip, GridPosition at) const;
  std::uint32_t sip_base(SipId sip) const;
  LinkId system_link(const SipHop& hop) const;
  LinkId attachment(Endpoint endpoint, bool outward) const;
  void leave(Endpoint from, std::vector<RouteHop>& hops) const;
  void enter(Endpoint to, std::uint8_t channel, std::vector<RouteHop>& hops) const;
  void cross(SipId sip, GridPosition from, GridPosition to, std::uint8_t channel, std::vector<RouteHop>& hops) const;

  Topology topology_;
  SystemGraph system_;
  std::optional<AlikeSips> alike_;  // the links of the SIPs but 0 are left out
  std::vector<Link> links_;
  std::vector<std::uint32_t> system_first_;  // by node of the system graph: its first link to a neighbour
  std::uint32_t mesh_first_ = 0;             // first link of SIP 0; each SIP has sip_links_ of them in the same order
  std::uint32_t sip_links_ = 0;
  std::vector<std::uint32_t> cubes_;  // by cube: offset of its M_CPU's links in its SIP; its SRAM's follow, by port
  std::vector<Node> nodes_;           // by cube and PE: offsets of its links in its SIP
};

/// Where bytes for this PE enter and leave the SRAM of its cube.
Endpoint sram_port(const Topology& topology, PeCoordinate of);

/// "host", "sip0.io", "sip0.cube2.m_cpu", "sip0.cube2.pe5", "sip0.cube2.pe5.hbm",
/// "sip0.cube2.sram", of its other ports "sip0.cube2.pe5.sram".
std::string to_text(Endpoint endpoint);

}  // namespace kernbench::topology
