// Collectives, sends and receives of the current stream, in the device's queue of its launches: a call that returns
// nothing begins when the launch before it is over at the device, and so does what comes behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kernbench/kernbench.h"
#include "kernbench/laws.h"
#include "ranks.h"
#include "spawning.h"

namespace kernbench::testing::queued_collectives_test {
namespace {

namespace dist = torch::distributed;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using torch::ahbm::Stream;
using torch::ahbm::StreamGuard;

/// Long enough for the host to give what comes next meanwhile.
void a_while() {
  tl::delay(20'000);
}

void give(const char* name) {
  torch::launch({.pes = {{CubeId{0}, PeId{0}}}}, name, a_while);
}

/// A group that has communicated, so that its channels are there.
void meet(int rank, int ranks) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, ranks);
  dist::barrier();
  torch::ahbm::synchronize();
}

/// What ranks give to their devices when they have met, once in each run.
RunResult run(int ranks, const std::function<void(int rank)>& calls, std::vector<std::string> overrides = {}) {
  auto options = machine_of(ranks);
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  const auto result = run_ranks(options, ranks, [&](int rank) {
    meet(rank, ranks);
    calls(rank);
  });
  EXPECT_EQ(result.error.message, "");
  for (const std::string& error : result.errors) EXPECT_EQ(error, "");
  return result.run;
}

std::vector<LaunchResult> on_device(const RunResult& result, int device) {
  std::vector<LaunchResult> mine;
  for (const auto& launch : result.launches)
    if (launch.device == device) mine.push_back(launch);
  return mine;
}

Time part_of(const LaunchResult& launch, const std::string& category) {
  for (const auto& [name, time] : launch.breakdown)
    if (name == category) return time;
  return {};
}

/// Of its first program, and of its last one.
Time begin_of(const LaunchResult& launch) {
  return launch.start + part_of(launch, "dispatch");
}
Time end_of(const LaunchResult& launch) {
  return launch.end - part_of(launch, "completion");
}

/// From the end of the last program of a launch to the first instruction of the next one on the device: `names` follow
/// each other at the end of what it has run.
std::vector<Time> gaps(const RunResult& result, int device, const std::vector<std::string>& names) {
  const auto launches = on_device(result, device);
  std::vector<Time> gaps;
  if (launches.size() < names.size()) return gaps;
  const auto first = launches.end() - std::ssize(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const LaunchResult& launch = first[static_cast<std::ptrdiff_t>(i)];
    EXPECT_EQ(launch.name.substr(0, names[i].size()), names[i]) << "launch " << i;
    if (i == 0) continue;
    gaps.push_back(begin_of(launch) - end_of(first[static_cast<std::ptrdiff_t>(i - 1)]));
  }
  return gaps;
}

TEST(QueuedCollectives, FollowTheLaunchBeforeThemAsOneLaunchDoesAnother) {
  std::vector<Time> laws(2);
  const RunResult result = run(2, [&](int rank) {
    laws[static_cast<std::size_t>(rank)] = torch::ahbm::launch_turn();
    const auto x = torch::ones({64}, one_pe());
    torch::ahbm::synchronize();
    give("before");
    dist::all_reduce(x);
    dist::broadcast(x, 0);
    give("behind");
  });
  for (int device = 0; device < 2; ++device) {
    const auto between = gaps(result, device, {"before", "ring_allreduce", "ring_broadcast", "behind"});
    ASSERT_EQ(between.size(), 3U);
    // On the PE of the law, or on one that messages reach sooner.
    for (const Time gap : between) EXPECT_LE(gap, laws[static_cast<std::size_t>(device)]) << to_text(gap);
    EXPECT_EQ(between.front(), between.back()) << "of one PE";
  }
}

TEST(QueuedCollectives, SoDoSendsAndReceives) {
  Time law;
  const RunResult result = run(2, [&](int rank) {
    law = torch::ahbm::launch_turn();
    const auto x = torch::ones({64}, one_pe());
    for (int round = 0; round < 2; ++round) {  // the first one brings the channels
      torch::ahbm::synchronize();
      give("before");
      if (rank == 0) dist::send(x, 1);
      if (rank == 1) dist::recv(x, 0);
      give("behind");
    }
  });
  for (int device = 0; device < 2; ++device) {
    const auto between = gaps(result, device, {"before", device == 0 ? "send" : "recv", "behind"});
    ASSERT_EQ(between.size(), 2U);
    for (const Time gap : between) EXPECT_LE(gap, law) << "device " << device << ": " << to_text(gap);
  }
}

// The order of the channels is that of the calls, whichever streams they are made on.
TEST(QueuedCollectives, OfOneGroupFollowEachOtherOnWhateverStreamsTheyAre) {
  for (const bool first_is_async : {false, true}) {
    for (const bool second_is_async : {false, true}) {
      const RunResult result = run(2, [&](int rank) {
        const auto x = torch::full({64}, rank + 1, one_pe()), y = torch::full({64}, 10 * (rank + 1), one_pe());
        torch::ahbm::synchronize();
        dist::WorkRef one, other;
        {
          const StreamGuard on{Stream()};
          if (rank == 0) give("late");
          one = dist::all_reduce(x, dist::ReduceOp::SUM, {}, first_is_async);
        }
        {
          const StreamGuard on{Stream()};
          other = dist::all_reduce(y, dist::ReduceOp::SUM, {}, second_is_async);
        }
        if (one) one->synchronize();
        if (other) other->synchronize();
        torch::ahbm::synchronize();
        EXPECT_EQ(x.cpu().data_ptr<float>()[0], 3);
        EXPECT_EQ(y.cpu().data_ptr<float>()[0], 30);
      });
      for (int device = 0; device < 2; ++device) {
        std::vector<LaunchResult> sums;
        for (const auto& launch : on_device(result, device))
          if (launch.name.starts_with("ring_allreduce")) sums.push_back(launch);
        ASSERT_EQ(sums.size(), 2U);
        EXPECT_GT(begin_of(sums[1]), end_of(sums[0])) << first_is_async << second_is_async << " on device " << device;
      }
    }
  }
}

// Before all ranks have called, it may still be judged against, and what stands behind it with it.
TEST(QueuedCollectives, WhatStandsBehindOneThatNotAllHaveCalledWaitsForThemAtTheHost) {
  Time called;
  const RunResult result = run(2, [&](int rank) {
    const auto x = torch::ones({64}, one_pe());
    torch::ahbm::synchronize();
    if (rank == 1) {
      sleep(50'000);
      called = now();
    }
    dist::all_reduce(x);
    give("behind");
    torch::ahbm::synchronize();
    EXPECT_EQ(x.cpu().data_ptr<float>()[0], 2);
  });
  const auto launches = on_device(result, 0);
  ASSERT_GE(launches.size(), 2U);
  EXPECT_GT(launches.back().start, called);
  // They have called meanwhile: the rank that was first need not hear of the end of it.
  const auto between = gaps(result, 0, {"ring_allreduce", "behind"});
  ASSERT_EQ(between.size(), 1U);
  EXPECT_LT(between.front(), Time::nanoseconds(800));
}

TEST(QueuedCollectives, OneThatIsJudgedAgainstLeavesNothingBehindItInTheStream) {
  const auto result = run_ranks(machine_of(2), 2, [](int rank) {
    meet(rank, 2);
    const auto x = torch::full({64}, rank + 1, one_pe());
    const auto y = torch::full({64}, 7, one_pe());
    torch::ahbm::synchronize();
    if (rank == 1) sleep(30'000);
    const std::string error = [&]() -> std::string {
      try {
        if (rank == 0) dist::all_reduce(x);
        if (rank == 1) dist::broadcast(x, 0);
        y.add_(1);
        y.add_(1);
        dist::all_reduce(y);
        torch::ahbm::synchronize();
      } catch (const ProgramError& failure) {
        return failure.type();
      }
      return "";
    }();
    EXPECT_EQ(error, "DistributedError");
    EXPECT_EQ(x.cpu().data_ptr<float>()[0], static_cast<float>(rank + 1));
    EXPECT_EQ(y.cpu().data_ptr<float>()[0], 7);
  });
  EXPECT_EQ(result.error.message, "");
  for (const std::string& error : result.errors) EXPECT_EQ(error, "");
}

// It is at the device, and has not begun: the kernel before it is what all wait for.
TEST(QueuedCollectives, BehindAKernelThatNeverEndsTheReportNamesThatKernel) {
  const std::string error = error_of(
      [] {
        mp::spawn(
            [](int rank) {
              meet(rank, 2);
              const auto x = torch::ones({64}, one_pe());
              torch::ahbm::synchronize();
              if (rank == 0) {
                torch::LaunchOptions options{.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}}};
                options.queues.topology = QueueTopology::ring_1d;
                // The channels are there from the second launch on, so that it is at the device when it is given.
                for (const bool ends : {true, false}) {
                  torch::launch(options, ends ? "first" : "endless", [ends] {
                    if (tl::pe_id() == 0) (void)tl::recv(DType::f32, {64}, tl::ring_previous());
                    if (tl::pe_id() == 1 && ends) tl::send(tl::zeros({64}, DType::f32), tl::ring_next());
                  });
                  if (ends) torch::ahbm::synchronize();
                }
              }
              dist::all_reduce(x);
              torch::ahbm::synchronize();
            },
            std::tuple{}, {.nprocs = 2});
      },
      machine_of(2));
  EXPECT_THAT(error, HasSubstr("has no program left that could send a message with tag 0 to sip0.cube0.pe0, for which "
                               "sip0.cube0.pe0 endless#0.0 waits"));
  const std::string called = ", called at queued_collectives_test\\.cpp:[0-9]+ ";
  EXPECT_THAT(error, ContainsRegex("rank 1" + called +
                                   "waits for ALLREDUCE \\(sequence number 2\\) of the default group "
                                   "on rank 0" +
                                   called + "\\(its turn in its stream\\)"));
}

// With too few entries for the channels of two groups, they take turns, and wait for them at the host.
TEST(QueuedCollectives, ThatShareEntriesTakeTheirTurns) {
  run(4,
      [](int rank) {
        std::vector<dist::ProcessGroup> groups;
        for (const auto& ranks : {std::vector{0, 1, 2, 3}, std::vector{0, 2, 1, 3}, std::vector{0, 1, 3, 2}})
          groups.push_back(dist::new_group(ranks));
        const auto x = torch::ones({64}, one_pe());
        for (int round = 0; round < 3; ++round)
          for (const auto& group : groups) {
            x.mul_(0.5F);
            dist::all_reduce(x, dist::ReduceOp::SUM, group);
          }
        EXPECT_EQ(x.cpu().data_ptr<float>()[0], 512) << "rank " << rank;
      },
      {"pe.ipcq.queues=2"});
}

// Rank 1 takes part in both of two groups, and has entries for the channels of one. One that went ahead on rank 0 would
// keep them from the other, which is before it on rank 1.
TEST(QueuedCollectives, ThatShareEntriesDoNotKeepThemWhileTheyStandAtADevice) {
  run(3,
      [](int rank) {
        const auto left = dist::new_group({0, 1}), right = dist::new_group({1, 2});
        const auto x = torch::ones({64}, one_pe()), y = torch::ones({64}, one_pe());
        const auto sum = dist::ReduceOp::SUM;
        const auto add_left = [&] {
          if (rank <= 1) dist::all_reduce(x, sum, left);
        };
        const auto add_right = [&] {
          if (rank >= 1) dist::all_reduce(y, sum, right);
        };
        add_right();
        add_left();
        torch::ahbm::synchronize();
        dist::monitored_barrier();  // the channels of the first one are in the tables
        if (rank == 0) give("before");
        if (rank == 2) sleep(10'000);
        add_right();
        add_left();
        EXPECT_EQ(x.cpu().data_ptr<float>()[0], rank <= 1 ? 4 : 1) << "rank " << rank;
        EXPECT_EQ(y.cpu().data_ptr<float>()[0], rank >= 1 ? 4 : 1) << "rank " << rank;
      },
      {"pe.ipcq.queues=1"});
}

}  // namespace
}  // namespace kernbench::testing::queued_collectives_test
