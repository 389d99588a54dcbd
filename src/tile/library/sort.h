// Lines put in order, with where their elements were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tile/library/elementwise.h"
#include "tile/library/view.h"

namespace kernbench::topology {
struct PeSpec;
}

namespace kernbench::tile::library {

/// The order of keys. Equals keep the order they have, whichever way.
struct SortOrder {
  bool descending = false;
  bool signed_zeros = false;  // -0 before +0 (descending: after it); else they are equal
};

struct SortOptions {
  SortOrder order;
  std::size_t dimension = 0;
  Share share = Share::held;
};

/// How lines of `extent` elements are put in order. An element becomes a key of 64 bits: 32 that are in the order of
/// the elements, then its place, so that no two are equal and equals keep their order. The vector engine sorts the keys
/// of a block. A line of several blocks is a sorting network of them (Batcher's odd-even merge sort, AFIPS 1968), whose
/// comparator merges two sorted blocks and splits them again.
struct SortPlan {
  std::int64_t block = 1;   // elements that a program sorts at once
  std::int64_t blocks = 1;  // of a line
  double ns = 0;            // by the closed form
};

/// The plan that takes the least time by a closed form: the stages of the engine's network for a block, the layers of
/// the network of blocks, their comparators shared by `programs`, and a launch for each layer. A block's tiles fit into
/// the TCM.
SortPlan plan_sort(const topology::PeSpec& pe, std::int64_t lines, std::int64_t extent, std::int64_t programs);

/// How the first k elements of lines of several blocks are found: the blocks are sorted, and in each stage the first k
/// of a group of blocks are put in order, which stand for the group in the next stage.
struct FirstPlan {
  SortPlan sort;           // ns: of all stages
  std::int64_t group = 0;  // blocks; 0: there is no such plan
};
/// The plan that takes the least time by the closed form of plan_sort.
FirstPlan plan_first(const topology::PeSpec& pe, std::int64_t lines, std::int64_t extent, std::int64_t k,
                     std::int64_t programs);

/// Pairs of blocks that may be merged at the same time; the lower one gets the smaller keys.
using MergeLayer = std::vector<std::pair<std::int64_t, std::int64_t>>;
/// The layers of the network of any number of blocks.
std::vector<MergeLayer> merge_layers(std::int64_t blocks);

/// values and indices (integers) = the elements along `dimension` of x in order and where they were; of equals the
/// first comes first. A NaN counts as largest; integers of 32 bits at most. Results that are shorter than the lines of
/// x get the first of each. Lines of one block: a line is read, sorted and written by one program, shared as `top_k`
/// shares them.
void sort(const View& x, const View& values, const View& indices, const SortOptions& options);

/// Lines of several blocks, as rows of views of two dimensions, in launches that follow each other: blocks of keys, a
/// launch for each layer, and what the keys stand for. `keys` is i64 [lines, blocks * block]. The programs share the
/// blocks (pairs of blocks) of all lines evenly.
void sort_blocks(const View& x, SortOrder order, const SortPlan& plan, const View& keys);
void merge_blocks(const View& keys, const SortPlan& plan, const MergeLayer& layer);
/// A stage of FirstPlan: every `apart`-th block has sorted keys of which the first k matter; each group of them leaves
/// its first k in its first block.
void merge_first(const View& keys, const FirstPlan& plan, std::int64_t apart, std::int64_t k);
void read_keys(const View& keys, SortOrder order, const SortPlan& plan, const View& values, const View& indices);

}  // namespace kernbench::tile::library
