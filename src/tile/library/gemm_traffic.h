// Who reads which part of a matrix operand from where: bytes by distance, for the estimate of a plan's time.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tile/library/gemm_links.h"
#include "tile/library/gemm_plan.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

/// What the programs of a launch read of one operand, when each reads its part once; elements, of all programs.
struct OperandTraffic {
  double own = 0;      // from the reader's own slice
  double cube = 0;     // from another slice of its cube
  double remote = 0;   // from another cube
  double hops = 0;     // the remote ones times the cubes that they cross
  double hottest = 0;  // of the slice that is read most

  double all() const { return own + cube + remote; }
};

/// A box of an operand that one program reads: [batch, rows, columns].
struct OperandBox {
  std::int64_t begin[3] = {0, 0, 0}, end[3] = {0, 0, 0};
  bool operator==(const OperandBox&) const = default;
};

/// One program that reads.
struct OperandReader {
  PeCoordinate pe;
  OperandBox box;
};

class OperandLocality {
 public:
  /// `parts`: who holds what; empty: spread evenly over `pes`, of which each has the rest of its cube nearby.
  OperandLocality(std::span<const GemmPart> parts, std::span<const PeCoordinate> pes,
                  const topology::Topology& topology);

  /// The sum over `readers`, which stand for `scale` times as many. Of replicas a reader takes the nearest.
  OperandTraffic traffic(std::span<const OperandReader> readers, double scale);

  /// Of all readers; no loads where it is not known who holds what.
  const LinkLoads& link_loads(std::span<const OperandReader> readers);

 private:
  struct Source {
    double volume;
    std::size_t slice;
    std::int64_t distance;  // 0: own, 1: in the cube, from 2: 1 + cubes crossed
  };
  OperandTraffic of_reader(const OperandReader& reader, double scale);
  /// Who holds what of a box.
  struct Holding {
    double volume;
    PeCoordinate owner;
  };
  const std::vector<Holding>& holdings(const OperandBox& box);
  OperandTraffic evenly(double all) const;
  std::int64_t distance(PeCoordinate a, PeCoordinate b) const;

  std::span<const GemmPart> parts_;
  std::int32_t width_, per_cube_;
  double pes_, cubes_, mean_hops_;
  std::vector<double> slices_;                                      // bytes read of each
  std::vector<Source> sources_;                                     // of one reader
  std::vector<std::pair<OperandBox, std::vector<Holding>>> boxes_;  // that were asked for; several readers share one
  LinkLoads loads_;
};

}  // namespace kernbench::tile::library
