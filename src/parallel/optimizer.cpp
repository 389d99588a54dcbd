#include "kernbench/tp/optimizer.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "kernbench/torch/factories.h"
#include "parallel/computed_in.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/optimizer.h"
#include "tensor/host_call.h"

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

void check_state(const Tensor& parameter, const AdamState& state) {
  if (state.step < 0) tensor::fail(kAdam, fmt::format("step must be at least 0, but is {}", state.step));
  tensor::check_state(kAdam, parameter, "exp_avg", state.exp_avg, computed_in(parameter));
  tensor::check_state(kAdam, parameter, "exp_avg_sq", state.exp_avg_sq, computed_in(parameter));
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

}  // namespace

void sgd_step(const Tensor& parameter, const Tensor& grad, double learning_rate, Where where) {
  const tensor::HostCall here(kSgd, where);
  check_at_least_zero(kSgd, "learning_rate", learning_rate);
  tensor::check_parameter(kSgd, parameter);
  tensor::check_gradient(kSgd, parameter, grad);
  Tensor(parameter).sub_(grad, learning_rate);
}

void adam_step(const Tensor& parameter, const Tensor& grad, AdamState& state, const AdamOptions& options, Where where) {
  const tensor::HostCall here(kAdam, where);
  check_options(options);
  tensor::check_parameter(kAdam, parameter);
  tensor::check_gradient(kAdam, parameter, grad);
  AdamState next = next_state(parameter, state);
  tensor::AdamUpdate update = tensor::adam_update(options.lr, options.beta1, options.beta2, options.eps, next.step);
  update.parameter = parameter;
  update.grad = grad;
  update.mean = next.exp_avg;
  update.square = next.exp_avg_sq;
  if (options.decoupled_weight_decay)
    update.shrink = 1 - options.lr * options.weight_decay;
  else
    update.decay = options.weight_decay;
  tensor::take_steps(kAdam, {&update, 1});
  state = std::move(next);
}

}  // namespace kernbench::tp
