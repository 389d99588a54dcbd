#include "kernbench/optim/sgd.h"

#include <optional>

#include "kernbench/torch/factories.h"
#include "nn/optim/updates.h"
#include "tensor/host_call.h"

namespace kernbench::torch::optim {

OrderedDict<std::string, Tensor> SGDParamState::tensors() const {
  OrderedDict<std::string, Tensor> all;
  if (momentum_buffer_.defined()) all.insert("momentum_buffer", momentum_buffer_);
  return all;
}

void SGDParamState::set_tensor(const std::string& name, const Tensor& value) {
  if (name != "momentum_buffer") OptimizerParamState::set_tensor(name, value);
  momentum_buffer_ = value;
}

SGD::SGD(const std::vector<OptimizerParamGroup>& param_groups, SGDOptions defaults)
    : Optimizer(param_groups, std::make_unique<SGDOptions>(defaults)) {
  check_at_least_zero("learning rate", defaults.lr());
  check_at_least_zero("momentum value", defaults.momentum());
  check_at_least_zero("weight_decay value", defaults.weight_decay());
  if (defaults.nesterov() && (defaults.momentum() <= 0 || defaults.dampening() != 0))
    throw ValueError("Nesterov momentum requires a momentum and zero dampening");
}

Tensor SGD::step(LossClosure closure, Where where) {
  const Tensor loss = closure ? closure() : Tensor();
  const tensor::HostCall here(kStep, where);
  step_groups<SGDOptions, SGDParamState, tensor::SgdUpdate>(
      param_groups_, state_, [&](const Tensor& parameter, const SGDOptions& options) {
        tensor::SgdUpdate update;
        update.rate = options.lr();
        update.decay = options.weight_decay();
        update.maximize = options.maximize();
        SGDParamState state = state_of<SGDParamState>(state_, parameter);
        if (options.momentum() != 0) {
          update.is_first = !state.momentum_buffer().defined();
          if (update.is_first) state.momentum_buffer(torch::empty_like(parameter));
          update.buffer = state.momentum_buffer();
          tensor::check_state(kStep, parameter, "momentum_buffer", update.buffer, parameter.scalar_type());
          update.keep = options.momentum();
          update.add = 1 - options.dampening();
          update.nesterov = options.nesterov();
        }
        return std::pair(update, state.momentum_buffer().defined() ? std::optional(state) : std::nullopt);
      });
  return loss;
}

}  // namespace kernbench::torch::optim
