// A step of Adam and of AdamW against PyTorch's formula in long double, on shards, and its misuse; torch::optim on
// shards.
#include "kernbench/tp/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kernbench/nn.h"
#include "kernbench/optim.h"
#include "support.h"

namespace kernbench::tp {
namespace {

using torch::Tensor;

constexpr int kSteps = 3;

/// One element's steps by the formula of torch.optim.Adam and AdamW.
struct Element {
  long double value, mean = 0, square = 0;
  void step(long double grad, int step, const AdamOptions& options) {
    const long double beta1 = options.beta1, beta2 = options.beta2, decay = options.weight_decay;
    if (options.decoupled_weight_decay)
      value *= 1 - options.lr * decay;
    else
      grad += decay * value;
    mean = beta1 * mean + (1 - beta1) * grad;
    square = beta2 * square + (1 - beta2) * grad * grad;
    const long double corrected = mean / (1 - std::pow(beta1, static_cast<long double>(step)));
    const long double root = std::sqrt(square / (1 - std::pow(beta2, static_cast<long double>(step))));
    value -= options.lr * corrected / (root + options.eps);
  }
};

Tensor gradient(const std::vector<std::int64_t>& shape, int step) {
  return whole_numbers(shape, step + 4) * 0.17 + 0.05 * step;
}

Tensor expected(const Tensor& start, const AdamOptions& options) {
  Tensor result = start.to(torch::kDouble).contiguous().clone();
  std::vector<Element> elements;
  for (std::int64_t i = 0; i < result.numel(); ++i) elements.push_back({result.data_ptr<double>()[i]});
  for (int step = 1; step <= kSteps; ++step) {
    const Tensor grad = gradient(start.sizes().vec(), step).to(torch::kDouble).contiguous();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i].step(grad.data_ptr<double>()[i], step, options);
  }
  for (std::size_t i = 0; i < elements.size(); ++i)
    result.data_ptr<double>()[i] = static_cast<double>(elements[i].value);
  return result;
}

const std::vector<AdamOptions>& all_options() {
  static const std::vector<AdamOptions> kAll{
      {},
      {.lr = 0.1, .weight_decay = 0.3},
      {.lr = 0.1, .weight_decay = 0.3, .decoupled_weight_decay = true},
      {.lr = 0.05, .beta1 = 0, .beta2 = 0.5, .eps = 0.1},
  };
  return kAll;
}

void expect_close(const Tensor& actual, const Tensor& expected, double tolerance) {
  EXPECT_TRUE(torch::allclose(actual.cpu().to(torch::kDouble), expected, tolerance, tolerance));
}

TEST(AdamStep, IsPyTorchsFormulaOnTheHostAndOnADevice) {
  for (const AdamOptions& options : all_options()) {
    for (const torch::ScalarType type : {torch::kDouble, torch::kFloat, torch::kHalf}) {
      run_sound_model(1, 1, [&](int) {
        const Tensor start = (whole_numbers({13, 37}, 5) * 0.25).to(type);
        const double tolerance = type == torch::kDouble ? 1e-12 : type == torch::kFloat ? 2e-6 : 4e-3;
        for (const bool device : {false, true}) {
          if (device && type == torch::kDouble) continue;
          const Tensor parameter = device ? start.to("ahbm") : start.clone();
          AdamState state;
          for (int step = 1; step <= kSteps; ++step) {
            const Tensor grad = gradient({13, 37}, step).to(type);
            adam_step(parameter, device ? grad.to("ahbm") : grad, state, options);
          }
          expect_close(parameter, expected(start, options), tolerance);
          EXPECT_EQ(parameter.scalar_type(), type);
          EXPECT_EQ(state.step, kSteps);
          EXPECT_EQ(state.exp_avg.scalar_type(), type == torch::kDouble ? torch::kDouble : torch::kFloat);
        }
      });
    }
  }
}

// Shards, transposed gradients and replicas: each place of a parameter takes the step once.
TEST(AdamStep, OfShardsViewsAndReplicasIsThatOfTheWhole) {
  const AdamOptions options{.lr = 0.1, .weight_decay = 0.3};
  run_sound_model(4, 4, [&](int rank) {
    const auto mine = static_cast<std::size_t>(rank);
    const Tensor start = whole_numbers({16, 24}, 5);
    const DPPolicy replicate{.cube = Placement::replicate, .pe = Placement::replicate};
    const Tensor shard = start.chunk(4, 0)[mine].contiguous().to("ahbm");
    const Tensor copies = start.to(torch::TensorOptions("ahbm").placement(replicate));
    const Tensor table = start.t().contiguous().to("ahbm");  // whose transpose is the parameter
    AdamState of_shard, of_copies, of_table;
    for (int step = 1; step <= kSteps; ++step) {
      const Tensor grad = gradient({16, 24}, step);
      adam_step(shard, grad.t().contiguous().to("ahbm").t().chunk(4, 0)[mine], of_shard, options);
      adam_step(copies, grad.to("ahbm"), of_copies, options);
      adam_step(table.t(), grad.to("ahbm"), of_table, options);
    }
    const Tensor whole = expected(start, options);
    expect_close(shard, whole.chunk(4, 0)[mine], 2e-6);
    expect_close(table.t(), whole, 2e-6);
    expect_close(copies, whole, 2e-6);
    expect_close(copies * torch::ones_like(copies), whole, 2e-6);
  });
}

TEST(AdamStep, IsOneLaunchOnAllPEsOfTheParameter) {
  const RunResult result = run_sound_model(1, 1, [](int) {
    const Tensor parameter = torch::ones({64, 64}).to("ahbm"), grad = torch::ones({64, 64}).to("ahbm");
    AdamState state;
    adam_step(parameter, grad, state);
    torch::ahbm::synchronize();
  });
  std::int64_t steps = 0;
  for (const LaunchResult& launch : result.launches) {
    if (launch.kernel != "adam") continue;
    ++steps;
    EXPECT_EQ(launch.pes, launch.available_pes);
    // Four tensors read, three written: f32.
    EXPECT_EQ(launch.hbm_bytes, Bytes(7 * 64 * 64 * 4));
  }
  EXPECT_EQ(steps, 1);
}

TEST(AdamStep, RefusesWhatDoesNotFitTogether) {
  const auto error = [](const std::function<void()>& body) {
    const auto result = run_model(1, 1, [&](int) { body(); });
    return result.errors.at(0);
  };
  const auto step = [](const Tensor& parameter, const Tensor& grad, const AdamOptions& options) {
    AdamState fresh;
    adam_step(parameter, grad, fresh, options);
  };
  EXPECT_THAT(error([&] { step(torch::ones({2, 3}), torch::ones({3, 2}), {}); }),
              ::testing::HasSubstr("grad must have the shape and device of the parameter"));
  EXPECT_THAT(error([&] { step(torch::ones({2, 3}), torch::ones({2, 3}).to("ahbm"), {}); }),
              ::testing::HasSubstr("grad must have the shape and device of the parameter"));
  EXPECT_THAT(error([&] { step(torch::ones({2}, torch::kInt), torch::ones({2}), {}); }),
              ::testing::HasSubstr("a parameter must be a floating-point tensor"));
  EXPECT_THAT(error([&] { step(torch::ones({2}), torch::ones({2}), {.beta1 = 1}); }),
              ::testing::HasSubstr("beta1 must be in [0, 1), but is 1"));
  EXPECT_THAT(error([&] { step(torch::ones({2}), torch::ones({2}), {.lr = -1}); }),
              ::testing::HasSubstr("lr must be at least 0, but is -1"));
}

// ZeRO's first stage: gradients are averaged into shards, each rank steps its own, and all gather the parameters.
TEST(Optim, StepsShardsOfParametersAsThoseOfOneDevice) {
  constexpr int kRanks = 2, kElements = 64;
  const auto grad_of = [](int rank, int step) { return whole_numbers({kElements}, 3 + rank + step) * 0.25; };
  const auto options = torch::optim::AdamWOptions(0.1).weight_decay(0.3).amsgrad(true);
  const RunResult result = run_sound_model(kRanks, 0, [&](int rank) {
    const Tensor whole = whole_numbers({kElements}, 5).to("ahbm"), alone = whole.clone();
    const Tensor mine = whole.chunk(kRanks)[static_cast<std::size_t>(rank)];
    torch::optim::AdamW sharded({mine}, options), of_all({alone}, options);
    for (int step = 0; step < kSteps; ++step) {
      const Tensor grads = grad_of(rank, step).to("ahbm");
      mine.mutable_grad() = torch::empty({kElements / kRanks}).to("ahbm");
      torch::distributed::reduce_scatter_tensor(mine.grad(), grads, torch::distributed::ReduceOp::AVG);
      sharded.step();
      torch::distributed::all_gather_into_tensor(whole, mine);

      alone.mutable_grad() = ((grad_of(0, step) + grad_of(1, step)) / kRanks).to("ahbm");
      of_all.step();
    }
    EXPECT_TRUE(torch::equal(whole, alone)) << "rank " << rank;
    EXPECT_EQ(sharded.state().at(mine.impl().get())->tensors()["exp_avg"].numel(), kElements / kRanks);
  });
  std::int64_t steps = 0;
  for (const LaunchResult& launch : result.launches) steps += launch.kernel == "adam";
  EXPECT_EQ(steps, 2 * kRanks * kSteps);
}

TEST(Optim, ClipsGradientsByTheNormOverAllRanks) {
  run_sound_model(2, 0, [&](int rank) {
    const Tensor grads = whole_numbers({8}, 5) + 0.5;
    Tensor whole = torch::zeros({8}), mine = torch::zeros({4}).to("ahbm");
    whole.mutable_grad() = grads.clone();
    mine.mutable_grad() = grads.chunk(2)[static_cast<std::size_t>(rank)].to("ahbm");
    const double expected = torch::nn::utils::clip_grad_norm_(whole, 2.0);

    const Tensor squares = torch::nn::utils::get_total_norm({mine.grad()}).square();
    torch::distributed::all_reduce(squares);
    const Tensor norm = squares.sqrt();
    torch::nn::utils::clip_grads_with_norm_({mine}, 2.0, norm);
    EXPECT_NEAR(norm.item<float>(), expected, 1e-5);
    EXPECT_TRUE(torch::allclose(mine.grad().cpu(), whole.grad().chunk(2)[static_cast<std::size_t>(rank)]));
  });
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const ValueError& error) {
    return error.what();
  }
  return "";
}

