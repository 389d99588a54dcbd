// How the ranks of a group, or the replicas of a tensor, stand in the levels of the machine: the PEs of a cube, cubes,
// SIPs.
//
// Their numbers have a digit for each level, the first one the lowest: in levels of 4, 2 and 3, number 13 is 1, 1, 1.
// Those that differ in one digit only are a line; along lines data goes around in rings.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernbench/coordinates.h"

namespace kernbench::distributed {

/// The number of a group's ranks, and their levels.
struct GroupShape {
  // Implicit: for most algorithms the number is all that matters.
  GroupShape(int count) : ranks(count) {}  // NOLINT(*-explicit-*)
  GroupShape(int count, std::vector<int> sizes) : ranks(count), levels(std::move(sizes)) {}
  operator int() const { return ranks; }  // NOLINT(*-explicit-*)

  int ranks;
  std::vector<int> levels = {};  // none: they do not fill levels evenly, or are SIPs. Their product is `ranks`

  /// The levels, or one of all ranks.
  std::vector<int> levels_or_one() const { return levels.empty() ? std::vector{ranks} : levels; }
};

/// The levels of PEs, none of them of size 1; one of them of size 1 for a single PE. None when they do not fill levels
/// evenly: as many cubes in each SIP and PEs in each cube, one after the other in the order of coordinates.
std::vector<int> levels_of(std::span<const PeCoordinate> pes);

/// A line through a place: `count` places, `stride` apart from `first` on, of which the place is number `place`.
struct Line {
  std::int64_t first = 0, stride = 1, count = 1, place = 0;
  std::int64_t at(std::int64_t i) const { return first + i * stride; }
  std::int64_t next() const { return at((place + 1) % count); }
  std::int64_t previous() const { return at((place + count - 1) % count); }
};
/// Its lines, one for each level.
std::vector<Line> lines_through(std::int64_t place, std::span<const int> levels);

/// Of a tensor of partial sums: who has the replicas of each of its boxes on a device.
struct Replicas {
  struct Box {
    std::int64_t begin = 0;             // in the flat tensor
    std::vector<PeCoordinate> holders;  // by coordinate
    std::vector<int> levels;            // of these
    bool operator==(const Box&) const = default;
  };
  std::vector<Box> boxes;  // by `begin`
  bool operator==(const Replicas&) const = default;
};

}  // namespace kernbench::distributed
