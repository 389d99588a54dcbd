// Embeddings on a device: against the host's, with the bits of a sum in the order of the indices, by bytes read, and
// without data.
#include "tile/library/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "kernbench/error.h"
#include "support.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using torch::Tensor;

const LaunchResult& launch_of(const RunResult& result, const std::string& kernel) {
  const auto found = std::ranges::find(result.launches, kernel, &LaunchResult::kernel);
  EXPECT_NE(found, result.launches.end()) << kernel;
  return *found;
}

TEST(Embedding, RowsAreThoseOfTheHostForAnyViewAndPlacement) {
  for_random_cases(12, [](Draw& draw) {
    const DType dtype = draw.of<DType>({DType::f32, DType::f16, DType::bf16});
    const std::int64_t rows = draw.integer(1, 70), columns = draw.integer(1, 50);
    const Pair table = random_pair(draw, {rows, columns}, normal(dtype));
    const Pair index =
        random_pair(draw, draw.sizes(2, 60), whole_numbers(draw.of<DType>({DType::i64, DType::i32}), 0, rows - 1));
    expect_equal(torch::embedding(table.device, index.device), elements(torch::embedding(table.host, index.host)),
                 "embedding");
    const std::int64_t first = draw.integer(0, rows);
    expect_equal(torch::ahbm::embedding_part(table.device, index.device, first, 2 * rows),
                 elements(torch::ahbm::embedding_part(table.host, index.host, first, 2 * rows)), "embedding_part");
  });
}

TEST(Embedding, IndicesOutsideOfAPartGiveZeros) {
  simulate({.topology = "tiny"}, [] {
    const auto table = torch::arange(1, 7, torch::kFloat).view({3, 2});
    const auto part = torch::ahbm::embedding_part(table, torch::tensor({9, 10, 12, 13, 0}), 10, 20);
    EXPECT_EQ(elements(part), (std::vector<double>{0, 0, 1, 2, 5, 6, 0, 0, 0, 0}));
  });
}

TEST(Embedding, GradientsHaveTheBitsOfASumInTheOrderOfTheIndices) {
  for_random_cases(12, [](Draw& draw) {
    const DType dtype = draw.of<DType>({DType::f32, DType::f16, DType::bf16});
    const std::int64_t rows = draw.integer(1, 9), columns = draw.integer(1, 40), count = draw.integer(1, 300);
    const Pair grad = random_pair(draw, {count, columns}, normal(dtype));
    const Pair index = random_pair(draw, {count}, whole_numbers(DType::i64, 0, rows - 1));
    const auto padding = draw.integer(-1, rows - 1);
    expect_equal(torch::embedding_dense_backward(grad.device, index.device, rows, padding),
                 elements(torch::embedding_dense_backward(grad.host, index.host, rows, padding)), "backward");
    const std::int64_t first = draw.integer(0, rows), part = draw.integer(1, rows);
    expect_equal(torch::ahbm::embedding_part_backward(grad.device, index.device, part, first, rows),
                 elements(torch::ahbm::embedding_part_backward(grad.host, index.host, part, first, rows)),
                 "part backward");
  });
}

// 2^25 + 1 - 2^25 depends on the order: the small term is lost unless it comes last.
TEST(Embedding, TheOrderOfTheSumIsThatOfTheIndices) {
  simulate({.topology = "tiny", .overrides = {"sip.cubes.mesh=[2, 2]"}}, [] {
    const float large = 0x1p25F;
    const auto grad = torch::tensor({large, 1.0F, -large, large, -large, 1.0F}).view({6, 1});
    const auto sums = torch::embedding_dense_backward(grad.to("ahbm"), torch::tensor({0, 0, 0, 1, 1, 1}).to("ahbm"), 2);
    EXPECT_EQ(elements(sums), (std::vector<double>{0, 1}));
  });
}

