// All-reduce by direct exchange: the bits of the ring, two steps for any number of ranks, and where it cannot run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "ranks.h"
#include "spawning.h"
#include "support/all_cases.h"
#include "support/test_files.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;

/// The elements of rank 0 after an all-reduce of random ones by an algorithm of the shipped file.
std::vector<float> reduced(const std::string& algorithm, int ranks, DType dtype, std::int64_t elements) {
  std::vector<float> result;
  const auto outcome = run_ranks(machine_of(ranks), ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    torch::manual_seed(static_cast<std::uint64_t>(rank + 1));
    const auto x = torch::randn({elements}).to(dtype).to("ahbm");
    dist::all_reduce(x);
    const auto host = x.cpu().to(torch::kFloat);
    if (rank == 0) result.assign(host.data_ptr<float>(), host.data_ptr<float>() + elements);
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each(""));
  return result;
}

TEST(DirectAllReduce, FoldsInTheOrderOfTheRing) {
  std::size_t turn = 0;
  for (const int ranks : {2, 3, 5, 8}) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      for (const std::int64_t elements : {7, 1001, 70001}) {
        if (turn++ % one_case_in(1, 7) != 0) continue;
        const auto direct = reduced("direct_allreduce", ranks, dtype, elements);
        const auto ring = reduced("ring_allreduce", ranks, dtype, elements);
        ASSERT_EQ(direct.size(), ring.size());
        EXPECT_EQ(std::memcmp(direct.data(), ring.data(), ring.size() * sizeof(float)), 0)
            << ranks << " ranks, " << elements << " elements";
      }
    }
  }
}

/// Of an all-reduce of `x` that the calling rank begins when all have done one.
Time time_of_second(const torch::Tensor& x) {
  dist::all_reduce(x);
  dist::barrier();
  const auto work = dist::all_reduce(x, dist::ReduceOp::SUM, {}, true);
  work->synchronize();
  return Time::picoseconds(static_cast<std::int64_t>(work->get_duration() * 1e9));
}

/// Of an all-reduce of one element on each PE, where every two SIPs have a link.
Time time_of(const std::string& algorithm, int ranks) {
  SimulateOptions options = machine_of(ranks);
  options.overrides.emplace_back("system.sips.topology=fully_connected");
  Time time;
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    const auto x = torch::zeros({2}, torch::device("ahbm"));
    time = std::max(time, time_of_second(x));
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  return time;
}

// The latency of a ring grows with 2(n - 1) steps. Here only the rank that gets and sends all messages takes longer.
TEST(DirectAllReduce, TakesTwoStepsOnAnyNumberOfRanks) {
  const Time two = time_of("direct_allreduce", 2), eight = time_of("direct_allreduce", 8);
  EXPECT_LT(eight, two * 2);
  EXPECT_GT(time_of("ring_allreduce", 8), eight * 2);
}

