// The algorithms over distances of powers of two, Bruck and PAT: their trees and buffers, values on any number of ranks
// over every wiring, the order in which they fold, their bytes, and the calls that they do not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "distributed/algorithms/pat.h"
#include "every_algorithm.h"
#include "kernbench/kernbench.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using distributed::CollectiveOperation;
using distributed::PatStep;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

int log2_up(int n) {
  return std::bit_width(static_cast<unsigned>(n - 1));
}

TEST(PatSteps, BringEachBlockToEachRankOnceFromTheRankBeforeInItsTree) {
  for (int n = 1; n <= 70; ++n) {
    for (const int most : {1, 2, 4, 64}) {
      std::set<std::int64_t> reached{0};
      for (const PatStep& step : distributed::pat_steps(n, most)) {
        EXPECT_LE(step.offsets.size(), static_cast<std::size_t>(most)) << n << " ranks";
        for (const std::int64_t offset : step.offsets) {
          EXPECT_TRUE(reached.contains(offset - step.distance)) << offset << " of " << n;
          EXPECT_EQ(step.distance, offset & -offset);
          EXPECT_TRUE(reached.insert(offset).second) << offset << " of " << n << " twice";
        }
      }
      EXPECT_EQ(reached.size(), static_cast<std::size_t>(n));
    }
  }
}

TEST(PatSteps, AreAsManyAsALogarithmWhereAllBlocksFitAndNeverMoreThanOfARing) {
  for (int n = 2; n <= 70; ++n) {
    EXPECT_EQ(distributed::pat_steps(n, 64).size(), static_cast<std::size_t>(log2_up(n))) << n;
    EXPECT_EQ(distributed::pat_steps(n, 1).size(), static_cast<std::size_t>(n - 1)) << n;
  }
}

TEST(PatSteps, HoldAsManyBlocksAsTakeOneStepOfEachDistanceHoweverManyRanksThereAre) {
  for (const int n : {2, 3, 5, 8, 13, 16, 64, 100, 1024}) {
    for (const int most : {1, 2, 4, 8}) {
      const std::int64_t held = distributed::most_held(distributed::pat_steps(n, most), n);
      EXPECT_LE(held, most * (log2_up(n) + 1)) << n << " ranks, " << most << " at a time";
    }
  }
}

/// Whole numbers, so that sums are exact in whatever order.
torch::Tensor block_of(int from, int to, std::int64_t elements) {
  return torch::full({elements}, 100 * from + to, torch::dtype(torch::kFloat));
}
torch::Tensor blocks_for(int rank, int ranks, std::int64_t elements) {
  std::vector<torch::Tensor> blocks;
  for (int to = 0; to < ranks; ++to) blocks.push_back(block_of(rank, to, elements));
  return torch::cat(blocks);
}

/// All three operations of an entry of the shipped file, by blocks of so many elements.
void expect_right(const std::string& entry, const SimulateOptions& options, int ranks,
                  const std::vector<std::int64_t>& sizes) {
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = entry});
    const auto on_device = torch::dtype(torch::kFloat).device("ahbm");
    for (const std::int64_t elements : sizes) {
      SCOPED_TRACE(std::to_string(elements) + " elements");
      const auto all = torch::zeros({ranks * elements}, on_device), one = torch::zeros({elements}, on_device);
      const auto mine = blocks_for(rank, ranks, elements).to("ahbm");
      dist::all_to_all_single(all, mine);
      std::vector<torch::Tensor> from_all, of_all;
      for (int from = 0; from < ranks; ++from) from_all.push_back(block_of(from, rank, elements));
      for (int from = 0; from < ranks; ++from) of_all.push_back(block_of(from, 0, elements));
      EXPECT_TRUE(torch::equal(all.cpu(), torch::cat(from_all)));
      dist::all_gather_into_tensor(all, block_of(rank, 0, elements).to("ahbm"));
      EXPECT_TRUE(torch::equal(all.cpu(), torch::cat(of_all)));
      dist::reduce_scatter_tensor(one, mine);
      EXPECT_TRUE(torch::equal(
          one.cpu(), torch::full({elements}, 50 * ranks * (ranks - 1) + rank * ranks, torch::dtype(torch::kFloat))));
    }
  });
  expect_ok(outcome, entry + " on " + std::to_string(ranks) + " ranks");
}

