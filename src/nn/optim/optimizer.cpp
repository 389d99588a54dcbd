#include "kernbench/optim/optimizer.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "kernbench/torch/factories.h"
#include "nn/optim/updates.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/optimizer.h"
#include "tensor/host_call.h"

namespace kernbench::torch::optim {

namespace {

/// "12" of "12.exp_avg", which `text` then is without; nothing when there is no number and dot.
std::optional<std::size_t> leading_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || digits == text.size() || *end != '.') return std::nullopt;
  text.remove_prefix(digits + 1);
  return number;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// ValueError unless each is defined, and none is there twice or in one of the groups.
void check_new(const std::vector<OptimizerParamGroup>& groups, const std::vector<Tensor>& parameters) {
  std::unordered_set<const void*> known;
  for (const OptimizerParamGroup& group : groups) {
    for (const Tensor& parameter : group.params()) known.insert(parameter.impl().get());
  }
  std::unordered_set<const void*> added;
  for (const Tensor& parameter : parameters) {
    if (!parameter.defined()) throw ValueError("can't optimize an undefined Tensor");
    if (known.contains(parameter.impl().get()))
      throw ValueError("some parameters appear in more than one parameter group");
    if (!added.insert(parameter.impl().get()).second)
      throw ValueError("a parameter appears twice in a parameter group, and would be stepped twice: give it once");
  }
}

}  // namespace

void check_at_least_zero(const char* what, double value) {
  if (!(value >= 0)) throw ValueError(fmt::format("Invalid {}: {}", what, value));
}

Tensor kept_or_new(const Tensor& parameter, const char* name, const Tensor& kept, bool is_first) {
  if (!kept.defined()) return is_first ? torch::empty_like(parameter) : torch::zeros_like(parameter);
  tensor::check_state(kStep, parameter, name, kept, parameter.scalar_type());
  return kept;
}

Tensor number_of_steps(std::int64_t step) {
  return torch::full({}, step, torch::kLong);
}

std::int64_t checked_steps(const Tensor& value) {
  const auto step = value.to(torch::kLong).item<std::int64_t>();
  if (step < 0) throw ValueError(fmt::format("step must be at least 0, but is {}", step));
  return step;
}

std::unique_ptr<OptimizerParamState> OptimizerParamState::clone() const {
  throw ValueError("OptimizerParamState::clone has to be overridden: derive from OptimizerCloneableParamState");
}

OrderedDict<std::string, Tensor> OptimizerParamState::tensors() const {
  return OrderedDict<std::string, Tensor>();
}

void OptimizerParamState::set_tensor(const std::string& name, const Tensor& /*value*/) {
  throw ValueError(fmt::format("there is no '{}' in this optimizer's state", name));
}

std::unique_ptr<OptimizerOptions> OptimizerOptions::clone() const {
  throw ValueError("OptimizerOptions::clone has to be overridden: derive from OptimizerCloneableOptions");
}

double OptimizerOptions::get_lr() const {
  throw ValueError(
      "double get_lr() has not been overidden and implemented in subclass of "
      "torch::optim::OptimizerOptions, you must override it in your subclass.");
}

void OptimizerOptions::set_lr(double /*lr*/) {
  throw ValueError(
      "double set_lr() has not been overidden and implemented in subclass of "
      "torch::optim::OptimizerOptions, you must override it in your subclass.");
}

OptimizerParamGroup::OptimizerParamGroup(const OptimizerParamGroup& other)
    : params_(other.params_), options_(other.options_ ? other.options_->clone() : nullptr) {}

OptimizerOptions& OptimizerParamGroup::options() {
  return const_cast<OptimizerOptions&>(std::as_const(*this).options());
}

const OptimizerOptions& OptimizerParamGroup::options() const {
  if (!options_) throw ValueError("the parameter group has no options: ask for has_options() first");
  return *options_;
}

Optimizer::Optimizer(const std::vector<OptimizerParamGroup>& param_groups, std::unique_ptr<OptimizerOptions> defaults)
    : defaults_(std::move(defaults)) {
  for (const OptimizerParamGroup& group : param_groups) add_param_group(group);
}

