#include "kernbench/nn/dropout.h"

#include <fmt/format.h>

#include <ostream>

#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch::nn {

using tensor::impl_of;

namespace {

void check_probability(double p) {
  if (p >= 0 && p <= 1) return;
  throw ValueError(fmt::format("dropout probability has to be between 0 and 1, but got {}", p));
}

}  // namespace

Tensor functional::dropout(const TensorOperand& x, const DropoutFuncOptions& options) {
  const tensor::HostCall here("dropout", x.where);
  check_probability(options.p());
  if (!options.training() || options.p() == 0) return x.tensor;
  if (options.p() == 1) return torch::zeros_like(x);
  if (!x.tensor.is_floating_point()) {
    throw ValueError(
        fmt::format("dropout: result type Float can't be cast to the desired output type {}; convert the input with "
                    ".to(torch::kFloat) first",
                    tensor::text_of(x.tensor.scalar_type())));
  }
  // f32, so that a type of few digits changes no probability. The product refuses f8.
  if (const auto& impl = impl_of(x.tensor); !impl.functions && impl.storage->device && !is_float8(impl.dtype)) {
    const Tensor out = torch::empty_like(x.tensor);
    const auto draw = tensor::current_generator().take(out.numel());
    if (out.numel() == 0) return out;
    tensor::device_kernels("dropout").dropout(x.tensor, tensor::uniform_numbers("rand", draw, kFloat), options.p(),
                                              out);
    return out;
  }
  const Tensor chance = torch::rand_like(x.tensor, torch::dtype(kFloat));
  return torch::where(chance.ge(options.p()), x.tensor * (1 / (1 - options.p())), torch::zeros_like(x.tensor));
}

DropoutImpl::DropoutImpl(const DropoutOptions& given) : options(given) {
  check_probability(options.p());
}

Tensor DropoutImpl::forward(const TensorOperand& x) const {
  return functional::dropout(x, functional::DropoutFuncOptions().p(options.p()).training(is_training()));
}

void DropoutImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::Dropout(p=" << options.p() << ", inplace=false)";
}

}  // namespace kernbench::torch::nn