TEST(BruckAndPat, AreRightOnAnyNumberOfRanksOverEveryWiring) {
  std::size_t turn = 0;
  const std::vector<std::string> wirings{"ring_1d", "torus_2d", "fully_connected", "switched"};
  for (const char* entry : {"bruck", "pat"}) {
    for (const int ranks : {1, 2, 3, 4, 5, 8, 13, 16}) {
      for (const std::string& wiring : wirings) {
        if (ranks == 1 && wiring != "ring_1d") continue;
        if (++turn % one_case_in(5, 16) != 0) continue;
        SCOPED_TRACE(wiring);
        SimulateOptions options = machine_of(ranks);
        options.overrides.push_back("system.sips.topology=" + wiring);
        if (wiring == "fully_connected" && ranks > 1) options.overrides.emplace_back("pe.ipcq.queues=16");
        expect_right(entry, options, ranks, {0, 1, 37, 4097});
      }
    }
  }
}

/// Blocks of many tiles, over channels that are full after one; steps of one block each.
TEST(BruckAndPat, NeedOneSmallSlotOnly) {
  for (const auto operation :
       {CollectiveOperation::all_gather, CollectiveOperation::reduce_scatter, CollectiveOperation::all_to_all}) {
    for (const auto& algorithm : algorithms_of(operation)) {
      if (algorithm.topology != "bruck") continue;
      for (const char* keys :
           {"n_slots: 1, slot_size: 64B, vc_chunk_size: 64B", "n_slots: 3, slot_size: 100B, vc_chunk_size: 64B"}) {
        for (const int ranks : {3, 5, 8}) {
          if (kSanitized && ranks != 5) continue;
          expect_right({}, machine_with(algorithm, ranks, keys), ranks, {201});
        }
      }
    }
  }
}

/// On shipped machines: all PEs of a SIP, and PEs that are ranks.
TEST(BruckAndPat, AreRightOnTheShippedMachineAndOnPes) {
  NOT_UNDER_SANITIZERS("long");
  SimulateOptions options;
  options.topology = "ahbm-2sip";
  options.overrides = {"system.sips.count=4"};
  for (const char* entry : {"bruck", "pat"}) expect_right(entry, options, 4, {1000});
  SimulateOptions pes = machine_of(2);
  pes.overrides.emplace_back("cube.pes.mesh=[4, 1]");
  for (const char* entry : {"bruck", "pat"}) expect_right(entry, pes, 5, {37});
}

std::vector<float> random_values(int rank, std::int64_t count) {
  std::mt19937 random(static_cast<std::uint32_t>(rank + 1));
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = std::normal_distribution<float>()(random);
  return values;
}

/// y[o] of block `block` is that of the rank o places before: y[o] := y[o + w] + y[o].
std::vector<float> folded_as_tree(int ranks, int block, std::int64_t elements) {
  std::vector<std::vector<float>> y;
  for (int offset = 0; offset < ranks; ++offset) {
    const auto all = random_values((block - offset + ranks) % ranks, ranks * elements);
    y.emplace_back(all.begin() + block * elements, all.begin() + (block + 1) * elements);
  }
  for (int w = 1; w < ranks; w *= 2) {
    for (int o = 0; o + w < ranks; o += 2 * w) {
      for (std::size_t i = 0; i < y[0].size(); ++i)
        y[static_cast<std::size_t>(o)][i] = y[static_cast<std::size_t>(o + w)][i] + y[static_cast<std::size_t>(o)][i];
    }
  }
  return y[0];
}

TEST(PatReduceScatter, FoldsAsATreeOfTheRanksInTheOrderOfTheRing) {
  constexpr std::int64_t kElements = 301;
  for (const int ranks : {2, 3, 5, 8}) {
    const auto outcome = run_ranks(machine_of(ranks), ranks, [&](int rank) {
      dist::init_process_group("ahbm", rank, ranks, {.algorithm = "pat"});
      const auto mine = torch::tensor(random_values(rank, ranks * kElements)).to("ahbm");
      const auto sum = torch::empty({kElements}, torch::dtype(torch::kFloat).device("ahbm"));
      dist::reduce_scatter_tensor(sum, mine);
      const auto host = sum.cpu();
      const auto expected = folded_as_tree(ranks, rank, kElements);
      EXPECT_EQ(std::memcmp(host.data_ptr<float>(), expected.data(), kElements * sizeof(float)), 0)
          << ranks << " ranks, rank " << rank;
    });
    expect_ok(outcome, "pat_reduce_scatter");
  }
}

/// Duration of the launch of `kernel` on the first SIP.
double us_of(const char* kernel, const char* entry, int ranks) {
  SimulateOptions options = machine_of(ranks);
  options.overrides.insert(options.overrides.end(), {"system.sips.topology=switched", "pe.ipcq.queues=16"});
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = entry});
    const auto all = torch::zeros({ranks}, torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
    const auto to = torch::zeros_like(all);
    const auto one = torch::zeros({1}, torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
    for (int time = 0; time < 2; ++time) {
      dist::barrier();
      torch::ahbm::synchronize();
      dist::all_gather_into_tensor(all, one);
      dist::reduce_scatter_tensor(one, all);
      dist::all_to_all_single(to, all);
      torch::ahbm::synchronize();
    }
  });
  expect_ok(outcome, entry);
  double us = 0;
  for (const LaunchResult& launch : outcome.run.launches) {
    if (launch.device == 0 && launch.kernel == kernel)
      us = static_cast<double>((launch.end - launch.start).count()) * 1e-6;
  }
  return us;
}

