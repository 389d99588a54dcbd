#include "kernbench/nn/normalization.h"

#include <fmt/format.h>

#include <ostream>

#include "kernbench/nn/init.h"
#include "kernbench/torch/dimensions.h"
#include "kernbench/torch/factories.h"

namespace kernbench::torch::nn {

namespace {

std::optional<Tensor> if_defined(const Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

}  // namespace

LayerNormImpl::LayerNormImpl(LayerNormOptions given) : options(std::move(given)) {
  reset();
}

void LayerNormImpl::reset() {
  parameters_.clear();
  const bool affine = options.elementwise_affine();
  weight = register_parameter("weight", affine ? torch::empty(options.normalized_shape()) : Tensor());
  bias = register_parameter("bias", affine ? torch::empty(options.normalized_shape()) : Tensor());
  reset_parameters();
}

void LayerNormImpl::reset_parameters() {
  if (!options.elementwise_affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

Tensor LayerNormImpl::forward(const TensorOperand& x) const {
  return torch::layer_norm(x, options.normalized_shape(), if_defined(weight), if_defined(bias), options.eps());
}

void LayerNormImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::LayerNorm(" << IntArrayRef(options.normalized_shape()) << ", eps=" << options.eps()
      << ", elementwise_affine=" << (options.elementwise_affine() ? "true" : "false") << ')';
}

RMSNormImpl::RMSNormImpl(RMSNormOptions given) : options(std::move(given)) {
  reset();
}

void RMSNormImpl::reset() {
  parameters_.clear();
  weight =
      register_parameter("weight", options.elementwise_affine() ? torch::empty(options.normalized_shape()) : Tensor());
  reset_parameters();
}

void RMSNormImpl::reset_parameters() {
  if (options.elementwise_affine()) init::ones_(weight);
}

Tensor RMSNormImpl::forward(const TensorOperand& x) const {
  return torch::rms_norm(x, options.normalized_shape(), if_defined(weight), options.eps());
}

void RMSNormImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::RMSNorm(" << IntArrayRef(options.normalized_shape()) << ", eps=";
  options.eps() ? out << *options.eps() : out << "None";
  out << ", elementwise_affine=" << (options.elementwise_affine() ? "true" : "false") << ')';
}

}  // namespace kernbench::torch::nn
