// What a launch asks of an HBM slice at the least, against the channels' own law: each access alone in its channel.
#include "hardware/hbm/slice_use.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/source_tree.h"
#include "topology/load.h"

namespace kernbench::hardware {
namespace {

topology::Topology shipped_tiny(std::vector<std::string> overrides = {}) {
  return topology::load_topology(source_tree::path("topologies/tiny.yaml"), overrides);
}

DmaLeg leg_of(std::vector<StridedRange> ranges) {
  return {{}, std::move(ranges)};
}

struct Exact {
  Bytes bytes, occupied;
  std::vector<Bytes> channels;
};

/// Access by access: those of a row end at the granules.
void add(Exact& exact, const DmaLeg& leg, const topology::Topology& topology) {
  const topology::HbmSpec& hbm = topology.cube.hbm;
  const auto granule = static_cast<std::uint64_t>(hbm.interleave.count());
  for (const StridedRange& range : leg.ranges) {
    for (std::int64_t row = 0; row < range.rows; ++row) {
      std::uint64_t at = range.address + static_cast<std::uint64_t>(row * range.stride);
      for (auto left = static_cast<std::uint64_t>(range.row_bytes.count()); left > 0;) {
        const std::uint64_t bytes = std::min(left, granule - at % granule);
        const Bytes occupied = std::max(Bytes(static_cast<std::int64_t>(bytes)), hbm.access);
        exact.bytes += Bytes(static_cast<std::int64_t>(bytes));
        exact.occupied += occupied;
        exact.channels[interleave(at, hbm.interleave, static_cast<std::uint32_t>(exact.channels.size()))] += occupied;
        at += bytes, left -= bytes;
      }
    }
  }
}

TEST(SliceUse, NeverAsksForMoreThanTheAccessesDo) {
  const topology::Topology topology = shipped_tiny();
  const auto channels = static_cast<std::size_t>(topology.cube.hbm.channels / topology.cube.pes.count());
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  std::int64_t equal = 0;
  for (int i = 0; i < 2'000; ++i) {
    SliceUse use;
    Exact exact{{}, {}, std::vector<Bytes>(channels)};
    for (std::int64_t legs = 1 + below(4); legs > 0; --legs) {
      const Bytes row(1 + below(i % 2 == 0 ? 100 : 5'000));
      const std::int64_t stride = row.count() + below(3) * 1024;
      const DmaLeg leg = leg_of({{static_cast<std::uint64_t>(below(1 << 16)), 1 + below(20), row, stride}});
      use.add(leg, leg.total(), topology);
      add(exact, leg, topology);
    }
    ASSERT_EQ(use.bytes(), exact.bytes);
    ASSERT_LE(use.occupied(), exact.occupied);
    ASSERT_GE(use.occupied(), use.bytes());
    const Bytes busiest = *std::ranges::max_element(exact.channels);
    ASSERT_LE(use.least_time(topology), transfer_time(busiest, topology.cube.hbm.channel_bandwidth()));
    equal += use.occupied() == exact.occupied ? 1 : 0;
  }
  EXPECT_GT(equal, 300) << "rows of one granule are exact";
}

TEST(SliceUse, ShortRowsOccupyWholeAccesses) {
  const topology::Topology topology = shipped_tiny();
  SliceUse column;
  column.add(leg_of({{0, 512, Bytes(2), 32}}), Bytes(1024), topology);
  EXPECT_EQ(column.bytes(), Bytes(1024));
  EXPECT_EQ(column.occupied(), topology.cube.hbm.access * 512);
}

TEST(SliceUse, AccessesOfOneWordAreOneChannels) {
  const topology::Topology topology = shipped_tiny();
  SliceUse word, spread;
  for (int i = 0; i < 100; ++i) {
    word.add(leg_of({{4096, 1, Bytes(4), 0}}), Bytes(4), topology);
    spread.add(leg_of({{static_cast<std::uint64_t>(i) * 1024, 1, Bytes(4), 0}}), Bytes(4), topology);
  }
  const Bandwidth channel = topology.cube.hbm.channel_bandwidth();
  EXPECT_EQ(word.least_time(topology), transfer_time(topology.cube.hbm.access * 100, channel));
  EXPECT_LT(2 * spread.least_time(topology).count(), word.least_time(topology).count());
}

}  // namespace
}  // namespace kernbench::hardware
