// The two trees of the double-tree all-reduce: as published for 4, 6, 8 and 13 ranks, and trees for any number.
#include "distributed/algorithms/double_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace kernbench::distributed::double_tree_test {
namespace {

using Tree = std::vector<TreePlace>;

Tree tree_of(int ranks, TreePlace (*place)(int, int)) {
  Tree tree;
  for (int rank = 0; rank < ranks; ++rank) tree.push_back(place(ranks, rank));
  return tree;
}

TreePlace leaf(int parent) {
  return {parent, {-1, -1}};
}

TEST(DoubleTree, IsAsPublished) {
  EXPECT_EQ(tree_of(4, first_tree), (Tree{{-1, {-1, 2}}, leaf(2), {0, {1, 3}}, leaf(2)}));
  EXPECT_EQ(tree_of(4, second_tree), (Tree{leaf(1), {3, {2, 0}}, leaf(1), {-1, {-1, 1}}}));
  EXPECT_EQ(tree_of(6, first_tree), (Tree{{-1, {-1, 4}}, leaf(2), {4, {1, 3}}, leaf(2), {0, {2, 5}}, leaf(4)}));
  EXPECT_EQ(tree_of(6, second_tree), (Tree{leaf(1), {5, {3, 0}}, leaf(3), {1, {4, 2}}, leaf(3), {-1, {-1, 1}}}));
  EXPECT_EQ(tree_of(8, first_tree),
            (Tree{{-1, {-1, 4}}, leaf(2), {4, {1, 3}}, leaf(2), {0, {2, 6}}, leaf(6), {4, {5, 7}}, leaf(6)}));
  EXPECT_EQ(tree_of(8, second_tree),
            (Tree{leaf(1), {3, {2, 0}}, leaf(1), {7, {5, 1}}, leaf(5), {3, {6, 4}}, leaf(5), {-1, {-1, 3}}}));
}

// NCCL's rule worked out by hand: 8 below 0, and 12 has no second child, for 13 and 14 are not there.
TEST(DoubleTree, IsAsPublishedForAnOddNumber) {
  EXPECT_EQ(tree_of(13, first_tree), (Tree{{-1, {-1, 8}},
                                           leaf(2),
                                           {4, {1, 3}},
                                           leaf(2),
                                           {8, {2, 6}},
                                           leaf(6),
                                           {4, {5, 7}},
                                           leaf(6),
                                           {0, {4, 12}},
                                           leaf(10),
                                           {12, {9, 11}},
                                           leaf(10),
                                           {8, {10, -1}}}));
  const Tree second = tree_of(13, second_tree);
  EXPECT_EQ(second[1], (TreePlace{-1, {-1, 9}}));
  EXPECT_EQ(second[9], (TreePlace{1, {5, 0}}));
  EXPECT_EQ(second[0], (TreePlace{9, {11, -1}}));
  EXPECT_EQ(second[5], (TreePlace{9, {3, 7}}));
}

TEST(DoubleTree, HasTheHeightOfALogarithm) {
  EXPECT_EQ(height_of_trees(1), 0);
  EXPECT_EQ(depth_in(first_tree, 13, 0), 0);
  EXPECT_EQ(depth_in(first_tree, 13, 9), 4);
  for (int ranks = 1; ranks <= 70; ++ranks) {
    for (const auto place : {first_tree, second_tree}) {
      std::int64_t deepest = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const TreePlace at = place(ranks, rank);
        const std::int64_t above = at.parent < 0 ? -1 : depth_in(place, ranks, at.parent);
        EXPECT_EQ(depth_in(place, ranks, rank), above + 1);
        deepest = std::max(deepest, depth_in(place, ranks, rank));
      }
      EXPECT_EQ(deepest, height_of_trees(ranks)) << ranks;
    }
  }
}

TEST(DoubleTree, HasOneRootAndEveryRankIsItsParentsChildAndInsideOfOneTreeOnly) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    int inside_of_both = 0;
    for (const auto place : {first_tree, second_tree}) {
      const Tree tree = tree_of(ranks, place);
      int roots = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const int parent = tree[static_cast<std::size_t>(rank)].parent;
        if (parent < 0) {
          ++roots;
          continue;
        }
        const auto& children = tree[static_cast<std::size_t>(parent)].children;
        EXPECT_EQ((children[0] == rank) + (children[1] == rank), 1) << rank << " of " << ranks;
        int depth = 0;
        for (int at = rank; at >= 0 && depth <= ranks; ++depth) at = tree[static_cast<std::size_t>(at)].parent;
        EXPECT_LE(depth, 8) << rank << " of " << ranks;
      }
      EXPECT_EQ(roots, 1) << ranks;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const auto inner = [&](const TreePlace& place) { return place.children[0] >= 0 && place.parent >= 0; };
      inside_of_both += inner(first_tree(ranks, rank)) && inner(second_tree(ranks, rank));
    }
    EXPECT_LE(inside_of_both, ranks % 2) << ranks;
  }
}

}  // namespace
}  // namespace kernbench::distributed::double_tree_test
