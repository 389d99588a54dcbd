// Physical addresses of a machine's memories, from the sizes in its topology.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "hardware/command.h"
#include "kernbench/coordinates.h"
#include "kernbench/units.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// A byte of a PE's HBM slice.
struct SliceByte {
  PeCoordinate slice;
  std::uint64_t offset = 0;
  bool operator==(const SliceByte&) const = default;
};

/// Legs of transfers name a slice and offsets in it; this is what they are as physical addresses, and back. A slice is
/// one part of its cube's HBM, so that addresses of a slice are consecutive.
class PhysicalMap {
 public:
  /// Throws ConfigurationError for a memory, or a number of parts, that does not fit into a physical address.
  explicit PhysicalMap(const topology::Topology& topology);

  Bytes slice_capacity() const { return slice_; }
  /// OutOfBoundsError beyond the slice.
  PhysAddr hbm(PeCoordinate slice, std::uint64_t offset) const { return hbm_slice_address(slice, slice_, offset); }
  /// The first byte of a range of a leg.
  PhysAddr first(const DmaLeg& leg, const StridedRange& range) const { return hbm(leg.slice, range.address); }
  /// OutOfBoundsError for an address that is not in the HBM of this machine.
  SliceByte slice_of(PhysAddr address) const;

 private:
  std::int32_t sips_, cubes_, pes_;
  Bytes slice_;
};

}  // namespace kernbench::hardware
