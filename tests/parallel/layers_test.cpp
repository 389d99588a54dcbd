// Linear layers over ranks: with whole numbers every product is exact, so that the results have the bits of one device.
#include "kernbench/tp/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support.h"

namespace kernbench::tp {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using torch::Tensor;

constexpr std::int64_t kTokens = 8, kHidden = 16, kInner = 48;

void fill_with_numbers(Tensor& weight) {
  weight.copy_(whole_numbers({weight.size(0), weight.size(1)}, weight.size(1) == kHidden ? 5 : 11));
}
Tensor input() {
  return whole_numbers({2, kTokens / 2, kHidden}, 3);
}
Tensor up_weight() {
  return whole_numbers({kInner, kHidden}, 5);
}
Tensor down_weight() {
  return whole_numbers({kHidden, kInner}, 11);
}

LinearOptions up_options() {
  return {.input_size = kHidden, .output_size = kInner, .init_method = fill_with_numbers};
}
LinearOptions down_options() {
  return {.input_size = kInner, .output_size = kHidden, .input_is_parallel = true, .init_method = fill_with_numbers};
}

TEST(ParallelLinear, ColumnThenRowIsTheDenseProductForEveryNumberOfRanks) {
  for (const int ranks : {1, 2, 4, 8}) {
    for (const char* type : {"f32", "f16"}) {
      const RunResult result = run_sound_model(ranks, ranks, [type](int) {
        LinearOptions up = up_options(), down = down_options();
        up.dtype = down.dtype = type;
        const ColumnParallelLinear column(up);
        const RowParallelLinear row(down);
        const Tensor x = input().to(torch::dtype(column.weight().scalar_type()).device("ahbm"));
        // f16 holds whole numbers up to 2,048: the inner ones are smaller, and clamped the outer ones are, too.
        expect_equal(row(column(x).clamp(-3, 3)),
                     torch::linear(torch::linear(input(), up_weight()).clamp(-3, 3), down_weight()));
      });
      const auto all_reduces = std::ranges::count_if(result.launches, [](const LaunchResult& launch) {
        return launch.kernel.find("allreduce") != std::string::npos;
      });
      EXPECT_EQ(all_reduces, ranks == 1 ? 0 : ranks) << "one for the pair of layers, a launch on each rank";
    }
  }
}

TEST(ParallelLinear, ColumnsAreThePartsOfTheWholeAndGatherPutsThemTogether) {
  for (const int ranks : {2, 4}) {
    run_sound_model(ranks, ranks, [ranks](int rank) {
      const Tensor x = input().to("ahbm"), whole = torch::linear(input(), up_weight());
      expect_equal(ColumnParallelLinear(up_options())(x), whole.chunk(ranks, -1)[static_cast<std::size_t>(rank)]);
      LinearOptions gathers = up_options();
      gathers.gather_output = true;
      expect_equal(ColumnParallelLinear(gathers)(x), whole);
    });
  }
}

TEST(ParallelLinear, ARowTakesAWholeInputApart) {
  run_sound_model(4, 4, [](int) {
    LinearOptions options = down_options();
    options.input_is_parallel = false;
    const Tensor x = whole_numbers({6, kInner}, 3);
    expect_equal(RowParallelLinear(options)(x.to("ahbm")), torch::linear(x, down_weight()));
  });
}

TEST(ParallelLinear, TheBiasIsAddedOnceOrReturned) {
  run_sound_model(4, 4, [](int rank) {
    const Tensor x = whole_numbers({6, kInner}, 3), bias = whole_numbers({kHidden}, 2);
    LinearOptions options = down_options();
    options.input_is_parallel = false;
    const RowParallelLinear row(options);
    Tensor(row.bias()).copy_(bias);
    expect_equal(row(x.to("ahbm")), torch::linear(x, down_weight()) + bias);

    options.skip_bias_add = true;
    const RowParallelLinear skips(options);
    Tensor(skips.bias()).copy_(bias);
    const auto [output, returned] = skips.forward(x.to("ahbm"));
    expect_equal(output, torch::linear(x, down_weight()));
    expect_equal(returned, bias);
    EXPECT_FALSE(row.forward(x.to("ahbm")).second.defined());

    const ColumnParallelLinear column(up_options());
    Tensor(column.bias()).copy_(whole_numbers({kInner}, 4).chunk(4)[static_cast<std::size_t>(rank)]);
    expect_equal(column(input().to("ahbm")), (torch::linear(input(), up_weight()) + whole_numbers({kInner}, 4))
                                                 .chunk(4, -1)[static_cast<std::size_t>(rank)]);
  });
}

TEST(ParallelLinear, SequenceParallelGivesTheSameInParts) {
  run_sound_model(4, 4, [](int rank) {
    LinearOptions up = up_options(), down = down_options();
    up.sequence_parallel = down.sequence_parallel = true;
    const ColumnParallelLinear column(up);
    const RowParallelLinear row(down);
    const Tensor x = whole_numbers({kTokens, kHidden}, 3);
    const Tensor expected = torch::linear(torch::linear(x, up_weight()), down_weight());
    const Tensor part = scatter_to_sequence_parallel_region(x.to("ahbm"));
    expect_equal(row(column(part)), expected.chunk(4, 0)[static_cast<std::size_t>(rank)]);
  });
}

TEST(ParallelLinear, SequenceParallelIsOffWithAWarningForOneRank) {
  std::vector<std::string> warnings;
  SimulateOptions options = testing::machine_of(1);
  options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
  const auto result = testing::run_ranks(options, 1, [](int) {
    torch::distributed::init_process_group("ahbm", 0, 1);
    initialize_model_parallel(1);
    LinearOptions up = up_options();
    up.sequence_parallel = true;
    expect_equal(ColumnParallelLinear(up)(input().to("ahbm")), torch::linear(input(), up_weight()));
    const ColumnParallelLinear another(up);  // of the same model: it is said once
  });
  EXPECT_THAT(result.errors, Each(IsEmpty()));
  EXPECT_THAT(warnings, ::testing::ElementsAre(HasSubstr("Disabling sequence parallel")));
}

TEST(ParallelLinear, PlacementsOfWeightAndOutputAreTheCallers) {
  run_sound_model(2, 2, [](int) {
    LinearOptions options = up_options();
    const DPPolicy one{.cube = Placement::replicate, .pe = Placement::replicate, .num_cubes = 1, .num_pes = 1};
    options.weight_placement = options.output_placement = one;
    const ColumnParallelLinear column(options);
    const Tensor y = column(input().to("ahbm"));
    EXPECT_EQ(column.weight().options().placement_opt(), one);
    EXPECT_EQ(y.options().placement_opt(), one);
  });
}

// Every rank makes the master weight alike, so that the model does not depend on the number of ranks.
TEST(ParallelLinear, TheModelIsTheSameForEveryNumberOfRanks) {
  std::vector<std::vector<float>> weights;
  for (const int ranks : {1, 2, 4}) {
    run_sound_model(ranks, ranks, [&weights](int rank) {
      torch::manual_seed(17);
      const ColumnParallelLinear column({.in_features = kHidden, .out_features = kInner});
      const Tensor whole = gather_from_sequence_parallel_region(column.weight()).cpu();
      if (rank == 0) weights.emplace_back(whole.data_ptr<float>(), whole.data_ptr<float>() + whole.numel());
    });
  }
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(weights[0], weights[2]);
  const auto [least, most] = std::ranges::minmax(weights[0]);
  EXPECT_TRUE(-0.1 < least && least < -0.02 && 0.02 < most && most < 0.1) << least << " to " << most;
}

TEST(ParallelLinear, RefusesWhatCannotBe) {
  EXPECT_THAT(run_model(4, 4, [](int) { ColumnParallelLinear({.in_features = 8, .out_features = 10}); }).errors,
              Each(HasSubstr("output_size (10) must be divisible by TP world size (4)")));
  EXPECT_THAT(run_model(4, 4, [](int) { RowParallelLinear({.input_size = 10, .output_size = 8}); }).errors,
              Each(HasSubstr("input_size (10) must be divisible by TP world size (4)")));
  EXPECT_THAT(run_model(4, 4, [](int) { ColumnParallelLinear({.output_size = 8}); }).errors,
              Each(HasSubstr("input_size must be at least 1, got 0")));
  EXPECT_THAT(
      run_model(4, 4, [](int) { ColumnParallelLinear({.input_size = 8, .output_size = 8, .in_features = 4}); }).errors,
      Each(HasSubstr("input_size (8) and in_features (4) are two names of one size")));
  EXPECT_THAT(run_model(4, 4,
                        [](int) {
                          const ColumnParallelLinear column(up_options());
                          column(whole_numbers({4, 5}, 1).to("ahbm"));
                        })
                  .errors,
              Each(HasSubstr("the input's last dimension is 5, but the weight expects 16")));
  EXPECT_THAT(run_model(4, 4,
                        [](int) {
                          LinearOptions options = up_options();
                          options.skip_bias_add = true;
                          ColumnParallelLinear column(options);
                          column(input().to("ahbm"));
                        })
                  .errors,
              Each(HasSubstr("call forward()")));
  EXPECT_THAT(run_model(4, 4,
                        [](int) {
                          LinearOptions options = up_options();
                          options.dtype = "f12";
                        })
                  .errors,
              Each(HasSubstr("not \"f12\"")));
  EXPECT_THAT(run_model(1, 1,
                        [](int) {
                          LinearOptions options = up_options();
                          options.dtype = torch::kLong;
                        })
                  .errors,
              Each(HasSubstr("a layer's dtype is one of f32, f16, bf16, f8e4m3 and f8e5m2, not \"i64\"")));
  const auto by_name = try_simulate({.topology = "tiny"}, [] { ColumnParallelLinear({.dtype = "f12"}); });
  ASSERT_TRUE(by_name.error);
  EXPECT_THAT(by_name.error->where, HasSubstr("layers_test.cpp")) << "the line of the layer";
  EXPECT_THAT(run_model(4, 4,
                        [](int) {
                          LinearOptions options = down_options();
                          options.input_is_parallel = false;
                          options.sequence_parallel = true;
                          RowParallelLinear row(options);
                        })
                  .errors,
              Each(HasSubstr("input_is_parallel must be true")));
}

TEST(ParallelLinear, RefusesOptionsThatItDoesNotHave) {
  const auto errors = [](bool column, const std::function<void(LinearOptions&)>& change) {
    return run_model(2, 2,
                     [&](int) {
                       LinearOptions options = column ? up_options() : down_options();
                       change(options);
                       column ? (void)ColumnParallelLinear(options) : (void)RowParallelLinear(options);
                     })
        .errors;
  };
  EXPECT_THAT(errors(true, [](auto& options) { options.input_is_parallel = true; }),
              Each(HasSubstr("ColumnParallelLinear: input_is_parallel is an option of RowParallelLinear")));
  EXPECT_THAT(errors(false, [](auto& options) { options.gather_output = true; }),
              Each(HasSubstr("RowParallelLinear: gather_output is an option of ColumnParallelLinear")));
  EXPECT_THAT(errors(true, [](auto& options) { options.gather_output = options.sequence_parallel = true; }),
              Each(HasSubstr("ColumnParallelLinear: gather_output and sequence_parallel exclude each other")));
  for (const bool column : {true, false}) {
    EXPECT_THAT(errors(column, [](auto& options) { options.tp_comm_num_splits = 4; }),
                Each(HasSubstr("ParallelLinear: tp_comm_num_splits (4) says how communication overlaps, and "
                               "tp_comm_overlap is false")));
  }
}

TEST(ParallelLinear, RefusesAScalar) {
  EXPECT_THAT(run_model(2, 2, [](int) { ColumnParallelLinear{up_options()}(torch::ones({}).to("ahbm")); }).errors,
              Each(HasSubstr("ColumnParallelLinear: the input is a scalar, and needs at least one dimension, of 16 "
                             "elements")));
}

// Its part of the weight is that of a rank among others than there are now.
TEST(ParallelLinear, EndsWithTheGroupsThatItWasMadeIn) {
  const auto errors = [](bool column, bool again) {
    return run_model(2, 2,
                     [&](int) {
                       LinearOptions options = down_options();
                       options.input_is_parallel = false;
                       const ColumnParallelLinear up(up_options());
                       const RowParallelLinear down(options);
                       destroy_model_parallel();
                       if (again) initialize_model_parallel(2);
                       column ? up(input().to("ahbm")) : down(whole_numbers({6, kInner}, 3).to("ahbm"));
                     })
        .errors;
  };
  for (const bool again : {false, true}) {
    const std::string text =
        ": its process group has been destroyed, as groups from before destroy_model_parallel are, or belongs to "
        "another rank; make the layer anew";
    EXPECT_THAT(errors(true, again), Each(HasSubstr("ColumnParallelLinear" + text)));
    EXPECT_THAT(errors(false, again), Each(HasSubstr("RowParallelLinear" + text)));
  }
}

TEST(ParallelLinear, RefusesAGradientOfAnotherTypeOrDevice) {
  const auto errors = [](bool column, const torch::TensorOptions& of) {
    return run_model(2, 2,
                     [&](int) {
                       if (column) {
                         const ColumnParallelLinear up(up_options());
                         const LinearForward forward = up.forward_saving(input().to("ahbm"));
                         up.backward(forward.saved, torch::ones(forward.output.sizes(), of));
                       } else {
                         const RowParallelLinear down(down_options());
                         const LinearForward forward =
                             down.forward_saving(whole_numbers({6, kInner / 2}, 3).to("ahbm"));
                         down.backward(forward.saved, torch::ones(forward.output.sizes(), of));
                       }
                     })
        .errors;
  };
  const std::string text = "::backward: the gradient must have the element type and the device of the layer's weight, ";
  for (const torch::TensorOptions& of : {torch::dtype(torch::kHalf).device("ahbm"), torch::dtype(torch::kFloat)}) {
    EXPECT_THAT(errors(true, of), Each(HasSubstr("ColumnParallelLinear" + text)));
    EXPECT_THAT(errors(false, of), Each(HasSubstr("RowParallelLinear" + text)));
  }
}

TEST(ParallelLinear, RefusesAFirstValueOfAnotherShape) {
  const auto errors = [](const std::vector<std::int64_t>& shape, bool column) {
    return run_model(2, 2,
                     [&](int) {
                       LinearOptions options = column ? up_options() : down_options();
                       options.init_method = [&](Tensor& weight) {
                         weight = shape.empty() ? Tensor() : torch::zeros(shape);
                       };
                       column ? void(ColumnParallelLinear(options)) : void(RowParallelLinear(options));
                     })
        .errors;
  };
  // Twice the rows would be cut as the rows are, twice the columns would not be seen.
  EXPECT_THAT(
      errors({2 * kInner, kHidden}, true),
      Each(HasSubstr("ColumnParallelLinear: init_method must leave the weight's shape [48, 16], but has assigned "
                     "[96, 16]; fill the weight in place")));
  EXPECT_THAT(
      errors({kHidden, 2 * kInner}, false),
      Each(HasSubstr("RowParallelLinear: init_method must leave the weight's shape [16, 48], but has assigned")));
  EXPECT_THAT(errors({}, true), Each(HasSubstr("has assigned an undefined tensor")));
}

}  // namespace
}  // namespace kernbench::tp