void Optimizer::add_param_group(const OptimizerParamGroup& param_group) {
  check_new(param_groups_, param_group.params());
  OptimizerParamGroup added(param_group);
  if (!added.has_options()) added.set_options(defaults_->clone());
  param_groups_.push_back(std::move(added));
}

void Optimizer::add_parameters(const std::vector<Tensor>& parameters) {
  std::vector<Tensor>& own = this->parameters();
  check_new(param_groups_, parameters);
  own.insert(own.end(), parameters.begin(), parameters.end());
}

std::vector<Tensor>& Optimizer::parameters() {
  return const_cast<std::vector<Tensor>&>(std::as_const(*this).parameters());
}

const std::vector<Tensor>& Optimizer::parameters() const {
  if (param_groups_.empty()) throw ValueError("the optimizer has no parameter group");
  return param_groups_.front().params();
}

std::size_t Optimizer::size() const {
  std::size_t count = 0;
  for (const OptimizerParamGroup& group : param_groups_) count += group.params().size();
  return count;
}

void Optimizer::zero_grad(bool set_to_none, Where where) {
  const tensor::HostCall here("zero_grad", where);
  std::vector<Tensor> grads;
  for (const OptimizerParamGroup& group : param_groups_) {
    for (const Tensor& parameter : group.params()) {
      Tensor& grad = parameter.mutable_grad();
      if (set_to_none)
        grad = Tensor();
      else if (grad.defined())
        grads.push_back(grad);
    }
  }
  tensor::zero_all("zero_grad", grads);
}

OrderedDict<std::string, Tensor> Optimizer::state_dict() const {
  OrderedDict<std::string, Tensor> all;
  std::size_t index = 0;
  for (const OptimizerParamGroup& group : param_groups_) {
    for (const Tensor& parameter : group.params()) {
      if (const auto found = state_.find(parameter.impl().get()); found != state_.end()) {
        for (const auto& item : found->second->tensors())
          all.insert(fmt::format("state.{}.{}", index, item.key()), item.value());
      }
      ++index;
    }
  }
  for (std::size_t i = 0; i < param_groups_.size(); ++i) {
    all.insert(fmt::format("param_groups.{}.lr", i),
               torch::full({}, param_groups_[i].options().get_lr(), torch::kDouble));
  }
  return all;
}

void Optimizer::load_state_dict(const OrderedDict<std::string, Tensor>& state, Where where) {
  const tensor::HostCall here("load_state_dict", where);
  std::vector<Tensor> parameters;
  for (const OptimizerParamGroup& group : param_groups_)
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  States states;
  std::vector<std::pair<std::size_t, double>> rates;
  for (const auto& item : state) {
    std::string_view name = item.key();
    const auto refuse = [&](const std::string& what) {
      throw ValueError(fmt::format("loaded state dict has '{}', but {}", item.key(), what));
    };
    if (take_prefix(name, "param_groups.")) {
      const auto group = leading_number(name);
      if (!group || name != "lr") refuse("of a group only 'lr' is kept");
      if (*group >= param_groups_.size()) refuse(fmt::format("the optimizer has {} groups", param_groups_.size()));
      rates.emplace_back(*group, item->item<double>());
      continue;
    }
    const auto index = take_prefix(name, "state.") ? leading_number(name) : std::nullopt;
    if (!index) refuse("names are 'state.<parameter>.<what>' and 'param_groups.<group>.lr'");
    if (*index >= parameters.size()) refuse(fmt::format("the optimizer has {} parameters", parameters.size()));
    const Tensor& parameter = parameters[*index];
    auto& kept = states[parameter.impl().get()];
    if (!kept) kept = new_state();
    if (name == "step") {
      kept->set_tensor("step", *item);
      continue;
    }
    if (item->sizes() != parameter.sizes()) {
      refuse(fmt::format("its shape is that of {}, and the parameter's that of {}", tensor::describe(*item),
                         tensor::describe(parameter)));
    }
    kept->set_tensor(std::string(name), torch::empty_like(parameter).copy_(*item));
  }
  state_ = std::move(states);
  for (const auto& [group, rate] : rates) param_groups_[group].options().set_lr(rate);
}

std::unique_ptr<OptimizerParamState> Optimizer::new_state() const {
  throw ValueError("this optimizer does not load a state: it has no new_state()");
}

}  // namespace kernbench::torch::optim
