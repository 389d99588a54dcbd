// The losses of kernbench/torch/losses.h, and the gradients of those of classes, made of other functions.
#include "kernbench/torch/losses.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <tuple>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/backward.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/functional_losses.h"
#include "kernbench/torch/operations.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/elementwise.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::fail;
using tensor::impl_of;
using tensor::text_of;

namespace {

using OptionalTensor = std::optional<Tensor>;

bool is_given(const OptionalTensor& tensor) {
  return tensor && tensor->defined();
}

std::string sizes_of(const Tensor& tensor) {
  return text_of(impl_of(tensor).sizes);
}

/// All given operands are on one device.
void check_places(const char* call, const Tensor& input, const Tensor& target, const OptionalTensor& weight = {},
                  const OptionalTensor& more = {}) {
  std::vector<tensor::DeviceOperand> operands{input, target};
  for (const OptionalTensor* given : {&weight, &more})
    if (is_given(*given)) operands.emplace_back(**given);
  tensor::place_of(call, operands);
}

/// What the losses of all elements become, in the type of the result.
Tensor reduced(const Tensor& losses, std::int64_t reduction, ScalarType type) {
  if (reduction == Reduction::Mean) return losses.mean().to(type);
  if (reduction == Reduction::Sum) return losses.sum().to(type);
  return losses.to(type);
}

// ---- of numbers ------------------------------------------------------------------------------------------------

/// The type that two operands have in common, and in which their loss is computed.
struct LossTypes {
  ScalarType result, wide;
};

LossTypes types_of(const char* call, const Tensor& input, const Tensor& target) {
  check_places(call, input, target);
  const ScalarType type = torch::result_type(input, target);
  return {type, tensor::wide_type(type)};
}

void check_floats(const char* call, ScalarType type) {
  if (!is_floating_point(type)) tensor::fail_type(call, type, "convert an operand to a floating-point type first");
}

/// The type `to` of a result that PyTorch computes in `from` and stores in the type of an operand.
ScalarType castable(const char* call, ScalarType from, ScalarType to) {
  if (tensor::can_cast(from, to)) return to;
  fail(call, fmt::format("result type {} can't be cast to the desired output type {}; convert an operand with .to(…)",
                         text_of(from), text_of(to)));
}

/// input - target in the wide type. One conversion is enough, of an operand that decides about the type.
Tensor difference(const Tensor& input, const Tensor& target, const LossTypes& types) {
  if (types.result == types.wide) return input.sub(target);
  return input.dim() > 0 ? input.to(types.wide).sub(target) : input.sub(target.to(types.wide));
}

/// d^2 / 2 up to the bound and bound * (d - bound / 2) beyond, by one formula: c * (d - c / 2), where c is the smaller
/// one of d and the bound.
Tensor huber_of(const char* call, const Tensor& distance, double bound) {
  const Tensor capped = distance.clamp_max(bound);
  return tensor::multiply_add(call, capped, -0.5, distance).mul(capped);
}

}  // namespace

Tensor mse_loss(const TensorOperand& input, const Tensor& target, std::int64_t reduction) {
  constexpr const char* kCall = "mse_loss";
  const tensor::HostCall here(kCall, input.where);
  const LossTypes types = types_of(kCall, input.tensor, target);
  const Tensor error = difference(input.tensor, target, types);
  return reduced(error.mul(error), reduction, types.result);
}

Tensor l1_loss(const TensorOperand& input, const Tensor& target, std::int64_t reduction) {
  constexpr const char* kCall = "l1_loss";
  const tensor::HostCall here(kCall, input.where);
  const LossTypes types = types_of(kCall, input.tensor, target);
  const Tensor losses = difference(input.tensor, target, types).abs();
  return reduced(losses, reduction, losses.is_floating_point() ? types.result : losses.scalar_type());
}

