// Adagrad, as torch::optim::Adagrad.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/optim/optimizer.h"

namespace kernbench::torch::optim {

class AdagradOptions : public OptimizerCloneableOptions<AdagradOptions> {
 public:
  AdagradOptions(double lr = 1e-2) : lr_(lr) {}  // NOLINT(google-explicit-constructor): as in libtorch
  AdagradOptions& lr(double value) { return lr_ = value, *this; }
  AdagradOptions& lr_decay(double value) { return lr_decay_ = value, *this; }
  AdagradOptions& weight_decay(double value) { return weight_decay_ = value, *this; }
  AdagradOptions& initial_accumulator_value(double value) { return initial_accumulator_value_ = value, *this; }
  AdagradOptions& eps(double value) { return eps_ = value, *this; }
  AdagradOptions& maximize(bool value) { return maximize_ = value, *this; }  // Python's
  double lr() const { return lr_; }
  double lr_decay() const { return lr_decay_; }
  double weight_decay() const { return weight_decay_; }
  double initial_accumulator_value() const { return initial_accumulator_value_; }
  double eps() const { return eps_; }
  bool maximize() const { return maximize_; }
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }

 private:
  double lr_, lr_decay_ = 0, weight_decay_ = 0, initial_accumulator_value_ = 0, eps_ = 1e-10;
  bool maximize_ = false;
};

class AdagradParamState : public OptimizerCloneableParamState<AdagradParamState> {
 public:
  AdagradParamState& sum(const Tensor& value) { return sum_ = value, *this; }
  AdagradParamState& step(std::int64_t value) { return step_ = value, *this; }
  const Tensor& sum() const { return sum_; }
  std::int64_t step() const { return step_; }
  OrderedDict<std::string, Tensor> tensors() const override;
  void set_tensor(const std::string& name, const Tensor& value) override;

 private:
  Tensor sum_;
  std::int64_t step_ = 0;
};

/// For each parameter p, at its step t:
///   g = grad, or -grad to maximize; g += weight_decay p
///   sum = sum + g^2, from initial_accumulator_value on
///   p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(sum) + eps)
/// ValueError for negative options. A parameter has a state from its first step on, where libtorch's constructor
/// fills one for each.
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(const std::vector<OptimizerParamGroup>& param_groups, AdagradOptions defaults = {});
  explicit Adagrad(std::vector<Tensor> params, AdagradOptions defaults = {})
      : Adagrad(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  Tensor step(LossClosure closure = nullptr, Where where = Where::current()) override;

 private:
  std::unique_ptr<OptimizerParamState> new_state() const override { return std::make_unique<AdagradParamState>(); }
};

}  // namespace kernbench::torch::optim
