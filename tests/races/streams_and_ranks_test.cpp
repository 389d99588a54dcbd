// Launches that run at the same time, collectives, and kernels of the library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>

#include "kernbench/kernbench.h"

namespace kernbench {
namespace {

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;
namespace dist = torch::distributed;

using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

SimulateOptions with_races(int sips = 1) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"system.sips.count=" + std::to_string(sips)};
  options.threads = 1;
  options.detect_races = true;
  return options;
}

/// A kernel that stores a row, slowly, on one stream, and another one of the same row on another stream.
RunResult on_two_streams(bool event) {
  return simulate(with_races(), [event] {
    const auto one_pe = torch::dtype(DType::f32).device("ahbm").placement({.num_cubes = 1, .num_pes = 1});
    auto x = torch::zeros({64}, one_pe);
    torch::ahbm::synchronize();
    torch::ahbm::Stream other;
    torch::LaunchOptions first, second;
    first.pes = {{CubeId{0}, PeId{0}}};
    second.pes = {{CubeId{0}, PeId{1}}};
    torch::launch(
        first, "slow",
        [](tl::Tensor a) {
          tl::store(a, {0}, tl::full({64}, 1.0f, DType::f32));
          tl::delay(100'000);
        },
        x);
    if (event) other.wait_stream(torch::ahbm::current_stream());
    {
      const torch::ahbm::StreamGuard guard(other);
      torch::launch(second, "fast", [](tl::Tensor a) { tl::store(a, {0}, tl::full({64}, 2.0f, DType::f32)); }, x);
    }
    torch::ahbm::synchronize();
  });
}

TEST(RacesOfStreams, LaunchesAtTheSameTimeRaceUnlessAStreamWaits) {
  const auto races = on_two_streams(false).races;
  ASSERT_THAT(races, SizeIs(1));
  EXPECT_EQ(races.front().earlier.launch, "slow#0");
  EXPECT_EQ(races.front().later.launch, "fast#0");
  EXPECT_THAT(on_two_streams(true).races, IsEmpty());
}

/// Every fourth element of x is added to on one stream, and on another one every fourth from `start` on.
RunResult of_elements_with_gaps(std::int64_t start) {
  return simulate(with_races(), [start] {
    auto x = torch::zeros({64, 256}, torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
    torch::ahbm::synchronize();
    torch::ahbm::Stream other;
    x.slice(1, 0, 256, 4).add_(1.0);
    const torch::ahbm::StreamGuard guard(other);
    x.slice(1, start, 256, 4).add_(1.0);
    torch::ahbm::synchronize();
  });
}

TEST(RacesOfStreams, WhatIsStoredBetweenElementsThatStayRacesWithAccessesOfTheSameElements) {
  EXPECT_FALSE(of_elements_with_gaps(0).races.empty());
  EXPECT_THAT(of_elements_with_gaps(1).races, IsEmpty());
}

TEST(RacesOfStreams, LaunchesOfOneStreamDoNotRace) {
  const auto result = simulate(with_races(), [] {
    auto x = torch::zeros({64, 64}, torch::device("ahbm"));
    for (int i = 0; i < 10; ++i) x = x + 1.0;
    x.add_(1.0);
    const auto y = torch::matmul(x, x);
    torch::softmax(y, 1).sum().item<float>();
  });
  EXPECT_THAT(result.races, IsEmpty());
}

void on_ranks(int ranks, const std::function<void()>& program) {
  const auto body = [&](int rank) {
    torch::ahbm::set_device(rank);
    dist::init_process_group("ahbm", rank, ranks);
    program();
    dist::destroy_process_group();
  };
  torch::multiprocessing::spawn(body, std::tuple{}, {.nprocs = ranks});
}

TEST(RacesOfRanks, CollectivesHaveNone) {
  const auto result = simulate(with_races(4), [] {
    on_ranks(4, [] {
      auto x = torch::ones({1000}, torch::device("ahbm"));
      for (int i = 0; i < 3; ++i) dist::all_reduce(x);
      auto all = torch::zeros({4000}, torch::device("ahbm")), part = torch::zeros({250}, torch::device("ahbm"));
      dist::all_gather_into_tensor(all, x);
      dist::reduce_scatter_tensor(part, x);
      dist::broadcast(x, 1);
      auto exchanged = torch::zeros({1000}, torch::device("ahbm"));
      dist::all_to_all_single(exchanged, x);
      dist::barrier();
    });
  });
  EXPECT_THAT(result.races, IsEmpty());
}

TEST(RacesOfRanks, AKernelThatChangesWhatACollectiveUnderWayReadsRaces) {
  const auto result = simulate(with_races(2), [] {
    on_ranks(2, [] {
      auto x = torch::ones({200'000}, torch::device("ahbm"));
      torch::ahbm::synchronize();
      torch::ahbm::Stream other;
      const auto work = dist::all_reduce(x, dist::ReduceOp::SUM, {}, true);
      {
        const torch::ahbm::StreamGuard guard(other);
        torch::launch(
            "change", [](tl::Tensor a) { tl::store(a, {tl::program_id() * 1000}, tl::full({8}, 2.0f, DType::f32)); },
            x);
      }
      work->wait();
      torch::ahbm::synchronize();
    });
  });
  ASSERT_THAT(result.races, Not(IsEmpty()));
  const RaceResult& race = result.races.front();
  const bool own_first = race.earlier.launch.starts_with("change#");
  EXPECT_THAT((own_first ? race.earlier : race.later).where, MatchesRegex("streams_and_ranks_test\\.cpp:[0-9]+"));
  EXPECT_THAT((own_first ? race.later : race.earlier).where,
              MatchesRegex("[a-z_]+\\.(cpp|h):[0-9]+ \\(streams_and_ranks_test\\.cpp:[0-9]+\\)"))
      << "of the library's kernel the line that called it, too";
}

}  // namespace
}  // namespace kernbench
