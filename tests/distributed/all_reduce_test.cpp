// all_reduce around the shipped ring: its order, its times, and types that it does not take. Its values are in
// every_algorithm_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "ranks.h"
#include "support/all_cases.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using torch::Tensor;

// Chunk c of each shard is folded from the left over ranks c + 1, …, c + n - 1, c.
TEST(AllReduce, FoldsInTheDocumentedOrderOfTheRingBitForBit) {
  constexpr int kRanks = 4;
  constexpr std::int64_t kElements = 1024;
  std::vector<std::vector<float>> inputs(kRanks), outputs(kRanks);
  const auto outcome = run_ranks(machine_of(kRanks), kRanks, [&](int rank) {
    dist::init_process_group("ahbm", rank, kRanks);
    torch::manual_seed(static_cast<std::uint64_t>(rank + 1));
    const Tensor host = torch::randn({kElements});
    const Tensor x = host.to("ahbm");
    dist::all_reduce(x);
    const Tensor back = x.cpu();
    const auto index = static_cast<std::size_t>(rank);
    inputs[index].assign(host.data_ptr<float>(), host.data_ptr<float>() + kElements);
    outputs[index].assign(back.data_ptr<float>(), back.data_ptr<float>() + kElements);
  });
  ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  const std::int64_t shard = kElements / 2, chunk = shard / kRanks;  // "tiny" has two PEs
  int differs_from_rank_order = 0;
  for (std::int64_t i = 0; i < kElements; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto c = static_cast<std::size_t>(i % shard / chunk);
    float expected = inputs[(c + 1) % kRanks][at];
    for (std::size_t step = 2; step <= kRanks; ++step) expected = expected + inputs[(c + step) % kRanks][at];
    float in_rank_order = inputs[0][at];
    for (std::size_t rank = 1; rank < kRanks; ++rank) in_rank_order = in_rank_order + inputs[rank][at];
    differs_from_rank_order += expected != in_rank_order ? 1 : 0;
    for (const auto& output : outputs) {
      ASSERT_EQ(std::memcmp(&output[at], &expected, sizeof expected), 0) << "element " << i;
    }
  }
  EXPECT_GT(differs_from_rank_order, 0);
}

// As users have it from elsewhere, word for word.
constexpr const char* kForeignFile = R"(defaults:
  algorithm: ring_allreduce_tcm
  buffer_kind: tcm
  backpressure: sleep
  n_slots: 4
  slot_size: 4096
  vc_chunk_size: 256
  ipcq_credit_size_bytes: 16
algorithms:
  ring_allreduce_tcm:
    module: kernbench.ccl.algorithms.ring_allreduce
    topology: ring_1d
    buffer_kind: tcm
    n_elem: 8
)";

TEST(AllReduce, AFileOfAnotherSimulatorIsReadAsItIsAndGivesRightSums) {
  const std::string path = ::testing::TempDir() + "kernbench_foreign_ccl.yaml";
  std::ofstream(path) << kForeignFile;
  SimulateOptions options = machine_of(3);
  options.collectives = path;
  for (const std::int64_t elements : {std::int64_t{8}, std::int64_t{5000}}) {  // a slot and several
    const auto outcome = run_ranks(options, 3, [&](int rank) {
      EXPECT_EQ(dist::get_algorithm().n_elem, 8);
      EXPECT_EQ(dist::get_algorithm("ring_allreduce_tcm").module, "ring_allreduce");
      dist::init_process_group("ahbm", rank, 3);
      const Tensor x = torch::full({elements}, 10.0 * rank + 1.0).to("ahbm");
      dist::all_reduce(x);
      const Tensor back = x.cpu();
      const std::vector<float> sums(back.data_ptr<float>(), back.data_ptr<float>() + elements);
      EXPECT_THAT(sums, ::testing::Each(33.0F));
    });
    EXPECT_THAT(outcome.errors, ::testing::Each(""));
    ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  }
  std::filesystem::remove(path);
}

/// A rank may be as far ahead of those below and above as its channels have slots.
TEST(AllReduce, OnTwoTreesIsRightWithAnyNumberOfSlotsAndTiles) {
  const std::string path = ::testing::TempDir() + "kernbench_trees_ccl.yaml";
  std::size_t turn = 0;
  for (int slots = 1; slots <= 9; ++slots) {
    std::ofstream(path) << "defaults: {algorithm: trees, slot_size: 64B, vc_chunk_size: 64B, n_slots: " << slots
                        << "}\nalgorithms: {trees: {module: double_tree_allreduce}}\n";
    for (const int ranks : {2, 3, 5, 6, 9}) {
      if (turn++ % one_case_in(7, 22) != 0) continue;
      SimulateOptions options = machine_of(ranks);
      options.collectives = path;
      options.overrides.emplace_back("pe.ipcq.queues=16");
      const auto outcome = run_ranks(options, ranks, [&](int rank) {
        dist::init_process_group("ahbm", rank, ranks);
        for (const std::int64_t elements : {1100, 1500, 4001}) {  // on one tree, and on two
          const Tensor x = (torch::arange(elements) % 7 + rank).to("ahbm");
          dist::all_reduce(x);
          const Tensor sum = torch::arange(elements) % 7 * ranks + ranks * (ranks - 1) / 2;
          EXPECT_TRUE(torch::equal(x.cpu(), sum)) << slots << " slots, " << elements << " elements";
        }
      });
      EXPECT_THAT(outcome.errors, ::testing::Each("")) << slots << " slots, " << ranks << " ranks";
      EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
    }
  }
  std::filesystem::remove(path);
}

