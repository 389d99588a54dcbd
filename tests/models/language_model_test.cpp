// GPT-2, Llama and Mixtral from files in Hugging Face's layout compute what Hugging Face's code computes from them
// (references/README.md), for any number of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "benches/gpt/model.h"
#include "support.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "tests/support/source_tree.h"

namespace kernbench::tp {
namespace {

namespace gpt = benches::gpt;
using torch::Tensor;

struct Case {
  std::string model, reference, config;
  int ranks;
  bool sequence = false, experts = false;
};

std::string folder_of(const std::string& name) {
  return source_tree::path("tests/models/references/" + name);
}

/// As a share of the largest.
double error_of(const Tensor& actual, const Tensor& expected) {
  const Tensor difference = actual.cpu().to(torch::kDouble) - expected.to(torch::kDouble);
  return difference.abs().max().item<double>() / expected.abs().max().item<double>();
}

class LanguageModels : public ::testing::TestWithParam<Case> {};

TEST_P(LanguageModels, HaveTheScoresAndTokensOfHuggingFacesCode) {
  const auto& [model_name, reference, config_file, ranks, sequence, experts] = GetParam();
  const bool fullest = sequence == experts && (experts || model_name.find("mixtral") == std::string::npos);
  if (ranks == 2 || (ranks == 4 && !fullest)) NOT_UNDER_SANITIZERS("one rank, and four in the fullest form");
  if (ranks == 4 && model_name.find("mixtral") == std::string::npos)
    NOT_UNDER_SANITIZERS("mixtral on four, and the words with communication beside products");
  const gpt::ModelConfig config = gpt::read_config(folder_of(model_name) + config_file);
  constexpr std::int64_t kTokens = 12, kNew = 8, kBatch = 2;
  const RunResult result = run_sound_model(ranks, ranks, [&](int rank) {
    const safetensors::SafeTensors expected(folder_of(reference) + "/reference.safetensors");
    const gpt::Weights weights(config);
    ASSERT_TRUE(weights.from_file());
    gpt::Parallel parallel{rank, ranks, sequence, "ahbm", torch::kFloat};
    parallel.experts = experts;
    gpt::LanguageModel model(config, weights, parallel, kBatch, kTokens + kNew);
    const Tensor prompt = expected.tensor("input_ids").t().contiguous().to("ahbm");
    const Tensor all = model.of_all_words(model.forward(prompt, /*all_tokens=*/true));
    EXPECT_LE(error_of(all.transpose(0, 1), expected.tensor("logits")), 1e-5);
    model.clear();
    Tensor scores = model.forward(prompt);
    for (std::int64_t i = 0; i < kNew; ++i) {
      const Tensor of_all = model.of_all_words(scores);
      EXPECT_LE(error_of(of_all[0], expected.tensor("generated_logits").select(1, i)), 1e-5) << "token " << i;
      const Tensor next = model.best_words(scores);
      EXPECT_TRUE(next[0].cpu().equal(expected.tensor("generated_ids").select(1, i))) << "token " << i;
      if (i + 1 < kNew) scores = model.forward(next);
    }
    EXPECT_EQ(model.cached(), kTokens + kNew - 1);
  });
  EXPECT_FALSE(result.error.has_value());
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int ranks : {1, 2, 4})
    for (const char* const name : {"gpt2", "llama", "llama_tied", "mixtral"}) all.push_back({name, name, "", ranks});
  for (const char* const name : {"gpt2", "llama", "mixtral"}) {
    all.push_back({name, name, "", 4, true});
    all.push_back({name, name, "/config-transformers5.json", 2, true});
  }
  all.push_back({"llama_tied_sharded", "llama_tied", "", 2});
  for (const int ranks : {2, 4})
    for (const bool sequence : {false, true}) all.push_back({"mixtral", "mixtral", "", ranks, sequence, true});
  all.push_back({"mixtral_fused", "mixtral", "", 1});
  all.push_back({"mixtral_fused", "mixtral", "", 4});
  all.push_back({"mixtral_fused", "mixtral", "", 2, true, true});
  return all;
}

INSTANTIATE_TEST_SUITE_P(References, LanguageModels, ::testing::ValuesIn(cases()), [](const auto& of) {
  const Case& c = of.param;
  return c.model + (c.config.empty() ? "" : "_transformers5") + "_on_" + std::to_string(c.ranks) +
         (c.sequence ? "_sequence_parallel" : "") + (c.experts ? "_expert_parallel" : "");
});

// ---- pipeline stages, and communication beside products

struct Cut {
  int tensor = 1, stages = 1;
  std::int64_t micro_batches = 1;
  bool sequence = false, overlap = false;
};

/// Scores of a prompt and of three tokens decoded after it, each with the words that it gives: on the last stage.
std::vector<Tensor> decoded(const std::string& name, const Cut& cut) {
  constexpr std::int64_t kTokens = 12, kNew = 4, kBatch = 2;
  const int ranks = cut.tensor * cut.stages;
  const gpt::ModelConfig config = gpt::read_config(folder_of(name));
  std::vector<Tensor> all;
  run_sound_model(ranks, 0, [&](int rank) {
    initialize_model_parallel(cut.tensor, cut.stages);
    const safetensors::SafeTensors reference(folder_of(name) + "/reference.safetensors");
    const gpt::Weights weights(config);
    gpt::Parallel parallel{get_tensor_model_parallel_rank(), cut.tensor, cut.sequence, "ahbm", torch::kFloat};
    parallel.stage = get_pipeline_model_parallel_rank();
    parallel.stages = cut.stages;
    parallel.micro_batches = cut.micro_batches;
    parallel.overlap = cut.overlap;
    gpt::LanguageModel model(config, weights, parallel, kBatch, kTokens + kNew);
    Tensor ids = reference.tensor("input_ids").t().contiguous().to("ahbm");
    for (std::int64_t i = 0; i < kNew; ++i) {
      const Tensor scores = model.forward(ids);
      EXPECT_EQ(scores.defined(), parallel.is_last());
      ids = model.best_words(scores);
      const Tensor of_all = model.of_all_words(scores);
      if (parallel.is_last() && parallel.rank == 0) all.push_back(of_all.cpu());
      if (!parallel.is_last() && !parallel.is_first()) continue;
      EXPECT_TRUE(ids[0].cpu().equal(reference.tensor("generated_ids").select(1, i))) << "rank " << rank << ", " << i;
    }
    EXPECT_EQ(model.cached(), kTokens + kNew - 1);
  });
  return all;
}

void expect_same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::equal(a[i], b[i])) << "token " << i;
}