TEST(AdamStep, ThatIsRefusedHasChangedNothing) {
  run_sound_model(1, 1, [](int) {
    for (const char* const device : {"cpu", "ahbm"}) {
      const auto here = [&](const Tensor& x) { return x.to(device); };
      const Tensor parameter = here(torch::ones({3})), grad = here(torch::full({3}, 0.5));
      const auto refuse = [&](const Tensor& of, const Tensor& by, AdamState state, const AdamOptions& options,
                              const std::string& message) {
        const bool fresh = !state.exp_avg.defined();
        const std::int64_t step = state.step;
        EXPECT_THAT(message_of([&] { adam_step(of, by, state, options); }), ::testing::HasSubstr(message)) << device;
        EXPECT_EQ(state.exp_avg.defined(), !fresh) << message;
        EXPECT_EQ(state.step, step) << message;
        if (!fresh) {
          EXPECT_TRUE(torch::equal(state.exp_avg.cpu().to(torch::kFloat), torch::zeros({3})));
        }
        EXPECT_TRUE(torch::equal(parameter.cpu(), torch::ones({3})));
      };
      const auto state = [&](torch::ScalarType type, std::int64_t step) {
        return AdamState{here(torch::zeros({3}, type)), here(torch::zeros({3}, type)), step};
      };
      refuse(parameter, {}, {}, {}, "adam_step: grad is undefined");
      refuse({}, grad, {}, {}, "adam_step: the parameter is undefined");
      refuse(parameter, here(torch::ones({4})), {}, {}, "grad must have the shape");
      refuse(parameter, grad, {}, {.lr = INFINITY}, "lr must be finite, but is inf");
      refuse(parameter, grad, {}, {.weight_decay = NAN}, "weight_decay must be at least 0, but is nan");
      refuse(parameter, grad, state(torch::kHalf, 1), {}, "exp_avg must be Float, but is [3] Half");
      refuse(parameter, grad, state(torch::kFloat, -1), {}, "step must be at least 0, but is -1");
      refuse(parameter, grad, {here(torch::zeros({3})), {}, 1}, {}, "exp_avg_sq is undefined");
      refuse(here(torch::zeros({1})).expand({3}), grad, {}, {}, "more than one element of the written-to tensor");
    }
  });
}