Tensor smooth_l1_loss(const TensorOperand& input, const Tensor& target, std::int64_t reduction, double beta) {
  constexpr const char* kCall = "smooth_l1_loss";
  const tensor::HostCall here(kCall, input.where);
  if (beta < 0) fail(kCall, "smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return l1_loss(input, target, reduction);
  const LossTypes types = types_of(kCall, input.tensor, target);
  check_floats(kCall, types.result);
  const Tensor distance = difference(input.tensor, target, types).abs();
  return reduced(huber_of(kCall, distance, beta).div(beta), reduction, types.result);
}

Tensor huber_loss(const TensorOperand& input, const Tensor& target, std::int64_t reduction, double delta) {
  constexpr const char* kCall = "huber_loss";
  const tensor::HostCall here(kCall, input.where);
  if (!(delta > 0)) fail(kCall, "huber_loss does not support non-positive values for delta.");
  const LossTypes types = types_of(kCall, input.tensor, target);
  check_floats(kCall, types.result);
  const ScalarType result = castable(kCall, types.result, input.tensor.scalar_type());
  return reduced(huber_of(kCall, difference(input.tensor, target, types).abs(), delta), reduction, result);
}

// ---- of classes ------------------------------------------------------------------------------------------------

namespace {

std::int64_t class_dimension(const Tensor& input) {
  return input.dim() == 1 ? 0 : 1;
}

/// Log probabilities, or logits, of classes: [C] or [N, C, …].
struct ClassInput {
  const char* call;
  const Tensor& input;
  const OptionalTensor& weight;

  std::int64_t dimension() const { return class_dimension(input); }
  std::int64_t classes() const { return input.size(dimension()); }

  void check_input() const {
    if (!input.is_floating_point())
      tensor::fail_type(call, input.scalar_type(), "convert the input with .to(torch::kFloat) first");
    if (input.dim() < 1) fail(call, fmt::format("Expected 1 or more dimensions (got {})", input.dim()));
  }

  /// A number for each class.
  void check_weight() const {
    if (!is_given(weight)) return;
    if (weight->dim() != 1 || weight->numel() != classes()) {
      fail(call, fmt::format("weight tensor should be defined either for all {} classes or no classes but got weight "
                             "tensor of shape: {}",
                             classes(), sizes_of(*weight)));
    }
    if (weight->scalar_type() != input.scalar_type()) {
      fail(call, fmt::format("expected scalar type {} but found {} for the weight; convert it with .to(…)",
                             text_of(input.scalar_type()), text_of(weight->scalar_type())));
    }
  }

  /// A class for each line.
  void check_target(const Tensor& target) const {
    const ScalarType type = target.scalar_type();
    if (type != kLong && type != kByte && (type != kInt || target.is_cpu())) {
      fail(call,
           fmt::format("expected scalar type Long but found {}; convert it with .to(torch::kLong)", text_of(type)));
    }
    tensor::Extents expected = impl_of(input).sizes;
    expected.erase(expected.begin() + dimension());
    if (input.dim() > 1 && target.dim() > 0 && input.size(0) != target.size(0)) {
      fail(call, fmt::format("Expected input batch_size ({}) to match target batch_size ({}).", input.size(0),
                             target.size(0)));
    }
    if (impl_of(target).sizes != expected)
      fail(call, fmt::format("Expected target size {}, got {}", text_of(expected), sizes_of(target)));
  }
};

/// On the host, where the values are at hand; on a device the kernel that chooses by them finds those that do not fit.
void check_range(const Tensor& target, std::int64_t classes) {
  if (!target.is_cpu() || target.numel() == 0) return;
  const Tensor wrong = target.lt(0).logical_or(target.ge(classes));
  if (wrong.any().item<bool>())
    throw IndexError(fmt::format("Target {} is out of bounds.", target.masked_select(wrong)[0].item<std::int64_t>()));
}

/// Each of the log probabilities times its class's weight.
Tensor weighted(const ClassInput& of) {
  if (!is_given(of.weight)) return of.input;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(of.input.dim()), 1);
  sizes[static_cast<std::size_t>(of.dimension())] = of.classes();
  return of.input.mul(of.weight->view(sizes));
}

/// The losses of the lines, and what a mean divides their sum by the sum of.
struct ClassLosses {
  Tensor losses, weights;
};

/// Of log probabilities, where `target` is a class of each line. `smoothing` is the share of all classes.
ClassLosses class_losses(const ClassInput& of, const Tensor& target, std::int64_t ignore_index, double smoothing) {
  const Tensor counts = target.ne(ignore_index), classes = tensor::where(counts, target, 0);
  check_range(classes, of.classes());
  Tensor losses = of.input.gather(of.dimension(), classes.unsqueeze(of.dimension())).squeeze(of.dimension()).neg();
  Tensor weights = counts;
  if (is_given(of.weight)) {
    weights = of.weight->index_select(0, classes.reshape({-1})).view(target.sizes());
    losses = losses.mul(weights);
    weights = tensor::where(counts, weights, 0);
  }
  if (smoothing > 0) {
    const Tensor all = weighted(of).sum(of.dimension());
    losses = losses.mul(1 - smoothing).sub(all, smoothing / static_cast<double>(of.classes()));
  }
  return {tensor::where(counts, losses, 0), weights};
}

/// In f32 at least.
Tensor total_weight(const ClassLosses& of) {
  return of.weights.sum(tensor::wide_type(of.losses.scalar_type()));
}

/// `total` is made where it is undefined and needed.
Tensor reduced(const ClassLosses& of, std::int64_t reduction, const Tensor& total = {}) {
  if (reduction != Reduction::Mean && reduction != Reduction::Sum) return of.losses;
  const ScalarType type = of.losses.scalar_type();
  const Tensor sum = of.losses.sum(tensor::wide_type(type));
  return (reduction == Reduction::Sum ? sum : sum.div(total.defined() ? total : total_weight(of))).to(type);
}

/// The classes, as numbers that any `ignore_index` can be compared with: as bytes one that is none would become one.
Tensor checked_classes(const ClassInput& of, const Tensor& target) {
  check_places(of.call, of.input, target, of.weight);
  of.check_input();
  of.check_target(target);
  of.check_weight();
  return target.scalar_type() == kByte ? target.to(kLong) : target;
}

Tensor negative_log_likelihood(const ClassInput& of, const Tensor& target, std::int64_t reduction,
                               std::int64_t ignore_index, double smoothing = 0) {
  return reduced(class_losses(of, checked_classes(of, target), ignore_index, smoothing), reduction);
}

std::tuple<Tensor, Tensor> likelihood_and_weight(const ClassInput& of, const Tensor& target, std::int64_t reduction,
                                                 std::int64_t ignore_index) {
  const ClassLosses losses = class_losses(of, checked_classes(of, target), ignore_index, 0);
  const ScalarType type = of.input.scalar_type();
  if (reduction == Reduction::None) return {losses.losses, torch::zeros({}, of.input.options())};
  const Tensor total = total_weight(losses);
  return {reduced(losses, reduction, total), total.to(type)};
}

/// Each line has one element that is not 0, at its class.
Tensor likelihood_backward(const ClassInput& of, const Tensor& grad, const Tensor& target, std::int64_t reduction,
                           std::int64_t ignore_index, const Tensor& total) {
  const Tensor classes = checked_classes(of, target);
  tensor::check_floats(of.call, grad);
  const bool is_reduced = reduction == Reduction::Mean || reduction == Reduction::Sum;
  if (is_reduced ? grad.numel() != 1 : grad.sizes() != target.sizes()) {
    fail(of.call, fmt::format("the gradient must have the shape of the loss, {}, but has {}",
                              is_reduced ? "[]" : sizes_of(target), sizes_of(grad)));
  }
  const std::int64_t dimension = of.dimension();
  const ScalarType type = of.input.scalar_type(), wide = tensor::wide_type(type);
  Tensor lines = (is_reduced ? grad.reshape({}) : grad).to(wide).neg();
  if (reduction == Reduction::Mean) {
    check_places(of.call, grad, total);
    if (total.numel() != 1)
      fail(of.call, fmt::format("expected total_weight to be a single element tensor, got: {}", sizes_of(total)));
    lines = lines.div(total.reshape({}));
  }
  const bool can_be_ignored = ignore_index >= 0 && ignore_index < of.classes();
  const bool may_be_outside = is_given(of.weight) || of.input.is_cpu();
  const Tensor counts = can_be_ignored || may_be_outside ? classes.ne(ignore_index) : Tensor();
  const Tensor chosen = may_be_outside ? tensor::where(counts, classes, 0) : classes;
  if (may_be_outside) check_range(chosen, of.classes());
  if (is_given(of.weight)) lines = lines.mul(of.weight->index_select(0, chosen.reshape({-1})).view(target.sizes()));
  if (can_be_ignored) lines = tensor::where(counts, lines, 0);
  std::vector<std::int64_t> along(static_cast<std::size_t>(of.input.dim()), 1);
  along[static_cast<std::size_t>(dimension)] = of.classes();
  const Tensor numbers = torch::arange(of.classes(), classes.scalar_type()).to(classes.device()).view(along);
  const Tensor hits = numbers.eq(classes.unsqueeze(dimension));
  return tensor::where(hits, lines.dim() == 0 ? lines : lines.unsqueeze(dimension), 0).to(type);
}

/// Of log probabilities, where the target has probabilities. The mean is over the lines: weights do not count in it.
Tensor loss_of_probabilities(const ClassInput& of, const Tensor& target, std::int64_t reduction, double smoothing) {
  const auto classes = static_cast<double>(of.classes());
  const Tensor shares = smoothing > 0 ? target.mul(1 - smoothing).add(smoothing / classes) : target;
  const Tensor terms = weighted(of).mul(shares);
  if (reduction != Reduction::Mean && reduction != Reduction::Sum) return terms.sum(of.dimension()).neg();
  const Tensor sum = terms.sum(tensor::wide_type(terms.scalar_type())).neg();
  const double lines = static_cast<double>(of.input.numel()) / classes;
  return (reduction == Reduction::Sum ? sum : sum.div(lines)).to(terms.scalar_type());
}

void check_lines(const char* call, const Tensor& input, const Tensor& target) {
  if (input.dim() < 1 || input.dim() > 2) fail(call, "input tensor should be 1D or 2D");
  if (target.dim() > 1) fail(call, "0D or 1D target tensor expected, multi-target not supported");
}

void check_fields(const char* call, const Tensor& input, const Tensor& target) {
  if (target.dim() != 3) {
    fail(call, fmt::format("only batches of spatial targets supported (3D tensors) but got targets of dimension: {}",
                           target.dim()));
  }
  if (input.dim() != 4) {
    fail(call, fmt::format("only batches of spatial inputs supported (4D tensors), but got input of dimension: {}",
                           input.dim()));
  }
}

}  // namespace