/// The scores differ by rounding alone.
void expect_near(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].numel(), b[i].numel());
    double most = 0, difference = 0;
    for (std::int64_t k = 0; k < a[i].numel(); ++k) {
      const double x = a[i].data_ptr<float>()[k], y = b[i].data_ptr<float>()[k];
      most = std::max(most, std::abs(y));
      difference = std::max(difference, std::abs(x - y));
    }
    EXPECT_LE(difference, 1e-5 * most) << "token " << i;
  }
}

TEST(LanguageModel, HasTheSameBitsForEveryNumberOfStages) {
  if (kSanitized) return expect_same_bits(decoded("llama", {2, 2, 1, true}), decoded("llama", {2, 1, 1, true}));
  for (const char* const name : {"gpt2", "llama", "llama_tied", "mixtral"}) {
    for (const int tensor : {1, 2}) {
      SCOPED_TRACE(name + std::string(" on ") + std::to_string(tensor));
      expect_same_bits(decoded(name, {tensor, 2}), decoded(name, {tensor, 1}));
    }
  }
  expect_same_bits(decoded("llama", {2, 2, 1, true}), decoded("llama", {2, 1, 1, true}));
}

TEST(LanguageModel, HasTheSameWordsWithMicroBatches) {
  for (const char* const name : {"gpt2", "llama"}) {
    if (kSanitized && name != std::string("llama")) continue;
    SCOPED_TRACE(name);
    expect_near(decoded(name, {2, 2, 2}), decoded(name, {2, 2}));
  }
}

