#include "kernbench/optim/adagrad.h"

#include "nn/optim/updates.h"
#include "tensor/host_call.h"

namespace kernbench::torch::optim {

OrderedDict<std::string, Tensor> AdagradParamState::tensors() const {
  OrderedDict<std::string, Tensor> all;
  all.insert("step", number_of_steps(step_));
  if (sum_.defined()) all.insert("sum", sum_);
  return all;
}

void AdagradParamState::set_tensor(const std::string& name, const Tensor& value) {
  if (name == "step") {
    step_ = checked_steps(value);
  } else if (name == "sum") {
    sum_ = value;
  } else {
    OptimizerParamState::set_tensor(name, value);
  }
}

Adagrad::Adagrad(const std::vector<OptimizerParamGroup>& param_groups, AdagradOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdagradOptions>(defaults)) {
  check_at_least_zero("learning rate", defaults.lr());
  check_at_least_zero("lr_decay value", defaults.lr_decay());
  check_at_least_zero("weight_decay value", defaults.weight_decay());
  check_at_least_zero("initial_accumulator_value value", defaults.initial_accumulator_value());
  check_at_least_zero("epsilon value", defaults.eps());
}

Tensor Adagrad::step(LossClosure closure, Where where) {
  const Tensor loss = closure ? closure() : Tensor();
  const tensor::HostCall here(kStep, where);
  step_groups<AdagradOptions, AdagradParamState, tensor::RootUpdate>(
      param_groups_, state_, [&](const Tensor& parameter, const AdagradOptions& options) {
        AdagradParamState state = state_of<AdagradParamState>(state_, parameter);
        tensor::RootUpdate update;
        update.name = "adagrad";
        update.is_first = !state.sum().defined();
        update.square = kept_or_new(parameter, "sum", state.sum(), update.is_first);
        state.step(state.step() + 1).sum(update.square);
        update.start = options.initial_accumulator_value();
        update.rate = options.lr() / (1 + static_cast<double>(state.step() - 1) * options.lr_decay());
        update.epsilon = options.eps();
        update.decay = options.weight_decay();
        update.maximize = options.maximize();
        return std::pair(update, std::optional(state));
      });
  return loss;
}

}  // namespace kernbench::torch::optim
