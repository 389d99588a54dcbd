// The key `mapper` of collectives files: all PEs of a SIP work on an all-reduce of a tensor that lies on one of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "distributed/flat_tensor.h"
#include "distributed/shares.h"
#include "every_algorithm.h"
#include "kernbench/kernbench.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::testing::mapper {
namespace {

namespace dist = torch::distributed;
using distributed::CollectiveOperation;

constexpr DPPolicy kOnePe{.num_cubes = 1, .num_pes = 1};

struct Outcome {
  std::vector<float> values;
  Time time;                  // of the last of two all-reduces
  std::int64_t programs = 0;  // of it, on the first SIP
};

/// Of a tensor on one PE; its elements are not exact in sums.
Outcome all_reduce(const distributed::CollectiveAlgorithm& algorithm, int ranks, std::int64_t elements,
                   const char* key) {
  SimulateOptions options = machine_with(algorithm, ranks, key);
  options.overrides.insert(options.overrides.end(), {"sip.cubes.mesh=[2, 2]", "cube.pes.mesh=[4, 2]"});
  Outcome result;
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    torch::manual_seed(static_cast<std::uint64_t>(rank + 1));
    const auto x = torch::randn({elements}).to(torch::TensorOptions().device("ahbm").placement(kOnePe));
    dist::all_reduce(torch::zeros({elements}, torch::device("ahbm").placement(kOnePe)));
    torch::ahbm::Event begin, end;
    begin.record();
    dist::all_reduce(x);
    end.record();
    end.synchronize();
    const auto host = x.cpu();
    const std::vector<float> mine(host.data_ptr<float>(), host.data_ptr<float>() + elements);
    if (rank == 0) {
      result.values = mine;
      result.time = Time::picoseconds(static_cast<std::int64_t>(begin.elapsed_time(end) * 1e9));
    } else {
      EXPECT_EQ(mine, result.values.empty() && elements > 0 ? mine : result.values) << "rank " << rank;
    }
  });
  expect_ok(outcome, std::string(algorithm.name));
  for (const auto& launch : outcome.run.launches) {
    if (launch.name == std::string(algorithm.name) + "#0.1") result.programs = launch.programs;
  }
  return result;
}

TEST(Mapper, AllPesAreRightOfEveryAlgorithmAndNumberOfElements) {
  std::size_t turn = 0;
  for (const auto& algorithm : algorithms_of(CollectiveOperation::all_reduce)) {
    for (const int ranks : {1, 2, 3}) {
      for (const std::int64_t elements : {0, 1, 7, 300, 1023, 4096, 50'001}) {
        if (++turn % one_case_in(4, 23) != 0) continue;
        SCOPED_TRACE(std::string(algorithm.name) + ", " + std::to_string(elements));
        const Outcome leader = all_reduce(algorithm, ranks, elements, "mapper: leader");
        const Outcome all = all_reduce(algorithm, ranks, elements, "mapper: all_pes");
        ASSERT_EQ(all.values.size(), leader.values.size());
        for (std::size_t i = 0; i < all.values.size(); ++i) ASSERT_NEAR(all.values[i], leader.values[i], 1e-5) << i;
      }
    }
  }
}

TEST(Mapper, AllPesTakeSharesOfWholePagesOfTheChannels) {
  const auto& ring = distributed::find_collective_algorithm(CollectiveOperation::all_reduce, "ring_allreduce");
  EXPECT_EQ(all_reduce(ring, 2, 100'000, "mapper: leader").programs, 1);
  EXPECT_EQ(all_reduce(ring, 2, 100'000, "mapper: all_pes").programs, 31) << "31 shares of 13 pages of 1 KiB";
  EXPECT_EQ(all_reduce(ring, 2, 1024, "mapper: all_pes").programs, 4);
  EXPECT_EQ(all_reduce(ring, 2, 256, "mapper: all_pes").programs, 1);
}

TEST(Mapper, AllPesTakeLessTimeForLongTensors) {
  const auto& ring = distributed::find_collective_algorithm(CollectiveOperation::all_reduce, "ring_allreduce");
  const Time leader = all_reduce(ring, 2, 1 << 18, "mapper: leader").time;
  EXPECT_LT(all_reduce(ring, 2, 1 << 18, "mapper: all_pes").time, leader);
}

/// GB/s, as nccl-tests define it, of tensors on one PE of each SIP of ahbm-2sip.
double bus_bandwidth(const char* algorithm, std::int64_t bytes) {
  SimulateOptions options;
  options.topology = "ahbm-2sip";
  options.data = false;
  double ns = 0;
  const auto outcome = run_ranks(options, 2, [&](int rank) {
    dist::init_process_group("ahbm", rank, 2, {.algorithm = algorithm});
    const auto x = torch::empty({bytes / 4}, torch::device("ahbm").placement(kOnePe));
    dist::all_reduce(torch::empty({256}, torch::device("ahbm").placement(kOnePe)));
    torch::ahbm::synchronize();
    dist::monitored_barrier();
    torch::ahbm::Event begin, end;
    constexpr int kCalls = 2;
    begin.record();
    for (int call = 0; call < kCalls; ++call) dist::all_reduce(x);
    end.record();
    end.synchronize();
    ns = std::max(ns, begin.elapsed_time(end) * 1e6 / kCalls);
  });
  expect_ok(outcome, algorithm);
  return static_cast<double>(bytes) / ns;  // 2(n - 1)/n is 1
}

/// One slice of 150 GB/s is read and written once: no more than half of that. One PE alone reached 39 of 1 MiB.
TEST(Mapper, AllPesUseTheSliceOfAShippedMachine) {
  EXPECT_GE(bus_bandwidth("all_pes", 1 << 20), 1.4 * 39);
  if (kSanitized) return;
  const double much = bus_bandwidth("all_pes", 16 << 20);
  EXPECT_GE(much, 0.8 * 75);
  EXPECT_LE(much, 75);
}

TEST(Mapper, SharesAreThoseOfATensorOnOnePeOnly) {
  topology::Topology machine;
  machine.sip.cubes = {2, 2};
  machine.cube.pes = {4, 2};
  addressing::TensorDescriptor flat;
  flat.dtype = DType::f16;
  flat.shape = {5000};
  flat.shards = {{.owner = {SipId{1}, CubeId{2}, PeId{3}}, .offset = {0}, .shape = {5000}}};
  const auto shares = distributed::shares_of(flat, machine);
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->each, 512) << "a page of 1 KiB";
  EXPECT_EQ(shares->pes.size(), 10u);
  std::int64_t next = 0;
  for (const PeCoordinate& pe : shares->pes) {
    EXPECT_EQ(pe.sip, SipId{1});
    EXPECT_EQ(shares->of(pe).begin, next);
    next = shares->of(pe).end;
  }
  EXPECT_EQ(next, 5000);
  EXPECT_TRUE(std::ranges::is_sorted(shares->pes));
  flat.shards.push_back({.owner = {SipId{1}, CubeId{2}, PeId{4}}, .offset = {0}, .shape = {5000}});
  EXPECT_FALSE(distributed::shares_of(flat, machine));
}

}  // namespace
}  // namespace kernbench::testing::mapper
