// Communication beside products: the same bits as without where sums are exact, in as many pieces as were asked for,
// and in less time.
#include "kernbench/tp/overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support.h"
#include "tests/support/sanitizers.h"

namespace kernbench::tp {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using torch::Tensor;

constexpr std::int64_t kWide = 24, kNarrow = 16;

void fill(Tensor& weight) {
  weight.copy_(whole_numbers({weight.size(0), weight.size(1)}, 5));
}

std::int64_t launches_with(const RunResult& result, const std::string& text) {
  return std::ranges::count_if(
      result.launches, [&](const LaunchResult& launch) { return launch.kernel.find(text) != std::string::npos; });
}

LinearOptions options_of(std::int64_t in, std::int64_t out, bool sequence, std::int64_t splits, const char* type) {
  return {.input_size = in,
          .output_size = out,
          .input_is_parallel = true,
          .sequence_parallel = sequence,
          .tp_comm_overlap = true,
          .tp_comm_num_splits = splits,
          .dtype = type,
          .init_method = fill};
}

/// The rank's part of the last dimension, or of the first one.
Tensor part_of(const Tensor& x, std::int64_t dimension, int ranks, int rank) {
  return x.chunk(ranks, dimension)[static_cast<std::size_t>(rank)].contiguous();
}

/// A row, with its bias, of an input of these sizes.
void check_row(const std::vector<std::int64_t>& sizes, int ranks, bool sequence, std::int64_t splits,
               const char* type = "f32") {
  SCOPED_TRACE(::testing::Message() << ranks << " ranks, " << splits << " chunks, first of " << sizes[0]
                                    << (sequence ? ", shared" : ""));
  run_sound_model(ranks, ranks, [&](int rank) {
    const RowParallelLinear row(options_of(kWide, kNarrow, sequence, splits, type));
    Tensor(row.bias()).copy_(whole_numbers({kNarrow}, 3));
    const Tensor x = whole_numbers(sizes, 3);
    const auto on_device = torch::dtype(row.weight().scalar_type()).device("ahbm");
    const Tensor expected = torch::linear(x, whole_numbers({kNarrow, kWide}, 5), whole_numbers({kNarrow}, 3));
    const Tensor y = row(part_of(x, -1, ranks, rank).to(on_device));
    expect_equal(y, sequence ? part_of(expected, 0, ranks, rank) : expected);
  });
}

TEST(Overlap, ARowHasTheBitsOfTheDenseProductForEveryNumberOfRanksAndChunks) {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    check_row({7, kWide}, ranks, false, 0);
    check_row({7, kWide}, ranks, false, 3, "f16");  // 3, 3 and 1
    check_row({3, 5, kWide}, ranks, false, 4);
  }
  check_row({3, kWide}, 2, false, 100);
  check_row({kWide}, 2, false, 2);
}

TEST(Overlap, ARowSharesItsTokensWithTheSameBits) {
  for (const int ranks : {1, 2, 4, 8}) {
    check_row({ranks * 5, kWide}, ranks, true, 0);
    check_row({ranks * 5, kWide}, ranks, true, 2, "f16");  // 3 and 2 of each rank's
    check_row({ranks, 3, kWide}, ranks, true, 2);
  }
  check_row({2, kWide}, 2, true, 100);
}

TEST(Overlap, AColumnThatGathersHasTheBitsOfTheDenseProduct) {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    if (kSanitized && ranks > 2) continue;
    for (const char* const type : {"f32", "f16"}) {
      const RunResult result = run_sound_model(ranks, ranks, [&](int rank) {
        LinearOptions options = options_of(kNarrow, kWide, true, 0, type);
        options.input_is_parallel = false;
        const ColumnParallelLinear column(options);
        Tensor(column.bias()).copy_(part_of(whole_numbers({kWide}, 3), 0, ranks, rank));
        const auto on_device = torch::dtype(column.weight().scalar_type()).device("ahbm");
        for (const auto& sizes : {std::vector<std::int64_t>{ranks * 3, kNarrow}, {ranks * 2, 3, kNarrow}}) {
          const Tensor x = whole_numbers(sizes, 3);
          const Tensor expected = torch::linear(x, whole_numbers({kWide, kNarrow}, 5), whole_numbers({kWide}, 3));
          expect_equal(column(part_of(x, 0, ranks, rank).to(on_device)), part_of(expected, -1, ranks, rank));
        }
      });
      EXPECT_EQ(launches_with(result, "all_gather"), ranks == 1 ? 0 : 2 * ranks);
    }
  }
}

