// Gradients: pairs against central differences in double, layers against the dense ones bit for bit, and what a block's
// backward communicates.
#include "kernbench/tp/gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "support.h"

namespace kernbench::tp {
namespace {

using torch::Tensor;

constexpr std::int64_t kRows = 8, kOuter = 16, kMiddle = 32;

Tensor fractions(std::vector<std::int64_t> shape, std::int64_t step) {
  return whole_numbers(std::move(shape), step).to(torch::kDouble) * 0.37 + 0.11;
}

/// The gradient of sum(weights * function) by x, with respect to each element of x.
void expect_central_differences(const std::function<Tensor()>& function, const Tensor& x, const Tensor& weights,
                                const Tensor& grad) {
  constexpr double kStep = 1e-5;
  ASSERT_EQ(grad.sizes().vec(), x.sizes().vec());
  double* elements = x.data_ptr<double>();
  const Tensor dense = grad.contiguous();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double value = elements[i];
    const auto at = [&](double moved) {
      elements[i] = moved;
      return (function() * weights).sum().item<double>();
    };
    const double difference = (at(value + kStep) - at(value - kStep)) / (2 * kStep);
    elements[i] = value;
    EXPECT_NEAR(dense.data_ptr<double>()[i], difference, 1e-7 + 1e-7 * std::abs(difference)) << i;
  }
}

TEST(GradientPairs, LinearIsItsCentralDifferences) {
  run_sound_model(1, 1, [](int) {
    const Tensor x = fractions({2, 3, 4}, 5), weight = fractions({5, 4}, 3), bias = fractions({5}, 2);
    const Tensor grad = fractions({2, 3, 5}, 11);
    const LinearGrads grads = linear_backward(linear_forward(x, weight, bias).saved, grad);
    const auto function = [&] { return linear_forward(x, weight, bias).output; };
    expect_central_differences(function, x, grad, grads.input);
    expect_central_differences(function, weight, grad, grads.weight);
    expect_central_differences(function, bias, grad, grads.bias);
    EXPECT_FALSE(linear_backward(linear_forward(x, weight).saved, grad).bias.defined());
  });
}

TEST(GradientPairs, GeluIsItsCentralDifferences) {
  run_sound_model(1, 1, [](int) {
    const Tensor x = fractions({3, 7}, 5) * 2, grad = fractions({3, 7}, 11);
    for (const char* const kind : {"none", "tanh"}) {
      expect_central_differences([&] { return gelu_forward(x, kind).output; }, x, grad,
                                 gelu_backward(gelu_forward(x, kind).saved, grad, kind));
    }
  });
  EXPECT_THAT(run_model(1, 1, [](int) { gelu_backward({torch::ones({2})}, torch::ones({2}), "erf"); }).errors,
              ::testing::Each(::testing::HasSubstr("approximate must be \"none\" or \"tanh\"")));
}

TEST(GradientPairs, NormsAreTheirCentralDifferences) {
  run_sound_model(1, 1, [](int) {
    constexpr double kEps = 0.3;
    const Tensor x = fractions({2, 3, 7}, 5), grad = fractions({2, 3, 7}, 11);
    const Tensor weight = fractions({7}, 3), bias = fractions({7}, 2);
    const auto root = [&] { return rms_norm_forward(x, weight, kEps); };
    const NormGrads of_root = rms_norm_backward(root().saved, grad, kEps);
    expect_central_differences([&] { return root().output; }, x, grad, of_root.input);
    expect_central_differences([&] { return root().output; }, weight, grad, of_root.weight);
    EXPECT_FALSE(of_root.bias.defined());
    const auto layer = [&] { return layer_norm_forward(x, weight, bias, kEps); };
    const NormGrads of_layer = layer_norm_backward(layer().saved, grad, kEps);
    expect_central_differences([&] { return layer().output; }, x, grad, of_layer.input);
    expect_central_differences([&] { return layer().output; }, weight, grad, of_layer.weight);
    expect_central_differences([&] { return layer().output; }, bias, grad, of_layer.bias);
  });
}

TEST(GradientPairs, AttentionIsItsCentralDifferences) {
  run_sound_model(1, 1, [](int) {
    const Tensor q = fractions({2, 4, 3, 5}, 5), k = fractions({2, 2, 6, 5}, 3), v = fractions({2, 2, 6, 2}, 2);
    const Tensor grad = fractions({2, 4, 3, 2}, 11);
    for (const AttentionOptions& options : {AttentionOptions{.enable_gqa = true},
                                            AttentionOptions{.is_causal = true, .scale = 0.8, .enable_gqa = true}}) {
      const auto forward = [&] { return scaled_dot_product_attention_forward(q, k, v, options); };
      const AttentionGrads grads = scaled_dot_product_attention_backward(forward().saved, grad, options);
      for (const auto& [x, of_x] :
           {std::pair(&q, &grads.query), std::pair(&k, &grads.key), std::pair(&v, &grads.value)})
        expect_central_differences([&] { return forward().output; }, *x, grad, *of_x);
    }
  });
}

TEST(GradientPairs, SwigluIsItsCentralDifferences) {
  run_sound_model(1, 1, [](int) {
    const Tensor x = fractions({3, 8}, 5) * 2, grad = fractions({3, 4}, 11);
    expect_central_differences([&] { return swiglu_forward(x).output; }, x, grad,
                               swiglu_backward(swiglu_forward(x).saved, grad));
  });
  EXPECT_THAT(run_model(1, 1, [](int) { swiglu_forward(fractions({3, 7}, 5)); }).errors,
              ::testing::Each(::testing::HasSubstr("7 is not divisible by 2")));
}

TEST(GradientPairs, RotaryIsItsCentralDifferences) {
  run_sound_model(1, 1, [](int) {
    const Tensor x = fractions({2, 3, 10}, 5), grad = fractions({2, 3, 10}, 11);
    const Tensor frequencies = torch::ahbm::rotary_frequencies(8, {.theta = 5}, torch::kCPU);
    for (const bool interleaved : {false, true}) {
      const torch::ahbm::RotaryOptions options{.offset = 7, .interleaved = interleaved};
      const auto forward = [&] { return rotary_forward(x, frequencies, options); };
      expect_central_differences([&] { return forward().output; }, x, grad,
                                 rotary_backward(forward().saved, grad, options));
    }
  });
}

TEST(GradientPairs, EmbeddingIsItsCentralDifferences) {
  run_sound_model(1, 1, [](int) {
    const Tensor table = fractions({5, 3}, 5), words = torch::tensor({1, 4, 1, 0}), grad = fractions({4, 3}, 11);
    expect_central_differences([&] { return torch::embedding(table, words); }, table, grad,
                               torch::embedding_dense_backward(grad, words, 5));
  });
}

TEST(GradientPairs, CrossEntropyIsItsCentralDifferences) {
  run_sound_model(1, 1, [](int) {
    const Tensor logits = fractions({4, 9}, 5), target = torch::tensor({0, 8, 3, 3}), grad = fractions({4}, 3);
    const Forward forward = vocab_parallel_cross_entropy_forward(logits, target);
    expect_central_differences([&] { return vocab_parallel_cross_entropy(logits, target); }, logits, grad,
                               vocab_parallel_cross_entropy_backward(forward.saved, grad));
  });
}

TEST(GradientPairs, OfADeviceAreTheHostsRounded) {
  for (const torch::ScalarType type : {torch::kFloat, torch::kHalf}) {
    run_sound_model(1, 1, [type](int) {
      const auto expect_host = [type](const Tensor& device, const Tensor& host) {
        EXPECT_EQ(device.scalar_type(), type);
        const double tolerance = type == torch::kHalf ? 2e-3 : 1e-6;
        EXPECT_TRUE(torch::allclose(device.cpu().to(torch::kDouble), host, tolerance, tolerance));
      };
      const Tensor x = fractions({3, 70}, 5).to(type), grad = fractions({3, 70}, 11).to(type);
      const Tensor half = grad.narrow(1, 0, 35);
      expect_host(gelu_backward(gelu_forward(x.to("ahbm")).saved, grad.to("ahbm")),
                  gelu_backward({x.to(torch::kDouble)}, grad.to(torch::kDouble)));
      expect_host(swiglu_backward(swiglu_forward(x.to("ahbm")).saved, half.to("ahbm")),
                  swiglu_backward({x.to(torch::kDouble)}, half.to(torch::kDouble)));
      expect_host(swiglu_forward(x.to("ahbm")).output, swiglu_forward(x.to(torch::kDouble)).output);
      expect_host(gelu_backward(gelu_forward(x.to("ahbm"), "tanh").saved, grad.to("ahbm"), "tanh"),
                  gelu_backward({x.to(torch::kDouble)}, grad.to(torch::kDouble), "tanh"));
      const Tensor weight = fractions({70}, 3).to(type), bias = fractions({70}, 2).to(type);
      const auto expect_norm = [&](const NormGrads& device, const NormGrads& host) {
        expect_host(device.input, host.input);
        expect_host(device.weight, host.weight);
        if (host.bias.defined()) expect_host(device.bias, host.bias);
      };
      const Saved of_norm{x.to(torch::kDouble), weight.to(torch::kDouble)};
      expect_norm(
          rms_norm_backward(rms_norm_forward(x.to("ahbm"), weight.to("ahbm"), 1e-5).saved, grad.to("ahbm"), 1e-5),
          rms_norm_backward(of_norm, grad.to(torch::kDouble), 1e-5));
      expect_norm(layer_norm_backward(layer_norm_forward(x.to("ahbm"), weight.to("ahbm"), bias.to("ahbm")).saved,
                                      grad.to("ahbm")),
                  layer_norm_backward({of_norm[0], of_norm[1], bias.to(torch::kDouble)}, grad.to(torch::kDouble)));
      const Tensor turns = torch::ahbm::rotary_frequencies(70);
      expect_host(rotary_forward(x.to("ahbm"), turns).output, rotary_forward(x.to(torch::kDouble), turns.cpu()).output);
      expect_host(rotary_backward({turns}, grad.to("ahbm")), rotary_backward({turns.cpu()}, grad.to(torch::kDouble)));
    });
  }
}

/// A norm's gradients on a device are those of the host in double, rounded to their types.
void expect_norms_of_the_host(const Tensor& host_x, const Tensor& host_grad, const torch::TensorOptions& device,
                              bool turned = false) {
  const torch::ScalarType type = host_x.scalar_type();
  const std::int64_t elements = host_x.size(-1);
  const Tensor host_weight = fractions({elements}, 3).to(type), host_bias = fractions({elements}, 2).to(type);
  const auto there = [&](const Tensor& host) { return host.to(device); };
  const Tensor x = turned ? there(host_x.transpose(0, -1).contiguous()).transpose(0, -1) : there(host_x);
  const Tensor grad = there(host_grad), weight = there(host_weight), bias = there(host_bias);
  const auto expect_host = [&](const Tensor& actual, const Tensor& expected) {
    ASSERT_EQ(actual.defined(), expected.defined());
    if (!actual.defined()) return;
    EXPECT_EQ(actual.scalar_type(), type);
    ASSERT_EQ(actual.sizes().vec(), expected.sizes().vec());
    const double unit = type == torch::kFloat ? 1e-5 : type == torch::kHalf ? 1e-3 : 8e-3;
    const double largest = expected.abs().max().item<double>();
    EXPECT_LE((actual.cpu().to(torch::kDouble) - expected).abs().max().item<double>(), unit * (largest + 0.1))
        << "[" << host_x.size(0) << ", …, " << elements << "] " << static_cast<int>(type);
  };
  const auto wide = [](const Tensor& tensor) { return tensor.defined() ? tensor.to(torch::kDouble) : tensor; };
  for (const bool centred : {false, true}) {
    for (int parameters = 0; parameters < (centred ? 4 : 2); ++parameters) {
      const bool scaled = parameters % 2 == 1, shifted = parameters >= 2;
      const auto backward = [&](const Saved& saved, const Tensor& above) {
        return centred ? layer_norm_backward(saved, above) : rms_norm_backward({saved[0], saved[1]}, above, 1e-5);
      };
      const NormGrads actual = backward({x, scaled ? weight : Tensor(), shifted ? bias : Tensor()}, grad);
      const NormGrads expected = backward(
          {wide(host_x), wide(scaled ? host_weight : Tensor()), wide(shifted ? host_bias : Tensor())}, wide(host_grad));
      expect_host(actual.input, expected.input);
      expect_host(actual.weight, expected.weight);
      expect_host(actual.bias, expected.bias);
    }
  }
}

TEST(GradientPairs, OfNormsOfADeviceAreTheHostsForAnyShapeAndPlacement) {
  const DPPolicy copies{.cube = Placement::replicate, .pe = Placement::replicate};
  const DPPolicy columns{.cube = Placement::column_wise, .pe = Placement::column_wise};
  const DPPolicy rows_of_each{.cube = Placement::replicate, .pe = Placement::row_wise};
  for (const torch::ScalarType type : {torch::kFloat, torch::kHalf, torch::kBFloat16}) {
    run_sound_model(1, 1, [&](int) {
      const torch::TensorOptions on_all("ahbm");
      const std::vector<std::vector<std::int64_t>> shapes{{3, 70}, {7}, {2, 3, 37}, {4, 3}, {1, 5}, {130, 257}};
      for (const auto& shape : shapes) {
        const Tensor x = fractions(shape, 5).to(type), grad = fractions(shape, 11).to(type);
        expect_norms_of_the_host(x, grad, on_all);
        if (shape.size() > 1) expect_norms_of_the_host(x, grad, on_all, true);
      }
      const Tensor x = fractions({21, 40}, 5).to(type), grad = fractions({21, 40}, 11).to(type);
      for (const DPPolicy& policy : {copies, columns, rows_of_each})
        expect_norms_of_the_host(x, grad, on_all.placement(policy));
    });
  }
}

// Of which a PE's memory holds no ten, so that sums of parts come first.
TEST(GradientPairs, OfNormsOfLongLinesAreTheHosts) {
  run_sound_model(1, 1, [](int) {
    const std::vector<std::int64_t> shape{2, 60'000};
    expect_norms_of_the_host(fractions(shape, 5).to(torch::kHalf), fractions(shape, 11).to(torch::kHalf),
                             torch::TensorOptions("ahbm"));
  });
}

TEST(GradientPairs, OfNormsOfADeviceReadTheirOperandsOnceInALaunchAndSumInAnother) {
  constexpr std::int64_t kLines = 512, kElements = 256;
  const auto launches_of = [](const std::function<void(const Tensor&, const Tensor&, const Tensor&)>& backward) {
    const RunResult run = run_sound_model(1, 1, [&](int) {
      const auto f16 = torch::dtype(torch::kHalf).device("ahbm");
      const Tensor x = torch::empty({kLines, kElements}, f16), line = torch::empty({kElements}, f16);
      backward(x, line, torch::empty_like(x));
    });
    std::vector<std::string> kernels;
    for (const LaunchResult& launch : run.launches) kernels.push_back(launch.kernel);
    if (!run.launches.empty()) {
      const auto once = static_cast<double>(3 * kLines * kElements * 2);
      EXPECT_LT(static_cast<double>(run.launches[0].hbm_bytes.count()), 1.1 * once);
    }
    return kernels;
  };
  EXPECT_THAT(launches_of([](const Tensor& x, const Tensor& line, const Tensor& grad) {
                layer_norm_backward({x, line, line}, grad);
              }),
              ::testing::ElementsAre("layer_norm_backward", "layer_norm_backward.sum"));
  EXPECT_THAT(launches_of([](const Tensor& x, const Tensor& line, const Tensor& grad) {
                rms_norm_backward({x, line}, grad, 1e-5);
              }),
              ::testing::ElementsAre("rms_norm_backward", "rms_norm_backward.sum"));
  EXPECT_THAT(launches_of([](const Tensor& x, const Tensor&, const Tensor& grad) { layer_norm_backward({x}, grad); }),
              ::testing::ElementsAre("layer_norm_backward"));
}

// As a model has them: views of one product, and a cache's heads.
TEST(GradientPairs, AttentionOfADeviceIsTheHosts) {
  for (const torch::ScalarType type : {torch::kFloat, torch::kHalf}) {
    run_sound_model(1, 1, [type](int) {
      const Tensor product = fractions({7, 2, 8 * 10}, 5).to(type);
      const Tensor grad = fractions({2, 4, 7, 10}, 11).to(type);
      const AttentionOptions options{.is_causal = true, .enable_gqa = true};
      const auto backward = [&](const Tensor& all, const Tensor& above) {
        const auto heads = [&](std::int64_t first, std::int64_t count) {
          return all.narrow(2, first * 10, count * 10).view({7, 2, count, 10}).permute({1, 2, 0, 3});
        };
        const Forward forward = scaled_dot_product_attention_forward(heads(0, 4), heads(4, 2), heads(6, 2), options);
        return scaled_dot_product_attention_backward(forward.saved, above, options);
      };
      const AttentionGrads device = backward(product.to("ahbm"), grad.to("ahbm"));
      const AttentionGrads host = backward(product.to(torch::kDouble), grad.to(torch::kDouble));
      const double tolerance = type == torch::kHalf ? 4e-3 : 2e-6;
      for (const auto& [a, b] : {std::pair(&device.query, &host.query), std::pair(&device.key, &host.key),
                                 std::pair(&device.value, &host.value)}) {
        EXPECT_EQ(a->scalar_type(), type);
        EXPECT_TRUE(torch::allclose(a->cpu().to(torch::kDouble), *b, tolerance, tolerance));
      }
    });
  }
}

// ---- layers ------------------------------------------------------------------------------------------------------

Tensor upper() {
  return whole_numbers({kMiddle, kOuter}, 5);
}
Tensor lower() {
  return whole_numbers({kOuter, kMiddle}, 11);
}

struct Layers {
  ColumnParallelLinear column;
  RowParallelLinear row;
};
Layers layers_with(bool sequence_parallel) {
  return {ColumnParallelLinear({.input_size = kOuter,
                                .output_size = kMiddle,
                                .sequence_parallel = sequence_parallel,
                                .init_method = [](Tensor& weight) { weight.copy_(upper()); }}),
          RowParallelLinear({.input_size = kMiddle,
                             .output_size = kOuter,
                             .input_is_parallel = true,
                             .sequence_parallel = sequence_parallel,
                             .init_method = [](Tensor& weight) { weight.copy_(lower()); }})};
}

/// The gradients of both layers on one host.
struct Dense {
  Tensor x = whole_numbers({kRows, kOuter}, 3), grad = whole_numbers({kRows, kOuter}, 2);
  Tensor inner = torch::linear(x, upper()), inner_grad = torch::matmul(grad, lower());
  Tensor input = torch::matmul(inner_grad, upper());
  Tensor column_weight = torch::matmul(inner_grad.t(), x), column_bias = inner_grad.sum(0);
  Tensor row_weight = torch::matmul(grad.t(), inner), row_bias = grad.sum(0);
};

void expect_dense_gradients(int ranks, bool sequence_parallel) {
  run_sound_model(ranks, ranks, [&](int rank) {
    const auto mine = static_cast<std::size_t>(rank);
    const auto [column, row] = layers_with(sequence_parallel);
    const Dense dense;
    const auto share = [&](const Tensor& x) { return sequence_parallel ? x.chunk(ranks, 0)[mine].contiguous() : x; };
    const LinearForward up = column.forward_saving(share(dense.x).to("ahbm")), down = row.forward_saving(up.output);
    const LinearGrads below = row.backward(down.saved, share(dense.grad).to("ahbm"));
    const LinearGrads above = column.backward(up.saved, below.input);
    expect_equal(above.input, share(dense.input));
    expect_equal(above.weight, dense.column_weight.chunk(ranks, 0)[mine]);
    expect_equal(above.bias, dense.column_bias.chunk(ranks, 0)[mine]);
    expect_equal(below.weight, dense.row_weight.chunk(ranks, 1)[mine]);
    expect_equal(below.bias, dense.row_bias);
  });
}

TEST(ParallelLinearGradients, AreTheDenseOnesForEveryNumberOfRanks) {
  for (const int ranks : {1, 2, 4, 8}) expect_dense_gradients(ranks, false);
  for (const int ranks : {2, 4}) expect_dense_gradients(ranks, true);
}

TEST(ParallelLinearGradients, OfGatheredOutputsAndWholeInputsAreTheDenseOnes) {
  run_sound_model(4, 4, [](int rank) {
    const auto mine = static_cast<std::size_t>(rank);
    const ColumnParallelLinear column({.input_size = kOuter,
                                       .output_size = kMiddle,
                                       .bias = false,
                                       .gather_output = true,
                                       .init_method = [](Tensor& weight) { weight.copy_(upper()); }});
    const RowParallelLinear row(
        {.input_size = kMiddle, .output_size = kOuter, .skip_bias_add = true, .init_method = [](Tensor& weight) {
           weight.copy_(lower());
         }});
    const Dense dense;
    const LinearForward up = column.forward_saving(dense.x.to("ahbm")), down = row.forward_saving(up.output);
    expect_equal(down.output, torch::linear(dense.inner, lower()));
    const LinearGrads below = row.backward(down.saved, dense.grad.to("ahbm"));
    expect_equal(below.input, dense.inner_grad);
    expect_equal(below.weight, dense.row_weight.chunk(4, 1)[mine]);
    EXPECT_FALSE(below.bias.defined()) << "the caller adds it";
    const LinearGrads above = column.backward(up.saved, below.input);
    expect_equal(above.input, dense.input);
    expect_equal(above.weight, dense.column_weight.chunk(4, 0)[mine]);
    EXPECT_FALSE(above.bias.defined());
  });
}

/// Launches of a range by one rank whose kernel's name has `word` in it.
std::int64_t launches(const RunResult& result, const std::string& range, const std::string& word) {
  return std::ranges::count_if(result.launches, [&](const LaunchResult& launch) {
    return launch.device == 0 && launch.range == range && launch.kernel.find(word) != std::string::npos;
  });
}

/// Attention's pair of layers, then the feed-forward network's, forward and backward.
RunResult block(bool sequence_parallel) {
  return run_sound_model(4, 4, [&](int rank) {
    const auto [qkv, proj] = layers_with(sequence_parallel);
    const auto [up, down] = layers_with(sequence_parallel);
    const Tensor whole = whole_numbers({kRows, kOuter}, 3);
    const Tensor x = (sequence_parallel ? whole.chunk(4, 0)[static_cast<std::size_t>(rank)] : whole).to("ahbm");
    std::vector<Saved> saved;
    {
      const torch::profiler::record_function range("forward");
      Tensor y = x;
      for (const auto& [column, row] : {std::pair(&qkv, &proj), std::pair(&up, &down)}) {
        const LinearForward inner = column->forward_saving(y), outer = row->forward_saving(inner.output);
        saved.push_back(inner.saved);
        saved.push_back(outer.saved);
        y = outer.output;
      }
      torch::ahbm::synchronize();
    }
    const torch::profiler::record_function range("backward");
    Tensor grad = down.backward(saved[3], x).input;
    grad = up.backward(saved[2], grad).input;
    grad = proj.backward(saved[1], grad).input;
    qkv.backward(saved[0], grad);
    torch::ahbm::synchronize();
  });
}

TEST(ParallelLinearGradients, ABlockIsTwoAllReducesEachWay) {
  const RunResult result = block(false);
  for (const char* way : {"forward", "backward"}) {
    EXPECT_EQ(launches(result, way, "allreduce"), 2) << way;
    EXPECT_EQ(launches(result, way, "gather") + launches(result, way, "scatter"), 0) << way;
  }
}

TEST(ParallelLinearGradients, ABlockOfSharedSequencesIsTwoReduceScattersAndTwoAllGathersEachWay) {
  const RunResult result = block(true);
  for (const char* way : {"forward", "backward"}) {
    EXPECT_EQ(launches(result, way, "allreduce"), 0) << way;
    EXPECT_EQ(launches(result, way, "scatter"), 2) << way;
    EXPECT_EQ(launches(result, way, "gather"), 2) << way;
  }
}

TEST(Gradients, RefuseWhatTheirForwardHasNotKept) {
  const Tensor none;
  const std::vector<std::pair<std::string, std::function<void(const Saved&)>>> backwards{
      {"linear_backward: it needs the 2 or 3 tensors", [&](const Saved& saved) { linear_backward(saved, none); }},
      {"gelu_backward: it needs the 1 tensor ", [&](const Saved& saved) { gelu_backward(saved, none); }},
      {"swiglu_backward: it needs the 1 tensor ", [&](const Saved& saved) { swiglu_backward(saved, none); }},
      {"rotary_backward: it needs the 1 tensor ", [&](const Saved& saved) { rotary_backward(saved, none); }},
      {"rms_norm_backward: it needs the 1 or 2 tensors",
       [&](const Saved& saved) { rms_norm_backward(saved, none, 0); }},
      {"layer_norm_backward: it needs the 1 to 3 tensors",
       [&](const Saved& saved) { layer_norm_backward(saved, none); }},
      {"scaled_dot_product_attention_backward: it needs the 4 tensors",
       [&](const Saved& saved) { scaled_dot_product_attention_backward(saved, none); }},
      {"vocab_parallel_cross_entropy_backward: it needs the 3 tensors",
       [&](const Saved& saved) { vocab_parallel_cross_entropy_backward(saved, none); }},
      {"ColumnParallelLinear::backward: it needs the 3 tensors",
       [&](const Saved& saved) { layers_with(false).column.backward(saved, none); }},
      {"RowParallelLinear::backward: it needs the 2 tensors",
       [&](const Saved& saved) { layers_with(false).row.backward(saved, none); }},
      {"VocabParallelEmbedding::backward: it needs the 1 tensor ", [&](const Saved& saved) {
         VocabParallelEmbedding({.num_embeddings = 4, .embedding_dim = 2}).backward(saved, none);
       }}};
  run_sound_model(1, 1, [&](int) {
    for (const auto& [message, backward] : backwards) {
      for (const Saved& saved : {Saved{}, Saved(5, torch::ones({2, 2})), Saved(2)}) {
        try {
          backward(saved);
          ADD_FAILURE() << message;
        } catch (const ValueError& error) {
          EXPECT_THAT(error.what(), ::testing::StartsWith(message));
          EXPECT_THAT(error.what(), ::testing::HasSubstr("`saved` has " + std::to_string(saved.size())));
        }
      }
    }
  });
}

TEST(Gradients, RefuseAGradientOfAnotherShapeThanTheOutputs) {
  const auto message = [](const std::function<void(const Tensor&)>& backward, const Tensor& grad) -> std::string {
    try {
      backward(grad);
    } catch (const ValueError& error) {
      return error.what();
    }
    return "";
  };
  run_sound_model(1, 1, [&](int) {
    const Tensor x = fractions({2, 3, 4}, 5), weight = fractions({4}, 3), heads = fractions({1, 4, 3, 4}, 5);
    const Tensor words = torch::tensor({{0, 1, 2}}).to("ahbm"), rows = whole_numbers({2, kOuter}, 3).to("ahbm");
    const Layers layers = layers_with(false);
    const VocabParallelEmbedding table({.num_embeddings = 4, .embedding_dim = 2});
    const Saved linear = linear_forward(x, fractions({5, 4}, 3)).saved, gelu{x}, root{x, weight},
                attention = scaled_dot_product_attention_forward(heads, heads, heads).saved,
                loss = vocab_parallel_cross_entropy_forward(x, torch::zeros({2, 3}, torch::kLong)).saved;
    struct Case {
      std::string call;
      std::vector<std::int64_t> output;
      std::function<void(const Tensor&)> backward;
    };
    const std::vector<Case> cases{
        {"linear_backward", {2, 3, 5}, [&](const Tensor& grad) { linear_backward(linear, grad); }},
        {"gelu_backward", {2, 3, 4}, [&](const Tensor& grad) { gelu_backward(gelu, grad); }},
        {"swiglu_backward", {2, 3, 2}, [&](const Tensor& grad) { swiglu_backward(gelu, grad); }},
        {"rms_norm_backward", {2, 3, 4}, [&](const Tensor& grad) { rms_norm_backward(root, grad, 0); }},
        {"layer_norm_backward", {2, 3, 4}, [&](const Tensor& grad) { layer_norm_backward(root, grad); }},
        {"scaled_dot_product_attention_backward",
         {1, 4, 3, 4},
         [&](const Tensor& grad) { scaled_dot_product_attention_backward(attention, grad); }},
        {"vocab_parallel_cross_entropy_backward",
         {2, 3},
         [&](const Tensor& grad) { vocab_parallel_cross_entropy_backward(loss, grad); }},
        {"ColumnParallelLinear::backward",
         {2, kMiddle},
         [&](const Tensor& grad) {
           layers.column.backward({rows, layers.column.weight(), layers.column.bias()}, grad);
         }},
        {"RowParallelLinear::backward",
         {2, kOuter},
         [&](const Tensor& grad) {
           layers.row.backward({whole_numbers({2, kMiddle}, 3).to("ahbm"), layers.row.weight()}, grad);
         }},
        {"VocabParallelEmbedding::backward", {1, 3, 2}, [&](const Tensor& grad) { table.backward({words}, grad); }}};
    for (const Case& each : cases) {
      const bool device = each.call.ends_with("::backward");
      const auto grad = [&](const std::vector<std::int64_t>& sizes) {
        return device ? torch::ones(sizes).to("ahbm") : torch::ones(sizes, torch::kDouble);
      };
      EXPECT_EQ(message(each.backward, grad(each.output)), "") << each.call;
      EXPECT_EQ(message(each.backward, {}), each.call + ": the gradient is undefined");
      std::vector<std::int64_t> turned = each.output, broadcast(each.output.size(), 1);
      std::ranges::reverse(turned);
      for (const auto& wrong : {turned, broadcast, std::vector<std::int64_t>{1}}) {
        if (wrong == each.output) continue;
        EXPECT_THAT(message(each.backward, grad(wrong)),
                    ::testing::StartsWith(each.call + ": the gradient must have the shape of the forward's output, ["));
      }
    }
  });
}

TEST(GradientPairs, OfNormsWithoutWeightOrBiasHaveNoGradientOfThem) {
  run_sound_model(1, 1, [](int) {
    const Tensor x = fractions({2, 3, 7}, 5), grad = fractions({2, 3, 7}, 11);
    for (const Tensor& weight : {fractions({7}, 3), Tensor()}) {
      const NormGrads of_root = rms_norm_backward(rms_norm_forward(x, weight, 0.3).saved, grad, 0.3);
      expect_central_differences([&] { return rms_norm_forward(x, weight, 0.3).output; }, x, grad, of_root.input);
      EXPECT_EQ(of_root.weight.defined(), weight.defined());
      for (const Tensor& bias : {fractions({7}, 2), Tensor()}) {
        const auto forward = [&] { return layer_norm_forward(x, weight, bias, 0.3); };
        const NormGrads grads = layer_norm_backward(forward().saved, grad, 0.3);
        expect_central_differences([&] { return forward().output; }, x, grad, grads.input);
        EXPECT_EQ(grads.weight.defined(), weight.defined());
        EXPECT_EQ(grads.bias.defined(), bias.defined());
        if (weight.defined()) expect_central_differences([&] { return forward().output; }, weight, grad, grads.weight);
        if (bias.defined()) expect_central_differences([&] { return forward().output; }, bias, grad, grads.bias);
      }
    }
  });
}

TEST(GradientPairs, OfEmptyDimensionsAreEmptyOrZero) {
  run_sound_model(1, 1, [](int) {
    for (const char* const device : {"cpu", "ahbm"}) {
      const auto ones = [&](const std::vector<std::int64_t>& sizes) { return torch::ones(sizes).to(device); };
      const auto sizes = [](const Tensor& x) { return x.sizes().vec(); };
      const LinearGrads in =
          linear_backward(linear_forward(ones({2, 3, 0}), ones({5, 0}), ones({5})).saved, ones({2, 3, 5}));
      EXPECT_THAT(sizes(in.input), ::testing::ElementsAre(2, 3, 0));
      EXPECT_THAT(sizes(in.weight), ::testing::ElementsAre(5, 0));
      EXPECT_TRUE(torch::equal(in.bias.cpu(), torch::full({5}, 6.0)));
      const LinearGrads out =
          linear_backward(linear_forward(ones({2, 3}), ones({0, 3}), ones({0})).saved, ones({2, 0}));
      EXPECT_TRUE(torch::equal(out.input.cpu(), torch::zeros({2, 3})));
      EXPECT_THAT(sizes(out.weight), ::testing::ElementsAre(0, 3));
      EXPECT_THAT(sizes(out.bias), ::testing::ElementsAre(0));
      const NormGrads root = rms_norm_backward({ones({2, 0}), ones({0})}, ones({2, 0}), 1e-5);
      const NormGrads layer = layer_norm_backward({ones({2, 0}), ones({0}), ones({0})}, ones({2, 0}));
      for (const Tensor& grad : {root.input, layer.input}) EXPECT_THAT(sizes(grad), ::testing::ElementsAre(2, 0));
      for (const Tensor& grad : {root.weight, layer.weight, layer.bias})
        EXPECT_THAT(sizes(grad), ::testing::ElementsAre(0));
      const Tensor none = ones({1, 0, 3, 4}), rows = ones({1, 2, 0, 4});
      const AttentionGrads heads =
          scaled_dot_product_attention_backward({none, none, none, none}, none, {.is_causal = true});
      EXPECT_THAT(sizes(heads.query), ::testing::ElementsAre(1, 0, 3, 4));
      const AttentionGrads queries = scaled_dot_product_attention_backward(
          {rows, ones({1, 2, 3, 4}), ones({1, 2, 3, 4}), rows}, rows, {.is_causal = true});
      EXPECT_TRUE(torch::equal(queries.key.cpu(), torch::zeros({1, 2, 3, 4})));
    }
  });
}

TEST(SgdStep, OfShardsIsThatOfTheWhole) {
  run_sound_model(4, 4, [](int rank) {
    const auto [column, row] = layers_with(false);
    const Dense dense;
    const LinearForward up = column.forward_saving(dense.x.to("ahbm")), down = row.forward_saving(up.output);
    const LinearGrads below = row.backward(down.saved, dense.grad.to("ahbm"));
    const LinearGrads above = column.backward(up.saved, below.input);
    sgd_step(column.weight(), above.weight, 0.5);
    sgd_step(row.weight(), below.weight, 0.5);
    sgd_step(row.bias(), below.bias, 0.5);
    const auto mine = static_cast<std::size_t>(rank);
    expect_equal(column.weight(), (upper() - dense.column_weight * 0.5).chunk(4, 0)[mine]);
    expect_equal(row.weight(), (lower() - dense.row_weight * 0.5).chunk(4, 1)[mine]);
    expect_equal(row.bias(), dense.row_bias * -0.5);
  });
}

}  // namespace
}  // namespace kernbench::tp