/// A step takes about a microsecond there, and a ring of 16 fifteen of them.
TEST(BruckAndPat, TakeAsManyStepsAsALogarithm) {
  NOT_UNDER_SANITIZERS("times only");
  const double around = us_of("ring_all_gather", "ring", 16);
  ASSERT_GT(around, 0);
  for (const auto& [kernel, entry] : {std::pair{"bruck_all_gather", "bruck"}, std::pair{"pat_all_gather", "pat"},
                                      std::pair{"pat_reduce_scatter", "pat"}, std::pair{"bruck_all_to_all", "bruck"}}) {
    const double four = us_of(kernel, entry, 4), sixteen = us_of(kernel, entry, 16);
    ASSERT_GT(four, 0) << kernel;
    EXPECT_LT(sixteen, 2.6 * four) << kernel << ": four steps in place of two";
    EXPECT_GT(sixteen, 1.2 * four) << kernel;
    EXPECT_LT(sixteen, 0.5 * around) << kernel;
  }
}

/// How often the launches of `kernel` on the first SIP did an operation.
std::int64_t times_of(const RunResult& run, const std::string& kernel, const std::string& operation) {
  std::int64_t times = 0;
  for (const LaunchResult& launch : run.launches) {
    if (launch.device != 0 || launch.kernel != kernel) continue;
    for (const OperationResult& each : launch.operations) times += each.operation == operation ? each.count : 0;
  }
  return times;
}

/// Small blocks of a step go in one message, and to their places by two stores, or three where the places begin anew.
TEST(Bruck, PutsTheBlocksOfAStepIntoOneMessage) {
  for (const int ranks : {5, 13, 16}) {
    const auto outcome = run_ranks(machine_of(ranks), ranks, [&](int rank) {
      dist::init_process_group("ahbm", rank, ranks, {.algorithm = "bruck"});
      const auto on_one = torch::device("ahbm").dtype(torch::kFloat).placement({.num_cubes = 1, .num_pes = 1});
      const auto mine = blocks_for(rank, ranks, 1).to(on_one), all = torch::zeros({ranks}, on_one);
      dist::all_to_all_single(all, mine);
      for (int from = 0; from < ranks; ++from)
        EXPECT_EQ(all[from].item<float>(), static_cast<float>(100 * from + rank)) << ranks;
      dist::all_gather_into_tensor(all, block_of(rank, 0, 1).to(on_one));
      for (int from = 0; from < ranks; ++from) EXPECT_EQ(all[from].item<float>(), static_cast<float>(100 * from));
    });
    expect_ok(outcome, "bruck");
    for (const char* kernel : {"bruck_all_to_all", "bruck_all_gather"}) {
      EXPECT_EQ(times_of(outcome.run, kernel, "send"), log2_up(ranks)) << kernel << " of " << ranks;
      EXPECT_LE(times_of(outcome.run, kernel, "store"), 3 * log2_up(ranks)) << kernel << " of " << ranks;
    }
  }
}

SimulateOptions of_all_to_all(const std::string& algorithm, int sips) {
  for (const auto& each : algorithms_of(CollectiveOperation::all_to_all)) {
    if (each.name == algorithm) return machine_with(each, sips);
  }
  ADD_FAILURE() << algorithm;
  return {};
}

TEST(BruckAllToAll, DoesNotTakeBlocksOfSeveralSizesAndSaysWhatDoes) {
  const auto outcome = run_ranks(of_all_to_all("bruck_all_to_all", 3), 3, [](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    const auto on = torch::device("ahbm");
    const auto input = torch::zeros({6}, on), output = torch::zeros({3 * (rank + 1)}, on);
    dist::all_to_all_single(output, input, std::vector<std::int64_t>(3, rank + 1), {1, 2, 3});
  });
  EXPECT_THAT(outcome.errors,
              Each(HasSubstr("ValueError: all_to_all_single: bruck_all_to_all does not take this call: its blocks pass "
                             "through other ranks, in the places of theirs, and they have different sizes; all_to_all "
                             "that take it: pairwise_all_to_all")));
}