TEST(Overlap, GradientsHaveTheBitsOfTheSameLayersWithoutIt) {
  for (const int ranks : {1, 2, 4}) {
    if (kSanitized && ranks != 2) continue;
    for (const bool sequence : {false, true}) {
      run_sound_model(ranks, ranks, [&](int rank) {
        const Tensor x = whole_numbers({8, 3, kNarrow}, 3), grad = whole_numbers({8, 3, kNarrow}, 2);
        std::vector<std::vector<Tensor>> grads;
        for (const bool overlap : {false, true}) {
          LinearOptions up = options_of(kNarrow, kWide, sequence, 2, "f32");
          LinearOptions down = options_of(kWide, kNarrow, sequence, 2, "f32");
          up.tp_comm_overlap = down.tp_comm_overlap = overlap;
          up.tp_comm_num_splits = down.tp_comm_num_splits = overlap ? 2 : 0;
          up.input_is_parallel = false;
          const ColumnParallelLinear column(up);
          const RowParallelLinear row(down);
          const auto mine = [&](const Tensor& whole) {
            return (sequence ? part_of(whole, 0, ranks, rank) : whole).to("ahbm");
          };
          const auto above = column.forward_saving(mine(x));
          const auto below = row.forward_saving(above.output);
          const auto of_row = row.backward(below.saved, mine(grad));
          const auto of_column = column.backward(above.saved, of_row.input);
          grads.emplace_back();
          for (const auto& each : {of_row, of_column})
            for (const Tensor& tensor : {each.input, each.weight, each.bias}) grads.back().push_back(tensor.cpu());
        }
        for (std::size_t i = 0; i < grads[0].size(); ++i) EXPECT_TRUE(torch::equal(grads[0][i], grads[1][i])) << i;
      });
    }
  }
}

TEST(Overlap, ReducesInAsManyChunksAsAskedForAndAtMostOneForARow) {
  const auto reductions = [](std::int64_t rows, std::int64_t splits, bool sequence) {
    const RunResult result = run_sound_model(2, 2, [&](int) {
      const Tensor x = whole_numbers({rows, kWide}, 3).to("ahbm"),
                   weight = whole_numbers({kNarrow, kWide}, 5).to("ahbm");
      linear_reduce_overlapped(x, weight, {.sequence_parallel = sequence, .num_splits = splits});
      torch::ahbm::synchronize();
    });
    return launches_with(result, sequence ? "reduce_scatter" : "allreduce") / 2;
  };
  EXPECT_EQ(reductions(12, 3, false), 3);
  EXPECT_EQ(reductions(7, 4, false), 4);
  EXPECT_EQ(reductions(2, 4, false), 2);
  EXPECT_EQ(reductions(12, 3, true), 3);
  EXPECT_EQ(reductions(4, 9, true), 2);
  EXPECT_EQ(reductions(12, 0, false), 1) << "few bytes are reduced at once";
}