TEST(LanguageModel, HasTheSameWordsWithCommunicationBesideProducts) {
  for (const char* const name : {"gpt2", "llama", "mixtral"}) {
    for (const bool sequence : {false, true}) {
      if (kSanitized && (sequence || name != std::string("llama"))) continue;
      if (!takes_all_cases() && sequence != (name != std::string("llama"))) continue;
      SCOPED_TRACE(name);
      expect_near(decoded(name, {4, 1, 1, sequence, true}), decoded(name, {4, 1, 1, sequence}));
    }
  }
}

std::int64_t launches_with(const RunResult& result, const std::string& text) {
  return std::ranges::count_if(
      result.launches, [&](const LaunchResult& launch) { return launch.kernel.find(text) != std::string::npos; });
}

TEST(LanguageModel, ReducesTwiceInEachLayerAndOnceForTheEmbedding) {
  for (const bool sequence : {false, true}) {
    gpt::ModelConfig config = gpt::read_config(folder_of("llama"));
    const RunResult result = run_sound_model(4, 4, [&](int rank) {
      const gpt::Weights weights(config);
      gpt::LanguageModel model(config, weights, {rank, 4, sequence, "ahbm", torch::kHalf}, 1, 16);
      model.best_words(model.forward(torch::zeros({16, 1}, torch::dtype(torch::kLong).device("ahbm"))));
      torch::ahbm::synchronize();
    });
    // The ranks' best words are gathered once; with shared tokens so is the input of each column, and of the last
    // product.
    EXPECT_EQ(launches_with(result, "allreduce"), sequence ? 0 : 4 * (2 * config.layers + 1));
    EXPECT_EQ(launches_with(result, "reduce_scatter"), sequence ? 4 * (2 * config.layers + 1) : 0);
    EXPECT_EQ(launches_with(result, "all_gather"), sequence ? 4 * (2 * config.layers + 2) : 4);
  }
}

TEST(LanguageModel, SendsRowsToTheRanksOfTheirExpertsAndBack) {
  for (const bool sequence : {false, true}) {
    gpt::ModelConfig config = gpt::read_config(folder_of("mixtral"));
    const RunResult result = run_sound_model(4, 4, [&](int rank) {
      const gpt::Weights weights(config);
      gpt::Parallel parallel{rank, 4, sequence, "ahbm", torch::kHalf};
      parallel.experts = true;
      gpt::LanguageModel model(config, weights, parallel, 1, 16);
      model.forward((torch::arange(16) * 5).view({16, 1}).to("ahbm"));
      torch::ahbm::synchronize();
    });
    // How many rows, the rows, and the results, in each layer; without shared tokens a sum over the ranks instead.
    EXPECT_EQ(launches_with(result, "all_to_all"), sequence ? 4 * 3 * config.layers : 0);
    EXPECT_EQ(launches_with(result, "allreduce"), sequence ? 0 : 4 * (2 * config.layers + 1));
    EXPECT_EQ(launches_with(result, "reduce_scatter"), sequence ? 4 * (config.layers + 1) : 0);
  }
}

