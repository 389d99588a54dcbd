// RMSprop, as torch::optim::RMSprop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/optim/optimizer.h"

namespace kernbench::torch::optim {

class RMSpropOptions : public OptimizerCloneableOptions<RMSpropOptions> {
 public:
  RMSpropOptions(double lr = 1e-2) : lr_(lr) {}  // NOLINT(google-explicit-constructor): as in libtorch
  RMSpropOptions& lr(double value) { return lr_ = value, *this; }
  RMSpropOptions& alpha(double value) { return alpha_ = value, *this; }
  RMSpropOptions& eps(double value) { return eps_ = value, *this; }
  RMSpropOptions& weight_decay(double value) { return weight_decay_ = value, *this; }
  RMSpropOptions& momentum(double value) { return momentum_ = value, *this; }
  RMSpropOptions& centered(bool value) { return centered_ = value, *this; }
  RMSpropOptions& maximize(bool value) { return maximize_ = value, *this; }  // Python's
  double lr() const { return lr_; }
  double alpha() const { return alpha_; }
  double eps() const { return eps_; }
  double weight_decay() const { return weight_decay_; }
  double momentum() const { return momentum_; }
  bool centered() const { return centered_; }
  bool maximize() const { return maximize_; }
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }

 private:
  double lr_, alpha_ = 0.99, eps_ = 1e-8, weight_decay_ = 0, momentum_ = 0;
  bool centered_ = false, maximize_ = false;
};

class RMSpropParamState : public OptimizerCloneableParamState<RMSpropParamState> {
 public:
  RMSpropParamState& step(std::int64_t value) { return step_ = value, *this; }
  RMSpropParamState& square_avg(const Tensor& value) { return square_avg_ = value, *this; }
  RMSpropParamState& momentum_buffer(const Tensor& value) { return momentum_buffer_ = value, *this; }
  RMSpropParamState& grad_avg(const Tensor& value) { return grad_avg_ = value, *this; }
  std::int64_t step() const { return step_; }
  const Tensor& square_avg() const { return square_avg_; }
  const Tensor& momentum_buffer() const { return momentum_buffer_; }
  const Tensor& grad_avg() const { return grad_avg_; }
  OrderedDict<std::string, Tensor> tensors() const override;
  void set_tensor(const std::string& name, const Tensor& value) override;

 private:
  std::int64_t step_ = 0;
  Tensor square_avg_, momentum_buffer_, grad_avg_;
};

/// For each parameter p:
///   g = grad, or -grad to maximize; g += weight_decay p
///   square_avg = alpha square_avg + (1 - alpha) g^2
///   v = square_avg; `centered`: grad_avg = alpha grad_avg + (1 - alpha) g, v = square_avg - grad_avg^2
///   d = g / (sqrt(v) + eps); with a momentum: d = buffer = momentum buffer + d
///   p -= lr d
/// ValueError for negative options.
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(const std::vector<OptimizerParamGroup>& param_groups, RMSpropOptions defaults = {});
  explicit RMSprop(std::vector<Tensor> params, RMSpropOptions defaults = {})
      : RMSprop(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  Tensor step(LossClosure closure = nullptr, Where where = Where::current()) override;

 private:
  std::unique_ptr<OptimizerParamState> new_state() const override { return std::make_unique<RMSpropParamState>(); }
};

}  // namespace kernbench::torch::optim
