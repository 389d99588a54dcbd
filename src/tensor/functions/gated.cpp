// swiglu and geglu of kernbench/torch/transformer.h.
#include <fmt/format.h>

#include "kernbench/torch/transformer.h"
#include "tensor/functions/elementwise.h"
#include "tensor/host_call.h"

namespace kernbench::torch::ahbm {

using tensor::BinaryOperation;

namespace {

std::pair<Tensor, Tensor> gate_and_up(const char* call, const Tensor& x) {
  if (x.dim() == 0 || x.size(-1) % 2 != 0) {
    tensor::fail(
        call, fmt::format("the last dimension is gate and up, one behind the other, but x is {}{}", tensor::describe(x),
                          x.dim() == 0 ? "" : fmt::format(": {} is not divisible by 2", x.size(-1))));
  }
  const std::int64_t half = x.size(-1) / 2;
  return {x.narrow(-1, 0, half), x.narrow(-1, half, half)};
}

BinaryOperation geglu_operation(std::string_view approximate) {
  if (approximate == "none") return BinaryOperation::geglu;
  if (approximate == "tanh") return BinaryOperation::geglu_tanh;
  tensor::fail("geglu", fmt::format("approximate argument must be either none or tanh, not {}", approximate));
}

}  // namespace

Tensor swiglu(const Tensor& x, Where where) {
  const tensor::HostCall here("swiglu", where);
  const auto [gate, up] = gate_and_up("swiglu", x);
  return tensor::binary(BinaryOperation::swiglu, gate, up);
}
Tensor swiglu(const Tensor& gate, const Tensor& up, Where where) {
  const tensor::HostCall here("swiglu", where);
  return tensor::binary(BinaryOperation::swiglu, gate, up);
}

Tensor geglu(const Tensor& x, std::string_view approximate, Where where) {
  const tensor::HostCall here("geglu", where);
  const auto [gate, up] = gate_and_up("geglu", x);
  return tensor::binary(geglu_operation(approximate), gate, up);
}
Tensor geglu(const Tensor& gate, const Tensor& up, std::string_view approximate, Where where) {
  const tensor::HostCall here("geglu", where);
  return tensor::binary(geglu_operation(approximate), gate, up);
}

}  // namespace kernbench::torch::ahbm
