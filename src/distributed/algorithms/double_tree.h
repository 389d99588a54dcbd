// The two binary trees of n ranks in which no rank but one of an odd number is inside of both (as NCCL builds them).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

/// A rank's neighbours in a tree; -1: none.
struct TreePlace {
  int parent = -1;
  std::array<int, 2> children{-1, -1};
  bool operator==(const TreePlace&) const = default;
};

/// The first tree has rank 0 for its root, and below it the ranks by the lowest bit that is set: leaves are the odd
/// ones.
TreePlace first_tree(int ranks, int rank);
/// The same with ranks counted from the other end, for an odd number of ranks with each moved on by one.
TreePlace second_tree(int ranks, int rank);

inline constexpr std::string_view kDoubleTree = "double_tree";
/// Between each rank and its neighbours in both trees; and why they find no room in a PE (empty: they do).
std::vector<RankPair> double_tree_channels(const GroupShape& ranks);
std::string double_tree_refusal(const GroupDescription& group);

using Tree = TreePlace (*)(int ranks, int rank);
/// Levels between the root and a rank, and between it and those furthest down: ceil(log2(ranks)).
std::int64_t depth_in(Tree tree, int ranks, int rank);
std::int64_t height_of_trees(int ranks);
/// The way of a message up or down one tree: a step from each level to the next.
std::vector<CostStep> levels_of_tree(Tree tree, int ranks, bool up);

}  // namespace kernbench::distributed
