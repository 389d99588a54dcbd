#include "tile/memory/pointer_lanes.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace kernbench::tile {
namespace {

PointerLanes random_lanes(std::mt19937& random) {
  PointerLanes lanes;
  const std::size_t count = random() % 40;
  const bool masked = random() % 2 == 0;
  std::int64_t at = random() % 50;
  for (std::size_t i = 0; i < count; ++i) {
    // Mostly steps of 1 and of one other size, so that there is something to merge.
    const auto choice = random() % 8;
    at = choice < 4 ? at + 1 : choice < 7 ? at + 5 : static_cast<std::int64_t>(random() % 50);
    lanes.offsets.push_back(at);
    if (masked) lanes.active.push_back(random() % 5 != 0);
  }
  return lanes;
}

TEST(PointerLanes, RunsNameEachActiveLaneOnceAndNoElementTwice) {
  std::mt19937 random(11);
  std::size_t tall = 0, lanes_seen = 0, runs_seen = 0;
  for (int i = 0; i < 5000; ++i) {
    const PointerLanes lanes = random_lanes(random);
    std::map<std::int64_t, std::int64_t> found;
    std::map<std::int64_t, std::int64_t> last;  // lane by element
    for (const LaneRun& run : runs_of(lanes)) {
      ++runs_seen;
      tall += run.rows > 1;
      std::set<std::int64_t> elements;
      for (std::int64_t row = 0; row < run.rows; ++row) {
        for (std::int64_t k = 0; k < run.length; ++k) {
          const std::int64_t lane = run.lane + row * run.lane_stride + k * run.lane_step;
          const std::int64_t element = run.offset + row * run.stride + k;
          ASSERT_TRUE(found.emplace(lane, element).second) << i;
          ASSERT_TRUE(elements.insert(element).second) << i;
          const auto [before, first] = last.emplace(element, lane);
          ASSERT_TRUE(first || before->second < lane) << i << ": of stores to one element the last lane's stays";
          before->second = lane;
        }
      }
    }
    std::map<std::int64_t, std::int64_t> expected;
    for (std::size_t lane = 0; lane < lanes.offsets.size(); ++lane) {
      if (lanes.is_active(lane)) expected[static_cast<std::int64_t>(lane)] = lanes.offsets[lane];
    }
    ASSERT_EQ(found, expected) << i;
    lanes_seen += expected.size();
  }
  EXPECT_GT(tall, 100u);
  EXPECT_LT(runs_seen * 3, lanes_seen * 2);  // otherwise nothing was merged
}

TEST(PointerLanes, ARectangleIsOneRun) {
  PointerLanes lanes;
  for (std::int64_t i = 0; i < 16; ++i)
    for (std::int64_t j = 0; j < 8; ++j) lanes.offsets.push_back(100 + i * 64 + j);
  const LaneRun rectangle{.lane = 0, .offset = 100, .length = 8, .rows = 16, .stride = 64, .lane_stride = 8};
  EXPECT_EQ(runs_of(lanes), std::vector{rectangle});
}

// Triton's K^T by pointers: lanes go down the columns of a row-major matrix.
TEST(PointerLanes, ATransposedOrReversedTileIsAsManyRunsAsTheOtherWayRound) {
  PointerLanes turned, backwards, both, masked;
  for (std::int64_t i = 0; i < 16; ++i) {
    for (std::int64_t j = 0; j < 8; ++j) {
      turned.offsets.push_back(100 + j * 64 + i);
      backwards.offsets.push_back(400 - (i * 8 + j));
      both.offsets.push_back(100 + (7 - j) * 64 + i);
      masked.offsets.push_back(100 + j * 64 + i);
      masked.active.push_back(i < 13);
    }
  }
  const LaneRun down{.lane = 0, .offset = 100, .length = 16, .rows = 8, .stride = 64, .lane_stride = 1, .lane_step = 8};
  EXPECT_EQ(runs_of(turned), std::vector{down});
  EXPECT_EQ(runs_of(backwards), (std::vector{LaneRun{.lane = 127, .offset = 273, .length = 128, .lane_step = -1}}));
  LaneRun up = down, some = down;
  up.lane = 7, up.lane_stride = -1;
  some.length = 13;
  EXPECT_EQ(runs_of(both), std::vector{up});
  EXPECT_EQ(runs_of(masked), std::vector{some});
}

TEST(PointerLanes, LanesOfABlockAreItsRowMajorElements) {
  const auto lanes = lanes_of_block(7, {2, 3}, {10, 2});
  EXPECT_EQ(lanes.offsets, (std::vector<std::int64_t>{7, 9, 11, 17, 19, 21}));
  EXPECT_EQ(lanes_of_block(7, {}, {}).offsets, std::vector<std::int64_t>{7});
  EXPECT_EQ(lane_text(5, {2, 3}), "[1, 2]");
}

}  // namespace
}  // namespace kernbench::tile