TEST(BruckAllToAll, TakesSplitSizesThatAreEqual) {
  const auto outcome = run_ranks(of_all_to_all("bruck_all_to_all", 3), 3, [](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    const auto output = torch::zeros({6}, torch::device("ahbm"));
    dist::all_to_all_single(output, blocks_for(rank, 3, 2).to("ahbm"), {2, 2, 2}, {2, 2, 2});
    EXPECT_TRUE(
        torch::equal(output.cpu(), torch::cat({block_of(0, rank, 2), block_of(1, rank, 2), block_of(2, rank, 2)})));
  });
  expect_ok(outcome, "bruck_all_to_all");
}

/// Of an all-to-all of two ranks that all have begun together.
double duration_of(const char* algorithm, std::int64_t elements) {
  SimulateOptions options = machine_with(find_collective_algorithm(CollectiveOperation::all_to_all, algorithm), 2);
  options.data = false;
  options.detect_races = false;
  double most = 0;
  const auto outcome = run_ranks(options, 2, [&](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    const auto input = torch::empty({elements}, torch::device("ahbm")), output = torch::empty_like(input);
    dist::all_to_all_single(output, input);
    torch::ahbm::synchronize();
    dist::monitored_barrier();
    const auto work = dist::all_to_all_single(output, input, {}, {}, {}, true);
    work->synchronize();
    most = std::max(most, work->get_duration());
  });
  expect_ok(outcome, algorithm);
  return most;
}

/// Two ranks have one step, in which no messages of others hide the way of the credits: both algorithms send a tile for
/// each credit that comes. Four windows of slots of a PE, and a part of one.
TEST(AllToAll, OfTwoRanksTakesAsLongByPairsAsByDigits) {
  for (const std::int64_t elements : {std::int64_t{1} << 19, std::int64_t{1} << 12})
    EXPECT_DOUBLE_EQ(duration_of("pairwise_all_to_all", elements), duration_of("bruck_all_to_all", elements));
}

/// Without split sizes the choice goes by cost, with them it is the algorithm that takes any; both are right.
TEST(AutomaticAllToAll, GoesByTheFormOfTheCall) {
  constexpr int kRanks = 8;
  const auto outcome = run_ranks(machine_of(kRanks), kRanks, [](int rank) {
    dist::init_process_group("ahbm", rank, kRanks, {.algorithm = "auto"});
    const auto input = blocks_for(rank, kRanks, 1).to("ahbm"), output = torch::zeros({kRanks}, torch::device("ahbm"));
    dist::all_to_all_single(output, input);
    const std::vector<std::int64_t> one(kRanks, 1);
    dist::all_to_all_single(output, input, one, one);
    for (int from = 0; from < kRanks; ++from)
      EXPECT_EQ(output[from].item<float>(), static_cast<float>(100 * from + rank));
  });
  expect_ok(outcome, "auto");
  std::vector<std::string> kernels;
  for (const auto& launch : outcome.run.launches) {
    if (launch.device == 0 && launch.kernel.find("all_to_all") != std::string::npos) kernels.push_back(launch.kernel);
  }
  EXPECT_THAT(kernels, ::testing::ElementsAre("bruck_all_to_all", "pairwise_all_to_all"));
}

TEST(AutomaticAllToAll, SplitsThatDoNotFitAreToldBeforeTheAlgorithm) {
  constexpr int kRanks = 4;
  const auto outcome = run_ranks(machine_of(kRanks), kRanks, [](int rank) {
    dist::init_process_group("ahbm", rank, kRanks, {.algorithm = "auto"});
    const auto input = torch::zeros({kRanks}, torch::device("ahbm"));
    const auto output = torch::zeros({kRanks + (rank == 2 ? 1 : 0)}, torch::device("ahbm"));
    const std::vector<std::int64_t> none, one(kRanks, 1), wrong = {1, 2, 1, 1};
    dist::all_to_all_single(output, input, rank == 2 ? wrong : none, rank == 2 ? one : none);
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(outcome.errors, Each(HasSubstr("Split sizes: rank 1 sends 1 elements to rank 2, which expects 2")));
  EXPECT_THAT(outcome.errors, Each(::testing::Not(HasSubstr("given by some ranks"))));
}

TEST(AutomaticAllToAll, ToldByRanksThatDifferInTheFormOfTheirCalls) {
  constexpr int kRanks = 8;
  const auto outcome = run_ranks(machine_of(kRanks), kRanks, [](int rank) {
    dist::init_process_group("ahbm", rank, kRanks, {.algorithm = "auto"});
    const auto input = torch::zeros({kRanks}, torch::device("ahbm")), output = torch::zeros_like(input);
    const std::vector<std::int64_t> one(kRanks, 1), none;
    dist::all_to_all_single(output, input, rank == 0 ? one : none, rank == 0 ? one : none);
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(outcome.errors, Each(HasSubstr("Split sizes: given by some ranks and not by others")));
}

}  // namespace
}  // namespace kernbench::testing