TEST(LanguageModel, TakesTheSameTimeWithoutData) {
  NOT_UNDER_SANITIZERS("long");
  for (const int ranks : {1, 2}) {
    std::vector<RunResult> runs;
    for (const bool data : {true, false}) {
      SimulateOptions options = testing::machine_of(ranks);
      options.quick_plans = true;
      options.data = data;
      runs.push_back(simulate(options, [&] {
        torch::multiprocessing::spawn(
            [](int rank, int size) {
              torch::ahbm::set_device(rank);
              torch::distributed::init_process_group("ahbm", rank, size);
              initialize_model_parallel(size);
              const gpt::ModelConfig config = gpt::read_config(folder_of("llama"));
              const gpt::Weights weights(config);
              gpt::LanguageModel model(config, weights, {rank, size, false, "ahbm", torch::kHalf}, 1, 16);
              torch::ahbm::synchronize();
              // The rows that a lookup without data is taken to read.
              Tensor ids = torch::empty({12, 1}, torch::kLong);
              for (std::int64_t i = 0; i < 12; ++i) ids.data_ptr<std::int64_t>()[i] = i * 79 % config.words;
              model.forward(ids.to("ahbm"));
              torch::ahbm::synchronize();
            },
            std::tuple{ranks}, {.nprocs = ranks});
      }));
    }
    ASSERT_EQ(runs[0].launches.size(), runs[1].launches.size());
    for (std::size_t i = 0; i < runs[0].launches.size(); ++i) {
      // With data the weights are sent first, so that launches begin at another phase of the PEs' clock.
      const auto time_of = [&](const RunResult& run) { return (run.launches[i].end - run.launches[i].start).count(); };
      EXPECT_EQ(runs[0].launches[i].kernel, runs[1].launches[i].kernel);
      EXPECT_NEAR(static_cast<double>(time_of(runs[0])), static_cast<double>(time_of(runs[1])), 1000)
          << runs[0].launches[i].kernel << " of " << ranks;
    }
  }
}

TEST(LanguageModel, RefusesWhatItsSizesDoNotAllow) {
  const auto errors = [](const std::string& name, int ranks, std::int64_t tokens) {
    const auto result = run_model(ranks, ranks, [&](int rank) {
      const gpt::ModelConfig config = gpt::read_config(name);
      const gpt::Weights weights(config);
      gpt::LanguageModel(config, weights, {rank, ranks, false, "ahbm", torch::kFloat}, 1, tokens);
    });
    return result.errors.at(0);
  };
  EXPECT_THAT(errors(folder_of("llama"), 3, 4),
              ::testing::HasSubstr("num_attention_heads (8) must be divisible by TP world size (3)"));
  EXPECT_THAT(errors(folder_of("mixtral"), 8, 4), ::testing::HasSubstr("num_key_value_heads (4) must be divisible"));
  const auto of_experts = [](const std::string& name, int ranks) {
    const auto result = run_model(ranks, ranks, [&](int rank) {
      gpt::ModelConfig config = gpt::read_config(folder_of(name));
      config.heads = config.kv_heads = 8;
      const gpt::Weights weights(config);
      gpt::Parallel parallel{rank, ranks, false, "ahbm", torch::kFloat};
      parallel.experts = true;
      gpt::LanguageModel(config, weights, parallel, 1, 4);
    });
    return result.errors.at(0);
  };
  EXPECT_THAT(of_experts("llama", 2), ::testing::HasSubstr("is no mixture of experts"));
  EXPECT_THAT(of_experts("mixtral", 8),
              ::testing::HasSubstr("num_local_experts (4) must be divisible by TP world size (8)"));
  const auto of_stages = [](const std::string& name, int stages, std::int64_t batch, std::int64_t micro_batches) {
    const gpt::ModelConfig config = gpt::read_config(folder_of(name));
    const auto result = run_model(1, 1, [&](int) {
      const gpt::Weights weights(config);
      gpt::Parallel parallel{0, 1, false, "ahbm", torch::kFloat};
      parallel.stages = stages;
      parallel.micro_batches = micro_batches;
      gpt::LanguageModel(config, weights, parallel, batch, 4);
    });
    return result.errors.at(0);
  };
  EXPECT_THAT(of_stages("llama", 3, 1, 1),
              ::testing::HasSubstr("num_hidden_layers (2) must be divisible by pipeline stages (3)"));
  EXPECT_THAT(of_stages("llama", 2, 3, 2), ::testing::HasSubstr("batch (3) must be divisible by micro_batches (2)"));
  EXPECT_THAT(of_stages("mixtral", 2, 4, 2), ::testing::HasSubstr("are routed together, in one micro-batch"));
  EXPECT_THAT(errors(folder_of("gpt2"), 1, 33), ::testing::HasSubstr("(33) are more than the model's 32 positions"));
}

}  // namespace
}  // namespace kernbench::tp