Tensor nll_loss(const TensorOperand& input, const Tensor& target, const OptionalTensor& weight, std::int64_t reduction,
                std::int64_t ignore_index) {
  constexpr const char* kCall = "nll_loss";
  const tensor::HostCall here(kCall, input.where);
  check_lines(kCall, input.tensor, target);
  return negative_log_likelihood({kCall, input.tensor, weight}, target, reduction, ignore_index);
}

Tensor nll_loss2d(const TensorOperand& input, const Tensor& target, const OptionalTensor& weight,
                  std::int64_t reduction, std::int64_t ignore_index) {
  constexpr const char* kCall = "nll_loss2d";
  const tensor::HostCall here(kCall, input.where);
  check_fields(kCall, input.tensor, target);
  return negative_log_likelihood({kCall, input.tensor, weight}, target, reduction, ignore_index);
}

Tensor nll_loss_nd(const TensorOperand& input, const Tensor& target, const OptionalTensor& weight,
                   std::int64_t reduction, std::int64_t ignore_index) {
  constexpr const char* kCall = "nll_loss_nd";
  const tensor::HostCall here(kCall, input.where);
  return negative_log_likelihood({kCall, input.tensor, weight}, target, reduction, ignore_index);
}

std::tuple<Tensor, Tensor> nll_loss_forward(const TensorOperand& self, const Tensor& target,
                                            const OptionalTensor& weight, std::int64_t reduction,
                                            std::int64_t ignore_index) {
  constexpr const char* kCall = "nll_loss_forward";
  const tensor::HostCall here(kCall, self.where);
  check_lines(kCall, self.tensor, target);
  return likelihood_and_weight({kCall, self.tensor, weight}, target, reduction, ignore_index);
}

