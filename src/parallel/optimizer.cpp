#include "kernbench/tp/optimizer.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <utility>

#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "parallel/computed_in.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::tp {

using torch::Tensor;

namespace {

constexpr const char* kSgd = "sgd_step";
constexpr const char* kAdam = "adam_step";

void check_at_least_zero(const char* call, const char* name, double value) {
  if (!(value >= 0)) tensor::fail(call, fmt::format("{} must be at least 0, but is {}", name, value));
  if (!std::isfinite(value)) tensor::fail(call, fmt::format("{} must be finite, but is {}", name, value));
}

void check_options(const AdamOptions& options) {
  const auto at_least_zero = [](const char* name, double value) { check_at_least_zero(kAdam, name, value); };
  const auto below_one = [](const char* name, double value) {
    if (!(value >= 0 && value < 1)) tensor::fail(kAdam, fmt::format("{} must be in [0, 1), but is {}", name, value));
  };
  at_least_zero("lr", options.lr);
  at_least_zero("eps", options.eps);
  at_least_zero("weight_decay", options.weight_decay);
  below_one("beta1", options.beta1);
  below_one("beta2", options.beta2);
}

/// What is written has a place of its own for each element.
void check_written(const char* call, const Tensor& tensor) {
  tensor::check_in_place(call, tensor, tensor.sizes().vec(), tensor.scalar_type(), {});
}

void check_parameter(const char* call, const Tensor& parameter) {
  if (!parameter.defined()) tensor::fail(call, "the parameter is undefined");
  if (!parameter.is_floating_point())
    tensor::fail_type(call, parameter.scalar_type(), "a parameter must be a floating-point tensor");
  check_written(call, parameter);
}

void check_fits(const char* call, const Tensor& parameter, const char* name, const Tensor& tensor) {
  if (!tensor.defined()) tensor::fail(call, fmt::format("{} is undefined", name));
  if (tensor.sizes() == parameter.sizes() && tensor.device() == parameter.device()) return;
  tensor::fail(call, fmt::format("{} must have the shape and device of the parameter, {}, but is {}", name,
                                 tensor::describe(parameter), tensor::describe(tensor)));
}

void check_state(const Tensor& parameter, const AdamState& state) {
  if (state.step < 0) tensor::fail(kAdam, fmt::format("step must be at least 0, but is {}", state.step));
  for (const auto& [name, tensor] :
       {std::pair("exp_avg", &state.exp_avg), std::pair("exp_avg_sq", &state.exp_avg_sq)}) {
    check_fits(kAdam, parameter, name, *tensor);
    if (tensor->scalar_type() != computed_in(parameter)) {
      tensor::fail(kAdam, fmt::format("{} must be {}, but is {}; convert it with .to(…)", name,
                                      tensor::text_of(computed_in(parameter)), tensor::describe(*tensor)));
    }
    check_written(kAdam, *tensor);
  }
}

/// The state of the next step. The given one stays, so that a call that throws has changed nothing.
AdamState next_state(const Tensor& parameter, const AdamState& state) {
  AdamState next = state;
  if (!state.exp_avg.defined()) {
    next.exp_avg = torch::zeros_like(parameter, torch::dtype(computed_in(parameter)));
    next.exp_avg_sq = torch::zeros_like(parameter, torch::dtype(computed_in(parameter)));
  }
  check_state(parameter, next);
  ++next.step;
  return next;
}

tensor::AdamFactors factors_of(const AdamOptions& options, std::int64_t step) {
  const auto n = static_cast<double>(step);
  tensor::AdamFactors factors;
  factors.mean = 1 - options.beta1;
  factors.square = 1 - options.beta2;
  factors.step = options.lr / (1 - std::pow(options.beta1, n));
  factors.root = 1 / std::sqrt(1 - std::pow(options.beta2, n));
  factors.epsilon = options.eps;
  (options.decoupled_weight_decay ? factors.shrink : factors.decay) =
      options.decoupled_weight_decay ? options.lr * options.weight_decay : options.weight_decay;
  return factors;
}

void step_on_host(const Tensor& parameter, const Tensor& grad, const AdamState& state,
                  const tensor::AdamFactors& factors) {
  // Before anything is written: read-only memory is an error.
  for (const Tensor* written : {&parameter, &state.exp_avg, &state.exp_avg_sq})
    (void)tensor::impl_of(*written).data_to_write();
  const torch::ScalarType type = computed_in(parameter);
  Tensor p = parameter.to(type), g = grad.to(type);
  if (factors.decay != 0) g = g + p * factors.decay;
  if (factors.shrink != 0) p = p - p * factors.shrink;
  const Tensor mean = state.exp_avg + (g - state.exp_avg) * factors.mean;
  const Tensor square = state.exp_avg_sq + (g * g - state.exp_avg_sq) * factors.square;
  const Tensor root = square.sqrt() * factors.root + factors.epsilon;
  parameter.copy_(p - mean * factors.step / root);
  state.exp_avg.copy_(mean);
  state.exp_avg_sq.copy_(square);
}

}  // namespace

void sgd_step(const Tensor& parameter, const Tensor& grad, double learning_rate, Where where) {
  const tensor::HostCall here(kSgd, where);
  check_at_least_zero(kSgd, "learning_rate", learning_rate);
  check_parameter(kSgd, parameter);
  check_fits(kSgd, parameter, "grad", grad);
  Tensor(parameter).sub_(grad, learning_rate);
}

void adam_step(const Tensor& parameter, const Tensor& grad, AdamState& state, const AdamOptions& options, Where where) {
  const tensor::HostCall here(kAdam, where);
  check_options(options);
  check_parameter(kAdam, parameter);
  check_fits(kAdam, parameter, "grad", grad);
  AdamState next = next_state(parameter, state);
  const tensor::AdamFactors factors = factors_of(options, next.step);
  if (parameter.device().is_cpu())
    step_on_host(parameter, grad, next, factors);
  else
    tensor::device_kernels(kAdam).adam(parameter, grad, next.exp_avg, next.exp_avg_sq, factors);
  state = std::move(next);
}

}  // namespace kernbench::tp
