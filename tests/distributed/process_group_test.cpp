// Default groups, groups of some ranks, and what is said when ranks do not fit together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/kernbench.h"
#include "ranks.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(ProcessGroup, EveryRankKnowsItselfAndTheWorld) {
  std::vector<int> ranks(4), sizes(4);
  const auto result = run_ranks(machine_of(4), 4, [&](int rank) {
    EXPECT_FALSE(dist::is_initialized());
    dist::init_process_group("ahbm", rank, 4);
    EXPECT_TRUE(dist::is_initialized());
    ranks[static_cast<std::size_t>(rank)] = dist::get_rank();
    sizes[static_cast<std::size_t>(rank)] = dist::get_world_size();
    EXPECT_EQ(dist::get_backend(), "ahbm");
    EXPECT_EQ(dist::get_global_rank({}, 2), 2);
    EXPECT_THAT(dist::get_process_group_ranks(), ElementsAre(0, 1, 2, 3));
    dist::destroy_process_group();
    EXPECT_FALSE(dist::is_initialized());
  });
  EXPECT_EQ(result.run.status, RunStatus::ok) << result.error.message;
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(sizes, ElementsAre(4, 4, 4, 4));
}

TEST(ProcessGroup, AllRanksGoOnWhenTheLastOneHasCome) {
  std::vector<Time> times(3);
  run_ranks(machine_of(3), 3, [&](int rank) {
    sim::this_fiber::sleep(Time::microseconds(10 * (3 - rank)));
    dist::init_process_group("ahbm", rank, 3);
    times[static_cast<std::size_t>(rank)] = sim::this_fiber::scheduler().now();
  });
  EXPECT_THAT(times, ElementsAre(Time::microseconds(30), Time::microseconds(30), Time::microseconds(30)));
}

TEST(ProcessGroup, UsesBeforeInitAndASecondInitAreErrors) {
  const auto result = run_ranks(machine_of(2), 2, [](int rank) {
    if (rank == 0) {
      dist::get_rank();
    } else {
      dist::init_process_group("ahbm", 0, 1);
      dist::init_process_group("ahbm", 0, 1);
    }
  });
  EXPECT_EQ(result.errors[0],
            "ValueError: Default process group has not been initialized, please make sure to call init_process_group.");
  EXPECT_EQ(result.errors[1], "ValueError: trying to initialize the default process group twice!");
}

TEST(ProcessGroup, ArgumentsThatCannotBeAreRefused) {
  const auto error = [](const std::string& backend, int rank, int size) {
    return run_ranks(machine_of(1), 1, [&](int) { dist::init_process_group(backend, rank, size); }).errors[0];
  };
  EXPECT_EQ(error("nccl", 0, 1),
            "ValueError: init_process_group: there is no backend \"nccl\"; the devices' own is \"ahbm\"");
  EXPECT_EQ(error("ahbm", 2, 2),
            "ValueError: init_process_group: rank 2 is out of range: with a world_size of 2 it must be in [0, 2)");
  EXPECT_EQ(error("", -2, 2),
            "ValueError: init_process_group: rank -2 is out of range: with a world_size of 2 it must be in [0, 2)");
  EXPECT_EQ(
      error("", -1, 2),
      "ValueError: init_process_group: Error initializing torch.distributed using env:// rendezvous: environment "
      "variable RANK expected, but not set: give the rank, or call it in a rank of torch::multiprocessing::spawn");
  EXPECT_EQ(error("", 0, 0), "ValueError: init_process_group: world_size must be at least 1, got 0");
}

TEST(ProcessGroup, RanksThatDisagreeAboutTheWorldAreNamed) {
  const auto sizes = run_ranks(machine_of(2), 2, [](int rank) { dist::init_process_group("", rank, 2 + rank); });
  EXPECT_EQ(sizes.errors[1],
            "ValueError: init_process_group: rank 1 gave a world_size of 3, but a rank before it gave 2");
  const auto twice = run_ranks(machine_of(2), 2, [](int) { dist::init_process_group("", 0, 2); });
  EXPECT_EQ(twice.errors[1],
            "ValueError: init_process_group: rank 0 is there already; each worker needs a rank of its own");
}

