// The analysis itself, on cases small enough to see.
#include "event_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernbench::deadlocks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Two programs that both send first, over channels of one slot.
std::set<int> both_send_first(int segments, int slots) {
  EventGraph graph;
  Channels channels(graph, slots);
  for (const int self : {0, 1}) {
    const auto sent = channels.send({self, 1 - self, 0}, 0, segments, graph.add(self));
    channels.receive({1 - self, self, 0}, 0, segments, sent);
  }
  EXPECT_EQ(channels.join(), 0u);
  return graph.stuck();
}

TEST(EventGraph, SendsOfMoreSegmentsThanSlotsGetStuck) {
  EXPECT_THAT(both_send_first(1, 1), IsEmpty());
  EXPECT_THAT(both_send_first(2, 1), ElementsAre(0, 1));
  EXPECT_THAT(both_send_first(2, 2), IsEmpty());
  EXPECT_THAT(both_send_first(5, 4), ElementsAre(0, 1));
}

TEST(EventGraph, ReceivesBeforeSendsGetStuckWithAnyNumberOfSlots) {
  EventGraph graph;
  Channels channels(graph, 1000);
  for (const int self : {0, 1, 2}) {
    const auto received = channels.receive({(self + 2) % 3, self, 0}, 0, 1, graph.add(self));
    channels.send({self, (self + 1) % 3, 0}, 0, 1, received);
  }
  channels.join();
  EXPECT_THAT(graph.stuck(), ElementsAre(0, 1, 2));
}

// The receiver wants the second message first; the first one holds the only slot.
TEST(EventGraph, AMessageInTheWayHoldsItsSlot) {
  for (const int slots : {1, 2}) {
    EventGraph graph;
    Channels channels(graph, slots);
    auto sent = channels.send({0, 1, 0}, 7, 1, graph.add(0));
    channels.send({0, 1, 0}, 8, 1, sent);
    auto received = channels.receive({0, 1, 0}, 8, 1, graph.add(1));
    channels.receive({0, 1, 0}, 7, 1, received);
    channels.join();
    EXPECT_EQ(graph.stuck().empty(), slots == 2);
  }
}

TEST(EventGraph, AReceiveWithoutASendIsStuckAloneAndASendWithoutAReceiveIsCounted) {
  EventGraph graph;
  Channels channels(graph, 2);
  channels.receive({0, 1, 0}, 3, 1, graph.add(1));
  channels.send({0, 1, 0}, 4, 1, graph.add(0));
  EXPECT_EQ(channels.join(), 1u);
  EXPECT_THAT(graph.stuck(), ElementsAre(1));
}

}  // namespace
}  // namespace kernbench::deadlocks_test
