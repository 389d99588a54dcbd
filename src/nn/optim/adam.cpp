#include "kernbench/optim/adam.h"

#include <fmt/format.h>

#include <optional>

#include "nn/optim/updates.h"
#include "tensor/host_call.h"

namespace kernbench::torch::optim {

namespace {

template <class Options>
Options checked(const Options& options) {
  check_at_least_zero("learning rate", options.lr());
  check_at_least_zero("epsilon value", options.eps());
  const auto check_beta = [](int index, double beta) {
    if (!(beta >= 0 && beta < 1)) throw ValueError(fmt::format("Invalid beta parameter at index {}: {}", index, beta));
  };
  check_beta(0, std::get<0>(options.betas()));
  check_beta(1, std::get<1>(options.betas()));
  check_at_least_zero("weight_decay value", options.weight_decay());
  return options;
}

template <class Options>
std::pair<tensor::AdamUpdate, std::optional<AdamParamState>> update_of(const Optimizer::States& states,
                                                                       const Tensor& parameter,
                                                                       const Options& options) {
  AdamParamState state = state_of<AdamParamState>(states, parameter);
  const bool is_first =
      !state.exp_avg().defined() && !state.exp_avg_sq().defined() && !state.max_exp_avg_sq().defined();
  const auto kept = [&](const char* name, const Tensor& tensor) {
    return kept_or_new(parameter, name, tensor, is_first);
  };
  state.step(state.step() + 1);
  const auto& [beta1, beta2] = options.betas();
  tensor::AdamUpdate update = tensor::adam_update(options.lr(), beta1, beta2, options.eps(), state.step());
  update.is_first = is_first;
  update.mean = kept("exp_avg", state.exp_avg());
  update.square = kept("exp_avg_sq", state.exp_avg_sq());
  state.exp_avg(update.mean).exp_avg_sq(update.square);
  if (options.amsgrad()) {
    update.largest = kept("max_exp_avg_sq", state.max_exp_avg_sq());
    state.max_exp_avg_sq(update.largest);
  }
  update.maximize = options.maximize();
  return {update, state};
}

/// One step of either: set_decay(update, options) says what weight_decay does.
template <class Options, class SetDecay>
void step_with(const std::vector<OptimizerParamGroup>& groups, Optimizer::States& states, const SetDecay& set_decay) {
  step_groups<Options, AdamParamState, tensor::AdamUpdate>(groups, states,
                                                           [&](const Tensor& parameter, const Options& options) {
                                                             auto result = update_of(states, parameter, options);
                                                             set_decay(result.first, options);
                                                             return result;
                                                           });
}

}  // namespace

OrderedDict<std::string, Tensor> AdamParamState::tensors() const {
  OrderedDict<std::string, Tensor> all;
  all.insert("step", number_of_steps(step_));
  if (exp_avg_.defined()) all.insert("exp_avg", exp_avg_);
  if (exp_avg_sq_.defined()) all.insert("exp_avg_sq", exp_avg_sq_);
  if (max_exp_avg_sq_.defined()) all.insert("max_exp_avg_sq", max_exp_avg_sq_);
  return all;
}

void AdamParamState::set_tensor(const std::string& name, const Tensor& value) {
  if (name == "step") {
    step_ = checked_steps(value);
  } else if (name == "exp_avg") {
    exp_avg_ = value;
  } else if (name == "exp_avg_sq") {
    exp_avg_sq_ = value;
  } else if (name == "max_exp_avg_sq") {
    max_exp_avg_sq_ = value;
  } else {
    OptimizerParamState::set_tensor(name, value);
  }
}

Adam::Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdamOptions>(checked(defaults))) {}

AdamW::AdamW(const std::vector<OptimizerParamGroup>& param_groups, AdamWOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdamWOptions>(checked(defaults))) {}

Tensor Adam::step(LossClosure closure, Where where) {
  const Tensor loss = closure ? closure() : Tensor();
  const tensor::HostCall here(kStep, where);
  step_with<AdamOptions>(param_groups_, state_, [](tensor::AdamUpdate& update, const AdamOptions& options) {
    update.decay = options.weight_decay();
  });
  return loss;
}

Tensor AdamW::step(LossClosure closure, Where where) {
  const Tensor loss = closure ? closure() : Tensor();
  const tensor::HostCall here(kStep, where);
  step_with<AdamWOptions>(param_groups_, state_, [](tensor::AdamUpdate& update, const AdamWOptions& options) {
    update.shrink = 1 - options.lr() * options.weight_decay();
  });
  return loss;
}

}  // namespace kernbench::torch::optim
