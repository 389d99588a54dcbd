// Steps of an optimiser over its groups: all is checked before the first parameter is written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/optim/optimizer.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/optimizer.h"

namespace kernbench::torch::optim {

inline constexpr const char* kStep = "step";

/// The options of a group, which must be those of the optimiser.
template <class Options>
const Options& options_of(const OptimizerParamGroup& group) {
  const auto* options = dynamic_cast<const Options*>(&group.options());
  if (options == nullptr) tensor::fail(kStep, "a parameter group has the options of another optimizer");
  return *options;
}

/// A copy of what is kept for a parameter, new if there is nothing.
template <class State>
State state_of(const Optimizer::States& states, const Tensor& parameter) {
  const auto found = states.find(parameter.impl().get());
  if (found == states.end()) return State();
  const auto* state = dynamic_cast<const State*>(found->second.get());
  if (state == nullptr) tensor::fail(kStep, "what is kept for a parameter is another optimizer's");
  return *state;
}

/// What is kept, as it was, or a tensor for it: of zeros, unless nothing is read yet.
Tensor kept_or_new(const Tensor& parameter, const char* name, const Tensor& kept, bool is_first);

/// How many steps there were, as a state has it, and as it is loaded: ValueError below 0.
Tensor number_of_steps(std::int64_t step);
std::int64_t checked_steps(const Tensor& value);

/// Calls add(parameter, options) for each parameter with a gradient, which yields its update and what is kept from now
/// on, if anything; then takes all steps.
template <class Options, class State, class Update, class Add>
void step_groups(const std::vector<OptimizerParamGroup>& groups, Optimizer::States& states, const Add& add) {
  std::vector<Update> updates;
  std::vector<std::pair<void*, State>> next;
  for (const OptimizerParamGroup& group : groups) {
    const Options& options = options_of<Options>(group);
    for (const Tensor& parameter : group.params()) {
      const Tensor& grad = parameter.grad();
      if (!grad.defined()) continue;
      tensor::check_parameter(kStep, parameter);
      tensor::check_gradient(kStep, parameter, grad);
      auto [update, state] = add(parameter, options);
      update.parameter = parameter;
      update.grad = grad;
      updates.push_back(std::move(update));
      if (state) next.emplace_back(parameter.impl().get(), std::move(*state));
    }
  }
  tensor::take_steps(kStep, updates);
  for (auto& [parameter, state] : next) {
    // A program may hold a reference to what is kept.
    if (const auto& kept = states[parameter])
      static_cast<State&>(*kept) = std::move(state);
    else
      states[parameter] = std::make_unique<State>(std::move(state));
  }
}

/// ValueError unless a number given to an optimiser is at least 0.
void check_at_least_zero(const char* what, double value);

}  // namespace kernbench::torch::optim