// One rank after the other, beginning with the next one, takes 10.45 us.
TEST(DirectAllReduce, SendsNearAndFarInTurn) {
  SimulateOptions options = machine_of(8);
  options.data = false;
  const auto outcome = run_ranks(options, 8, [&](int rank) {
    dist::init_process_group("ahbm", rank, 8, {.algorithm = "direct_allreduce"});
    dist::all_reduce(torch::empty({65536}, torch::dtype(torch::kHalf).device("ahbm")));
    torch::ahbm::synchronize(rank);
  });
  ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_LT(outcome.run.simulated_time, Time::nanoseconds(10'350));
}

/// Of an all-reduce whose chunks have so many parts on each PE, over links that nothing else holds up. Parts have half
/// as many tiles as a channel has slots, one at least.
Time time_of_parts(int ranks, int parts, int slots) {
  constexpr std::int64_t kTile = 4096, kPes = 2;
  SimulateOptions options = machine_of(ranks);
  options.overrides.insert(options.overrides.end(),
                           {"system.sips.topology=fully_connected", "system.sips.link.bandwidth=16GB/s"});
  options.data = false;
  options.collectives = test_files::folder() + "direct.yaml";
  std::ofstream(options.collectives) << "defaults: {algorithm: direct_allreduce, slot_size: " << kTile
                                     << ", n_slots: " << slots
                                     << "}\nalgorithms: {direct_allreduce: {module: direct_allreduce}}\n";
  Time time;
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    const std::int64_t chunk = std::max(slots / 2, 1) * parts * kTile;
    const auto x = torch::empty({ranks * kPes * chunk}, torch::dtype(torch::kChar).device("ahbm"));
    time = std::max(time, time_of_second(x));
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  return time;
}

/// What each further part takes, as a share of the time of a link for its chunk and its result on two PEs.
double time_of_a_part(int ranks, int slots) {
  constexpr int kParts = 8;
  const Time more = time_of_parts(ranks, kParts + 1, slots) - time_of_parts(ranks, 1, slots);
  const double link_ns = 2.0 * 2 * kParts * std::max(slots / 2, 1) * 4096 / 16;
  return static_cast<double>(more.count()) * 1e-3 / link_ns;
}

/// Where a channel has room for two parts, the links go on while one of them is folded. Without that a part would take
/// 1.77 of its link's time between two SIPs, and 2.31 among four, whose messages to three links wait in one lane of
/// `tiny`.
TEST(DirectAllReduce, LinksGoOnBetweenThePartsOfChunks) {
  EXPECT_LT(time_of_a_part(2, 2), 1.4);   // 1.35
  EXPECT_LT(time_of_a_part(4, 8), 2.05);  // 2.01
  EXPECT_GT(time_of_a_part(2, 1), 2.5) << "with one slot there is no room for two parts: 2.62";
}

std::string error_of_group(const std::vector<std::string>& overrides, std::vector<int> members) {
  SimulateOptions options = machine_of(4);
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  const auto outcome = run_ranks(options, 4, [&](int rank) {
    dist::init_process_group("ahbm", rank, 4);
    const auto group = dist::new_group(members, {.algorithm = "direct_allreduce"});
    const bool is_member = std::ranges::find(members, rank) != members.end();
    if (is_member) dist::all_reduce(torch::zeros({64}, torch::device("ahbm")), dist::ReduceOp::SUM, group);
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  for (const auto& error : outcome.errors) EXPECT_EQ(error, outcome.errors.front());
  return outcome.errors.front();
}

TEST(DirectAllReduce, IsRefusedWhereAPeHasNoChannelForEachOtherRank) {
  EXPECT_EQ(error_of_group({"pe.ipcq.queues=3"}, {0, 1, 2, 3}), "");
  EXPECT_EQ(
      error_of_group({"pe.ipcq.queues=2"}, {0, 1, 2, 3}),
      "ConfigurationError: new_group: direct_allreduce cannot run on 4 ranks, each a SIP: a PE needs 3 channels to "
      "send and 3 to receive, one for each other rank, and has room for 2 (pe.ipcq.queues is 2; 8 slots of 16 KiB in "
      "tcm): take at most 3 ranks, or raise pe.ipcq.queues; for all_reduce of this group there is ring_allreduce, "
      "bidirectional_ring_allreduce, hierarchical_allreduce");
  EXPECT_EQ(error_of_group({"pe.ipcq.queues=2"}, {0, 2, 3}), "");
}

TEST(DirectAllReduce, IsRefusedWhereTheSlotsOfAllChannelsDoNotFit) {
  EXPECT_EQ(error_of_group({"pe.ipcq.capacity=384KiB"}, {0, 1, 2, 3}), "");
  EXPECT_THAT(
      error_of_group({"pe.ipcq.capacity=383KiB"}, {0, 1, 2, 3}),
      ::testing::HasSubstr("and has room for 2 (pe.ipcq.queues is 8; 8 slots of 16 KiB in tcm): take at most 3 ranks, "
                           "or take fewer or smaller slots or raise pe.ipcq.capacity; "));
}

}  // namespace
}  // namespace kernbench::testing
