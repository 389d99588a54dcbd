#include "kernbench/nn/linear.h"

#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "kernbench/nn/init.h"
#include "kernbench/torch/dimensions.h"
#include "kernbench/torch/factories.h"

namespace kernbench::torch::nn {

LinearImpl::LinearImpl(const LinearOptions& given) : options(given) {
  if (options.in_features() < 0 || options.out_features() < 0) {
    throw ValueError(fmt::format("Linear: in_features ({}) and out_features ({}) must not be below 0",
                                 options.in_features(), options.out_features()));
  }
  reset();
}

void LinearImpl::reset() {
  parameters_.clear();
  weight = register_parameter("weight", torch::empty({options.out_features(), options.in_features()}));
  bias = register_parameter("bias", options.bias() ? torch::empty({options.out_features()}) : Tensor());
  reset_parameters();
}

void LinearImpl::reset_parameters() {
  if (weight.numel() > 0) init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const double bound = options.in_features() > 0 ? 1 / std::sqrt(static_cast<double>(options.in_features())) : 0;
  init::uniform_(bias, -bound, bound);
}

Tensor LinearImpl::forward(const TensorOperand& x) const {
  return torch::linear(x, weight, bias.defined() ? std::optional(bias) : std::nullopt);
}

void LinearImpl::pretty_print(std::ostream& out) const {
  out << fmt::format("torch::nn::Linear(in_features={}, out_features={}, bias={})", options.in_features(),
                     options.out_features(), options.bias());
}

void IdentityImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::Identity()";
}

Tensor FlattenImpl::forward(const TensorOperand& x) const {
  return x.tensor.flatten(options.start_dim(), options.end_dim(), x.where);
}

void FlattenImpl::pretty_print(std::ostream& out) const {
  out << fmt::format("torch::nn::Flatten(start_dim={}, end_dim={})", options.start_dim(), options.end_dim());
}

}  // namespace kernbench::torch::nn
