// Losses: how far a tensor is from its target. They are made of other functions, and so are their times on a device.
//
// `reduction` is a torch::Reduction: the loss of each element, their mean, or their sum. What lies between is computed
// in f32 at least and rounded once to the type of the result. An element type, a shape or a parameter that does not fit
// is a ValueError in PyTorch's words.
#pragma once

#include <cstdint>
#include <optional>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

// NOLINTBEGIN(readability-identifier-naming): as in libtorch
namespace Reduction {
enum Reduction : std::uint8_t { None, Mean, Sum };
}  // namespace Reduction
// NOLINTEND(readability-identifier-naming)

// ---- of numbers; input and target broadcast --------------------------------------------------------------------

/// (input - target)^2
Tensor mse_loss(const TensorOperand& input, const Tensor& target, std::int64_t reduction = Reduction::Mean);
/// |input - target|
Tensor l1_loss(const TensorOperand& input, const Tensor& target, std::int64_t reduction = Reduction::Mean);
/// d^2 / (2 beta) where d = |input - target| is below beta, else d - beta / 2. `beta` is not negative.
Tensor smooth_l1_loss(const TensorOperand& input, const Tensor& target, std::int64_t reduction = Reduction::Mean,
                      double beta = 1);
/// d^2 / 2 where d = |input - target| is not above delta, else delta (d - delta / 2). `delta` is positive. The result
/// has the type of `input`.
Tensor huber_loss(const TensorOperand& input, const Tensor& target, std::int64_t reduction = Reduction::Mean,
                  double delta = 1);

// ---- of classes ------------------------------------------------------------------------------------------------

/// -input[…, target, …] * weight[target] of log probabilities [N, C] and classes [N] (Long or Byte; on a device Int,
/// too), or of [C] and []. A target that is `ignore_index` has the loss 0. The mean is the sum over the sum of the
/// weights that it counts: NaN if there are none. `weight` is [C], of the type of `input`. A target that is no class is
/// an IndexError; on a device it is the kernel's error.
Tensor nll_loss(const TensorOperand& input, const Tensor& target, const std::optional<Tensor>& weight = {},
                std::int64_t reduction = Reduction::Mean, std::int64_t ignore_index = -100);
/// The same of [N, C, H, W] and [N, H, W].
Tensor nll_loss2d(const TensorOperand& input, const Tensor& target, const std::optional<Tensor>& weight = {},
                  std::int64_t reduction = Reduction::Mean, std::int64_t ignore_index = -100);
/// The same of [C] and [], or [N, C, …] and [N, …].
Tensor nll_loss_nd(const TensorOperand& input, const Tensor& target, const std::optional<Tensor>& weight = {},
                   std::int64_t reduction = Reduction::Mean, std::int64_t ignore_index = -100);
/// nll_loss_nd of log_softmax(input). With `label_smoothing` a share of it is spread over all classes. A target of the
/// shape of `input` has the probability of each class instead, in a floating-point type.
Tensor cross_entropy_loss(const TensorOperand& input, const Tensor& target, const std::optional<Tensor>& weight = {},
                          std::int64_t reduction = Reduction::Mean, std::int64_t ignore_index = -100,
                          double label_smoothing = 0);

// ---- of probabilities ------------------------------------------------------------------------------------------

/// -weight (target log(input) + (1 - target) log(1 - input)), where a logarithm is never below -100. Input and target
/// have one shape and type. An input outside of [0, 1] is a ValueError on the host, and on a device NaN.
Tensor binary_cross_entropy(const TensorOperand& input, const Tensor& target, const std::optional<Tensor>& weight = {},
                            std::int64_t reduction = Reduction::Mean);
/// binary_cross_entropy of sigmoid(input), without its overflow; `pos_weight` multiplies the term of the target. All
/// broadcast. The result has the type of `target`, or with `pos_weight` that of input and target.
Tensor binary_cross_entropy_with_logits(const TensorOperand& input, const Tensor& target,
                                        const std::optional<Tensor>& weight = {},
                                        const std::optional<Tensor>& pos_weight = {},
                                        std::int64_t reduction = Reduction::Mean);
/// target (log(target) - input), and 0 where the target is 0; `input` has logarithms, and with `log_target` so has the
/// target. They broadcast.
Tensor kl_div(const TensorOperand& input, const Tensor& target, std::int64_t reduction = Reduction::Mean,
              bool log_target = false);

}  // namespace kernbench::torch