std::tuple<Tensor, Tensor> nll_loss2d_forward(const TensorOperand& self, const Tensor& target,
                                              const OptionalTensor& weight, std::int64_t reduction,
                                              std::int64_t ignore_index) {
  constexpr const char* kCall = "nll_loss2d_forward";
  const tensor::HostCall here(kCall, self.where);
  check_fields(kCall, self.tensor, target);
  return likelihood_and_weight({kCall, self.tensor, weight}, target, reduction, ignore_index);
}

Tensor nll_loss_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                         const OptionalTensor& weight, std::int64_t reduction, std::int64_t ignore_index,
                         const Tensor& total_weight) {
  constexpr const char* kCall = "nll_loss_backward";
  const tensor::HostCall here(kCall, grad_output.where);
  check_lines(kCall, self, target);
  return likelihood_backward({kCall, self, weight}, grad_output.tensor, target, reduction, ignore_index, total_weight);
}

Tensor nll_loss2d_backward(const TensorOperand& grad_output, const Tensor& self, const Tensor& target,
                           const OptionalTensor& weight, std::int64_t reduction, std::int64_t ignore_index,
                           const Tensor& total_weight) {
  constexpr const char* kCall = "nll_loss2d_backward";
  const tensor::HostCall here(kCall, grad_output.where);
  check_fields(kCall, self, target);
  return likelihood_backward({kCall, self, weight}, grad_output.tensor, target, reduction, ignore_index, total_weight);
}

