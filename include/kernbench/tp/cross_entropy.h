// The loss of a language model whose logits are cut over the ranks of a tensor parallel group, as Megatron-LM's.
#pragma once

#include "kernbench/tp/gradients.h"
#include "kernbench/tp/parallel_state.h"

namespace kernbench::tp {

/// log Σ exp(logits) - logit of the target, for each position: `logits` [..., V / n] is the rank's part of the
/// vocabulary, as wide on each rank (DistributedError else), `target` [...] (Int or Long) is in [0, V); others are an
/// error, as of an embedding. The result [...] is f32 (f64 of f64) and has the same bits on each rank. Three
/// all-reduces of a number for each position: the largest logit, the target's, the sum. There is no label smoothing.
torch::Tensor vocab_parallel_cross_entropy(const torch::Tensor& logits, const torch::Tensor& target,
                                           const ProcessGroup& group = {}, Where where = Where::current());
Forward vocab_parallel_cross_entropy_forward(const torch::Tensor& logits, const torch::Tensor& target,
                                             const ProcessGroup& group = {}, Where where = Where::current());
/// The gradient of the rank's logits, (softmax - one at the target) * grad; nothing is communicated.
torch::Tensor vocab_parallel_cross_entropy_backward(const Saved& saved, const torch::Tensor& grad,
                                                    const ProcessGroup& group = {}, Where where = Where::current());

}  // namespace kernbench::tp
