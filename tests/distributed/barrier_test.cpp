// The algorithms of barriers: who has heard of whom after their steps, how many steps these are, and which one is
// taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "distributed/algorithm_spec.h"
#include "every_algorithm.h"
#include "kernbench/kernbench.h"
#include "ranks.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"
#include "topology/load.h"

namespace kernbench::testing::barrier_test {
namespace {

namespace dist = torch::distributed;
using distributed::CollectiveAlgorithm;
using distributed::CollectiveOperation;
using ::testing::Each;
using ::testing::IsEmpty;

std::vector<CollectiveAlgorithm> barriers() {
  return algorithms_of(CollectiveOperation::barrier);
}

std::int64_t step_count(const CollectiveAlgorithm& barrier, int ranks) {
  std::int64_t count = 0;
  for (const auto& step : barrier.steps(ranks)) count += step.times;
  return count;
}

TEST(Barriers, AfterTheStepsEachRankHasHeardOfAllOthers) {
  for (const CollectiveAlgorithm& barrier : barriers()) {
    for (int ranks = 2; ranks <= 70; ranks += kSanitized && ranks > 33 ? 7 : 1) {
      std::vector<std::set<int>> heard;  // by rank
      for (int rank = 0; rank < ranks; ++rank) heard.push_back({rank});
      const auto channels = barrier.channels(ranks);
      const std::set<distributed::RankPair> known(channels.begin(), channels.end());
      for (const auto& step : barrier.steps(ranks)) {
        for (std::int64_t time = 0; time < step.times; ++time) {
          const auto before = heard;
          for (const auto& message : step.messages) {
            ASSERT_TRUE(known.contains({message.from, message.to})) << barrier.name << ", " << ranks << " ranks";
            const auto& news = before[static_cast<std::size_t>(message.from)];
            heard[static_cast<std::size_t>(message.to)].insert(news.begin(), news.end());
          }
        }
      }
      for (const auto& each : heard)
        ASSERT_EQ(each.size(), static_cast<std::size_t>(ranks)) << barrier.name << ", " << ranks << " ranks";
    }
  }
}

TEST(Barriers, TakeAsManyStepsAsTheTableSays) {
  const std::map<std::string, std::map<int, std::int64_t>> expected{
      {"ring_barrier", {{2, 1}, {5, 4}, {16, 15}, {64, 63}}},
      {"bidirectional_ring_barrier", {{2, 1}, {5, 2}, {16, 8}, {64, 32}}},
      {"bidirectional_grid_barrier", {{2, 1}, {5, 2}, {16, 4}, {64, 8}}},
      {"dissemination_barrier", {{2, 1}, {5, 3}, {16, 4}, {64, 6}}},
      {"bidirectional_dissemination_barrier", {{2, 1}, {5, 2}, {16, 3}, {64, 4}}},
      {"tree_barrier", {{2, 2}, {5, 6}, {16, 8}, {64, 12}}},
      {"direct_barrier", {{2, 1}, {5, 1}, {16, 1}, {64, 1}}}};
  for (const CollectiveAlgorithm& barrier : barriers()) {
    for (const auto& [ranks, steps] : expected.at(std::string(barrier.name)))
      EXPECT_EQ(step_count(barrier, ranks), steps) << barrier.name << ", " << ranks << " ranks";
  }
}

TEST(Barriers, DisseminatedInBothDirectionsGoHalfwayAroundARing) {
  const auto& barrier =
      distributed::find_collective_algorithm(CollectiveOperation::barrier, "bidirectional_dissemination_barrier");
  for (int ranks = 2; ranks <= 300; ++ranks) {
    int places = 0;
    for (const auto& step : barrier.steps(ranks)) {
      const auto& first = step.messages.front();
      places += std::min((first.to - first.from + ranks) % ranks, (first.from - first.to + ranks) % ranks);
    }
    EXPECT_EQ(places, ranks / 2) << ranks << " ranks";
  }
}

/// The second of two barriers to which all ranks come at one time, on rank 0.
LaunchResult measured(const SimulateOptions& options, int ranks, const std::string& algorithm = {}) {
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    dist::barrier();  // the channels are there
    torch::ahbm::synchronize();
    dist::monitored_barrier();
    dist::barrier();
  });
  EXPECT_THAT(outcome.errors, Each(IsEmpty())) << algorithm;
  std::vector<LaunchResult> launches = outcome.run.launches;
  std::erase_if(launches, [](const LaunchResult& each) { return each.device != 0; });
  return launches.back();
}
Time time_of(const LaunchResult& launch) {
  return launch.end - launch.start;
}

/// Ranks that come at one time do each step at one time, and programs go on at edges of the PE's clock: each step takes
/// as long as the others but for one cycle in all.
TEST(Barriers, TakeOneLatencyMoreForEachStep) {
  constexpr double kCycle = 1000;  // ps, of tiny
  for (const char* name : {"ring_barrier", "bidirectional_ring_barrier"}) {
    const auto& barrier = distributed::find_collective_algorithm(CollectiveOperation::barrier, name);
    const auto time = [&](int ranks) {
      return static_cast<double>(time_of(measured(machine_with(barrier, ranks), ranks)).count());
    };
    constexpr int kLeast = 3, kMost = 13;
    const double least = time(kLeast);
    const auto steps_more = [&](int ranks) {
      return static_cast<double>(step_count(barrier, ranks) - step_count(barrier, kLeast));
    };
    const double step = (time(kMost) - least) / steps_more(kMost);
    EXPECT_GT(step, 500e3) << "the latency of a link";
    EXPECT_LT(step, 550e3) << name;
    for (const int ranks : {5, 7, 9, 11})
      EXPECT_NEAR(time(ranks), least + steps_more(ranks) * step, kCycle) << name << ", " << ranks << " ranks";
  }
}

TEST(Barriers, TheOneThatIsTakenUnaskedIsTheShortest) {
  NOT_UNDER_SANITIZERS("times only");
  std::size_t turn = 0;
  for (const std::string wiring : {"ring_1d", "torus_2d", "fully_connected", "switched"}) {
    for (const int sips : {2, 4, 8, 16}) {
      if (++turn % one_case_in(3, 1) != 0) continue;
      const SimulateOptions options = shipped(sips, wiring);
      const LaunchResult taken = measured(options, sips);
      Time least = Time::max();
      std::string best;
      for (const CollectiveAlgorithm& barrier : barriers()) {
        distributed::AlgorithmSpec spec;
        const auto machine = topology::load_topology(source_tree::path("topologies/ahbm-2sip.yaml"), options.overrides);
        if (!barrier.refusal({sips, false, spec, machine}).empty()) continue;
        const Time time = time_of(measured(options, sips, std::string(barrier.name)));
        if (time < least) least = time, best = barrier.name;
      }
      EXPECT_LE(static_cast<double>(time_of(taken).count()), 1.05 * static_cast<double>(least.count()))
          << sips << " SIPs, " << wiring << ": " << taken.kernel << " for " << best;
    }
  }
}

}  // namespace
}  // namespace kernbench::testing::barrier_test