Tensor cross_entropy_loss(const TensorOperand& input, const Tensor& target, const OptionalTensor& weight,
                          std::int64_t reduction, std::int64_t ignore_index, double label_smoothing) {
  constexpr const char* kCall = "cross_entropy_loss";
  const tensor::HostCall here(kCall, input.where);
  const Tensor& logits = input.tensor;
  check_places(kCall, logits, target, weight);
  const bool has_probabilities = logits.sizes() == target.sizes();
  if (has_probabilities && !target.is_floating_point()) {
    fail(kCall,
         "Expected floating point type for target with class probabilities, got " + text_of(target.scalar_type()));
  }
  if (has_probabilities && ignore_index >= 0) fail(kCall, "ignore_index is not supported for floating point target");
  if (label_smoothing > 1)
    fail(kCall, fmt::format("label_smoothing must be between 0.0 and 1.0. Got: {}", label_smoothing));
  ClassInput{kCall, logits, weight}.check_input();
  const Tensor log_probabilities = logits.log_softmax(class_dimension(logits));
  const ClassInput of{kCall, log_probabilities, weight};
  if (!has_probabilities) return negative_log_likelihood(of, target, reduction, ignore_index, label_smoothing);
  of.check_weight();
  return loss_of_probabilities(of, target, reduction, label_smoothing);
}

// ---- of probabilities ------------------------------------------------------------------------------------------

namespace {

/// The type that all given operands have in common.
ScalarType common_type(std::initializer_list<OptionalTensor> tensors) {
  std::vector<tensor::DeviceOperand> operands;
  for (const OptionalTensor& given : tensors)
    if (is_given(given)) operands.emplace_back(*given);
  return tensor::result_type(operands);
}

void check_probabilities(const char* call, const Tensor& input, const Tensor& target) {
  if (target.sizes() != input.sizes()) {
    fail(call, fmt::format("Using a target size ({}) that is different to the input size ({}) is deprecated. Please "
                           "ensure they have the same size.",
                           sizes_of(target), sizes_of(input)));
  }
  check_floats(call, input.scalar_type());
  if (target.scalar_type() != input.scalar_type()) {
    fail(call, fmt::format("Found dtype {} but expected {}; convert the target with .to(…)",
                           text_of(target.scalar_type()), text_of(input.scalar_type())));
  }
  if (!input.is_cpu() || input.numel() == 0) return;
  if (!input.ge(0).logical_and(input.le(1)).all().item<bool>())
    fail(call, "all elements of input should be between 0 and 1");
}

}  // namespace