/// The error of rank 0 of an all-reduce with the validator, and "" where it passes.
std::string validated(int sips, int ranks, const DPPolicy& placement) {
  const std::string path = ::testing::TempDir() + "kernbench_validator_ccl.yaml";
  std::ofstream(path) << "defaults: {algorithm: a}\n"
                         "algorithms: {a: {module: ring_allreduce, validator: multi_pe_sip_local}}\n";
  SimulateOptions options = machine_of(sips);
  options.collectives = path;
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    const Tensor x = torch::ones({8}, torch::device("ahbm").placement(placement));
    dist::broadcast(x, 0);  // the check is one of all-reduces
    dist::all_reduce(x);
    EXPECT_EQ(x.cpu().data_ptr<float>()[7], static_cast<float>(ranks));
  });
  std::filesystem::remove(path);
  EXPECT_THAT(outcome.errors, ::testing::Each(outcome.errors.front()));
  return outcome.errors.front();
}

TEST(AllReduce, AValidatorRefusesTensorsThatDoNotPassItsCheck) {
  EXPECT_EQ(validated(2, 2, {}), "");
  const std::string asks =
      "ValueError: all_reduce: the collectives file asks for multi_pe_sip_local, each rank's tensor on several PEs of "
      "its own SIP; here ";
  EXPECT_EQ(validated(2, 2, {.num_cubes = 1, .num_pes = 1}), asks + "the tensor lies on 1 PE");
  EXPECT_EQ(validated(2, 4, {}), asks + "a rank is a PE");
}

TEST(AllReduce, TheOrderInWhichRanksStartChangesNoValueAndNoTime) {
  std::vector<int> order{0, 1, 2, 3};
  std::vector<std::uint64_t> times, values;
  do {
    const auto outcome = run_ranks(
        machine_of(4), 4,
        [&](int rank) {
          dist::init_process_group("ahbm", rank, 4);
          torch::manual_seed(static_cast<std::uint64_t>(rank));
          const auto x = torch::randn({3000}).to("ahbm");
          const auto pair = dist::new_group(rank < 2 ? std::vector<int>{0, 1} : std::vector<int>{0, 1});
          dist::all_reduce(x);
          if (rank < 2) dist::all_reduce(x, ReduceOp::MAX, pair);
          dist::barrier();
          if (rank == 0) check_close("x", x, x.cpu());
        },
        order);
    ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
    times.push_back(outcome.run.times_fingerprint);
    values.push_back(outcome.run.values_fingerprint);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_THAT(times, ::testing::Each(times.front()));
  EXPECT_THAT(values, ::testing::Each(values.front()));
}

TEST(AllReduce, TakesTheSameTimeWithoutDataAndWithExactEvents) {
  const auto program = [](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    const auto x = torch::zeros({20000}, torch::device("ahbm"));
    dist::all_reduce(x);
    dist::barrier();
  };
  auto options = machine_of(3);
  const auto first = run_ranks(options, 3, program);
  ASSERT_EQ(first.run.status, RunStatus::ok) << first.error.message;
  options.data = false;
  EXPECT_EQ(run_ranks(options, 3, program).run.times_fingerprint, first.run.times_fingerprint);
  options.exact_events = true;
  EXPECT_EQ(run_ranks(options, 3, program).run.times_fingerprint, first.run.times_fingerprint);
}

TEST(AllReduce, TypesThatAReductionDoesNotTakeAreRefused) {
  const auto outcome = run_ranks(machine_of(1), 1, [](int) {
    dist::init_process_group("ahbm", 0, 1);
    dist::all_reduce(torch::zeros({4}, torch::dtype(torch::kBool).device("ahbm")), ReduceOp::AVG);
  });
  EXPECT_EQ(
      outcome.errors[0],
      "ValueError: all_reduce: Cannot use ReduceOp.AVG with a tensor of Bool: the devices have no such arithmetic; "
      "convert the tensor first, to Int or Half, say");
  const auto host = run_ranks(machine_of(1), 1, [](int) {
    dist::init_process_group("ahbm", 0, 1);
    dist::all_reduce(torch::zeros({4}));
  });
  EXPECT_EQ(host.errors[0],
            "ValueError: all_reduce: No backend type associated with device type cpu; move the tensor to the rank's "
            "device with .to(\"ahbm\")");
}

}  // namespace
}  // namespace kernbench::testing
