// The machine as a graph: endpoints, directed links, and the one route from each endpoint to each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/coordinates.h"
#include "topology/spec.h"

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
  std::string name;   // "sip0.cube2.router5.east"
  LinkSpec spec;      // of this lane
};

/// A link and the virtual channel that a packet uses on it.
struct RouteHop {
  LinkId link;
  std::uint8_t channel = 0;
  constexpr auto operator<=>(const RouteHop&) const = default;
};

/// All links of a machine in structural order, and its routes (dimension-ordered; see docs/model.md).
class Network {
 public:
  explicit Network(const Topology& topology);
  const std::vector<Link>& links() const { return links_; }
  /// The hops from one endpoint to another. Empty between a PE and its own HBM slice, which are wired directly.
  std::vector<RouteHop> route(Endpoint from, Endpoint to) const;

 private:
  Topology topology_;
  std::vector<Link> links_;
};

}  // namespace kernbench::topology