TEST(ProcessGroup, ARankThatNeverComesIsNamed) {
  const auto result = run_ranks(machine_of(3), 3, [](int rank) {
    if (rank != 1) dist::init_process_group("", rank, 3);
  });
  EXPECT_EQ(result.error.type, "DeadlockError");
  EXPECT_THAT(result.error.message,
              HasSubstr("rank 1 has not called init_process_group of 3 ranks, for which ranks {0, 2} wait"));
  EXPECT_THAT(result.error.message, HasSubstr("on rank 1, which did not join"));
}

TEST(ProcessGroup, AnotherWorldCanBeMadeAfterwards) {
  const auto result = run_ranks(machine_of(2), 2, [](int rank) {
    for (int round = 0; round < 3; ++round) {
      dist::init_process_group("ahbm", round % 2 == 0 ? rank : 1 - rank, 2);
      EXPECT_EQ(dist::get_rank(), round % 2 == 0 ? rank : 1 - rank);
      dist::destroy_process_group();
    }
  });
  EXPECT_EQ(result.run.status, RunStatus::ok) << result.error.message;
}

TEST(ProcessGroup, WorldsWithDifferentInitMethodsDoNotMeet) {
  const auto result = run_ranks(machine_of(4), 4, [](int rank) {
    dist::init_process_group("ahbm", rank / 2, 2, {.init_method = rank % 2 == 0 ? "tcp://a:1" : "tcp://b:2"});
    EXPECT_EQ(dist::get_rank(), rank / 2);
  });
  EXPECT_EQ(result.run.status, RunStatus::ok) << result.error.message;
  EXPECT_THAT(result.errors, ::testing::Each(""));
}

TEST(ProcessGroup, WorldsOfDifferentSpawnsDoNotMeet) {
  const auto result = try_simulate(machine_of(4), [] {
    torch::multiprocessing::spawn(
        [](int) {
          torch::multiprocessing::spawn(
              [](int rank) {
                dist::init_process_group("ahbm", rank, 2);
                EXPECT_EQ(dist::get_world_size(), 2);
                EXPECT_EQ(dist::get_rank(), rank);
              },
              {}, {.nprocs = 2});
        },
        {}, {.nprocs = 2});
  });
  EXPECT_EQ(result.status, RunStatus::ok) << (result.error ? result.error->message : "");
}

TEST(NewGroup, TellsItsMembersOnlyWhatItIs) {
  const auto result = run_ranks(machine_of(2), 2, [](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    const auto one = dist::new_group({1});
    const std::vector<std::pair<std::string, std::function<void()>>> calls{
        {"get_backend", [&] { EXPECT_EQ(dist::get_backend(one), "ahbm"); }},
        {"get_global_rank", [&] { EXPECT_EQ(dist::get_global_rank(one, 0), 1); }},
        {"get_process_group_ranks", [&] { EXPECT_THAT(dist::get_process_group_ranks(one), ElementsAre(1)); }}};
    for (const auto& [name, call] : calls) {
      std::string error;
      try {
        call();
      } catch (const ValueError& refused) {
        error = refused.what();
      }
      EXPECT_THAT(error, ::testing::StartsWith(rank == 1 ? ""
                                                         : name + ": Invalid process group specified: rank 0 is "
                                                                  "not a member of "));
      EXPECT_EQ(error.empty(), rank == 1) << name;
    }
  });
  EXPECT_THAT(result.errors, ::testing::Each(""));
}

TEST(NewGroup, NumbersItsMembersAndLeavesOthersOut) {
  std::string printed;
  auto options = machine_of(4);
  options.print = [&](std::string_view text) { printed += text; };
  const auto result = run_ranks(options, 4, [](int rank) {
    dist::init_process_group("ahbm", rank, 4);
    const auto odd = dist::new_group({3, 1});
    const auto all = dist::new_group();
    EXPECT_EQ(dist::get_rank(odd), rank == 1 ? 0 : rank == 3 ? 1 : -1);
    EXPECT_EQ(dist::get_world_size(odd), rank % 2 == 1 ? 2 : -1);
    EXPECT_EQ(dist::get_world_size(all), 4);
    if (rank % 2 == 1) {
      EXPECT_EQ(dist::get_global_rank(odd, 1), 3);
      EXPECT_EQ(dist::get_group_rank(odd, 3), 1);
      EXPECT_THROW(dist::get_group_rank(odd, 2), ValueError);
    }
    dist::monitored_barrier(odd);
    dist::monitored_barrier(odd);
    dist::destroy_process_group(odd);
    EXPECT_EQ(dist::get_rank(), rank);
  });
  EXPECT_EQ(result.run.status, RunStatus::ok) << result.error.message;
  const std::string of_group =
      " which does not belong to the given group \\(called at process_group_test\\.cpp:[0-9]+\\)";
  EXPECT_THAT(printed, MatchesRegex("warning: Running monitored_barrier on global rank 0" + of_group +
                                    "\\.\nwarning: Running monitored_barrier on global rank 2" + of_group + "\\.\n"));
}

