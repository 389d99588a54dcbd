// Runs in which all devices do the same, and only the first one is simulated.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernbench/kernbench.h"
#include "ranks.h"
#include "spawning.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

namespace dist = torch::distributed;
using testing::devices;
using testing::now;
using testing::one_pe;
using testing::RanksResult;
using testing::run_ranks;

SimulateOptions timed(int count, const std::string& wiring, bool alike) {
  SimulateOptions options = devices(count, {"system.sips.topology=" + wiring});
  options.data = false;
  options.alike_devices = alike;
  return options;
}

/// When each rank has done what, and the end of the run, in picoseconds.
struct Times {
  std::vector<std::vector<std::int64_t>> of_rank;
  std::int64_t all = 0;
  bool operator==(const Times&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Times& times) {
    return out << times.all << " ps; by rank " << ::testing::PrintToString(times.of_rank);
  }
};

using Program = std::function<void(int rank, std::vector<std::int64_t>& times)>;

Times times_of(const SimulateOptions& options, int ranks, const Program& program, const std::string& algorithm) {
  Times times{std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(ranks))};
  const RanksResult result = run_ranks(options, ranks, [&](int rank) {
    torch::ahbm::set_device(rank);
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    program(rank, times.of_rank[static_cast<std::size_t>(rank)]);
  });
  EXPECT_EQ(result.error.message, "");
  for (const std::string& error : result.errors) EXPECT_EQ(error, "");
  times.all = result.run.simulated_time.count();
  return times;
}

/// The times of a program on all devices and on the first one alone.
std::pair<Times, Times> both(int ranks, const std::string& wiring, const Program& program,
                             const std::string& algorithm = {}) {
  return {times_of(timed(ranks, wiring, false), ranks, program, algorithm),
          times_of(timed(ranks, wiring, true), ranks, program, algorithm)};
}

/// Two all-reduces of so many elements, on one PE or on all.
Program sums(std::int64_t elements, bool on_all_pes) {
  return [=](int, std::vector<std::int64_t>& times) {
    const auto x = torch::empty({elements}, on_all_pes ? torch::dtype(torch::kFloat).device("ahbm") : one_pe());
    for (int i = 0; i < 2; ++i) {
      dist::all_reduce(x);
      torch::ahbm::synchronize();
      times.push_back(now().count());
    }
  };
}

/// Where messages of several SIPs meet in one instant, their order is that of the numbers of the SIPs, which is not
/// alike everywhere: ranks then differ a little, and so does the first device when it is alone.
void expect_near(const Times& whole, const Times& alike, double tolerance, const std::string& what) {
  const auto a = static_cast<double>(whole.all), b = static_cast<double>(alike.all);
  EXPECT_LT(std::abs(b - a) / a, tolerance)
      << what << ": " << whole.all << " ps of all devices, " << alike.all << " of the first one";
}

TEST(AlikeDevices, TakeTheTimesOfAllInARingWhereNoMessagesMeet) {
  for (const int ranks : {2, 3, 4, 5, 7, 8}) {
    const auto [whole, alike] = both(ranks, "ring_1d", sums(std::int64_t{64} * ranks, false), "ring_allreduce");
    EXPECT_EQ(whole, alike);
    EXPECT_EQ(alike.of_rank.front(), alike.of_rank.back());
  }
}

TEST(AlikeDevices, TakeNearlyTheTimesOfAllInRings) {
  for (const int ranks : {2, 3, 4, 5, 7, 8, 16}) {
    if (kSanitized && ranks != 3) continue;
    for (const bool on_all_pes : {false, true}) {
      for (const char* algorithm : {"ring_allreduce", "bidirectional_ring_allreduce"}) {
        if (!on_all_pes && std::string(algorithm) != "ring_allreduce") continue;
        const auto [whole, alike] = both(ranks, "ring_1d", sums(std::int64_t{32768} * ranks, on_all_pes), algorithm);
        expect_near(whole, alike, 0.01, algorithm);
      }
    }
  }
}

TEST(AlikeDevices, SimulateTheEventsOfOne) {
  const auto events = [](bool alike) {
    const auto result = run_ranks(timed(8, "ring_1d", alike), 8, [&](int rank) {
      torch::ahbm::set_device(rank);
      dist::init_process_group("ahbm", rank, 8);
      std::vector<std::int64_t> times;
      sums(8 * 65536, false)(rank, times);
    });
    return static_cast<double>(result.run.events);
  };
  EXPECT_LT(events(true), events(false) / 6);
}

