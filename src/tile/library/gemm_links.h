// Traffic on the links of a SIP when programs read an operand from those that hold it.
#pragma once

#include <vector>

#include "kernbench/coordinates.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

/// Loads of the links between the routers of a SIP: one grid, routes along x first, then along y (docs/model.md).
class LinkLoads {
 public:
  explicit LinkLoads(const topology::Topology& topology);

  void clear();
  /// `bytes` go from the slice of `from` to `to`.
  void add(PeCoordinate from, PeCoordinate to, double bytes);
  /// Nanoseconds that each link is busy.
  std::vector<double> times() const;

 private:
  /// Links along one line of routers, one for each direction: the differences of the loads of neighbouring links.
  struct Lines {
    std::vector<double> up, down;
  };
  static void add(Lines& lines, std::int32_t first, std::int32_t from, std::int32_t to, double bytes);
  void append_times(std::vector<double>& times, const std::vector<double>& differences, std::int32_t length,
                    std::int32_t pes, double crossing) const;

  MeshExtent cubes_, pes_;
  double in_cube_;                  // ns for each byte
  double crossing_x_, crossing_y_;  // likewise, of a lane from a cube to its neighbour
  Lines rows_, columns_;
};

/// Nanoseconds of the busiest link when operands A and B are read once, alone and together.
struct BusiestLink {
  double a = 0, b = 0, both = 0;
};

BusiestLink busiest_link(const LinkLoads& a, const LinkLoads& b);

}  // namespace kernbench::tile::library
