#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "sim/errors.h"
#include "sim/fiber.h"
#include "sim/folding.h"
#include "sim/scheduler.h"
#include "sim/waitable.h"
#include "support/fiber_queues.h"

namespace kernbench::sim {
namespace {

FiberOptions rank(std::uint32_t number) {
  return {.agent = AgentId{number}, .name = Name::rank(number)};
}

DeadlockError deadlock_of(Scheduler& scheduler) {
  try {
    scheduler.run();
  } catch (const DeadlockError& error) {
    return error;
  }
  ADD_FAILURE() << "no deadlock";
  return DeadlockError("", {});
}

TEST(DeadlockTest, AMissingPartyIsNamed) {
  Scheduler scheduler;
  Mailbox<int> box;
  box.describe_as([] { return "mailbox results"; });
  scheduler.spawn(rank(0), [&] {
    this_fiber::sleep(Time::nanoseconds(12));
    box.receive();
  });
  EXPECT_STREQ(deadlock_of(scheduler).what(),
               "deadlock at 12 ns: rank 0 waits for mailbox results, which needs a message: nobody is left that could "
               "provide it\n"
               "1 fiber waits and nothing is left that could wake it:\n"
               "  rank 0 waits for mailbox results\n"
               "  mailbox results needs a message: nobody left that could provide it");
}

TEST(DeadlockTest, ACycleIsMarkedWhateverTheOrderOfSpawning) {
  std::vector<std::uint32_t> order{0, 1, 2, 3};
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    Scheduler scheduler;
    std::vector<std::shared_ptr<Fiber>> fibers(4);
    std::vector<Mailbox<int>> boxes(4);
    for (std::uint32_t i = 0; i < 4; ++i) {
      boxes[i].describe_as([i] { return "mailbox " + std::to_string(i); });
      boxes[i].provided_by([&fibers, i](std::vector<WaitEdge>& edges) {
        edges.push_back({fibers[i].get(), "a message for rank " + std::to_string((i + 3) % 4)});
      });
    }
    // 0 -> 1 -> 2 -> 0, and 3 waits for 0.
    for (const std::uint32_t i : order) {
      fibers[i] = scheduler.spawn(rank(i), [&boxes, i] { boxes[i == 2 || i == 3 ? 0 : i + 1].receive(); });
    }
    const DeadlockError error = deadlock_of(scheduler);
    ASSERT_STREQ(
        error.what(),
        "deadlock at 0 ps: cycle: rank 0 -> mailbox 1 -> rank 1 (a message for rank 0) -> mailbox 2 -> rank 2 (a "
        "message for rank 1) -> mailbox 0 -> rank 0 (a message for rank 3)\n"
        "4 fibers wait and nothing is left that could wake them:\n"
        "  rank 0 waits for mailbox 1 [cycle]\n"
        "  mailbox 1 waits for rank 1 (a message for rank 0) [cycle]\n"
        "  rank 1 waits for mailbox 2 [cycle]\n"
        "  mailbox 2 waits for rank 2 (a message for rank 1) [cycle]\n"
        "  rank 2 waits for mailbox 0 [cycle]\n"
        "  mailbox 0 waits for rank 0 (a message for rank 3) [cycle]\n"
        "  rank 3 waits for mailbox 0");
    ASSERT_EQ(error.lines().size(), 7u);
    EXPECT_EQ(error.lines()[0].name, "rank 0");
    EXPECT_EQ(error.lines()[0].target, "mailbox 1");
    const std::vector<std::string> cycle{"rank 0", "mailbox 1", "rank 1", "mailbox 2", "rank 2", "mailbox 0", "rank 0"};
    EXPECT_EQ(error.cycles(), (std::vector<std::vector<std::string>>{cycle}));
    EXPECT_TRUE(error.lines()[0].in_cycle);
    EXPECT_FALSE(error.lines()[6].in_cycle);
  }
}

// A layer above: an operation that waits for a credit, which nobody can give.
class Queue : public WaitNode {
 public:
  Name wait_name() const override { return "sip0.cube2.pe5.ipcq"; }
  void waits_for(std::vector<WaitEdge>& edges) const override {
    edges.push_back({nullptr, "a credit of sip0.cube2.pe6.ipcq"});
  }
};

TEST(DeadlockTest, TheReportGoesThroughAllLayers) {
  Scheduler scheduler;
  Queue queue;
  Completion kernel_done;
  kernel_done.describe_as([] { return "launch gemm#2"; });
  kernel_done.provided_by(
      [&](std::vector<WaitEdge>& edges) { edges.push_back({&queue, "3 of 8 programs of launch gemm#2"}); });
  scheduler.spawn(rank(0), [&] { kernel_done.wait(); });
  EXPECT_STREQ(deadlock_of(scheduler).what(),
               "deadlock at 0 ps: rank 0 waits for sip0.cube2.pe5.ipcq, which needs a credit of sip0.cube2.pe6.ipcq: "
               "nobody is left that could provide it\n"
               "1 fiber waits and nothing is left that could wake it:\n"
               "  rank 0 waits for launch gemm#2\n"
               "  launch gemm#2 waits for sip0.cube2.pe5.ipcq (3 of 8 programs of launch gemm#2)\n"
               "  sip0.cube2.pe5.ipcq needs a credit of sip0.cube2.pe6.ipcq: nobody left that could provide it");
}

TEST(DeadlockTest, APartyThatHasEndedIsNamed) {
  Scheduler scheduler;
  Semaphore semaphore;
  semaphore.describe_as([] { return "semaphore ready"; });
  const auto other = scheduler.spawn(rank(1), [] {});
  semaphore.provided_by([&](std::vector<WaitEdge>& edges) { edges.push_back({other.get(), "2 units"}); });
  scheduler.spawn(rank(0), [&] { semaphore.acquire(2); });
  EXPECT_STREQ(deadlock_of(scheduler).what(),
               "deadlock at 0 ps: rank 1 has finished, for which rank 0 waits\n"
               "1 fiber waits and nothing is left that could wake it:\n"
               "  rank 0 waits for semaphore ready\n"
               "  semaphore ready waits for rank 1 (2 units)\n"
               "  rank 1 has finished");
}

TEST(DeadlockTest, JoinersOfEachOtherAreACycle) {
  Scheduler scheduler;
  std::shared_ptr<Fiber> a, b;
  a = scheduler.spawn(rank(0), [&] { b->done().wait(); });
  b = scheduler.spawn(rank(1), [&] { a->done().wait(); });
  EXPECT_STREQ(deadlock_of(scheduler).what(),
               "deadlock at 0 ps: cycle: rank 0 -> rank 1 (its end) -> rank 0 (its end)\n"
               "2 fibers wait and nothing is left that could wake them:\n"
               "  ranks {0, 1} wait for the end of ranks {0, 1} [cycle]\n"
               "  the end of ranks {0, 1} waits for ranks {0, 1} (its end) [cycle]");
}

TEST(DeadlockTest, BackgroundFibersNeitherPreventADeadlockNorTakePartInIt) {
  Scheduler scheduler;
  Mailbox<int> requests, replies;
  requests.describe_as([] { return "requests"; });
  replies.describe_as([] { return "replies"; });
  scheduler.spawn({.agent = AgentId{7}, .name = "server", .background = true}, [&] {
    for (;;) requests.receive();
  });
  scheduler.spawn({.agent = AgentId{8}, .name = "ticker", .background = true}, [] {
    for (;;) this_fiber::sleep(Time::nanoseconds(1));
  });
  scheduler.spawn(rank(0), [&] {
    this_fiber::sleep(Time::nanoseconds(5));
    requests.send(1);
    replies.receive();
  });
  EXPECT_STREQ(deadlock_of(scheduler).what(),
               "deadlock at 5 ns: rank 0 waits for replies, which needs a message: nobody is left that could provide "
               "it\n"
               "1 fiber waits and nothing is left that could wake it:\n"
               "  rank 0 waits for replies\n"
               "  replies needs a message: nobody left that could provide it");
}

TEST(DeadlockTest, AWaitForSomethingDestroyedIsToldSo) {
  Scheduler scheduler;
  auto box = std::make_unique<Mailbox<int>>();
  scheduler.spawn(rank(0), [&] { box->receive(); });
  scheduler.spawn(rank(1), [&] { box.reset(); });
  EXPECT_STREQ(
      deadlock_of(scheduler).what(),
      "deadlock at 0 ps: rank 0 waits for something that has been destroyed: nobody is left that could provide "
      "it\n"
      "1 fiber waits and nothing is left that could wake it:\n"
      "  rank 0 needs something that has been destroyed: nobody left that could provide it");
}

TEST(DeadlockTest, ALongChainIsExplainedWithoutRecursionAndFoldedInTheText) {
  constexpr std::uint32_t kFibers = 3'000;
  Scheduler scheduler;
  std::vector<std::shared_ptr<Fiber>> fibers(kFibers);
  for (std::uint32_t i = 0; i < kFibers; ++i) {
    fibers[i] = scheduler.spawn(rank(i), [&fibers, i] { fibers[(i + 1) % kFibers]->done().wait(); });
  }
  const DeadlockError error = deadlock_of(scheduler);
  ASSERT_EQ(error.lines().size(), 2 * kFibers);
  for (const DeadlockLine& line : error.lines()) ASSERT_TRUE(line.in_cycle);
  EXPECT_STREQ(error.what(),
               "deadlock at 0 ps: cycle: rank 0 -> rank 1 (its end) -> rank 2 (its end) -> rank 3 (its end) -> rank 4 "
               "(its end) -> rank 5 (its end) -> rank 6 (its end) -> rank 7 (its end) -> rank 8 (its end) -> rank 9 "
               "(its end) -> … (2990 more) -> rank 0 (its end)\n"
               "3000 fibers wait and nothing is left that could wake them:\n"
               "  ranks {0-2999} wait for the end of ranks {0-2999} [cycle]\n"
               "  the end of ranks {0-2999} waits for ranks {0-2999} (its end) [cycle]");
}

TEST(DeadlockTest, ASetOfRanksIsCutBehindSixteenRunsHoweverManyRanksTheyHave) {
  const auto set_of = [](int runs) {
    AlikeNames names;
    for (int run = 0; run < runs; ++run) {
      for (int rank = 4 * run; rank < 4 * run + 3; ++rank) names.add(Name::rank(rank));
    }
    return names.text().text();
  };
  EXPECT_THAT(set_of(16), testing::AllOf(testing::StartsWith("ranks {0, 1, 2, 4, 5, 6, 8, "),
                                         testing::EndsWith(", 56, 57, 58, 60, 61, 62}")));
  EXPECT_THAT(set_of(17), testing::EndsWith(", 60, 61, 62, …}"));
}

/// Programs that wait alike for one thing, and hosts that wait for a call which one of them has not made.
class Call : public WaitNode {
 public:
  Call(Name name, Name missing, const WaitNode* launch)
      : name_(std::move(name)), missing_(std::move(missing)), launch_(launch) {}
  Name wait_name() const override { return name_; }
  WaitRole wait_role() const override { return WaitRole::call; }
  void waits_for(std::vector<WaitEdge>& edges) const override {
    WaitEdge edge{nullptr, "the call of BARRIER on " + missing_, true};
    edge.missing = {missing_};
    edge.fault = {kHas, "ended without calling BARRIER"};
    edges.push_back(edge);
    if (launch_ != nullptr) edges.push_back({launch_, "its programs"});
  }

