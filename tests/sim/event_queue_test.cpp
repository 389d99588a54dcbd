#include "sim/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace kernbench::sim {
namespace {

using Item = EventQueue::Entry;

std::vector<Item> drain(EventQueue& queue) {
  std::vector<Item> items;
  while (!queue.empty()) items.push_back(queue.pop());
  return items;
}

std::vector<Item> random_items(std::mt19937_64& random, std::size_t count) {
  // Few different times, so that most comparisons are decided by the order.
  std::vector<Item> items;
  for (std::size_t i = 0; i < count; ++i) {
    const auto phase = static_cast<Phase>(random() % 4);
    const AgentId agent{static_cast<std::uint32_t>(random() % 7)};
    items.push_back({{random() % 5, make_order(phase, agent, i)}, static_cast<std::uint32_t>(i)});
  }
  return items;
}

TEST(EventQueueTest, PopsInOrderOfKeysWhateverTheOrderOfPushes) {
  std::mt19937_64 random(1);
  for (std::size_t count = 0; count < 300; ++count) {
    std::vector<Item> items = random_items(random, count);
    std::vector<Item> sorted = items;
    std::sort(sorted.begin(), sorted.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
    for (int round = 0; round < 4; ++round) {
      std::shuffle(items.begin(), items.end(), random);
      EventQueue queue;
      for (const Item& item : items) queue.push(item.key, item.payload);
      ASSERT_EQ(queue.size(), count);
      ASSERT_TRUE(drain(queue) == sorted);
    }
  }
}

TEST(EventQueueTest, AnyMixOfOperationsAgreesWithASortedMap) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 200; ++round) {
    EventQueue queue;
    std::map<EventKey, std::uint32_t> reference;
    const std::uint64_t pushes_in_ten = 3 + random() % 5;
    for (std::uint32_t step = 0; step < 1'000; ++step) {
      if (reference.empty() || random() % 10 < pushes_in_ten) {
        const EventKey key{random() % 50, make_order(Phase::deliver, AgentId{1}, step)};
        queue.push(key, step);
        reference.emplace(key, step);
      } else {
        const Item item = queue.pop();
        ASSERT_EQ(item.key, reference.begin()->first);
        ASSERT_EQ(item.payload, reference.begin()->second);
        reference.erase(reference.begin());
      }
      ASSERT_EQ(queue.size(), reference.size());
      if (!reference.empty() && random() % 4 == 0) {
        ASSERT_EQ(queue.top().key, reference.begin()->first);
      }
    }
  }
}

TEST(EventQueueTest, RetainRemovesExactlyTheOthersInAnyState) {
  std::mt19937_64 random(3);
  for (std::size_t count = 0; count < 200; ++count) {
    EventQueue queue;
    std::vector<Item> items = random_items(random, count);
    for (const Item& item : items) queue.push(item.key, item.payload);
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
    if (count > 0 && count % 2 == 0) {
      queue.pop();
      items.erase(items.begin());
    }
    queue.retain([](std::uint32_t payload) { return payload % 3 != 0; });
    std::erase_if(items, [](const Item& item) { return item.payload % 3 == 0; });
    ASSERT_TRUE(drain(queue) == items);
  }
}

TEST(EventQueueTest, TimeOutweighsPhaseOutweighsAgentOutweighsOperation) {
  EventQueue queue;
  queue.push({2, make_order(Phase::deliver, AgentId{0}, 0)}, 5);
  queue.push({1, make_order(Phase::sample, AgentId{0}, 0)}, 4);
  queue.push({1, make_order(Phase::resume, AgentId{9}, 0)}, 3);
  queue.push({1, make_order(Phase::resume, AgentId{8}, 1)}, 2);
  queue.push({1, make_order(Phase::resume, AgentId{8}, 0)}, 1);
  queue.push({1, make_order(Phase::deliver, AgentId{(1u << 26) - 1}, (1ull << 36) - 1)}, 0);
  const std::vector<Item> items = drain(queue);
  for (std::uint32_t i = 0; i < items.size(); ++i) EXPECT_EQ(items[i].payload, i);
}

TEST(EventQueueTest, ExtremeKeysAreOrdered) {
  EventQueue queue;
  queue.push({UINT64_MAX, UINT64_MAX - 1}, 3);
  queue.push({UINT64_MAX, 0}, 2);
  queue.push({0, UINT64_MAX}, 1);
  queue.push({0, 0}, 0);
  const std::vector<Item> items = drain(queue);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(items[i].payload, i);
}

}  // namespace
}  // namespace kernbench::sim
