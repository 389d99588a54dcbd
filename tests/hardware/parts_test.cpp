// The parts of a copy's legs: the bursts of the whole legs, one of each leg in turn, in few slots.
#include "hardware/copy/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include "bench.h"
#include "hardware/agents.h"

namespace kernbench::hardware {
namespace {

using BurstAccess = std::tuple<std::uint64_t, std::uint64_t, std::int64_t>;  // address, landing, bytes
using Burst = std::vector<BurstAccess>;

/// The accesses of each burst.
std::vector<Burst> bursts_of(const LegSides& sides, Bytes burst, Bytes granule) {
  TransferRequest request;
  request.ranges = sides.from;
  request.landing = sides.to;
  request.burst = burst;
  request.granule = granule;
  fabric::BurstCursor cursor(request);
  std::vector<Burst> all;
  for (;;) {
    Burst one;
    const std::int64_t bytes = cursor.next([&](const fabric::Accesses& accesses) {
      for (std::int64_t i = 0; i < accesses.count; ++i) {
        const auto offset = static_cast<std::uint64_t>(i * accesses.stride);
        one.emplace_back(accesses.address + offset, accesses.landing + offset, accesses.bytes);
      }
    });
    if (bytes == 0) return all;
    all.push_back(std::move(one));
  }
}

struct OwnedLeg {
  std::vector<StridedRange> from, to;
  LegSides view() const { return {from, to}; }
};

class RandomLegs {
 public:
  explicit RandomLegs(std::uint64_t seed) : random_(seed) {}
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// Of `total` bytes: rows of any length, dense or not, at round addresses or any.
  std::vector<StridedRange> ranges(std::int64_t total) {
    std::vector<StridedRange> all;
    while (total > 0) {
      const std::int64_t row = pick(0, 1) == 0 ? std::int64_t{1} << pick(0, 10) : pick(1, 700);
      const std::int64_t rows = std::max<std::int64_t>(1, std::min(total / row, pick(1, 20)));
      const std::int64_t bytes = std::min(row, total);
      const std::int64_t gap = pick(0, 2) == 0 ? 0 : pick(0, 1) == 0 ? 64 : pick(0, 300);
      const auto address = static_cast<std::uint64_t>(pick(0, 1) == 0 ? pick(0, 50) * 64 : pick(0, 5000));
      all.push_back({address, rows, Bytes(bytes), bytes + gap});
      total -= rows * bytes;
    }
    return all;
  }
  OwnedLeg leg(bool lands) {
    OwnedLeg leg{ranges(pick(1, 6000)), {}};
    if (lands) leg.to = ranges(Ranges(leg.from).total().count());
    return leg;
  }

 private:
  std::mt19937_64 random_;
};

TEST(Parts, OfRandomLegsAreTheBurstsOfTheWholeLegs) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomLegs random(seed);
    const Bytes burst(std::int64_t{64} << random.pick(0, 4)), granule(std::int64_t{64} << random.pick(0, 4));
    const bool lands = seed % 2 == 1;
    std::vector<OwnedLeg> legs;
    std::vector<LegSides> sides;
    const std::int64_t count = random.pick(1, 5);
    for (std::int64_t i = 0; i < count; ++i) legs.push_back(random.leg(lands));
    for (const OwnedLeg& leg : legs) sides.push_back(leg.view());
    std::vector<std::vector<Burst>> cut(legs.size());
    Parts parts(sides, burst, granule);
    while (!parts.all_taken()) {
      const Part& part = parts.take();
      const std::vector<Burst> bursts = bursts_of({parts.from(part.slot), parts.to(part.slot)}, burst, granule);
      ASSERT_EQ(bursts.size(), 1u) << "seed " << seed;
      cut[part.leg].push_back(bursts.front());
      ASSERT_EQ(Ranges(parts.from(part.slot)).total(), part.bytes) << "seed " << seed;
      parts.give_back(part.slot);
    }
    for (std::size_t i = 0; i < legs.size(); ++i) ASSERT_EQ(cut[i], bursts_of(sides[i], burst, granule)) << seed;
  }
}