Tensor binary_cross_entropy(const TensorOperand& input, const Tensor& target, const OptionalTensor& weight,
                            std::int64_t reduction) {
  constexpr const char* kCall = "binary_cross_entropy";
  constexpr double kLowest = -100;
  const tensor::HostCall here(kCall, input.where);
  check_places(kCall, input.tensor, target, weight);
  check_probabilities(kCall, input.tensor, target);
  const ScalarType type = input.tensor.scalar_type();
  const Tensor x = input.tensor.to(tensor::wide_type(type));
  const Tensor hit = x.log().clamp_min(kLowest), miss = x.neg().log1p().clamp_min(kLowest);
  const Tensor share = target.to(x.scalar_type());
  Tensor losses = share.sub(1).mul(miss).sub(share.mul(hit));
  if (is_given(weight)) losses = losses.mul(*weight);
  return reduced(losses, reduction, type);
}

Tensor binary_cross_entropy_with_logits(const TensorOperand& input, const Tensor& target, const OptionalTensor& weight,
                                        const OptionalTensor& pos_weight, std::int64_t reduction) {
  constexpr const char* kCall = "binary_cross_entropy_with_logits";
  const tensor::HostCall here(kCall, input.where);
  check_places(kCall, input.tensor, target, weight, pos_weight);
  const ScalarType type = common_type({input.tensor, target, weight, pos_weight});
  check_floats(kCall, type);
  // As PyTorch's, which multiplies 1 - target in place, unless there is a `pos_weight`.
  const ScalarType result =
      castable(kCall, type, is_given(pos_weight) ? torch::result_type(input.tensor, target) : target.scalar_type());
  const Tensor x = input.tensor.to(tensor::wide_type(type));
  const Tensor share = target.is_floating_point() ? target.to(x.scalar_type()) : target;
  Tensor hit = torch::log_sigmoid(x);
  if (is_given(pos_weight)) hit = hit.mul(pos_weight->to(x.scalar_type()).sub(1).mul(share).add(1));
  Tensor losses = torch::rsub(share, 1).mul(x).sub(hit);
  if (is_given(weight)) losses = losses.mul(*weight);
  return reduced(losses, reduction, result);
}

Tensor kl_div(const TensorOperand& input, const Tensor& target, std::int64_t reduction, bool log_target) {
  constexpr const char* kCall = "kl_div";
  const tensor::HostCall here(kCall, input.where);
  const LossTypes types = types_of(kCall, input.tensor, target);
  check_floats(kCall, types.result);
  const Tensor wide = target.to(types.wide);
  const Tensor losses =
      log_target ? wide.exp().mul(wide.sub(input.tensor)) : torch::xlogy(wide, wide).sub(wide.mul(input.tensor));
  return reduced(losses, reduction, types.result);
}

Tensor nn::functional::kl_div(const TensorOperand& input, const Tensor& target, const KLDivFuncOptions& options) {
  const tensor::HostCall here("kl_div", input.where);
  const Tensor loss = torch::kl_div(input, target, options.reduction().number(), options.log_target());
  return options.reduction().of_batch() && input.tensor.dim() != 0 ? loss.div(input.tensor.size(0)) : loss;
}

Tensor nn::functional::nll_loss(const TensorOperand& input, const Tensor& target, const NLLLossFuncOptions& options) {
  const tensor::HostCall here("nll_loss", input.where);
  if (input.tensor.dim() < 2)
    fail("nll_loss", fmt::format("Expected 2 or more dimensions (got {})", input.tensor.dim()));
  return torch::nll_loss_nd(input, target, nn::detail::if_defined(options.weight()), options.reduction().number(),
                            options.ignore_index());
}

Tensor nn::functional::binary_cross_entropy_with_logits(const TensorOperand& input, const Tensor& target,
                                                        const BinaryCrossEntropyWithLogitsFuncOptions& options) {
  constexpr const char* kCall = "binary_cross_entropy_with_logits";
  const tensor::HostCall here(kCall, input.where);
  if (target.sizes() != input.tensor.sizes()) {
    fail(kCall,
         fmt::format("Target size ({}) must be the same as input size ({})", sizes_of(target), sizes_of(input.tensor)));
  }
  return torch::binary_cross_entropy_with_logits(input, target, nn::detail::if_defined(options.weight()),
                                                 nn::detail::if_defined(options.pos_weight()),
                                                 options.reduction().number());
}

}  // namespace kernbench::torch
