// The k largest or smallest elements along a dimension, with where they were.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tile/library/elementwise.h"
#include "tile/library/view.h"

namespace kernbench::topology {
struct PeSpec;
}

namespace kernbench::tile::library {

struct TopKOptions {
  bool largest = true;
  std::size_t dimension = 0;
  Share share = Share::held;
};

/// values[…, j, …] and indices[…, j, …] (integers) of the element of x that comes j-th when a line along `dimension` is
/// put in order: the largest first, of equals the first. A NaN counts as largest; -0 comes after +0. The extent of
/// `values` along the dimension is how many are found.
///
/// held: each program makes the boxes of the two results that its PE holds, so that every replica is written. spread:
/// whole lines, as even as they go. A round finds the next element of all lines of a block of at most 16 Ki elements: a
/// comparison with the last one found, the largest of the rest, the first that is equal. A line that fits into a block
/// is read once, a longer one in each round. TCM: twelve tiles of a block.
void top_k(const View& x, const View& values, const View& indices, const TopKOptions& options);

/// How long the rounds for k elements of each line take about: the closed form beside that of plan_sort, whose sort has
/// the same first k elements.
double top_k_ns(const topology::PeSpec& pe, std::int64_t lines, std::int64_t extent, std::int64_t k,
                std::int64_t programs);

}  // namespace kernbench::tile::library
