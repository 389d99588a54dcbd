// Which ranks form a group: Megatron-LM's tables, and that every group system is a partition.
#include "parallel/rank_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernbench/error.h"

namespace kernbench::tp {
namespace {

using Groups = std::vector<std::vector<int>>;
using ::testing::HasSubstr;

std::vector<ParallelSize> sizes(int tp, int dp, int pp, int ep = 1) {
  return {{"tp", tp}, {"cp", 1}, {"ep", ep}, {"dp", dp}, {"pp", pp}};
}

// The example in the documentation of Megatron's initialize_model_parallel: 16 ranks, tensor 2, pipeline 4.
TEST(RankGenerator, GivesTheGroupsOfMegatronsExample) {
  const auto axes = ordered_axes(sizes(2, 2, 4), "tp-cp-ep-dp-pp");
  EXPECT_EQ(groups_along(axes, {"dp"}), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
  EXPECT_EQ(groups_along(axes, {"tp"}), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
  EXPECT_EQ(groups_along(axes, {"pp"}), (Groups{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}));
  EXPECT_EQ(groups_along(axes, {"tp", "pp"}), (Groups{{0, 1, 4, 5, 8, 9, 12, 13}, {2, 3, 6, 7, 10, 11, 14, 15}}));
}

TEST(RankGenerator, FollowsTheOrder) {
  const auto axes = ordered_axes(sizes(2, 2, 2), "pp-dp-tp");
  EXPECT_EQ(groups_along(axes, {"pp"}).front(), (std::vector{0, 1}));
  EXPECT_EQ(groups_along(axes, {"dp"}).front(), (std::vector{0, 2}));
  EXPECT_EQ(groups_along(axes, {"tp"}).front(), (std::vector{0, 4}));
}

// A rank's coordinates, by its number alone: those of a group agree in all axes but the named ones.
TEST(RankGenerator, AnyGroupsPartitionTheWorldAlongTheirAxes) {
  std::mt19937 random(3);
  const auto upto = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)) + 1; };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> words{"tp", "cp", "ep", "dp", "pp"};
    std::ranges::shuffle(words, random);
    std::string order;
    for (const auto& word : words) order += (order.empty() ? "" : "-") + word;
    const auto axes =
        ordered_axes({{"tp", upto(4)}, {"cp", 1}, {"ep", upto(3)}, {"dp", upto(4)}, {"pp", upto(3)}}, order);
    std::vector<std::string> along;
    for (const auto& word : words) {
      if (random() % 2 == 0) along.push_back(word);
    }
    std::vector<int> seen;
    for (const auto& group : groups_along(axes, along)) {
      for (const int rank : group) {
        seen.push_back(rank);
        int here = rank, first = group.front();
        for (const auto& axis : axes) {
          const bool may_differ = std::ranges::find(along, axis.kind) != along.end();
          EXPECT_TRUE(may_differ || here % axis.size == first % axis.size) << order << " " << axis.kind;
          here /= axis.size;
          first /= axis.size;
        }
      }
    }
    int world = 1;
    for (const auto& axis : axes) world *= axis.size;
    std::ranges::sort(seen);
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(world));
    for (int rank = 0; rank < world; ++rank) ASSERT_EQ(seen[static_cast<std::size_t>(rank)], rank);
  }
}

std::string error_of_order(const std::string& order) {
  try {
    ordered_axes(sizes(2, 2, 2), order);
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no error";
}

TEST(RankGenerator, RefusesOrdersThatCannotBe) {
  EXPECT_THAT(error_of_order("tp-dp"),
              HasSubstr("the size of (pp) is (2), but you haven't specified the order (tp-dp)"));
  EXPECT_THAT(error_of_order("tp-xp-dp-pp"), HasSubstr("names \"xp\"; there are tp, cp, ep, dp and pp"));
  EXPECT_THAT(error_of_order("tp-tp-dp-pp"), HasSubstr("names tp twice"));
  EXPECT_EQ(error_of_order("tp-dp-pp"), "no error") << "cp and ep have size 1";
}

}  // namespace
}  // namespace kernbench::tp
