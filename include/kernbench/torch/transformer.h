// Functions of transformers that libtorch does not have, each in one kernel: gated activations, norms of sums,
// rotary embeddings.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch::ahbm {

// ---- gated activations -----------------------------------------------------------------------------------------

/// silu(gate) * up, both of one shape, or such that they broadcast; x [..., 2 n] is gate and up, one behind the other
/// along the last dimension. Computed in f32 and rounded once (f64 in f64 on the host): the bits of
/// torch::silu(gate.to(f32)) * up.to(f32), rounded. One launch that reads each operand once. ValueError for integers,
/// and where the last dimension of x is odd.
Tensor swiglu(const Tensor& x, Where where = Where::current());
Tensor swiglu(const Tensor& gate, const Tensor& up, Where where = Where::current());
/// Likewise gelu(gate) * up; approximate: "none" (by erf) or "tanh".
Tensor geglu(const Tensor& x, std::string_view approximate = "none", Where where = Where::current());
Tensor geglu(const Tensor& gate, const Tensor& up, std::string_view approximate = "none",
             Where where = Where::current());

// ---- norms of residual sums ------------------------------------------------------------------------------------

/// sum = x + residual and rms_norm(sum, normalized_shape, weight, eps), or layer_norm, with the bits of both, which
/// come back as (norm, sum): what stands between two products of a transformer. One launch in place of two, which reads
/// x and the residual and writes both results, as vLLM's fused_add_rms_norm; where lines do not fit into the TCM the
/// sum is a launch of its own. ValueError unless x and the residual have one shape and type.
std::tuple<Tensor, Tensor> add_rms_norm(const TensorOperand& x, const Tensor& residual, IntArrayRef normalized_shape,
                                        const std::optional<Tensor>& weight = {}, std::optional<double> eps = {});
std::tuple<Tensor, Tensor> add_layer_norm(const TensorOperand& x, const Tensor& residual, IntArrayRef normalized_shape,
                                          const std::optional<Tensor>& weight = {},
                                          const std::optional<Tensor>& bias = {}, double eps = 1e-5);

// ---- rotary embeddings -----------------------------------------------------------------------------------------

/// How frequencies are stretched for more positions than a model was trained with, by the names of Hugging Face's
/// configurations. A factor of 1: not at all.
struct RotaryScaling {
  double factor = 1;
  /// "llama3": frequencies that turn fewer than low_freq_factor times within the original length are divided by
  /// `factor`, those that turn more than high_freq_factor times stay, the ones between are interpolated. Both 0:
  /// "linear", which divides all of them.
  double low_freq_factor = 0, high_freq_factor = 0;
  std::int64_t original_max_position_embeddings = 0;
};
struct RotaryFrequencyOptions {
  double theta = 10000;
  RotaryScaling scaling = {};
};
/// The dim / 2 frequencies theta^(-2 i / dim) of a rotary embedding as its kernel takes them: f32 [2, dim / 2] in turns
/// for each position, row 1 what row 0 lacks, so that no angle is rounded however far a position is. Made once, by the
/// host, in double; on a device every PE has a copy (8 B for each frequency). ValueError for an odd dim, or factors
/// that cannot be.
Tensor rotary_frequencies(std::int64_t dim, const RotaryFrequencyOptions& options = {}, Device device = kAHBM,
                          Where where = Where::current());

struct RotaryOptions {
  /// Int or Long [tokens] or [batch, tokens], where batch is dimension 0 of x, on its device; in [0, 2^24). Undefined:
  /// offset, offset + 1, ….
  Tensor positions = {};
  /// Of the first token: the keys that a cache holds already.
  std::int64_t offset = 0;
  /// Pairs are (2 i, 2 i + 1), as GPT-J has them; else (i, i + dim / 2), as Hugging Face has.
  bool interleaved = false;
  /// The dimension of x that counts tokens: -2 of [batch, heads, tokens, size], -3 of [batch, tokens, heads, size].
  std::int64_t token_dim = -2;
};
/// Turns each pair (a, b) of the first `dim` elements of each row of x by the angle position * frequency, to
/// (a cos - b sin, a sin + b cos); `frequencies` is that of rotary_frequencies(dim) on x's device. The others stay.
///
/// One launch on all PEs that hold the result. The angles are computed by the kernel, once for all heads of a token
/// that a program has: no table of positions is kept or read. In f32, rounded once: within 2^-20 (|a| + |b|) of the
/// exact result, and half a unit of x's type, for all positions below 2^24. The host computes in double. ValueError for
/// shapes and types that do not fit together.
Tensor rotary_embedding(const TensorOperand& x, const Tensor& frequencies, const RotaryOptions& options = {});
/// In place, as queries and keys that are views of one product are best turned: where they lie.
const Tensor& rotary_embedding_(const Tensor& x, const Tensor& frequencies, const RotaryOptions& options = {},
                                Where where = Where::current());
/// Likewise of a product's queries and keys, which goes to a cache of keys and values in the same launch, as the
/// kernels of inference engines do (TensorRT-LLM, vLLM): x is [batch, queries + 2 keys, tokens, size], of which all
/// heads but the last `keys`, the values, are turned in place; `cache` [batch, 2 keys, tokens, size] gets the turned
/// keys and the values, and shares no elements with x. token_dim is -2.
const Tensor& rotary_embedding_into_cache_(const Tensor& x, const Tensor& frequencies, const Tensor& cache,
                                           const RotaryOptions& options = {}, Where where = Where::current());
/// The gradient of x: that of the result turned back.
Tensor rotary_embedding_backward(const TensorOperand& grad, const Tensor& frequencies,
                                 const RotaryOptions& options = {});

}  // namespace kernbench::torch::ahbm
