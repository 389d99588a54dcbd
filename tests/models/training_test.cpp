// A training step of GPT-2 and Llama: loss and gradients are those of Hugging Face's code (references/README.md) for
// any number of ranks, and backward communicates as much as forward.
#include "benches/gpt/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "tests/support/source_tree.h"

namespace kernbench::tp::training_test {
namespace {

namespace gpt = benches::gpt;
using torch::Tensor;

constexpr std::int64_t kTokens = 12, kBatch = 2;

struct Case {
  std::string model;
  int ranks;
  bool sequence = false;
};

std::string folder_of(const std::string& name) {
  return source_tree::path("tests/models/references/" + name);
}

/// What a case does with the model of each rank and its step.
using Body = std::function<void(gpt::LanguageModel& model, gpt::Training& training, const Tensor& ids)>;

RunResult run_case(const Case& of, const Body& body) {
  return run_sound_model(of.ranks, of.ranks, [&](int rank) {
    const gpt::ModelConfig config = gpt::read_config(folder_of(of.model));
    const safetensors::SafeTensors expected(folder_of(of.model) + "/reference.safetensors");
    const gpt::Weights weights(config);
    gpt::LanguageModel model(config, weights, {rank, of.ranks, of.sequence, "ahbm", torch::kFloat}, kBatch, kTokens);
    gpt::Training training(model);
    body(model, training, expected.tensor("input_ids").t().contiguous().to("ahbm"));
  });
}

double sum_of(const Tensor& x) {
  return x.sum().item<double>();
}

class TrainingSteps : public ::testing::TestWithParam<Case> {};

TEST_P(TrainingSteps, HaveTheLossAndGradientsOfHuggingFacesCode) {
  const Case& of = GetParam();
  if (of.ranks == 2 || (of.ranks == 4 && !of.sequence)) NOT_UNDER_SANITIZERS("one rank, and four in the fullest form");
  if (of.ranks == 4 && of.model != "llama_tied") NOT_UNDER_SANITIZERS("that of shared weights stands for it");
  std::map<std::string, double> squares, products;  // over the ranks
  run_case(of, [&](gpt::LanguageModel&, gpt::Training& training, const Tensor& ids) {
    const safetensors::SafeTensors expected(folder_of(of.model) + "/reference.safetensors");
    const safetensors::SafeTensors weights(folder_of(of.model));
    const double loss = expected.tensor("loss").item<double>();
    EXPECT_NEAR(training.forward(ids).cpu().item<double>(), loss, 1e-5 * loss);
    training.backward();
    const bool is_first = torch::distributed::get_rank() == 0;
    for (const auto& [name, grad, is_cut, part] : training.gradients()) {
      const auto own = [&](const Tensor& whole) {
        return (is_cut ? whole.narrow(part.dimension, part.begin, part.end - part.begin) : whole).to(torch::kDouble);
      };
      const Tensor found = grad.cpu().to(torch::kDouble), weight = own(weights.tensor(name));
      ASSERT_EQ(found.sizes().vec(), weight.sizes().vec()) << name;
      if (of.model == "llama_tied") {
        const Tensor whole = safetensors::SafeTensors(folder_of(of.model) + "/gradients.safetensors").tensor(name);
        EXPECT_LE((found - own(whole)).abs().max().item<double>(), 1e-3 * whole.abs().max().item<double>()) << name;
      }
      if (!is_cut && !is_first) continue;
      squares[name] += sum_of(found * found);
      products[name] += sum_of(found * weight);
    }
  });
  const safetensors::SafeTensors expected(folder_of(of.model) + "/reference.safetensors");
  std::size_t parameters = 0;
  for (const std::string& key : expected.keys()) parameters += key.starts_with("gradient_norm.") ? 1 : 0;
  EXPECT_EQ(squares.size(), parameters);
  for (const auto& [name, square] : squares) {
    run_sound_model(1, 0, [&](int) {
      const double norm = expected.tensor("gradient_norm." + name).item<double>();
      EXPECT_NEAR(std::sqrt(square), norm, 1e-3 * norm) << name;
      EXPECT_NEAR(products[name], expected.tensor("gradient_dot_weight." + name).item<double>(), 1e-3 * norm) << name;
    });
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* const model : {"gpt2", "llama", "llama_tied"}) {
    for (const int ranks : {1, 2, 4}) all.push_back({model, ranks});
    for (const int ranks : {2, 4}) all.push_back({model, ranks, true});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(References, TrainingSteps, ::testing::ValuesIn(cases()), [](const auto& of) {
  return of.param.model + "_on_" + std::to_string(of.param.ranks) + (of.param.sequence ? "_sequence_parallel" : "");
});

/// Launches of device 0 in a range whose kernel's name has `word` in it.
std::int64_t launches(const RunResult& result, const std::string& range, const std::string& word) {
  return std::ranges::count_if(result.launches, [&](const LaunchResult& launch) {
    return launch.device == 0 && launch.range == range && launch.kernel.find(word) != std::string::npos;
  });
}

TEST(TrainingStep, BackwardOfALayerCommunicatesAsMuchAsForward) {
  for (const bool sequence : {false, true}) {
    if (kSanitized && !sequence) continue;
    const RunResult result =
        run_case({"llama", 4, sequence}, [](gpt::LanguageModel&, gpt::Training& training, const Tensor& ids) {
          torch::ahbm::synchronize();
          {
            const torch::profiler::record_function range("forward");
            training.forward(ids);
          }
          const torch::profiler::record_function range("backward");
          training.backward();
          torch::ahbm::synchronize();
        });
    for (const char* const range : {"forward/layer 0", "backward/layer 0", "forward/layer 1", "backward/layer 1"}) {
      EXPECT_EQ(launches(result, range, "allreduce"), sequence ? 0 : 2) << range;
      EXPECT_EQ(launches(result, range, "reduce_scatter"), sequence ? 2 : 0) << range;
      EXPECT_EQ(launches(result, range, "all_gather"), sequence ? 2 : 0) << range;
    }
    // The norms' gradients, of all layers at once.
    EXPECT_EQ(launches(result, "backward", "allreduce"), sequence ? 1 : 0);
    // Each layer's time, and what is outside of them, make up the whole.
    std::map<std::string, RangeResult> ranges;
    for (const RangeResult& range : result.ranges) ranges[range.name] = range;
    Time parts;
    for (const char* const part : {"embedding", "layer 0", "layer 1", "head"})
      parts += ranges.at(std::string("backward/") + part).complete;
    EXPECT_LE(parts, ranges.at("backward").complete);
    EXPECT_GE(parts.count() * 10, ranges.at("backward").complete.count() * 9);
    EXPECT_GT(ranges.at("backward/layer 1").communicating, Time::zero());
    EXPECT_GT(ranges.at("backward/layer 1").computing, Time::zero());
  }
}

TEST(TrainingStep, OfShardsLowersTheLossAsThatOfTheWhole) {
  constexpr int kSteps = kSanitized ? 1 : 3;
  for (const std::string model : {"gpt2", "llama", "llama_tied"}) {
    if (kSanitized && model != "llama_tied") continue;
    std::vector<double> whole;
    for (const Case& of : {Case{model, 1}, Case{model, 2}, Case{model, 4, true}}) {
      if (of.ranks == 2 && (kSanitized || (model != "llama" && !takes_all_cases()))) continue;
      std::vector<double> losses;
      run_case(of, [&](gpt::LanguageModel&, gpt::Training& training, const Tensor& ids) {
        for (int i = 0; i <= kSteps; ++i) {
          const double loss = training.forward(ids).cpu().item<double>();
          if (torch::distributed::get_rank() == 0) losses.push_back(loss);
          if (i == kSteps) break;
          training.backward();
          training.step({.lr = 1e-3, .weight_decay = 0.01, .decoupled_weight_decay = true});
        }
      });
      ASSERT_EQ(losses.size(), kSteps + 1u);
      EXPECT_TRUE(std::ranges::is_sorted(losses, std::greater{})) << model;
      if (whole.empty()) whole = losses;
      for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], whole[i], 1e-4 * whole[i]) << model;
    }
  }
}

TEST(TrainingStep, RefusesAMixtureOfExperts) {
  const auto result = run_model(1, 1, [](int) {
    const gpt::ModelConfig config = gpt::read_config(folder_of("mixtral"));
    const gpt::Weights weights(config);
    gpt::LanguageModel model(config, weights, {0, 1, false, "ahbm", torch::kFloat}, 1, 8);
    gpt::Training training(model);
  });
  EXPECT_THAT(result.errors.at(0), ::testing::HasSubstr("gradients of a mixture of experts are not supported"));
}

}  // namespace
}  // namespace kernbench::tp::training_test
