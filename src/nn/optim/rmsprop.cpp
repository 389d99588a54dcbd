#include "kernbench/optim/rmsprop.h"

#include "nn/optim/updates.h"
#include "tensor/host_call.h"

namespace kernbench::torch::optim {

OrderedDict<std::string, Tensor> RMSpropParamState::tensors() const {
  OrderedDict<std::string, Tensor> all;
  all.insert("step", number_of_steps(step_));
  if (square_avg_.defined()) all.insert("square_avg", square_avg_);
  if (momentum_buffer_.defined()) all.insert("momentum_buffer", momentum_buffer_);
  if (grad_avg_.defined()) all.insert("grad_avg", grad_avg_);
  return all;
}

void RMSpropParamState::set_tensor(const std::string& name, const Tensor& value) {
  if (name == "step") {
    step_ = checked_steps(value);
  } else if (name == "square_avg") {
    square_avg_ = value;
  } else if (name == "momentum_buffer") {
    momentum_buffer_ = value;
  } else if (name == "grad_avg") {
    grad_avg_ = value;
  } else {
    OptimizerParamState::set_tensor(name, value);
  }
}

RMSprop::RMSprop(const std::vector<OptimizerParamGroup>& param_groups, RMSpropOptions defaults)
    : Optimizer(param_groups, std::make_unique<RMSpropOptions>(defaults)) {
  check_at_least_zero("learning rate", defaults.lr());
  check_at_least_zero("epsilon value", defaults.eps());
  check_at_least_zero("momentum value", defaults.momentum());
  check_at_least_zero("weight_decay value", defaults.weight_decay());
  check_at_least_zero("alpha value", defaults.alpha());
}

Tensor RMSprop::step(LossClosure closure, Where where) {
  const Tensor loss = closure ? closure() : Tensor();
  const tensor::HostCall here(kStep, where);
  step_groups<RMSpropOptions, RMSpropParamState, tensor::RootUpdate>(
      param_groups_, state_, [&](const Tensor& parameter, const RMSpropOptions& options) {
        RMSpropParamState state = state_of<RMSpropParamState>(state_, parameter);
        tensor::RootUpdate update;
        update.name = "rmsprop";
        update.is_first =
            !state.square_avg().defined() && !state.momentum_buffer().defined() && !state.grad_avg().defined();
        update.square = kept_or_new(parameter, "square_avg", state.square_avg(), update.is_first);
        state.step(state.step() + 1).square_avg(update.square);
        if (options.centered()) {
          update.mean = kept_or_new(parameter, "grad_avg", state.grad_avg(), update.is_first);
          state.grad_avg(update.mean);
        }
        if (options.momentum() > 0) {
          update.buffer = kept_or_new(parameter, "momentum_buffer", state.momentum_buffer(), update.is_first);
          state.momentum_buffer(update.buffer);
        }
        update.keep = options.alpha();
        update.add = 1 - options.alpha();
        update.momentum = options.momentum();
        update.rate = options.lr();
        update.epsilon = options.eps();
        update.decay = options.weight_decay();
        update.maximize = options.maximize();
        return std::pair(update, std::optional(state));
      });
  return loss;
}

}  // namespace kernbench::torch::optim