 private:
  Name name_, missing_;
  const WaitNode* launch_;
};

TEST(DeadlockTest, WhatHostsWaitForComesFirstAndAlikeWaitsAreOneLine) {
  constexpr std::uint32_t kPrograms = 128, kRanks = 64;
  Scheduler scheduler;
  std::vector<Completion> messages(kPrograms), calls(kRanks);
  std::vector<std::unique_ptr<Call>> nodes;
  for (std::uint32_t i = 0; i < kPrograms; ++i) {
    const auto number = static_cast<std::int32_t>(i);
    const PeCoordinate pe{SipId{0}, CubeId{number / 8}, PeId{number % 8}};
    messages[i].describe_as([=] {
      return named("recv{} (ring.cpp:17) on {}", operation_number(i), to_name(PartId(PartKind::receive_queue, pe)));
    });
    FiberOptions options{.agent = AgentId{i}, .name = Name::program(pe, named("ring_allreduce#{}.1", Name::path("0")))};
    scheduler.spawn(options, [&messages, i] {
      this_fiber::current()->local(Fiber::Slot::kernel) = std::make_shared<int>();
      messages[i].wait();
    });
  }
  for (std::uint32_t i = 0; i < kRanks; ++i) {
    if (i == 5) continue;
    nodes.push_back(std::make_unique<Call>("BARRIER on " + Name::rank(i), Name::rank(5), nullptr));
    calls[i].describe_as([i] { return "copy for " + Name::rank(i); });
    calls[i].provided_by([node = nodes.back().get()](std::vector<WaitEdge>& edges) { edges.push_back({node, ""}); });
    FiberOptions options{.agent = AgentId{kPrograms + i}, .name = Name::rank(i)};
    scheduler.spawn(options, [&calls, i] { calls[i].wait(); });
  }
  EXPECT_STREQ(
      deadlock_of(scheduler).what(),
      "deadlock at 0 ps: rank 5 has ended without calling BARRIER, for which ranks {0-4, 6-63} wait\n"
      "191 fibers wait and nothing is left that could wake them:\n"
      "  BARRIER on ranks {0-4, 6-63} needs the call of BARRIER on rank 5: nobody left that could provide it\n"
      "  ranks {0-4, 6-63} wait for copy for ranks {0-4, 6-63}\n"
      "  copy for ranks {0-4, 6-63} waits for BARRIER on ranks {0-4, 6-63}\n"
      "  128 programs of ring_allreduce#0.1 (sip0.cube*.pe*) wait for recv (ring.cpp:17) on "
      "sip0.cube*.pe*.ipcq.receive0\n"
      "  each of 128 recv (ring.cpp:17) on sip0.cube*.pe*.ipcq.receive0 needs its completion: nobody left that could "
      "provide it");
}

TEST(DeadlockTest, NumbersInAProgramsOwnTextsTellWaitsApart) {
  Scheduler scheduler;
  std::vector<Completion> files(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    files[i].describe_as([i] { return "file of rank " + std::to_string(i); });
    scheduler.spawn(rank(i), [&files, i] { files[i].wait(); });
  }
  EXPECT_THAT(deadlock_of(scheduler).what(), testing::HasSubstr("\n  rank 0 waits for file of rank 0\n"));
}

TEST(DeadlockTest, OneAlternativeThatIsLeftIsEnough) {
  Scheduler scheduler;
  Completion signal;
  signal.describe_as([] { return "a signal"; });
  std::shared_ptr<Fiber> other;
  signal.provided_by([&](std::vector<WaitEdge>& edges) {
    WaitEdge ended{nullptr, "a signal of rank 2", false, true};
    ended.missing = {Name::rank(2)};
    ended.fault = {kHas, "ended without a signal"};
    edges.push_back(ended);
    WaitEdge live{other.get(), "a signal of rank 1"};
    live.alternative = true;
    edges.push_back(live);
  });
  const auto waiting = scheduler.spawn(rank(0), [&] { signal.wait(); });
  other = scheduler.spawn(rank(1), [&] { waiting->done().wait(); });
  EXPECT_THAT(
      deadlock_of(scheduler).what(),
      testing::StartsWith("deadlock at 0 ps: cycle: rank 0 -> a signal -> rank 1 (a signal of rank 1) -> rank 0 "
                          "(its end)\n"));
}

// Random wait graphs: a fiber is in a cycle exactly when it reaches itself.
TEST(DeadlockTest, CommandsOfStreamsAreTheirCallsInTheTextAndACycleOfCallsIsToldInClauses) {
  Scheduler scheduler;
  Completion command, send, meeting;
  std::vector<std::shared_ptr<Fiber>> fibers(2);
  const auto host_edge = [&](int rank, const std::string& reason, const Name& unmet) {
    WaitEdge edge{fibers[static_cast<std::size_t>(rank)].get(), reason, true};
    edge.unmet = unmet;
    return edge;
  };
  command.describe_as([] { return "wait for an event on stream 0"; }, WaitRole::command);
  command.provided_by([&](auto& edges) { edges.push_back({&send, "its completion"}); });
  send.describe_as([] { return Name::owned(Name::rank(0), "send to rank 1"); });
  send.provided_by([&](auto& edges) {
    edges.push_back(
        host_edge(1, "the call of recv", Name::owned(Name::rank(0), "send to rank 1, which rank 1 has not received")));
  });
  meeting.describe_as([] { return "BARRIER, missing ranks: {0}"; });
  meeting.provided_by([&](auto& edges) {
    edges.push_back(host_edge(0, "the call of BARRIER", "BARRIER, which rank 0 has not called"));
  });
  fibers[0] = scheduler.spawn(rank(0), [&] { command.wait(); });
  fibers[1] = scheduler.spawn(rank(1), [&] { meeting.wait(); });
  const DeadlockError error = deadlock_of(scheduler);
  EXPECT_STREQ(error.what(),
               "deadlock at 0 ps: cycle: rank 0 waits for its send to rank 1, which rank 1 has not received; rank 1 "
               "waits for BARRIER, which rank 0 has not called\n"
               "2 fibers wait and nothing is left that could wake them:\n"
               "  rank 0's send to rank 1 waits for rank 1 (the call of recv) [cycle]\n"
               "  BARRIER, missing ranks: {0} waits for rank 0 (the call of BARRIER) [cycle]\n"
               "  rank 0 waits for rank 0's send to rank 1 [cycle]\n"
               "  rank 1 waits for BARRIER, missing ranks: {0} [cycle]");
  ASSERT_EQ(error.lines().size(), 5u);
  EXPECT_EQ(error.lines()[1].name, "wait for an event on stream 0");
}

TEST(DeadlockTest, WhatIsUnderWayIsToldAlthoughNobodyWaitsForIt) {
  Scheduler scheduler;
  Completion own, unfinished;
  own.describe_as([] { return "a lock"; });
  unfinished.describe_as([] { return "launch gemm#0"; });
  scheduler.spawn(rank(0), [&] { own.wait(); });
  try {
    scheduler.run({.append_unfinished = [&](auto& nodes) { nodes.push_back(&unfinished); }});
    FAIL() << "no deadlock";
  } catch (const DeadlockError& error) {
    ASSERT_EQ(error.lines().size(), 3u);
    EXPECT_EQ(error.lines()[2].name, "launch gemm#0");
    EXPECT_THAT(error.what(), testing::StartsWith("deadlock at 0 ps: rank 0 waits for a lock, "));
  }
}

TEST(DeadlockTest, CycleMarksAgreeWithReachability) {
  std::mt19937 random(9);
  for (int round = 0; round < 100; ++round) {
    constexpr std::size_t kCount = 8;
    bool waits[kCount][kCount] = {}, reaches[kCount][kCount] = {};
    Scheduler scheduler;
    std::vector<std::shared_ptr<Fiber>> fibers(kCount);
    std::vector<Completion> completions(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      for (std::size_t j = 0; j < kCount; ++j) waits[i][j] = reaches[i][j] = random() % 6 == 0;
      completions[i].describe_as([i] { return "need of " + std::to_string(i); });
      completions[i].provided_by([&, i](std::vector<WaitEdge>& edges) {
        for (std::size_t j = 0; j < kCount; ++j) {
          if (waits[i][j]) edges.push_back({fibers[j].get(), "a turn"});
        }
      });
      fibers[i] = scheduler.spawn(rank(static_cast<std::uint32_t>(i)), [&, i] { completions[i].wait(); });
    }
    for (std::size_t k = 0; k < kCount; ++k) {
      for (std::size_t i = 0; i < kCount; ++i) {
        for (std::size_t j = 0; j < kCount; ++j) reaches[i][j] |= reaches[i][k] && reaches[k][j];
      }
    }
    const DeadlockError error = deadlock_of(scheduler);
    for (const DeadlockLine& line : error.lines()) {
      if (line.name.starts_with("rank ")) {
        const auto i = static_cast<std::size_t>(std::stoi(line.name.substr(5)));
        ASSERT_EQ(line.in_cycle, reaches[i][i]) << line.name;
      }
    }
  }
}

}  // namespace
}  // namespace kernbench::sim
