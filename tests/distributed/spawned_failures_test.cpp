// Ranks of a spawn that fail or are missing while others communicate: who is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "ranks.h"
#include "sim/fiber.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using ::testing::AllOf;
using ::testing::HasSubstr;
using torch::multiprocessing::SpawnException;

/// Ranks of one spawn, each on a device of its own, on a machine with so many.
struct SpawnOutcome {
  std::string error;  // of the run: "" or "Type: message"
  std::set<int> causes, victims;
  std::string message;  // of the spawn's failure
};

SpawnOutcome spawn_ranks(int ranks, const std::function<void(int rank)>& worker) {
  SpawnOutcome outcome;
  const auto result = try_simulate(machine_of(ranks), [&] {
    try {
      torch::multiprocessing::spawn(
          [&](int rank) {
            torch::accelerator::set_device_index(rank);
            worker(rank);
          },
          {}, {.nprocs = ranks});
    } catch (const SpawnException& failure) {
      for (const auto& cause : failure.errors) outcome.causes.insert(cause.rank);
      outcome.victims.insert(failure.victims.begin(), failure.victims.end());
      outcome.message = failure.what();
    }
  });
  if (result.error) outcome.error = result.error->type + ": " + result.error->message;
  return outcome;
}

torch::Tensor ones_on_device(std::int64_t n) {
  return torch::ones({n}, torch::dtype(torch::kFloat).device("ahbm"));
}

/// Host calls that need all ranks, each of which has communicated before.
struct WaitingCall {
  const char* name;
  std::function<void(int rank)> call;
};

std::vector<WaitingCall> waiting_calls() {
  return {{"barrier", [](int) { dist::barrier(); }},
          {"monitored barrier", [](int) { dist::monitored_barrier({}, Time::seconds(1)); }},
          {"new group", [](int) { dist::new_group({0, 1}); }},
          {"all-reduce",
           [](int) {
             const auto x = ones_on_device(300);
             dist::all_reduce(x);
             x.cpu();
           }},
          {"asynchronous all-reduce",
           [](int) {
             const auto x = ones_on_device(300);
             dist::all_reduce(x, dist::ReduceOp::MAX, {}, true)->synchronize();
           }},
          {"ring of messages", [](int rank) {
             const auto x = ones_on_device(300), y = ones_on_device(300);
             dist::isend(x, (rank + 1) % 4);
             dist::recv(y, (rank + 3) % 4);
             y.cpu();
           }}};
}

TEST(SpawnedFailures, RootCausesAndVictimsAreRightWhateverTheOthersWaitIn) {
  const std::vector<std::set<int>> cases{{0}, {1}, {1, 2, 3}, {0, 2}};
  for (const auto& [name, call] : waiting_calls()) {
    for (const auto& failing : cases) {
      SCOPED_TRACE(std::string(name) + " " + ::testing::PrintToString(failing));
      const auto outcome = spawn_ranks(4, [&, wait = call](int rank) {
        dist::init_process_group();
        dist::barrier();
        if (!failing.contains(rank)) return wait(rank);
        sim::this_fiber::sleep_until(Time::milliseconds(1));  // all at once
        throw std::runtime_error("Mimic real test failure.");
      });
      std::set<int> others;
      for (int rank = 0; rank < 4; ++rank) {
        if (!failing.contains(rank)) others.insert(rank);
      }
      EXPECT_EQ(outcome.error, "");
      EXPECT_EQ(outcome.causes, failing) << outcome.message;
      // Of the ring those that need no failed rank have come to their end.
      if (std::string(name) != "ring of messages") {
        EXPECT_EQ(outcome.victims, others) << outcome.message;
      }
    }
  }
}

TEST(SpawnedFailures, ARankThatFailsBeforeTheFirstMeetingOfAllIsTheCause) {
  for (const int failing : {0, 1, 2}) {
    const auto outcome = spawn_ranks(3, [&](int rank) {
      if (rank == failing) throw std::runtime_error("Mimic real test failure.");
      dist::init_process_group();
    });
    EXPECT_EQ(outcome.causes, std::set<int>{failing});
    EXPECT_EQ(outcome.victims.size(), 2u);
    EXPECT_THAT(outcome.message, HasSubstr("waits for init_process_group of 3 ranks, missing ranks: {"));
  }
}

// ---- ranks that come late, or never --------------------------------------------------------------------------------

