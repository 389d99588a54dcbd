// What a model and a run of it must agree on: known before any rank starts.
#pragma once

#include <kernbench/kernbench.h>

#include <cstdint>
#include <string>

#include "parallel.h"

namespace benches::gpt {

/// ConfigurationError unless `divisor` divides `value`: "num_attention_heads (8) must be divisible by …".
inline void check_divides(const std::string& name, std::int64_t value, const std::string& by, std::int64_t divisor) {
  if (value % divisor == 0) return;
  throw ConfigurationError(name + " (" + std::to_string(value) + ") must be divisible by " + by + " (" +
                           std::to_string(divisor) + ")");
}

/// ConfigurationError for a model that cannot be cut so, or that has no place for so many tokens.
inline void check_cut(const ModelConfig& config, const Parallel& parallel, std::int64_t batch,
                      std::int64_t most_tokens) {
  constexpr const char* kRanks = "TP world size";
  check_divides("num_attention_heads", config.heads, kRanks, parallel.size);
  check_divides("num_key_value_heads", config.kv_heads, kRanks, parallel.size);
  if (parallel.experts && !config.is_mixture())
    throw ConfigurationError("expert_parallel: " + config.name + " is no mixture of experts");
  if (parallel.experts)
    check_divides("num_local_experts", config.experts, kRanks, parallel.size);
  else
    check_divides("intermediate_size", config.inner, kRanks, parallel.size);
  if (most_tokens > config.positions) {
    throw ConfigurationError("tokens and new_tokens together (" + std::to_string(most_tokens) +
                             ") are more than the model's " + std::to_string(config.positions) + " positions");
  }
  if (batch < 1) throw ConfigurationError("batch must be at least 1");
  check_divides("num_hidden_layers", config.layers, "pipeline stages", parallel.stages);
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