TEST(NewGroup, ARankThatDoesNotCallItIsNamed) {
  const auto result = run_ranks(machine_of(3), 3, [](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    if (rank != 2) dist::new_group({0, 1});
  });
  EXPECT_EQ(result.error.type, "DeadlockError");
  EXPECT_THAT(result.error.message, HasSubstr("new_group (number 1), missing ranks: {2}"));
  EXPECT_THAT(result.error.message, HasSubstr("on rank 2, which ended"));
}

TEST(NewGroup, RanksOutsideOfTheWorldAreRefused) {
  const auto error = [](const std::vector<int>& ranks) {
    return run_ranks(machine_of(1), 1,
                     [&](int) {
                       dist::init_process_group("ahbm", 0, 1);
                       dist::new_group(ranks);
                     })
        .errors[0];
  };
  EXPECT_EQ(error({1}), "ValueError: new_group: the new group's rank 1 should be in the world of 1 ranks");
  EXPECT_EQ(error({0, 0}), "ValueError: new_group: rank 0 is given twice");
}

TEST(NewGroup, ADestroyedGroupCannotBeUsed) {
  const auto result = run_ranks(machine_of(1), 1, [](int) {
    dist::init_process_group("ahbm", 0, 1);
    const auto group = dist::new_group();
    dist::destroy_process_group(group);
    dist::get_rank(group);
  });
  EXPECT_THAT(result.errors[0], HasSubstr("ValueError: get_rank: Invalid process group specified"));
}

TEST(MonitoredBarrier, LetsAllGoOnAtOnceAndLeavesNoTimer) {
  std::vector<Time> times(3);
  const auto result = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    sim::this_fiber::sleep(Time::microseconds(rank));
    dist::monitored_barrier({}, Time::milliseconds(5));
    times[static_cast<std::size_t>(rank)] = sim::this_fiber::scheduler().now();
  });
  EXPECT_THAT(times, ::testing::Each(Time::microseconds(2)));
  EXPECT_EQ(result.run.simulated_time, Time::microseconds(2));
}

TEST(MonitoredBarrier, NamesTheRanksThatDoNotCome) {
  const auto result = run_ranks(machine_of(4), 4, [](int rank) {
    dist::init_process_group("ahbm", rank, 4);
    if (rank % 2 == 0) dist::monitored_barrier({}, Time::milliseconds(5000));
  });
  EXPECT_EQ(result.errors[0], "DistributedError: [Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 5000 ms");
  EXPECT_EQ(result.errors[2],
            "DistributedError: [Rank 2]: Rank 2 successfully reached monitoredBarrier, but received errors while "
            "waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.");
  EXPECT_EQ(result.run.simulated_time, Time::milliseconds(5000));
}

TEST(MonitoredBarrier, NamesTheFirstRankWhenAskedForOne) {
  const auto result = run_ranks(machine_of(3), 3, [](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    if (rank == 0) dist::monitored_barrier({}, Time::milliseconds(1), false);
  });
  EXPECT_EQ(result.errors[0], "DistributedError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 1 ms");
}

TEST(MonitoredBarrier, ARankThatComesTooLateFailsToo) {
  const auto result = run_ranks(machine_of(2), 2, [](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    if (rank == 1) sim::this_fiber::sleep(Time::milliseconds(3));
    dist::monitored_barrier({}, Time::milliseconds(2));
  });
  EXPECT_EQ(result.errors[0], "DistributedError: [Rank 0]: Ranks 1 failed to pass monitoredBarrier in 2 ms");
  EXPECT_THAT(result.errors[1], HasSubstr("[Rank 1]: Rank 1 successfully reached monitoredBarrier, but"));
}

}  // namespace
}  // namespace kernbench::testing