TEST(SpawnedFailures, AReadOfWhatNeedsALaterRankYieldsAndSucceeds) {
  std::vector<float> read(2);
  const auto outcome = spawn_ranks(2, [&](int rank) {
    if (rank == 1) sim::this_fiber::sleep(Time::milliseconds(2));
    dist::init_process_group();
    if (rank == 1) sim::this_fiber::sleep(Time::milliseconds(2));
    const auto x = ones_on_device(16);
    dist::all_reduce(x, dist::ReduceOp::SUM, {}, true);
    read[static_cast<std::size_t>(rank)] = x[15].item<float>();
  });
  EXPECT_EQ(outcome.error + outcome.message, "");
  EXPECT_THAT(read, ::testing::Each(2.0f));
}

TEST(SpawnedFailures, AReadOfWhatNeedsARankThatNeverCallsNamesIt) {
  const auto outcome = spawn_ranks(2, [](int rank) {
    dist::init_process_group();
    if (rank == 1) return;
    const auto x = ones_on_device(16);
    dist::all_reduce(x, dist::ReduceOp::SUM, {}, true);
    (void)x[15].item<float>();
  });
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("DeadlockError"),
                                   HasSubstr("ALLREDUCE (sequence number 1) of the default group, missing ranks: {1}"),
                                   HasSubstr("on rank 1, which ended")));
}

TEST(SpawnedFailures, ARankThatNeverJoinsIsNamed) {
  const auto outcome = spawn_ranks(2, [](int rank) { dist::init_process_group("ahbm", rank, 3); });
  EXPECT_THAT(outcome.error,
              AllOf(HasSubstr("DeadlockError"), HasSubstr("init_process_group of 3 ranks, missing ranks: {2}"),
                    HasSubstr("on rank 2, which did not join")));
}

// ---- errors in events ----------------------------------------------------------------------------------------------

/// Launches a kernel of two PEs in a ring.
void launch_talk(void (*kernel)()) {
  torch::LaunchOptions options;
  options.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}};
  options.queues.topology = QueueTopology::ring_1d;
  torch::launch(options, "talk", kernel);
}

void talk_to_nobody() {
  if (tl::member_index() == 0) tl::send(tl::arange(0, 8), tl::ring_next());
}

TEST(SpawnedFailures, AMessageThatDoesNotFitIsTheErrorOfTheRankThatLaunchedItsKernel) {
  const auto outcome = spawn_ranks(3, [](int rank) {
    dist::init_process_group();
    if (rank == 1) {
      launch_talk([] {
        if (tl::member_index() == 0) {
          tl::send(tl::arange(0, 8), tl::ring_next());
        } else {
          (void)(tl::recv(DType::i32, {9}, tl::ring_previous()) + 1);
        }
      });
    }
    dist::barrier();
    torch::ahbm::synchronize();
    if (rank != 1) sim::this_fiber::sleep(Time::milliseconds(1));
  });
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.causes, std::set<int>{1});
  EXPECT_EQ(outcome.victims, (std::set<int>{0, 2}));
  EXPECT_THAT(outcome.message,
              AllOf(HasSubstr("-- Process 1 terminated with the following error:\nMessageMismatchError"),
                    HasSubstr("tl::recv expects i32 [9]")));
}

TEST(SpawnedFailures, AMessageThatNobodyReceivesIsTheErrorOfTheRankThatLaunchedItsKernelAndTheNextLaunchIsClean) {
  SpawnOutcome outcome;
  const auto result = try_simulate(machine_of(2), [&] {
    try {
      torch::multiprocessing::spawn(
          [](int rank) {
            torch::accelerator::set_device_index(rank);
            if (rank == 1) launch_talk(talk_to_nobody);
            torch::ahbm::synchronize();
            sim::this_fiber::sleep(Time::milliseconds(1));
          },
          {}, {.nprocs = 2});
    } catch (const SpawnException& failure) {
      outcome.message = failure.what();
    }
    torch::accelerator::set_device_index(1);
    launch_talk([] {
      tl::isend(tl::arange(0, 8), tl::ring_next());
      tl::recv(DType::i32, {8}, tl::ring_previous());
      tl::wait_group(0);
    });
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(outcome.message, HasSubstr("-- Process 1 terminated with the following error:\nUnreceivedMessageError"));
  EXPECT_EQ(result.status, RunStatus::ok) << (result.error ? result.error->message : "");
}

}  // namespace
}  // namespace kernbench::testing