void add_one(tl::Tensor x) {
  tl::store(x, {0}, tl::load(x, {0}, {x.numel()}) + 1.0F);
}

TEST(AlikeDevices, FollowLaunchesCopiesGraphsAndBarriers) {
  const Program program = [](int, std::vector<std::int64_t>& times) {
    const auto host = torch::ones({4096});
    const auto x = host.to(one_pe());
    times.push_back(now().count());
    torch::launch("add", add_one, x);
    const auto y = torch::matmul(torch::ones({64, 64}).to("ahbm"), torch::ones({64, 64}).to("ahbm"));
    dist::barrier();
    torch::ahbm::synchronize();
    times.push_back(now().count());
    (void)x[0].item_or(0.0F);
    times.push_back(now().count());
    torch::ahbm::Graph graph;
    {
      const auto scope = torch::ahbm::graph(graph);
      torch::launch("add", add_one, x);
      torch::launch("add", add_one, x);
    }
    for (int i = 0; i < 3; ++i) graph.replay();
    dist::all_reduce(x);
    torch::ahbm::synchronize();
    times.push_back(now().count());
  };
  const auto [whole, alike] = both(4, "ring_1d", program, "ring_allreduce");
  EXPECT_EQ(whole, alike);
}

TEST(AlikeDevices, FollowReadsOfManyPartsBesideAKernel) {
  const auto program = [](int, std::vector<std::int64_t>& times) {
    const auto x = torch::zeros({1 << 16}, torch::device("ahbm")), y = torch::zeros({4096}, one_pe());
    torch::ahbm::synchronize();
    torch::launch("add", add_one, y);
    check_close("read", x, torch::zeros({1 << 16}));  // without values
    torch::ahbm::synchronize();
    times.push_back(now().count());
  };
  const auto [read_by_all, read_by_first] = both(4, "ring_1d", program);
  EXPECT_EQ(read_by_all, read_by_first);
}

TEST(AlikeDevices, MayHaveARankOnEachPe) {
  const int sips = 3, ranks = sips * 2;
  for (const char* algorithm : {"ring_allreduce", "hierarchical_allreduce"}) {
    const auto time_of = [&](bool alike) {
      Times times;
      const RanksResult result = run_ranks(timed(sips, "ring_1d", alike), ranks, [&](int rank) {
        dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
        dist::all_reduce(torch::empty({ranks * 64}, torch::dtype(torch::kFloat).device("ahbm")));
        torch::ahbm::synchronize();
      });
      EXPECT_EQ(result.error.message, "");
      for (const std::string& error : result.errors) EXPECT_EQ(error, "");
      times.all = result.run.simulated_time.count();
      return times;
    };
    expect_near(time_of(false), time_of(true), 0.01, algorithm);
  }
}

TEST(AlikeDevices, TakeNearlyTheTimesOfAllWhereMessagesOfSeveralMeet) {
  using Case = std::pair<const char*, const char*>;
  const int ranks = 9;
  for (const auto& [wiring, algorithm] :
       {Case{"torus_2d", "grid_ring_allreduce"}, Case{"torus_2d", "bidirectional_grid_allreduce"},
        Case{"fully_connected", "direct_allreduce"}, Case{"switched", "direct_allreduce"}}) {
    const auto [whole, alike] = both(ranks, wiring, sums(std::int64_t{ranks} * 8 * 1024, true), algorithm);
    expect_near(whole, alike, 0.07, std::string(algorithm) + " " + wiring);
  }
  for (const char* wiring : {"fully_connected", "switched", "ring_1d"}) {
    const auto [whole, alike] = both(ranks, wiring, [&](int, std::vector<std::int64_t>& times) {
      const auto x = torch::empty({ranks * 8 * 1024}, one_pe()), y = torch::empty({ranks * 8 * 1024}, one_pe());
      dist::all_to_all_single(y, x);
      torch::ahbm::synchronize();
      times.push_back(now().count());
    });
    expect_near(whole, alike, 0.05, std::string("all_to_all ") + wiring);
  }
}

// ---- programs whose ranks are not alike

/// The error of a program, with the devices taken to be alike.
std::string error_of(int ranks, const Program& program, const std::string& wiring = "ring_1d") {
  const RanksResult result = run_ranks(timed(ranks, wiring, true), ranks, [&](int rank) {
    torch::ahbm::set_device(rank);
    dist::init_process_group("ahbm", rank, ranks);
    std::vector<std::int64_t> times;
    program(rank, times);
  });
  for (const std::string& error : result.errors) {
    if (!error.empty()) return error;
  }
  return result.error.type.empty() ? "no error" : result.error.type + ": " + result.error.message;
}

