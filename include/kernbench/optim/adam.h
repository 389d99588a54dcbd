// Adam and AdamW, as torch::optim::Adam and torch::optim::AdamW.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernbench/optim/optimizer.h"

namespace kernbench::torch::optim {

/// The options of both.
template <class Derived>
class AdamOptionsOf : public OptimizerCloneableOptions<Derived> {
 public:
  using betas_t = std::tuple<double, double>;
  Derived& lr(double value) { return lr_ = value, self(); }
  Derived& betas(const betas_t& value) { return betas_ = value, self(); }
  Derived& eps(double value) { return eps_ = value, self(); }
  Derived& weight_decay(double value) { return weight_decay_ = value, self(); }
  Derived& amsgrad(bool value) { return amsgrad_ = value, self(); }
  Derived& maximize(bool value) { return maximize_ = value, self(); }  // Python's
  double lr() const { return lr_; }
  const betas_t& betas() const { return betas_; }
  double eps() const { return eps_; }
  double weight_decay() const { return weight_decay_; }
  bool amsgrad() const { return amsgrad_; }
  bool maximize() const { return maximize_; }
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }

 protected:
  // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): both that derive from it stand below
  AdamOptionsOf(double lr, double weight_decay) : lr_(lr), weight_decay_(weight_decay) {}

 private:
  Derived& self() { return static_cast<Derived&>(*this); }

  double lr_;
  betas_t betas_{0.9, 0.999};
  double eps_ = 1e-8, weight_decay_;
  bool amsgrad_ = false, maximize_ = false;
};

class AdamOptions : public AdamOptionsOf<AdamOptions> {
 public:
  AdamOptions(double lr = 1e-3) : AdamOptionsOf(lr, 0) {}  // NOLINT(google-explicit-constructor): as in libtorch
};

class AdamWOptions : public AdamOptionsOf<AdamWOptions> {
 public:
  AdamWOptions(double lr = 1e-3) : AdamOptionsOf(lr, 1e-2) {}  // NOLINT(google-explicit-constructor): as in libtorch
};

/// What both keep: how many steps there were, the running means of the gradient and of its square, and with `amsgrad`
/// the largest of the latter.
class AdamParamState : public OptimizerCloneableParamState<AdamParamState> {
 public:
  AdamParamState& step(std::int64_t value) { return step_ = value, *this; }
  AdamParamState& exp_avg(const Tensor& value) { return exp_avg_ = value, *this; }
  AdamParamState& exp_avg_sq(const Tensor& value) { return exp_avg_sq_ = value, *this; }
  AdamParamState& max_exp_avg_sq(const Tensor& value) { return max_exp_avg_sq_ = value, *this; }
  std::int64_t step() const { return step_; }
  const Tensor& exp_avg() const { return exp_avg_; }
  const Tensor& exp_avg_sq() const { return exp_avg_sq_; }
  const Tensor& max_exp_avg_sq() const { return max_exp_avg_sq_; }
  OrderedDict<std::string, Tensor> tensors() const override;
  void set_tensor(const std::string& name, const Tensor& value) override;

 private:
  std::int64_t step_ = 0;
  Tensor exp_avg_, exp_avg_sq_, max_exp_avg_sq_;
};
using AdamWParamState = AdamParamState;

/// For each parameter p, at its step t:
///   g = grad, or -grad to maximize; g += weight_decay p
///   exp_avg = beta1 exp_avg + (1 - beta1) g;  exp_avg_sq = beta2 exp_avg_sq + (1 - beta2) g^2
///   v = exp_avg_sq, or with `amsgrad` max_exp_avg_sq = the largest exp_avg_sq yet
///   p -= lr / (1 - beta1^t) exp_avg / (sqrt(v) / sqrt(1 - beta2^t) + eps)
/// ValueError for negative options, and betas outside of [0, 1).
class Adam : public Optimizer {
 public:
  explicit Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults = {});
  explicit Adam(std::vector<Tensor> params, AdamOptions defaults = {})
      : Adam(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  Tensor step(LossClosure closure = nullptr, Where where = Where::current()) override;

 private:
  std::unique_ptr<OptimizerParamState> new_state() const override { return std::make_unique<AdamParamState>(); }
};

/// As Adam, but that p is first multiplied by 1 - lr weight_decay, and the gradient stays as it is.
class AdamW : public Optimizer {
 public:
  explicit AdamW(const std::vector<OptimizerParamGroup>& param_groups, AdamWOptions defaults = {});
  explicit AdamW(std::vector<Tensor> params, AdamWOptions defaults = {})
      : AdamW(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  Tensor step(LossClosure closure = nullptr, Where where = Where::current()) override;

 private:
  std::unique_ptr<OptimizerParamState> new_state() const override { return std::make_unique<AdamParamState>(); }
};

}  // namespace kernbench::torch::optim
