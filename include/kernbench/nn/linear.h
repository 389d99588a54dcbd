// Layers of a matrix product, and those that change a shape only.
#pragma once

#include <cstdint>

#include "kernbench/nn/module.h"

namespace kernbench::torch::nn {

class LinearOptions {
 public:
  LinearOptions(std::int64_t in_features, std::int64_t out_features) : in_(in_features), out_(out_features) {}
  LinearOptions& in_features(std::int64_t value) { return in_ = value, *this; }
  LinearOptions& out_features(std::int64_t value) { return out_ = value, *this; }
  LinearOptions& bias(bool value) { return bias_ = value, *this; }
  std::int64_t in_features() const { return in_; }
  std::int64_t out_features() const { return out_; }
  bool bias() const { return bias_; }

 private:
  std::int64_t in_, out_;
  bool bias_ = true;
};

/// x Aᵀ + b: [..., in] becomes [..., out]. weight [out, in] and bias [out] are uniform within 1 / sqrt(in) at first, as
/// PyTorch's.
class LinearImpl : public Module {
 public:
  LinearImpl(std::int64_t in_features, std::int64_t out_features)
      : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options);
  /// Registers the parameters anew.
  void reset();
  void reset_parameters();
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;

  LinearOptions options;
  Tensor weight, bias;
};
TORCH_MODULE(Linear);

/// x.
class IdentityImpl : public Module {
 public:
  Tensor forward(const Tensor& x) const { return x; }
  void pretty_print(std::ostream& out) const override;
};
TORCH_MODULE(Identity);

class FlattenOptions {
 public:
  FlattenOptions& start_dim(std::int64_t value) { return start_dim_ = value, *this; }
  FlattenOptions& end_dim(std::int64_t value) { return end_dim_ = value, *this; }
  std::int64_t start_dim() const { return start_dim_; }
  std::int64_t end_dim() const { return end_dim_; }

 private:
  std::int64_t start_dim_ = 1, end_dim_ = -1;
};

/// Dimensions from start_dim to end_dim as one.
class FlattenImpl : public Module {
 public:
  explicit FlattenImpl(const FlattenOptions& given = {}) : options(given) {}
  Tensor forward(const TensorOperand& x) const;
  void pretty_print(std::ostream& out) const override;

  FlattenOptions options;
};
TORCH_MODULE(Flatten);

}  // namespace kernbench::torch::nn