TEST(AlikeDevices, AreRefusedWithValues) {
  SimulateOptions options = timed(2, "ring_1d", true);
  options.data = true;
  const RunResult result = try_simulate(options, [] {});
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "ValueError");
  EXPECT_NE(result.error->message.find("set data to false"), std::string::npos) << result.error->message;
}

TEST(AlikeDevices, AreRefusedWhereTheyStandInUnlikePlaces) {
  const RunResult mesh = try_simulate(timed(4, "mesh_2d", true), [] {});
  ASSERT_TRUE(mesh.error);
  EXPECT_NE(mesh.error->message.find("devices are not alike: those of a mesh_2d at its edge have fewer neighbours"),
            std::string::npos)
      << mesh.error->message;
}

TEST(AlikeDevices, TellOfARankThatLaunchesSomethingElse) {
  EXPECT_EQ(
      error_of(3,
               [](int rank, std::vector<std::int64_t>&) {
                 const auto x = torch::empty({64}, one_pe());
                 torch::launch(rank == 2 ? "add_two" : "add", add_one, x);
                 torch::ahbm::synchronize();
               }),
      "AlikeDevicesError: devices are not alike: command 1 of sip2 is a launch of add_two at 2 us, that of others "
      "a launch of add at 2 us; simulate all devices");
}

TEST(AlikeDevices, TellOfARankThatIsLate) {
  const std::string error = error_of(3, [](int rank, std::vector<std::int64_t>&) {
    const auto x = torch::empty({64}, one_pe());
    testing::sleep(rank);
    torch::launch("add", add_one, x);
    torch::ahbm::synchronize();
  });
  EXPECT_NE(error.find("command 1 of sip1 is a launch of add at 2.001 us, that of others a launch of add at 2 us"),
            std::string::npos)
      << error;
}

TEST(AlikeDevices, TellOfACommandThatTheFirstDeviceDoesNotGet) {
  const std::string error = error_of(2, [](int rank, std::vector<std::int64_t>&) {
    const auto x = torch::empty({64}, one_pe());
    if (rank == 1) torch::launch("add", add_one, x);
    torch::ahbm::synchronize();
  });
  EXPECT_NE(error.find("DeadlockError"), std::string::npos) << error;
  EXPECT_NE(error.find("a launch of add of SIP 0, which nobody has given"), std::string::npos) << error;
  EXPECT_NE(error.find("devices were taken to be alike"), std::string::npos) << error;
}

TEST(AlikeDevices, TellOfARankThatLeavesACollectiveOut) {
  const RunResult result = try_simulate(timed(3, "ring_1d", true), [] {
    torch::multiprocessing::spawn(
        [](int rank) {
          torch::ahbm::set_device(rank);
          dist::init_process_group("ahbm", rank, 3);
          const auto x = torch::empty({96}, one_pe());
          dist::all_reduce(x);
          if (rank != 2) dist::all_reduce(x);
          torch::ahbm::synchronize();
        },
        std::tuple{}, {.nprocs = 3});
  });
  ASSERT_TRUE(result.error);
  const std::string& error = result.error->message;
  EXPECT_NE(error.find(": sip2 has not been given a launch of "), std::string::npos) << error;
  EXPECT_NE(error.find(", command 2 of SIP 0, for which main waits\n"), std::string::npos) << error;
  EXPECT_NE(error.find("devices were taken to be alike"), std::string::npos) << error;
}

TEST(AlikeDevices, RefuseCollectivesWithARoot) {
  const std::string error = error_of(3, [](int, std::vector<std::int64_t>&) {
    const auto x = torch::empty({64}, one_pe());
    dist::broadcast(x, 0);
    torch::ahbm::synchronize();
  });
  EXPECT_NE(error.find("AlikeDevicesError: broadcast: devices are not alike: one rank is the root"), std::string::npos)
      << error;
}