TEST(Parts, AreOneOfEachLegInTurn) {
  const std::vector<StridedRange> three{{0, 1, Bytes(300), 0}}, one{{0, 1, Bytes(100), 0}}, two{{0, 1, Bytes(150), 0}};
  const std::vector<LegSides> sides{{three, {}}, {one, {}}, {two, {}}};
  Parts parts(sides, Bytes(128), Bytes(128));
  std::vector<std::uint64_t> legs;
  std::vector<std::int64_t> bytes;
  std::vector<bool> ends;
  while (!parts.all_taken()) {
    const Part& part = parts.take();
    legs.push_back(part.leg);
    bytes.push_back(part.bytes.count());
    ends.push_back(part.ends_leg);
  }
  EXPECT_EQ(legs, (std::vector<std::uint64_t>{0, 1, 2, 0, 2, 0}));
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{128, 100, 128, 128, 22, 44}));
  EXPECT_EQ(ends, (std::vector<bool>{false, true, false, false, true, true}));
}

// So a part takes no memory of its own, however many there are.
TEST(Parts, HaveAsManySlotsAsAreUnderWay) {
  const std::vector<StridedRange> range{{0, 1, Bytes(1 << 20), 0}};
  const std::vector<LegSides> sides{{range, {}}};
  Parts parts(sides, Bytes(64), Bytes(64));
  std::vector<std::uint64_t> under_way;
  while (!parts.all_taken()) {
    if (under_way.size() == 5) {
      parts.give_back(under_way.front());
      under_way.erase(under_way.begin());
    }
    const std::uint64_t slot = parts.take().slot;
    EXPECT_LT(slot, 5u);
    EXPECT_EQ(std::ranges::count(under_way, slot), 0);
    under_way.push_back(slot);
  }
}

TEST(Parts, GetSlotsThatCameBackAtOneInstantInOneOrder) {
  const std::vector<StridedRange> range{{0, 1, Bytes(1 << 20), 0}};
  const std::vector<LegSides> sides{{range, {}}};
  for (const bool first : {true, false}) {
    Parts parts(sides, Bytes(64), Bytes(64));
    for (int i = 0; i < 3; ++i) (void)parts.take();
    parts.give_back(first ? 0 : 2, ns(1));
    parts.settle(ns(1));
    EXPECT_EQ(parts.take().slot, 3u);  // none of those that come back now
    parts.give_back(first ? 2 : 0, ns(1));
    EXPECT_EQ(parts.slots_in_use(), (std::vector<std::uint64_t>{1, 3}));
    EXPECT_EQ(parts.slots(), (std::vector<std::uint64_t>{1, 3, 0, 2}));
    parts.settle(ns(2));
    EXPECT_EQ(parts.take().slot, 2u);
    EXPECT_EQ(parts.take().slot, 0u);
  }
}

TEST(Parts, HaveNoMoreSlotsThanKeys) {
  const std::vector<StridedRange> range{{0, 1, Bytes(64) * static_cast<std::int64_t>(kMaximumLegs + 1), 0}};
  const std::vector<LegSides> sides{{range, {}}};
  Parts parts(sides, Bytes(64), Bytes(64));
  for (std::size_t i = 0; i < kMaximumLegs; ++i) {
    ASSERT_TRUE(parts.has_slot());
    (void)parts.take();
  }
  EXPECT_FALSE(parts.has_slot());
  EXPECT_FALSE(parts.all_taken());
  parts.give_back(7);
  ASSERT_TRUE(parts.has_slot());
  EXPECT_EQ(parts.take().slot, 7u);
  EXPECT_TRUE(parts.all_taken());
}

TEST(Parts, GetASlotThatCameBackNowWhereThereIsNoOther) {
  const std::vector<StridedRange> range{{0, 1, Bytes(64) * static_cast<std::int64_t>(kMaximumLegs + 1), 0}};
  const std::vector<LegSides> sides{{range, {}}};
  Parts parts(sides, Bytes(64), Bytes(64));
  for (std::size_t i = 0; i < kMaximumLegs; ++i) (void)parts.take();
  parts.give_back(7, ns(1));
  ASSERT_TRUE(parts.has_slot());
  parts.settle(ns(1));
  EXPECT_EQ(parts.take().slot, 7u);
}

TEST(Parts, ALegWithoutBytesIsOne) {
  const std::vector<StridedRange> none{{0, 0, Bytes(10), 0}};
  const std::vector<LegSides> sides{{none, {}}};
  Parts parts(sides, Bytes(64), Bytes(64));
  ASSERT_FALSE(parts.all_taken());
  const Part& part = parts.take();
  EXPECT_EQ(part.bytes, Bytes(0));
  EXPECT_TRUE(part.ends_leg);
  EXPECT_TRUE(parts.all_taken());
}

}  // namespace
}  // namespace kernbench::hardware
