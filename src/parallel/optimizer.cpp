#include "kernbench/tp/optimizer.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "parallel/computed_in.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

using torch::Tensor;

namespace {

constexpr const char* kAdam = "adam_step";

void check_options(const AdamOptions& options) {
  const auto at_least_zero = [](const char* name, double value) {
    if (!(value >= 0)) tensor::fail(kAdam, fmt::format("{} must be at least 0, but is {}", name, value));
  };
  const auto below_one = [](const char* name, double value) {
    if (!(value >= 0 && value < 1)) tensor::fail(kAdam, fmt::format("{} must be in [0, 1), but is {}", name, value));
  };
  at_least_zero("lr", options.lr);
  at_least_zero("eps", options.eps);
  at_least_zero("weight_decay", options.weight_decay);
  below_one("beta1", options.beta1);
  below_one("beta2", options.beta2);
}

void check_tensors(const Tensor& parameter, const Tensor& grad, const AdamState& state) {
  if (!parameter.is_floating_point())
    tensor::fail_type(kAdam, parameter.scalar_type(), "a parameter must be a floating-point tensor");
  for (const auto& [name, tensor] :
       {std::pair("grad", &grad), std::pair("exp_avg", &state.exp_avg), std::pair("exp_avg_sq", &state.exp_avg_sq)}) {
    if (!(tensor->sizes() == parameter.sizes()) || !(tensor->device() == parameter.device())) {
      tensor::fail(kAdam, fmt::format("{} must have the shape and device of the parameter, {}, but is {}", name,
                                      tensor::describe(parameter), tensor::describe(*tensor)));
    }
  }
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
  const torch::ScalarType type = computed_in(parameter);
  Tensor p = parameter.to(type), g = grad.to(type);
  if (factors.decay != 0) g = g + p * factors.decay;
  if (factors.shrink != 0) p = p - p * factors.shrink;
  state.exp_avg.add_((g - state.exp_avg) * factors.mean);
  state.exp_avg_sq.add_((g * g - state.exp_avg_sq) * factors.square);
  const Tensor root = state.exp_avg_sq.sqrt() * factors.root + factors.epsilon;
  parameter.copy_(p - state.exp_avg * factors.step / root);
}

}  // namespace

void sgd_step(const Tensor& parameter, const Tensor& grad, double learning_rate, Where where) {
  const tensor::HostCall here("sgd_step", where);
  Tensor(parameter).sub_(grad, learning_rate);
}

void adam_step(const Tensor& parameter, const Tensor& grad, AdamState& state, const AdamOptions& options, Where where) {
  const tensor::HostCall here(kAdam, where);
  check_options(options);
  if (!state.exp_avg.defined()) {
    state.exp_avg = torch::zeros_like(parameter, torch::dtype(computed_in(parameter)));
    state.exp_avg_sq = torch::zeros_like(parameter, torch::dtype(computed_in(parameter)));
  }
  check_tensors(parameter, grad, state);
  const tensor::AdamFactors factors = factors_of(options, ++state.step);
  if (parameter.device().is_cpu()) return step_on_host(parameter, grad, state, factors);
  tensor::device_kernels(kAdam).adam(parameter, grad, state.exp_avg, state.exp_avg_sq, factors);
}

}  // namespace kernbench::tp