TEST(Embedding, NextBlocksAreOnTheirWayWhileOneIsAdded) {
  NOT_UNDER_SANITIZERS("times only");
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.data = false;
  options.quick_plans = true;
  const RunResult result = simulate(options, [] {
    const auto x = torch::empty({262'144}, torch::device("ahbm"));
    x.scatter_add(0, torch::empty({262'144}, torch::dtype(torch::kLong).device("ahbm")), x);
    torch::ahbm::synchronize();
  });
  const LaunchResult& launch = launch_of(result, "scatter_add");
  EXPECT_LT(launch.end - launch.start, Time::microseconds(55)) << "one after the other: 80 us";
}

TEST(Embedding, OnlyTheRowsAskedForAreRead) {
  const auto read = [](std::int64_t rows) {
    const RunResult result = simulate({.topology = "tiny"}, [rows] {
      const auto table = torch::zeros({rows, 64}, torch::device("ahbm"));
      torch::embedding(table, (torch::arange(32) * 3).to("ahbm"));
      torch::ahbm::synchronize();
    });
    return launch_of(result, "embedding").hbm_bytes.count();
  };
  EXPECT_EQ(read(100), read(10'000)) << "the bytes do not depend on the size of the table";
  EXPECT_LT(read(100), 2 * 32 * 64 * 4 + 32 * 8 * 8) << "rows read and written, and the indices for each program";
}

TEST(Embedding, AnIndexOutsideOfTheTableIsAnError) {
  const auto error_of = [](const char* device, std::int64_t index) {
    const RunResult result = try_simulate({.topology = "tiny"}, [&] {
      const auto table = torch::zeros({4, 8}).to(device);
      torch::embedding(table, torch::full({1}, index, torch::kLong).to(device));
      torch::ahbm::synchronize();
    });
    return result.error ? result.error->message : std::string();
  };
  for (const std::int64_t index : {-1, 4}) {
    EXPECT_THAT(error_of("ahbm", index),
                ::testing::HasSubstr("index " + std::to_string(index) + " is out of bounds for a dimension of size 4"));
    EXPECT_THAT(error_of("cpu", index), ::testing::HasSubstr("is out of range of a table of 4 rows"));
  }
  EXPECT_EQ(error_of("ahbm", 3), "");
}

/// What docs/host-api.md says of runs without data.
std::int64_t row_of_lookup(std::int64_t i, std::int64_t rows) {
  auto step = static_cast<std::int64_t>(0.6180339887498949 * static_cast<double>(rows));
  while (std::gcd(step, rows) != 1) ++step;
  return i * step % rows;
}

RunResult lookups(bool data, const std::string& topology) {
  constexpr std::int64_t kRows = 1000, kFirst = 300, kPart = 250, kLookups = 96, kColumns = 80;
  return simulate({.topology = topology, .data = data}, [] {
    const auto on_device = torch::dtype(torch::kHalf).device("ahbm");
    const Tensor table = torch::zeros({kRows, kColumns}, on_device), part = torch::zeros({kPart, kColumns}, on_device);
    const Tensor host = torch::empty({2, kLookups / 2}, torch::kLong);
    for (std::int64_t i = 0; i < kLookups; ++i) host.data_ptr<std::int64_t>()[i] = row_of_lookup(i, kRows);
    const Tensor index = host.to("ahbm");
    const Tensor rows = torch::embedding(table, index);
    torch::ahbm::embedding_part(part, index, kFirst, kRows);
    torch::embedding_dense_backward(rows, index, kRows);
    torch::ahbm::synchronize();
  });
}

TEST(Embedding, WithoutDataTakesTheTimeOfRowsSpreadEvenly) {
  NOT_UNDER_SANITIZERS("times only");
  for (const char* topology : {"tiny", "ahbm-1sip"}) {
    const RunResult with = lookups(true, topology), without = lookups(false, topology);
    EXPECT_EQ(without.simulated_time, with.simulated_time) << topology;
    EXPECT_EQ(without.times_fingerprint, with.times_fingerprint) << topology;
    EXPECT_THAT(with.warnings, ::testing::Not(::testing::Contains(::testing::HasSubstr("without data"))));
    EXPECT_THAT(without.warnings,
                ::testing::IsSupersetOf({::testing::StartsWith("embedding: its indices are not known without data"),
                                         ::testing::StartsWith("embedding_backward: its indices")}));
  }
}

/// Index `i` of each call is that of lookup `i`.
RunResult choices(bool data, const std::string& topology) {
  constexpr std::int64_t kRows = 96, kColumns = 1000, kChosen = 40;
  return simulate({.topology = topology, .data = data}, [] {
    const Tensor x = torch::zeros({kRows, kColumns}, torch::device("ahbm"));
    const auto spread = [](std::int64_t count, std::int64_t of) {
      const Tensor host = torch::empty({count}, torch::kLong);
      for (std::int64_t i = 0; i < count; ++i) host.data_ptr<std::int64_t>()[i] = row_of_lookup(i, of);
      return host;
    };
    const Tensor targets = spread(kRows, kColumns).to("ahbm");
    torch::gather(x, 1, targets.view({kRows, 1}));
    torch::gather(x, 1, spread(kRows * 8, kColumns).view({kRows, 8}).to("ahbm"));
    torch::index_select(x, 0, spread(kChosen, kRows).to("ahbm"));
    torch::nn::functional::cross_entropy(x, targets);
    torch::ahbm::synchronize();
  });
}

TEST(Gather, WithoutDataTakesTheTimeOfIndicesSpreadEvenly) {
  NOT_UNDER_SANITIZERS("times only");
  for (const char* topology : {"tiny", "ahbm-1sip"}) {
    const RunResult with = choices(true, topology), without = choices(false, topology);
    EXPECT_EQ(without.simulated_time, with.simulated_time) << topology;
    EXPECT_EQ(without.times_fingerprint, with.times_fingerprint) << topology;
    EXPECT_THAT(with.warnings, ::testing::Not(::testing::Contains(::testing::HasSubstr("without data"))));
    EXPECT_THAT(without.warnings,
                ::testing::IsSupersetOf({::testing::StartsWith("gather: its indices are not known without data"),
                                         ::testing::StartsWith("index_select: its indices")}));
  }
}

TEST(Embedding, RowsTakenWithoutDataAreSpreadEvenly) {
  for (const std::int64_t rows : {1, 2, 3, 4, 60, 1000, 32000, 128256}) {
    std::vector<bool> taken(static_cast<std::size_t>(rows));
    std::vector<std::int64_t> of_eighth(8);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t row = tile::library::assumed_row(i, rows);
      ASSERT_EQ(row, row_of_lookup(i, rows));
      ASSERT_FALSE(taken[static_cast<std::size_t>(row)]) << "of " << rows;
      taken[static_cast<std::size_t>(row)] = true;
      if (i < 64) ++of_eighth[static_cast<std::size_t>(row * 8 / rows)];
    }
    if (rows >= 1000) {
      EXPECT_THAT(of_eighth, ::testing::Each(::testing::AllOf(::testing::Ge(6), ::testing::Le(10))));
    }
  }
}

TEST(Embedding, RefusesOtherShapesAndTypes) {
  simulate({.topology = "tiny"}, [] {
    const auto table = torch::zeros({4, 8});
    EXPECT_THROW(torch::embedding(table.view({32}), torch::tensor({0})), ValueError);
    EXPECT_THROW(torch::embedding(table, torch::tensor({0.5})), ValueError);
    EXPECT_THROW(torch::embedding_dense_backward(table, torch::tensor({0}), 4), ValueError);
    EXPECT_THROW(torch::embedding_dense_backward(table, torch::tensor({0, 1, 2, 3}), 4, -1, true), ValueError);
    EXPECT_THROW(torch::ahbm::embedding_part(table, torch::tensor({8}), 2, 8), torch::IndexError);
  });
}

}  // namespace
}  // namespace kernbench
