// hierarchical_allreduce over ranks that are PEs: its order over the levels of the machine, its bytes between SIPs, and
// where it cannot run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "every_algorithm.h"
#include "kernbench/kernbench.h"
#include "level_fold.h"
#include "sim/fiber.h"
#include "support/sanitizers.h"

namespace kernbench::testing::hierarchical {
namespace {

namespace dist = torch::distributed;
using distributed::CollectiveOperation;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kName = "hierarchical_allreduce";

/// SIPs of 2 x 2 cubes of 4 x 2 PEs.
SimulateOptions machine(int sips) {
  const auto& algorithm = distributed::find_collective_algorithm(CollectiveOperation::all_reduce, kName);
  SimulateOptions options = machine_with(algorithm, sips);
  options.overrides.insert(options.overrides.end(), {"sip.cubes.mesh=[2, 2]", "cube.pes.mesh=[4, 2]"});
  return options;
}

float value_of(std::int64_t rank, std::int64_t element) {
  return 1.0F / static_cast<float>(1 + (element * 7 + rank * 13) % 101);
}

void expect_order(int sips, int ranks, const std::vector<int>& levels, const std::vector<int>& members = {}) {
  const auto outcome = run_ranks(machine(sips), ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    const auto group = members.empty() ? dist::ProcessGroup() : dist::new_group(members);
    if (dist::get_rank(group) < 0) return;
    for (const std::int64_t elements : {0, 1, 7, 1023, 4096}) {
      std::vector<float> mine;
      for (std::int64_t i = 0; i < elements; ++i) mine.push_back(value_of(dist::get_rank(group), i));
      const auto x = torch::tensor(mine).to("ahbm");
      dist::all_reduce(x, dist::ReduceOp::SUM, group);
      const auto host = x.cpu();
      for (std::int64_t i = 0; i < elements; ++i) {
        const float wanted = fold_over_levels(levels, chunks_of(levels, i, elements), false,
                                              [&](std::int64_t place) { return value_of(place, i); });
        ASSERT_EQ(host.data_ptr<float>()[i], wanted) << "element " << i << " of " << elements << ", rank " << rank;
      }
    }
  });
  expect_ok(outcome, std::to_string(ranks) + " ranks");
}

TEST(HierarchicalAllReduce, FoldsOverPesThenCubesThenSips) {
  expect_order(1, 2, {2});
  expect_order(1, 3, {3});
  expect_order(1, 8, {8});
  expect_order(1, 16, {8, 2});
  if (kSanitized) return;  // the groups below have three levels, too
  expect_order(1, 24, {8, 3});
  expect_order(1, 32, {8, 4});
  expect_order(2, 64, {8, 4, 2});
}

TEST(HierarchicalAllReduce, TheLevelsOfASubgroupAreThoseOfItsOwnPes) {
  expect_order(2, 64, {4}, {0, 2, 4, 6});
  expect_order(2, 64, {2, 2, 2}, {1, 2, 9, 10, 33, 34, 41, 42});
  expect_order(2, 64, {3, 2}, {0, 1, 2, 32, 33, 34});
}

/// Bytes over the links between SIPs, each a hop from each other one, of an all-reduce.
std::int64_t sip_bytes(int sips, int ranks, std::int64_t elements, const std::string& algorithm) {
  SimulateOptions options = machine(sips);
  options.overrides.emplace_back("system.sips.topology=fully_connected");
  options.collectives.clear();
  std::int64_t bytes = 0;
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    const auto x = torch::zeros({elements}, torch::device("ahbm"));
    dist::all_reduce(x);
    torch::ahbm::synchronize();
    sim::this_fiber::sleep(Time::milliseconds(1));
    const torch::ahbm::TrafficMeter meter;
    sim::this_fiber::sleep(Time::milliseconds(1));
    dist::all_reduce(x);
    sim::this_fiber::sleep(Time::milliseconds(10));
    if (rank == 0) bytes = meter.read().sip_bytes;
  });
  expect_ok(outcome, algorithm);
  return bytes;
}

// Between SIPs each of the 32 PEs sends 2 (3 - 1)/3 of its 1/32: the payload is 4 S on all links together.
TEST(HierarchicalAllReduce, BytesBetweenSipsAreTheLeastThatThereIs) {
  NOT_UNDER_SANITIZERS("long");
  constexpr int kSips = 3, kRanks = 96;
  constexpr std::int64_t kElements = std::int64_t{kRanks} * 4096, kBytes = kElements * 4;
  const std::int64_t bytes = sip_bytes(kSips, kRanks, kElements, kName);
  EXPECT_GE(bytes, 2 * (kSips - 1) * kBytes);
  EXPECT_LE(bytes, 2 * (kSips - 1) * kBytes * 11 / 10) << "headers, credits and announcements";
}

std::string answer(int sips, int ranks, const std::vector<int>& members = {}) {
  const auto outcome = run_ranks(machine(sips), ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    if (!members.empty()) dist::new_group(members);
  });
  return outcome.errors.front();
}

TEST(HierarchicalAllReduce, RanksThatAreUnevenAreRefusedWithWhatWouldFit) {
  EXPECT_THAT(answer(1, 9), AllOf(HasSubstr("hierarchical_allreduce cannot run on 9 ranks, each a PE: the 9 ranks do "
                                            "not fill the machine evenly"),
                                  HasSubstr("a cube has 8 PEs, a SIP 4 cubes"), HasSubstr("there is ring_allreduce")));
  EXPECT_THAT(answer(1, 8, {0, 1, 2}), "");
  EXPECT_THAT(answer(1, 16, {0, 1, 8}), HasSubstr("new_group: hierarchical_allreduce cannot run on 3 ranks"));
}

}  // namespace
}  // namespace kernbench::testing::hierarchical
