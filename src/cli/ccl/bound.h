// The least time of a collective, whatever its algorithm: what must cross the cuts of the machine, and how far.
//
//   bound = max(over cuts: bytes that must cross / sum of the payload rates of the links that cross,
//               all bytes that ranks must send / sum of the payload rates of all links between SIPs (of ranks that are
//               SIPs), latency of the longest path between two ranks of which one needs what the other has)
//
// Through a switch all bytes go over a link up and over one down: the links of the narrower direction count.
// Cuts are, in both directions: a SIP with its IO chiplet, and without it; of ranks that are PEs a cube; the lower and
// the upper half of the SIPs. Reductions take place at ranks. Launches are left out, so short calls take far more.
#pragma once

#include <cstdint>
#include <vector>

#include "kernbench/coordinates.h"
#include "topology/network.h"

namespace kernbench::cli::ccl {

/// Some of the ranks, which follow each other, on one side of a cut.
struct Cut {
  int inside = 0, ranks = 1;
  bool root_inside = false;
};
/// Elements, of the count of one call, that must cross a cut.
struct Crossing {
  std::int64_t out = 0, in = 0;
};

struct Test;

class Bound {
 public:
  /// Of ranks that are SIPs, or PEs where there are more. `network` must outlive it.
  Bound(const topology::Network& network, int ranks);
  /// Of a call with `count` elements of `item` bytes, as Counts::count.
  double microseconds(const Test& test, std::int64_t count, std::int64_t item, int root) const;

 private:
  struct Side {
    std::vector<int> members;          // ranks
    double out_rate = 0, in_rate = 0;  // GB/s of payload
  };
  template <class Within>
  void add_side(const std::vector<int>& members, const Within& within);
  double longest_path_us(int root) const;

  const topology::Network& network_;
  int ranks_;
  bool rank_per_pe_;
  std::vector<Side> sides_;
  double between_sips_ = 0;  // GB/s of payload of all links; of a switch, in one direction
};

}  // namespace kernbench::cli::ccl