TEST(Overlap, RefusesWhatCannotBe) {
  const auto error = [](const std::vector<std::int64_t>& sizes, const OverlapOptions& options, bool on_host = false) {
    return run_model(2, 2,
                     [&](int) {
                       const Tensor x = whole_numbers(sizes, 3), weight = whole_numbers({kNarrow, kWide}, 5);
                       if (on_host) {
                         linear_reduce_overlapped(x, weight, options);
                       } else {
                         linear_reduce_overlapped(x.to("ahbm"), weight.to("ahbm"), options);
                       }
                     })
        .errors;
  };
  EXPECT_THAT(error({3, 5}, {}), Each(HasSubstr("the input's last dimension is 5, but the weight expects 24")));
  EXPECT_THAT(error({3, kWide}, {.num_splits = -1}), Each(HasSubstr("num_splits must be at least 0, got -1")));
  EXPECT_THAT(error({3, kWide}, {.sequence_parallel = true}), Each(HasSubstr("First dimension of the tensor (3)")));
  EXPECT_THAT(error({3, kWide}, {}, true), Each(HasSubstr("it takes device tensors")));
  EXPECT_THAT(run_model(2, 2, [](int) { RowParallelLinear(options_of(kWide, kNarrow, false, -2, "f32")); }).errors,
              Each(HasSubstr("tp_comm_num_splits must be at least 0, got -2")));
}

// ---- time ----------------------------------------------------------------------------------------------------------

struct Times {
  double all = 0;                           // us, of the product and its reduction
  std::vector<LaunchResult> launches = {};  // of rank 0
};

/// f16 on four SIPs in a ring, with a quarter of the cubes of a shipped machine: products of 8.6 GFLOP, sums of 4 MiB.
Times timed(bool overlap) {
  SimulateOptions options;
  options.topology = "ahbm-2sip";
  options.overrides = {"system.sips.count=4", "sip.cubes.mesh=[2, 2]"};
  options.data = false;
  options.explain = false;
  options.quick_plans = true;  // products of chunks and whole ones alike
  Times times;
  const auto result = testing::run_ranks(options, 4, [&](int rank) {
    torch::distributed::init_process_group("ahbm", rank, 4);
    initialize_model_parallel(4);
    const auto half = torch::dtype(torch::kHalf).device("ahbm");
    const Tensor x = torch::empty({1024, 2048}, half), weight = torch::empty({2048, 2048}, half);
    torch::distributed::barrier();
    torch::ahbm::Event start, end;
    start.record();
    if (overlap) {
      linear_reduce_overlapped(x, weight);
    } else {
      reduce_from_tensor_model_parallel_region(torch::linear(x, weight));
    }
    end.record();
    end.synchronize();
    if (rank == 0) times.all = start.elapsed_time(end) * 1e3;
  });
  EXPECT_THAT(result.errors, Each(::testing::IsEmpty()));
  for (const LaunchResult& launch : result.run.launches)
    if (launch.device == 0 && launch.kernel.find("barrier") == std::string::npos) times.launches.push_back(launch);
  return times;
}

double us(const LaunchResult& launch) {
  return static_cast<double>((launch.end - launch.start).count()) * 1e-6;
}

TEST(Overlap, TakesLessTimeOnAShippedMachine) {
  NOT_UNDER_SANITIZERS("two products of a shipped machine are planned");
  const Times plain = timed(false), overlapped = timed(true);
  ASSERT_EQ(plain.launches.size(), 2u);
  const double product = us(plain.launches[0]), reduction = us(plain.launches[1]);
  EXPECT_GT(reduction, 0.25 * plain.all);
  ASSERT_EQ(overlapped.launches.size(), 4u) << "two chunks";
  const LaunchResult *second = nullptr, *first_sum = nullptr;
  for (const LaunchResult& launch : overlapped.launches) {
    const bool sums = launch.kernel.find("allreduce") != std::string::npos;
    if (sums && first_sum == nullptr) first_sum = &launch;
    if (!sums) second = &launch;
  }
  EXPECT_LT(second->start, first_sum->end) << "the second product runs beside the first reduction";
  EXPECT_LT(first_sum->start, second->end);
  EXPECT_LT(overlapped.all, 0.95 * plain.all);
  EXPECT_GT(overlapped.all, std::max(product, reduction));
}

}  // namespace
}  // namespace kernbench::tp
