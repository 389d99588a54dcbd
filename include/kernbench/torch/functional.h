// torch::nn::functional: the functions of layers without state, with their option structs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernbench/torch/attention.h"
#include "kernbench/torch/functional_losses.h"
#include "kernbench/torch/operations.h"

namespace kernbench::torch::nn::functional {

inline Tensor linear(const TensorOperand& x, const Tensor& weight, const Tensor& bias = {}) {
  return torch::linear(x, weight, bias.defined() ? std::optional(bias) : std::nullopt);
}
inline Tensor relu(const TensorOperand& x) {
  return x.tensor.relu(x.where);
}
inline Tensor silu(const TensorOperand& x) {
  return torch::silu(x);
}

using torch::scaled_dot_product_attention;

inline Tensor one_hot(const TensorOperand& x, std::int64_t num_classes = -1) {
  return torch::one_hot(x, num_classes);
}

class PadFuncOptions {
 public:
  PadFuncOptions(std::vector<std::int64_t> pad) : pad_(std::move(pad)) {}  // NOLINT: as in libtorch
  PadFuncOptions& value(double number) { return value_ = number, *this; }
  const std::vector<std::int64_t>& pad() const { return pad_; }
  double value() const { return value_; }

 private:
  std::vector<std::int64_t> pad_;
  double value_ = 0;
};
/// Padding with a constant.
inline Tensor pad(const TensorOperand& x, const PadFuncOptions& options) {
  return torch::constant_pad_nd(x, options.pad(), options.value());
}

class GELUFuncOptions {
 public:
  GELUFuncOptions& approximate(std::string value) { return approximate_ = std::move(value), *this; }
  const std::string& approximate() const { return approximate_; }

 private:
  std::string approximate_ = "none";
};
inline Tensor gelu(const TensorOperand& x, const GELUFuncOptions& options = {}) {
  return torch::gelu(x, options.approximate());
}

inline Tensor mish(const TensorOperand& x) {
  return torch::mish(x);
}
inline Tensor logsigmoid(const TensorOperand& x) {
  return torch::log_sigmoid(x);
}
/// x / (|x| + 1)
inline Tensor softsign(const TensorOperand& x) {
  return x.tensor.div(x.tensor.abs(x.where).add(1, 1, x.where), x.where);
}

class LeakyReLUFuncOptions {
 public:
  LeakyReLUFuncOptions& negative_slope(double value) { return negative_slope_ = value, *this; }
  double negative_slope() const { return negative_slope_; }

 private:
  double negative_slope_ = 0.01;
};
inline Tensor leaky_relu(const TensorOperand& x, const LeakyReLUFuncOptions& options = {}) {
  return torch::leaky_relu(x, options.negative_slope());
}

class ELUFuncOptions {
 public:
  ELUFuncOptions& alpha(double value) { return alpha_ = value, *this; }
  double alpha() const { return alpha_; }

 private:
  double alpha_ = 1;
};
inline Tensor elu(const TensorOperand& x, const ELUFuncOptions& options = {}) {
  return torch::elu(x, options.alpha());
}

class HardtanhFuncOptions {
 public:
  HardtanhFuncOptions& min_val(double value) { return min_val_ = value, *this; }
  HardtanhFuncOptions& max_val(double value) { return max_val_ = value, *this; }
  double min_val() const { return min_val_; }
  double max_val() const { return max_val_; }

 private:
  double min_val_ = -1, max_val_ = 1;
};
inline Tensor hardtanh(const TensorOperand& x, const HardtanhFuncOptions& options = {}) {
  return torch::hardtanh(x, options.min_val(), options.max_val());
}

class SoftplusFuncOptions {
 public:
  SoftplusFuncOptions& beta(double value) { return beta_ = value, *this; }
  SoftplusFuncOptions& threshold(double value) { return threshold_ = value, *this; }
  double beta() const { return beta_; }
  double threshold() const { return threshold_; }

 private:
  double beta_ = 1, threshold_ = 20;
};
inline Tensor softplus(const TensorOperand& x, const SoftplusFuncOptions& options = {}) {
  return torch::softplus(x, options.beta(), options.threshold());
}

class SoftmaxFuncOptions {
 public:
  SoftmaxFuncOptions(std::int64_t dim) : dim_(dim) {}  // NOLINT(google-explicit-constructor): as in libtorch
  SoftmaxFuncOptions& dtype(ScalarType type) { return dtype_ = type, *this; }
  std::int64_t dim() const { return dim_; }
  const std::optional<ScalarType>& dtype() const { return dtype_; }

 private:
  std::int64_t dim_;
  std::optional<ScalarType> dtype_;
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
inline Tensor softmax(const TensorOperand& x, const SoftmaxFuncOptions& options) {
  return x.tensor.softmax(options.dim(), options.dtype(), x.where);
}
inline Tensor log_softmax(const TensorOperand& x, const LogSoftmaxFuncOptions& options) {
  return x.tensor.log_softmax(options.dim(), options.dtype(), x.where);
}

class LayerNormFuncOptions {
 public:
  LayerNormFuncOptions(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {}  // NOLINT: as in libtorch
  LayerNormFuncOptions& weight(const Tensor& value) { return weight_ = value, *this; }
  LayerNormFuncOptions& bias(const Tensor& value) { return bias_ = value, *this; }
  LayerNormFuncOptions& eps(double value) { return eps_ = value, *this; }
  const std::vector<std::int64_t>& normalized_shape() const { return shape_; }
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }
  double eps() const { return eps_; }

 private:
  std::vector<std::int64_t> shape_;
  Tensor weight_, bias_;
  double eps_ = 1e-5;
};
inline Tensor layer_norm(const TensorOperand& x, const LayerNormFuncOptions& options) {
  const auto given = [](const Tensor& tensor) { return tensor.defined() ? std::optional(tensor) : std::nullopt; };
  return torch::layer_norm(x, options.normalized_shape(), given(options.weight()), given(options.bias()),
                           options.eps());
}

}  // namespace kernbench::torch::nn::functional