TEST(AlikeDevices, RefusePartsThatAreNotEqual) {
  const std::string uneven = error_of(3, [](int, std::vector<std::int64_t>&) {
    dist::all_reduce(torch::empty({64}, one_pe()));
    torch::ahbm::synchronize();
  });
  EXPECT_NE(uneven.find("AlikeDevicesError: all_reduce: devices are not alike: 64 elements on sip"), std::string::npos)
      << uneven;
  EXPECT_NE(uneven.find("take a tensor of which each PE has a multiple of 3"), std::string::npos) << uneven;
  const std::string spread = error_of(2, [](int, std::vector<std::int64_t>&) {
    const auto options = torch::dtype(torch::kFloat).device("ahbm");
    dist::all_gather_into_tensor(torch::empty({128}, options), torch::empty({64}, options));
    torch::ahbm::synchronize();
  });
  EXPECT_NE(spread.find("lies more of one rank's block than of another's"), std::string::npos) << spread;
}

TEST(AlikeDevices, RefuseMessagesBetweenPairsOfRanks) {
  const std::string error = error_of(3, [](int rank, std::vector<std::int64_t>&) {
    const auto x = torch::empty({64}, one_pe());
    const auto sent = dist::isend(x, (rank + 1) % 3), received = dist::irecv(x, (rank + 2) % 3);
    sent->wait();
    received->wait();
    torch::ahbm::synchronize();
  });
  EXPECT_EQ(error,
            "AlikeDevicesError: isend: devices are not alike: one rank sends to another one; simulate all devices, or "
            "use a collective");
}

TEST(AlikeDevices, RefuseAChannelThatHasNoMate) {
  const RanksResult result = run_ranks(timed(3, "ring_1d", true), 6, [&](int rank) {
    dist::init_process_group("ahbm", rank, 6, {.algorithm = "ring_allreduce"});
    const auto low = dist::new_group({0, 1, 2, 3}), high = dist::new_group({4, 5});
    dist::all_reduce(torch::empty({64}, torch::dtype(torch::kFloat).device("ahbm")), dist::ReduceOp::SUM,
                     rank < 4 ? low : high);
    torch::ahbm::synchronize();
  });
  EXPECT_EQ(result.error.type, "AlikeDevicesError");
  EXPECT_EQ(result.error.message,
            "devices are not alike: no device sends to sip0.cube0.pe1 as this one to sip1.cube0.pe0 by a way like its "
            "own; simulate all devices");
}

TEST(AlikeDevices, TellOnceWhichAlgorithmTakesThePlaceOfOneWhoseRanksDiffer) {
  SimulateOptions options = timed(8, "ring_1d", true);
  std::vector<std::string> warnings;
  options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
  const RanksResult result = run_ranks(options, 8, [&](int rank) {
    torch::ahbm::set_device(rank);
    dist::init_process_group("ahbm", rank, 8);
    std::vector<std::int64_t> times;
    sums(64, false)(rank, times);
  });
  EXPECT_EQ(result.error.message, "");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings.front(),
            "all_reduce of the default group is done by ring_allreduce: with devices that are alike there is no "
            "direct_allreduce, whose ranks differ");
}

TEST(AlikeDevices, RefuseAlgorithmsInTheOrderOfRanksOnATorus) {
  const std::string error = error_of(
      9,
      [](int, std::vector<std::int64_t>&) {
        const auto x = torch::empty({9 * 64}, one_pe()), y = torch::empty({9 * 64}, one_pe());
        dist::all_to_all_single(y, x);
        torch::ahbm::synchronize();
      },
      "torus_2d");
  EXPECT_NE(error.find("AlikeDevicesError: all_to_all: devices are not alike: the ranks of the default group"),
            std::string::npos)
      << error;
}

TEST(AlikeDevices, RefuseGroupsOfSome) {
  const std::string error = error_of(4, [](int rank, std::vector<std::int64_t>&) {
    const auto low = dist::new_group({0, 1}), high = dist::new_group({2, 3});
    const auto x = torch::empty({64}, one_pe());
    dist::all_reduce(x, dist::ReduceOp::SUM, rank < 2 ? low : high);
    torch::ahbm::synchronize();
  });
  EXPECT_EQ(error,
            "AlikeDevicesError: all_reduce: devices are not alike: group 1 has 2 of the machine's 4 devices; give the "
            "machine as many as the group has (--set system.sips.count=2), or simulate all devices");
}

TEST(AlikeDevices, EndWithTheErrorOfAKernelOnAllRanks) {
  const std::string error = error_of(3, [](int, std::vector<std::int64_t>&) {
    const auto x = torch::empty({64}, one_pe());
    torch::launch("fails", [](tl::Tensor t) { tl::store(t, {64}, tl::full({64}, 0, DType::f32)); }, x);
    torch::ahbm::synchronize();
  });
  EXPECT_NE(error.find("OutOfBounds"), std::string::npos) << error;
}

}  // namespace
}  // namespace kernbench
