// Stochastic gradient descent, as torch::optim::SGD.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/optim/optimizer.h"

namespace kernbench::torch::optim {

class SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
 public:
  SGDOptions(double lr) : lr_(lr) {}  // NOLINT(google-explicit-constructor): as in libtorch
  SGDOptions& lr(double value) { return lr_ = value, *this; }
  SGDOptions& momentum(double value) { return momentum_ = value, *this; }
  SGDOptions& dampening(double value) { return dampening_ = value, *this; }
  SGDOptions& weight_decay(double value) { return weight_decay_ = value, *this; }
  SGDOptions& nesterov(bool value) { return nesterov_ = value, *this; }
  SGDOptions& maximize(bool value) { return maximize_ = value, *this; }  // Python's
  double lr() const { return lr_; }
  double momentum() const { return momentum_; }
  double dampening() const { return dampening_; }
  double weight_decay() const { return weight_decay_; }
  bool nesterov() const { return nesterov_; }
  bool maximize() const { return maximize_; }
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }

 private:
  double lr_, momentum_ = 0, dampening_ = 0, weight_decay_ = 0;
  bool nesterov_ = false, maximize_ = false;
};

class SGDParamState : public OptimizerCloneableParamState<SGDParamState> {
 public:
  SGDParamState& momentum_buffer(const Tensor& value) { return momentum_buffer_ = value, *this; }
  const Tensor& momentum_buffer() const { return momentum_buffer_; }
  OrderedDict<std::string, Tensor> tensors() const override;
  void set_tensor(const std::string& name, const Tensor& value) override;

 private:
  Tensor momentum_buffer_;
};

/// For each parameter p:
///   g = grad, or -grad to maximize; g += weight_decay p
///   with a momentum: buffer = momentum buffer + (1 - dampening) g, at the first step buffer = g;
///                    g = buffer, or g + momentum buffer with `nesterov`
///   p -= lr g
/// ValueError for negative options, and for `nesterov` without a momentum or with a dampening.
class SGD : public Optimizer {
 public:
  SGD(const std::vector<OptimizerParamGroup>& param_groups, SGDOptions defaults);
  SGD(std::vector<Tensor> params, SGDOptions defaults)
      : SGD(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  Tensor step(LossClosure closure = nullptr, Where where = Where::current()) override;

 private:
  std::unique_ptr<OptimizerParamState> new_state() const override { return std::make_unique<SGDParamState>(); }
};

}  // namespace kernbench::torch::optim
