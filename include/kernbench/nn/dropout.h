// Leaving out elements by chance while training.
#pragma once

#include "kernbench/nn/module.h"

namespace kernbench::torch::nn {

namespace functional {

class DropoutFuncOptions {
 public:
  DropoutFuncOptions& p(double value) { return p_ = value, *this; }
  DropoutFuncOptions& training(bool value) { return training_ = value, *this; }
  double p() const { return p_; }
  bool training() const { return training_; }

 private:
  double p_ = 0.5;
  bool training_ = true;
};
/// While training each element is zero with probability p, and the others are divided by 1 - p; else x itself. Which
/// ones depends on the calling rank's generator (torch::manual_seed) alone, neither on the device nor on the placement.
/// ValueError unless 0 <= p <= 1.
Tensor dropout(const TensorOperand& x, const DropoutFuncOptions& options = {});

}  // namespace functional

class DropoutOptions {
 public:
  DropoutOptions(double p = 0.5) : p_(p) {}  // NOLINT(google-explicit-constructor): as in libtorch
  DropoutOptions& p(double value) { return p_ = value, *this; }
  double p() const { return p_; }

 private:
  double p_;
};

class DropoutImpl : public Module {
 public:
  explicit DropoutImpl(double p) : DropoutImpl(DropoutOptions(p)) {}
  explicit DropoutImpl(const DropoutOptions& options = {});
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;

  DropoutOptions options;
};
TORCH_MODULE(Dropout);

}  // namespace kernbench::torch::nn