TEST(SgdStep, RefusesWhatDoesNotFitTogether) {
  run_sound_model(1, 1, [](int) {
    for (const char* const device : {"cpu", "ahbm"}) {
      const Tensor parameter = torch::ones({2, 3}).to(device), grad = torch::ones({2, 3}).to(device);
      const auto message = [&](const Tensor& of, const Tensor& by, double rate) {
        return message_of([&] { sgd_step(of, by, rate); });
      };
      EXPECT_THAT(message(parameter, torch::ones({3}).to(device), 1),
                  ::testing::HasSubstr("sgd_step: grad must have the shape and device of the parameter"));
      EXPECT_THAT(message(parameter, {}, 1), ::testing::HasSubstr("sgd_step: grad is undefined"));
      EXPECT_THAT(message(parameter.to(torch::kInt), grad, 1), ::testing::HasSubstr("must be a floating-point tensor"));
      for (const double rate : {-1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)})
        EXPECT_THAT(message(parameter, grad, rate), ::testing::HasSubstr("learning_rate must be"));
      EXPECT_TRUE(torch::equal(parameter.cpu(), torch::ones({2, 3})));
    }
    const Tensor there = torch::ones({}).to("ahbm");
    EXPECT_THAT(message_of([&] { sgd_step(there, torch::ones({}), 1); }),
                ::testing::HasSubstr("grad must have the shape and device"));
  });
}

}  // namespace
}  // namespace kernbench::tp
