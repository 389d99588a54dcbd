// Interleaving by address: which of several equal parts (HBM slices, channels of a slice) a granule belongs to.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "kernbench/coordinates.h"
#include "kernbench/units.h"

namespace kernbench {

/// The part of granule `number` among `parts`: the sum of the digits of `number` to the base `parts`, modulo `parts`.
/// Of each aligned group of `parts` granules every part has one, whatever the number of parts, and of a power of two of
/// parts the digits above the last permute the groups, so that strides which are powers of the base spread too
/// (permutation-based interleaving: Zhang, Zhu, Zhang, MICRO 2000).
std::uint32_t interleaved_part(std::uint64_t number, std::uint32_t parts);

/// How a tensor of the placement `interleaved` is spread: over the slices of so many cubes with so many PEs each.
struct Interleaving {
  std::int32_t cubes = 0, pes = 0;
  Bytes granule;
  std::int32_t slices() const { return cubes * pes; }
  bool operator==(const Interleaving&) const = default;
};

/// A byte of a slice.
struct SliceAddress {
  PeCoordinate slice;
  std::uint64_t address = 0;  // local to the slice
  auto operator<=>(const SliceAddress&) const = default;
};

/// The physical region behind translation of interleaved tensors: the HBM of n slices as one range of addresses. Its
/// granules are counted from 0; number g lies in slice interleaved_part(g, n), as that slice's granule g / n. So each
/// group of n granules has one in each slice, all at one local address, and a range of whole groups takes equal shares
/// of all slices, each contiguous.
class InterleavedRegion {
 public:
  /// REQUIRES: at least one slice, and a granule of at least a byte. `first` is the slice with the lowest coordinate.
  InterleavedRegion(PeCoordinate first, const Interleaving& how) : first_(first), how_(how) {}

  const Interleaving& how() const { return how_; }
  PeCoordinate first() const { return first_; }
  /// Slice `index` of the region: cube by cube, PE by PE.
  PeCoordinate slice(std::uint32_t index) const;
  SliceAddress decode(std::uint64_t address) const;
  /// The inverse. REQUIRES: the slice is one of the region's.
  std::uint64_t encode(const SliceAddress& place) const;
  /// The first address of the groups that begin at `local` in each slice.
  std::uint64_t of_share(std::uint64_t local) const { return local * static_cast<std::uint64_t>(how_.slices()); }
  /// Bytes that a range from the beginning of a group on takes in each slice: whole granules.
  Bytes share_of(Bytes bytes) const;

  /// visit(SliceAddress, bytes) for each part of a range that lies in one granule, ascending.
  template <class Visit>
  void for_each_granule(std::uint64_t address, std::int64_t bytes, const Visit& visit) const;
  /// visit(SliceAddress, rows, row_bytes) for the same parts, with those of whole groups together: `rows` granules that
  /// follow each other in one slice. Slices come in the order in which the range first meets them.
  template <class Visit>
  void for_each_run(std::uint64_t address, std::int64_t bytes, const Visit& visit) const;

 private:
  std::uint64_t granule() const { return static_cast<std::uint64_t>(how_.granule.count()); }
  std::uint64_t group() const { return granule() * static_cast<std::uint64_t>(how_.slices()); }

  PeCoordinate first_;
  Interleaving how_;
};

template <class Visit>
void InterleavedRegion::for_each_granule(std::uint64_t address, std::int64_t bytes, const Visit& visit) const {
  while (bytes > 0) {
    const std::int64_t length = std::min(bytes, how_.granule.count() - static_cast<std::int64_t>(address % granule()));
    visit(decode(address), length);
    address += static_cast<std::uint64_t>(length);
    bytes -= length;
  }
}

template <class Visit>
void InterleavedRegion::for_each_run(std::uint64_t address, std::int64_t bytes, const Visit& visit) const {
  const auto one_by_one = [&](std::uint64_t from, std::uint64_t to) {
    for_each_granule(from, static_cast<std::int64_t>(to - from),
                     [&](const SliceAddress& place, std::int64_t length) { visit(place, std::int64_t{1}, length); });
  };
  const std::uint64_t end = address + static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
  const std::uint64_t first = (address + group() - 1) / group() * group(), last = end / group() * group();
  if (first >= last) return one_by_one(address, end);
  one_by_one(address, first);
  const auto groups = static_cast<std::int64_t>((last - first) / group());
  for_each_granule(first, static_cast<std::int64_t>(group()),
                   [&](const SliceAddress& place, std::int64_t length) { visit(place, groups, length); });
  one_by_one(last, end);
}

}  // namespace kernbench
