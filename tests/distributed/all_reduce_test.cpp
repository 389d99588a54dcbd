// all_reduce: right in every type, size, placement and memory of the slots; folded in the order that is documented.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "ranks.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using torch::Tensor;

/// A collectives file with one ring.
std::string ring_file(const std::string& name, const std::string& keys) {
  const std::string path = ::testing::TempDir() + "kernbench_" + name + ".yaml";
  std::ofstream(path) << "defaults: {algorithm: ring, " << keys << "}\nalgorithms: {ring: {module: ring_allreduce}}\n";
  return path;
}

/// Element i of rank r: small whole numbers, so that every sum and product is exact in every type.
double element(int rank, std::int64_t i, ReduceOp op) {
  const auto k = static_cast<std::int64_t>(rank) * 7 + i;
  if (op == ReduceOp::PRODUCT) return static_cast<double>(k % 2 + 1);
  return static_cast<double>(k % 5);
}

double fold(ReduceOp op, double a, double b) {
  const auto bits = [](double x) { return static_cast<std::int64_t>(x); };
  switch (op) {
    case ReduceOp::PRODUCT:
      return a * b;
    case ReduceOp::MIN:
      return std::fmin(a, b);
    case ReduceOp::MAX:
      return std::fmax(a, b);
    case ReduceOp::BAND:
      return static_cast<double>(bits(a) & bits(b));
    case ReduceOp::BOR:
      return static_cast<double>(bits(a) | bits(b));
    case ReduceOp::BXOR:
      return static_cast<double>(bits(a) ^ bits(b));
    default:
      return a + b;
  }
}

Tensor host_tensor(const std::vector<double>& values, DType dtype) {
  return torch::tensor(values, torch::dtype(torch::kDouble)).to(dtype);
}
std::vector<double> values_of(const Tensor& tensor) {
  const Tensor host = tensor.cpu().to(torch::kDouble).contiguous();
  const auto* data = host.data_ptr<double>();
  return {data, data + host.numel()};
}

struct Case {
  int ranks = 2;
  std::vector<std::int64_t> shape = {};
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::SUM;
  DPPolicy policy = {};
};

/// What all ranks have after one all_reduce of element(); asserts that they agree with a reference in double.
void expect_exact(const Case& what, SimulateOptions options) {
  const std::int64_t n = std::accumulate(what.shape.begin(), what.shape.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<std::vector<double>> results(static_cast<std::size_t>(what.ranks));
  const auto outcome = run_ranks(options, what.ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, what.ranks);
    std::vector<double> mine;
    for (std::int64_t i = 0; i < n; ++i) mine.push_back(element(rank, i, what.op));
    const auto x = host_tensor(mine, what.dtype)
                       .reshape(what.shape)
                       .to(torch::TensorOptions().device("ahbm").placement(what.policy));
    dist::all_reduce(x, what.op);
    results[static_cast<std::size_t>(rank)] = values_of(x);
  });
  const std::string title = std::to_string(what.ranks) + " ranks, " + std::to_string(n) + " of " + name(what.dtype) +
                            ", op " + std::to_string(static_cast<int>(what.op));
  ASSERT_EQ(outcome.run.status, RunStatus::ok) << title << ": " << outcome.error.message;
  for (const auto& error : outcome.errors) ASSERT_EQ(error, "") << title;
  for (std::int64_t i = 0; i < n; ++i) {
    double expected = element(0, i, what.op);
    for (int rank = 1; rank < what.ranks; ++rank) expected = fold(what.op, expected, element(rank, i, what.op));
    if (what.op == ReduceOp::AVG) expected /= what.ranks;
    for (const auto& result : results) ASSERT_EQ(result[static_cast<std::size_t>(i)], expected) << title << " at " << i;
  }
}

TEST(AllReduce, IsExactOnAnyNumberOfSipsAndAnySize) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const std::int64_t n : {0, 1, 2, 3, 7, 64, 1000, 40000}) {
      expect_exact({.ranks = ranks, .shape = {n}}, machine_of(ranks));
    }
  }
}

TEST(AllReduce, IsExactInEveryTypeWithEveryReductionThatItAllows) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::i64, DType::i8, DType::u8}) {
    for (const ReduceOp op : {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::PRODUCT, ReduceOp::MIN, ReduceOp::MAX,
                              ReduceOp::BAND, ReduceOp::BOR, ReduceOp::BXOR}) {
      const bool bits = op == ReduceOp::BAND || op == ReduceOp::BOR || op == ReduceOp::BXOR;
      if (is_floating_point(dtype) ? bits : op == ReduceOp::AVG) continue;
      // An average of four is exact.
      expect_exact({.ranks = op == ReduceOp::AVG ? 4 : 3, .shape = {37, 5}, .dtype = dtype, .op = op}, machine_of(4));
    }
  }
}

TEST(AllReduce, IsExactUnderEveryPlacement) {
  for (const Placement cube : {Placement::replicate, Placement::row_wise, Placement::tiled_row_major}) {
    for (const Placement pe : {Placement::replicate, Placement::row_wise, Placement::column_wise}) {
      expect_exact({.ranks = 3, .shape = {30, 7}, .dtype = DType::f16, .policy = {.cube = cube, .pe = pe}},
                   machine_of(3));
    }
  }
}

TEST(AllReduce, WorksWithSlotsInEveryMemoryAndWithOneOfThem) {
  for (const char* memory : {"tcm", "hbm", "sram"}) {
    for (const int ranks : {2, 3}) {
      auto options = machine_of(ranks);
      options.collectives = ring_file(memory, std::string("buffer_kind: ") + memory + ", n_slots: 1, slot_size: 1KiB");
      expect_exact({.ranks = ranks, .shape = {5000}}, options);
    }
  }
  auto options = machine_of(2);
  options.collectives = ring_file("poll", "backpressure: poll, n_slots: 2, slot_size: 1KiB");
  expect_exact({.ranks = 2, .shape = {5000}}, options);
}

// Chunk c of each shard is folded from the left over ranks c + 1, …, c + n - 1, c.
TEST(AllReduce, FoldsInTheDocumentedOrderBitForBit) {
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
    dist::all_reduce(torch::zeros({4}, torch::dtype(torch::kInt).device("ahbm")), ReduceOp::AVG);
  });
  EXPECT_EQ(outcome.errors[0],
            "ValueError: all_reduce: Cannot use ReduceOp.AVG with a tensor of Int: an average of integers is none; use "
            "SUM, or convert the tensor to Float");
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
