// The servers of a SIP that loads of a matrix product meet on: slices, links, TCM ports.
#pragma once

#include <cstdint>
#include <vector>

#include "kernbench/coordinates.h"
#include "tile/library/gemm_legs.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

class GemmServers {
 public:
  explicit GemmServers(const topology::Topology& topology);

  /// All idle at time 0.
  void clear();
  /// A number for the route from the slice of `slice` to the TCM of `pe`, or from that to the slice.
  std::uint32_t read(PeCoordinate slice, PeCoordinate pe);
  std::uint32_t write(PeCoordinate pe, PeCoordinate slice);
  /// Nanoseconds of a message over it, there or back.
  double latency(std::uint32_t route) const { return routes_[route].latency; }

  struct Passed {
    double next = 0;  // ns: when the first server takes the next burst
    double end = 0;   // ns: when the last byte is there
  };
  /// A burst of `leg` that asks the first server at `at`.
  Passed pass(std::uint32_t route, double at, double bytes, const GemmLeg& leg);

 private:
  struct Server {
    double ns_of_byte = 0;
    double free = 0;                      // ns: from then on
    double hole_begin = 0, hole_end = 0;  // ns: and here
  };
  struct Route {
    std::vector<std::uint32_t> servers;
    std::uint32_t slice = 0;  // one of them
    double latency = 0;
  };
  static double serve(Server& server, double at, double service);
  std::uint32_t router(std::int32_t x, std::int32_t y) const;
  std::uint32_t router(PeCoordinate pe) const;
  void add_links(Route& route, PeCoordinate from, PeCoordinate to) const;
  std::uint32_t& number(PeCoordinate from, PeCoordinate to, bool write);
  std::uint32_t add(Route route);

  const topology::Topology& topology_;
  std::uint32_t routers_, channels_;
  std::vector<Server> servers_;  // of each router, then of each channel
  std::vector<Route> routes_;
  std::vector<std::uint32_t> numbers_;  // of routes, reads and then writes, by PEs; 0: none yet
};

}  // namespace kernbench::tile::library
