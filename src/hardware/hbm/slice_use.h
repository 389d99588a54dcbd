// What DMA asks of the channels of an HBM slice, at the least.
#pragma once

#include <cstdint>
#include <vector>

#include "hardware/fabric/fabric.h"
#include "hardware/work.h"
#include "kernbench/units.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// The accesses of one row, none of which crosses a granule: the first, the whole ones, the last (may be empty).
struct RowAccesses {
  Bytes first, last;
  std::int64_t whole;
};
RowAccesses accesses_of(const StridedRange& range, Bytes granule);

/// What ranges ask of a server, at the least: accesses that fill a burst, each served by itself, and bytes that share
/// bursts.
struct BurstSums {
  std::int64_t bursts = 0;
  Bytes others;
};

/// Of the channels of a slice: each access is as long as the smallest one. Exact when all rows fall into accesses
/// alike.
BurstSums in_channels(const StridedRange& range, Bytes granule, Bytes burst, Bytes access);

/// What a launch asks of a slice.
class SliceUse {
 public:
  /// Adds a leg there, which moves `bytes`.
  void add(const DmaLeg& leg, Bytes bytes, const topology::Topology& topology);
  /// That were asked for.
  Bytes bytes() const { return bytes_; }
  /// For which its channels are occupied: each access counts as the smallest one at least.
  Bytes occupied() const { return occupied_; }
  /// The least time that its channels need together, or one of them for what it alone can serve.
  Time least_time(const topology::Topology& topology) const;

 private:
  Bytes bytes_, occupied_;
  std::vector<Bytes> alone_;  // by channel: of legs with one access only
};

}  // namespace kernbench::hardware
