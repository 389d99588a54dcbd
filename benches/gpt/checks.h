// What a model and a run of it must agree on: known before any rank starts.
#pragma once

#include <kernbench/kernbench.h>

#include <cstdint>
#include <string>

#include "../check_divides.h"
#include "parallel.h"

namespace benches::gpt {

/// ", which leaves 1 of 3 devices idle": of the machine's, by so many ranks. Empty where there is a rank for each.
inline std::string idle_text(std::int64_t ranks) {
  const std::int64_t devices = torch::accelerator::device_count();
  if (ranks >= devices) return {};
  return ", which leaves " + std::to_string(devices - ranks) + " of " + std::to_string(devices) + " devices idle";
}

/// The most stages, no more than are given, that divide the layers.
inline std::int64_t most_stages(const ModelConfig& config, const Parallel& parallel) {
  std::int64_t stages = parallel.stages;
  while (config.layers % stages != 0) --stages;
  return stages;
}

/// How a model can be cut that does not divide by the ranks of a stage: the most of them that it divides by, and, if
/// `pipeline`, stages for the rest of the ranks where these divide its layers; else how many devices idle.
inline std::string other_cut(const ModelConfig& config, const Parallel& parallel, bool pipeline) {
  const std::int64_t last = parallel.experts ? config.experts : config.inner;
  std::int64_t size = parallel.size;
  while (config.heads % size != 0 || config.kv_heads % size != 0 || last % size != 0) --size;
  const std::int64_t ranks = std::int64_t{parallel.size} * parallel.stages;
  const bool fits = pipeline && ranks % size == 0 && config.layers % (ranks / size) == 0;
  const std::int64_t stages = fits ? ranks / size : most_stages(config, parallel);
  return "give -p tp=" + std::to_string(size) + (stages == parallel.stages ? "" : " -p pp=" + std::to_string(stages)) +
         idle_text(size * stages);
}

/// As many stages as divide the layers, each with the ranks that it has.
inline std::string fewer_stages(const ModelConfig& config, const Parallel& parallel) {
  const std::int64_t stages = most_stages(config, parallel);
  return "give -p tp=" + std::to_string(parallel.size) + " -p pp=" + std::to_string(stages) +
         idle_text(parallel.size * stages);
}

/// ConfigurationError for a model that cannot be cut so, or that has no place for so many tokens. Without `pipeline` it
/// recommends no stages.
inline void check_cut(const ModelConfig& config, const Parallel& parallel, std::int64_t batch, std::int64_t most_tokens,
                      bool pipeline = true) {
  if (parallel.experts && !config.is_mixture())
    throw ConfigurationError("expert_parallel: " + config.name + " is no mixture of experts");
  const auto check_shares = [&](const char* name, std::int64_t value) {
    if (value % parallel.size == 0) return;
    check_divides(name, value, "TP world size", parallel.size, other_cut(config, parallel, pipeline));
  };
  check_shares("num_attention_heads", config.heads);
  check_shares("num_key_value_heads", config.kv_heads);
  if (parallel.experts)
    check_shares("num_local_experts", config.experts);
  else
    check_shares("intermediate_size", config.inner);
  if (most_tokens > config.positions) {
    throw ConfigurationError("tokens and new_tokens together (" + std::to_string(most_tokens) +
                             ") are more than the model's " + std::to_string(config.positions) + " positions");
  }
  if (batch < 1) throw ConfigurationError("batch must be at least 1");
  check_divides("num_hidden_layers", config.layers, "pipeline stages", parallel.stages, fewer_stages(config, parallel));
  if (parallel.micro_batches < 1) throw ConfigurationError("micro_batches must be at least 1");
  check_divides("batch", batch, "micro_batches", parallel.micro_batches);
  if (parallel.micro_batches > 1 && config.is_mixture()) {
    throw ConfigurationError(
        "micro_batches: the tokens of a mixture of experts are routed together, in one micro-batch");
  }
}

/// ConfigurationError for what a step of training is not made for.
inline void check_training(const ModelConfig& config, const Parallel& parallel) {
  const char* const why = config.is_mixture()   ? "train: gradients of a mixture of experts are not supported"
                          : parallel.stages > 1 ? "pp: a step of training has one stage; leave pp away, or train"
                          : parallel.overlap    ? "overlap: a step of training does not take it"
                          : parallel.micro_batches > 1
                              ? "micro_batches: a step of training takes all prompts at once; leave it away, or train"
                              : nullptr;
  if (why != nullptr) throw ConfigurationError(why);
}

}  // namespace benches::gpt
