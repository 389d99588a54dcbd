// The bytes that collectives send between SIPs: exactly those of so many sends of a block, for each algorithm. What a
// send carries besides (headers, announcements, credits) is the same for each tile, whoever sends it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "every_algorithm.h"
#include "kernbench/kernbench.h"
#include "sim/fiber.h"
#include "support/sanitizers.h"

namespace kernbench::testing::collective_traffic_test {
namespace {

namespace dist = torch::distributed;
using distributed::CollectiveOperation;
using torch::Tensor;

// Elements of f32 in two tiles, which are the pieces of a chain, too.
constexpr std::int64_t kBlock = 2 * 512;
constexpr const char* kTiles = "slot_size: 2KiB";

Tensor x(std::int64_t blocks) {
  return torch::zeros({blocks * kBlock}, torch::device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
}

/// Bytes over the links between SIPs, each a hop from each other one, of what the ranks call.
std::int64_t sip_bytes(SimulateOptions options, int ranks, const std::function<std::function<void()>(int rank)>& make) {
  options.overrides.emplace_back("system.sips.topology=fully_connected");
  std::int64_t bytes = 0;
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    const auto call = make(rank);
    dist::barrier();
    sim::this_fiber::sleep(Time::milliseconds(1));
    const torch::ahbm::TrafficMeter meter;
    sim::this_fiber::sleep(Time::milliseconds(1));
    call();
    sim::this_fiber::sleep(Time::milliseconds(10));
    if (rank == 0) bytes = meter.read().sip_bytes;
  });
  expect_ok(outcome, "traffic");
  return bytes;
}

/// Of one send of a block from a rank to the next.
std::int64_t bytes_of_a_block(const SimulateOptions& options, int ranks) {
  return sip_bytes(options, ranks, [](int rank) -> std::function<void()> {
    return [rank, block = x(1)] {
      if (rank == 0) dist::send(block, 1);
      if (rank == 1) dist::recv(block, 0);
    };
  });
}

std::int64_t blocks_sent(const SimulateOptions& options, int ranks,
                         const std::function<std::function<void()>(int rank)>& make) {
  const std::int64_t block = bytes_of_a_block(options, ranks), all = sip_bytes(options, ranks, make);
  EXPECT_GE(block, kBlock * 4);
  EXPECT_LE(block, kBlock * 4 * 11 / 10);
  EXPECT_EQ(all % block, 0) << all << " bytes are not those of whole blocks, " << block;
  return all / block;
}

TEST(CollectiveTraffic, OfRingsIsTheLeastThatThereIs) {
  for (const int n : {2, 3, 5}) {
    const auto options = machine_with(algorithms_of(CollectiveOperation::all_reduce).front(), n, kTiles);
    EXPECT_EQ(blocks_sent(options, n, [&](int) { return [t = x(n)] { dist::all_reduce(t); }; }), n * 2 * (n - 1));
    EXPECT_EQ(blocks_sent(options, n, [&](int) { return [a = x(1), b = x(n)] { dist::reduce_scatter_tensor(a, b); }; }),
              n * (n - 1));
    EXPECT_EQ(
        blocks_sent(options, n, [&](int) { return [a = x(n), b = x(1)] { dist::all_gather_into_tensor(a, b); }; }),
        n * (n - 1));
    EXPECT_EQ(blocks_sent(options, n, [&](int) { return [a = x(1)] { dist::reduce(a, 1); }; }), n - 1);
    EXPECT_EQ(blocks_sent(options, n, [&](int) { return [a = x(1)] { dist::broadcast(a, 1); }; }), n - 1);
  }
}

TEST(CollectiveTraffic, OfPairsIsOneBlockForEach) {
  for (const int n : {2, 3, 5}) {
    const auto options =
        machine_with(find_collective_algorithm(CollectiveOperation::all_to_all, "pairwise_all_to_all"), n, kTiles);
    EXPECT_EQ(blocks_sent(options, n, [&](int) { return [a = x(n), b = x(n)] { dist::all_to_all_single(a, b); }; }),
              n * (n - 1));
    const auto list = [&](int rank) {
      std::vector<Tensor> all;
      for (int i = 0; i < n && rank == 1; ++i) all.push_back(x(1));
      return all;
    };
    EXPECT_EQ(blocks_sent(options, n, [&](int rank) { return [a = x(1), l = list(rank)] { dist::gather(a, l, 1); }; }),
              n - 1);
    EXPECT_EQ(blocks_sent(options, n, [&](int rank) { return [a = x(1), l = list(rank)] { dist::scatter(a, l, 1); }; }),
              n - 1);
  }
}

TEST(CollectiveTraffic, OfEveryAllReduceOnAPowerOfTwoIsTheSame) {
  for (const auto& algorithm : algorithms_of(CollectiveOperation::all_reduce)) {
    for (const int n : {2, 4}) {
      SCOPED_TRACE(algorithm.name);
      EXPECT_EQ(
          blocks_sent(machine_with(algorithm, n, kTiles), n, [&](int) { return [t = x(n)] { dist::all_reduce(t); }; }),
          n * 2 * (n - 1));
    }
  }
}

TEST(CollectiveTraffic, OfEveryAlgorithmOfAnOperationIsTheSame) {
  const auto expect = [](CollectiveOperation operation, int n, std::int64_t blocks, const auto& make) {
    for (const auto& algorithm : algorithms_of(operation)) {
      SCOPED_TRACE(algorithm.name);
      EXPECT_EQ(blocks_sent(machine_with(algorithm, n, kTiles), n, [&](int) { return make(); }), blocks);
    }
  };
  for (const int n : {2, 3, 4, 5, 8}) {
    if (kSanitized && n != 3) continue;
    expect(CollectiveOperation::reduce_scatter, n, n * (n - 1),
           [&]() -> std::function<void()> { return [a = x(1), b = x(n)] { dist::reduce_scatter_tensor(a, b); }; });
    expect(CollectiveOperation::all_gather, n, n * (n - 1),
           [&]() -> std::function<void()> { return [a = x(n), b = x(1)] { dist::all_gather_into_tensor(a, b); }; });
    expect(CollectiveOperation::reduce, n, (n - 1) * (n - 1),
           [&]() -> std::function<void()> { return [a = x(n - 1)] { dist::reduce(a, 1); }; });
    expect(CollectiveOperation::broadcast, n, (n - 1) * (n - 1),
           [&]() -> std::function<void()> { return [a = x(n - 1)] { dist::broadcast(a, 1); }; });
  }
}

/// In the step of distance d the blocks whose way has that binary digit.
TEST(CollectiveTraffic, OfBrucksAllToAllIsABlockForEachDigitOfItsWay) {
  for (const auto& algorithm : algorithms_of(CollectiveOperation::all_to_all)) {
    if (algorithm.name != "bruck_all_to_all") continue;
    for (const int n : {2, 3, 5, 8}) {
      std::int64_t digits = 0;
      for (unsigned offset = 1; offset < static_cast<unsigned>(n); ++offset) digits += std::popcount(offset);
      EXPECT_EQ(blocks_sent(machine_with(algorithm, n, kTiles), n,
                            [&](int) { return [a = x(n), b = x(n)] { dist::all_to_all_single(a, b); }; }),
                n * digits);
    }
  }
}

}  // namespace
}  // namespace kernbench::testing::collective_traffic_test
