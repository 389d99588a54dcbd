// Turns come in the order of their keys, however many there are and whenever they are set.
#include "hardware/fabric/turn_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <queue>
#include <random>
#include <vector>

#include "support/sanitizers.h"

namespace kernbench::hardware::fabric {
namespace {

using Entry = TurnQueue::Entry;

struct Later {
  bool operator()(const Entry& a, const Entry& b) const { return a.key > b.key; }
};

/// How far ahead turns are set, and how many there are.
struct Traffic {
  std::uint64_t spacing = 1;  // times are multiples of it
  std::uint64_t near = 1, far = 1;
  int one_far_of = 10;
  std::size_t most = 100;
};

void expect_order(const Traffic& traffic, std::uint64_t seed, int steps) {
  std::mt19937_64 random(seed);
  TurnQueue queue;
  std::priority_queue<Entry, std::vector<Entry>, Later> expected;
  std::uint64_t now = random() % 1'000'000;
  std::size_t wanted = traffic.most;
  for (std::uint32_t step = 0; step < static_cast<std::uint32_t>(steps); ++step) {
    if (random() % 1000 == 0) wanted = 1 + random() % traffic.most;  // there are few, then many
    ASSERT_EQ(queue.empty(), expected.empty());
    if (expected.size() < wanted) {
      const std::uint64_t reach =
          random() % static_cast<std::uint64_t>(traffic.one_far_of) == 0 ? traffic.far : traffic.near;
      const Entry entry{{now + random() % reach / traffic.spacing * traffic.spacing, random() % 8 << 40 | step}, step};
      queue.push(entry.key, entry.payload);
      expected.push(entry);
    }
    if (expected.size() >= wanted || random() % 4 == 0) {
      ASSERT_EQ(queue.top(), expected.top()) << step;
      if (random() % 8 == 0) continue;  // only looked at: what is set next may be earlier
      now = std::max(now, expected.top().key.time);
      queue.pop();
      expected.pop();
    }
  }
  for (; !expected.empty(); expected.pop(), queue.pop()) ASSERT_EQ(queue.top(), expected.top());
  EXPECT_TRUE(queue.empty());
}

TEST(TurnQueue, YieldsTurnsInTheOrderOfTheirKeys) {
  std::uint64_t seed = 0;
  for (const std::size_t most : {3, 17, 100, 3000}) {
    if (kSanitized && most == 3000) continue;
    for (const std::uint64_t spacing : {1, 4000}) {
      for (const auto& [near, far] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
               {1, 1}, {5000, 5000}, {5000, 10'000'000}, {10, std::uint64_t{1} << 50}, {1'000'000, 1'000'000'000}})
        expect_order({spacing, near, far, 10, most}, ++seed, 30'000);
    }
  }
}

TEST(TurnQueue, YieldsTurnsThatAreAllFarApart) {
  expect_order({1, std::uint64_t{1} << 60, std::uint64_t{1} << 60, 1, 500}, 1, 20'000);
}

// Servers that are free again at the same instant again and again.
TEST(TurnQueue, YieldsManyTurnsOfOneInstant) {
  TurnQueue queue;
  for (std::uint64_t round = 0; round < 50; ++round) {
    const std::uint64_t time = 4000 * round;
    for (std::uint32_t i = 0; i < 2000; ++i) queue.push({time, (i * 7919u) % 2000}, i);
    for (std::uint64_t i = 0; i < 2000; ++i) {
      ASSERT_EQ(queue.top().key, (sim::EventKey{time, i}));
      queue.pop();
    }
  }
  EXPECT_TRUE(queue.empty());
}

// Devices that are alike have their turns together, and each server one soon or one later.
TEST(TurnQueue, SpreadsNoMoreTurnsThanAreSet) {
  constexpr std::uint32_t kDevices = 16, kServers = 500;
  TurnQueue queue;
  std::uint64_t pushes = 0;
  const auto set = [&](std::uint64_t now, std::uint32_t server) {
    const std::uint64_t time = now + 500 + (now * 31 + server % kServers) * 0x9e3779b97f4a7c15 % 4000;
    queue.push({time, server}, server);
    ++pushes;
  };
  for (std::uint32_t server = 0; server < kDevices * kServers; ++server) set(0, server);
  for (int turn = 0; turn < 20'000; ++turn) {
    const Entry next = queue.top();
    queue.pop();
    set(next.key.time, next.payload);
  }
  EXPECT_GT(queue.spread_turns(), 0u);
  EXPECT_LE(queue.spread_turns(), pushes);
}

}  // namespace
}  // namespace kernbench::hardware::fabric
