// Layers that normalise their input.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernbench/nn/module.h"

namespace kernbench::torch::nn {

class LayerNormOptions {
 public:
  LayerNormOptions(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {}  // NOLINT: as in libtorch
  LayerNormOptions& normalized_shape(std::vector<std::int64_t> value) { return shape_ = std::move(value), *this; }
  LayerNormOptions& eps(double value) { return eps_ = value, *this; }
  LayerNormOptions& elementwise_affine(bool value) { return affine_ = value, *this; }
  const std::vector<std::int64_t>& normalized_shape() const { return shape_; }
  double eps() const { return eps_; }
  bool elementwise_affine() const { return affine_; }

 private:
  std::vector<std::int64_t> shape_;
  double eps_ = 1e-5;
  bool affine_ = true;
};

/// Over the last dimensions; weight one and bias zero at first, none without elementwise_affine.
class LayerNormImpl : public Module {
 public:
  LayerNormImpl(std::vector<std::int64_t> shape) : LayerNormImpl(LayerNormOptions(std::move(shape))) {}  // NOLINT
  explicit LayerNormImpl(LayerNormOptions options);
  void reset();
  void reset_parameters();
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;

  LayerNormOptions options;
  Tensor weight, bias;
};
TORCH_MODULE(LayerNorm);

class RMSNormOptions {
 public:
  RMSNormOptions(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {}  // NOLINT: as LayerNormOptions
  RMSNormOptions& normalized_shape(std::vector<std::int64_t> value) { return shape_ = std::move(value), *this; }
  /// Without one the smallest step above 1 of the input's type.
  RMSNormOptions& eps(std::optional<double> value) { return eps_ = value, *this; }
  RMSNormOptions& elementwise_affine(bool value) { return affine_ = value, *this; }
  const std::vector<std::int64_t>& normalized_shape() const { return shape_; }
  const std::optional<double>& eps() const { return eps_; }
  bool elementwise_affine() const { return affine_; }

 private:
  std::vector<std::int64_t> shape_;
  std::optional<double> eps_;
  bool affine_ = true;
};

/// x / sqrt(mean(x²) + eps) * weight, as Python's torch.nn.RMSNorm; libtorch has none.
class RMSNormImpl : public Module {
 public:
  RMSNormImpl(std::vector<std::int64_t> shape) : RMSNormImpl(RMSNormOptions(std::move(shape))) {}  // NOLINT
  explicit RMSNormImpl(RMSNormOptions options);
  void reset();
  void reset_parameters();
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;

  RMSNormOptions options;
  Tensor weight;
};
TORCH_MODULE(RMSNorm);

}  // namespace kernbench::torch::nn
