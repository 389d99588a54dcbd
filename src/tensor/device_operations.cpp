#include "tensor/device_operations.h"

#include <fmt/format.h>

#include <string_view>

#include "kernbench/error.h"

namespace kernbench::tensor {

const char* name(BinaryOperation operation) {
  switch (operation) {
    case BinaryOperation::add:
      return "add";
    case BinaryOperation::subtract:
      return "sub";
    case BinaryOperation::multiply:
      return "mul";
    case BinaryOperation::divide:
      return "div";
    case BinaryOperation::floor_divide:
      return "floor_divide";
    case BinaryOperation::truncate_divide:
      return "div(rounding_mode=trunc)";
    case BinaryOperation::remainder:
      return "remainder";
    case BinaryOperation::fmod:
      return "fmod";
    case BinaryOperation::power:
      return "pow";
    case BinaryOperation::maximum:
      return "maximum";
    case BinaryOperation::minimum:
      return "minimum";
    case BinaryOperation::equal:
      return "eq";
    case BinaryOperation::not_equal:
      return "ne";
    case BinaryOperation::less:
      return "lt";
    case BinaryOperation::less_equal:
      return "le";
    case BinaryOperation::greater:
      return "gt";
    case BinaryOperation::greater_equal:
      return "ge";
    case BinaryOperation::logical_and:
      return "logical_and";
    case BinaryOperation::logical_or:
      return "logical_or";
    case BinaryOperation::logical_xor:
      return "logical_xor";
    case BinaryOperation::bitwise_and:
      return "bitwise_and";
    case BinaryOperation::bitwise_or:
      return "bitwise_or";
    case BinaryOperation::bitwise_xor:
      return "bitwise_xor";
    case BinaryOperation::shift_left:
      return "bitwise_left_shift";
    case BinaryOperation::shift_right:
      return "bitwise_right_shift";
  }
  return "?";
}

const char* name(UnaryOperation operation) {
  switch (operation) {
    case UnaryOperation::negate:
      return "neg";
    case UnaryOperation::absolute:
      return "abs";
    case UnaryOperation::square_root:
      return "sqrt";
    case UnaryOperation::reciprocal_square_root:
      return "rsqrt";
    case UnaryOperation::reciprocal:
      return "reciprocal";
    case UnaryOperation::exponential:
      return "exp";
    case UnaryOperation::exponential_2:
      return "exp2";
    case UnaryOperation::exponential_minus_1:
      return "expm1";
    case UnaryOperation::logarithm:
      return "log";
    case UnaryOperation::logarithm_2:
      return "log2";
    case UnaryOperation::logarithm_10:
      return "log10";
    case UnaryOperation::logarithm_1_plus:
      return "log1p";
    case UnaryOperation::sine:
      return "sin";
    case UnaryOperation::cosine:
      return "cos";
    case UnaryOperation::hyperbolic_tangent:
      return "tanh";
    case UnaryOperation::error_function:
      return "erf";
    case UnaryOperation::sigmoid:
      return "sigmoid";
    case UnaryOperation::floor:
      return "floor";
    case UnaryOperation::ceil:
      return "ceil";
    case UnaryOperation::round:
      return "round";
    case UnaryOperation::truncate:
      return "trunc";
    case UnaryOperation::sign:
      return "sign";
    case UnaryOperation::bitwise_not:
      return "bitwise_not";
    case UnaryOperation::logical_not:
      return "logical_not";
    case UnaryOperation::is_nan:
      return "isnan";
    case UnaryOperation::is_infinite:
      return "isinf";
    case UnaryOperation::is_finite:
      return "isfinite";
    case UnaryOperation::relu:
      return "relu";
    case UnaryOperation::silu:
      return "silu";
    case UnaryOperation::gelu:
      return "gelu";
    case UnaryOperation::gelu_tanh:
      return "gelu(approximate=tanh)";
  }
  return "?";
}

const char* name(ReduceOperation operation) {
  switch (operation) {
    case ReduceOperation::sum:
      return "sum";
    case ReduceOperation::mean:
      return "mean";
    case ReduceOperation::product:
      return "prod";
    case ReduceOperation::maximum:
      return "amax";
    case ReduceOperation::minimum:
      return "amin";
    case ReduceOperation::all:
      return "all";
    case ReduceOperation::any:
      return "any";
  }
  return "?";
}

namespace {

[[noreturn]] void no_kernel(std::string_view operation, const torch::Tensor& out) {
  throw ValueError(fmt::format(
      "{}: there is no kernel for it on {}; launch a kernel of your own, or compute on the host with .cpu()", operation,
      out.device().str()));
}

}  // namespace

void DeviceOperations::binary(BinaryOperation operation, const DeviceOperand&, const DeviceOperand&, DType,
                              const torch::Tensor& out) {
  no_kernel(name(operation), out);
}
void DeviceOperations::unary(UnaryOperation operation, const torch::Tensor&, DType, const torch::Tensor& out) {
  no_kernel(name(operation), out);
}
void DeviceOperations::multiply_add(const DeviceOperand&, const DeviceOperand&, const DeviceOperand&, DType,
                                    const torch::Tensor& out) {
  no_kernel("add(alpha)", out);
}
void DeviceOperations::where(const torch::Tensor&, const DeviceOperand&, const DeviceOperand&,
                             const torch::Tensor& out) {
  no_kernel("where", out);
}
void DeviceOperations::clamp(const torch::Tensor&, const std::optional<DeviceOperand>&,
                             const std::optional<DeviceOperand>&, DType, const torch::Tensor& out) {
  no_kernel("clamp", out);
}
bool DeviceOperations::copy(const torch::Tensor&, const torch::Tensor&) {
  return false;
}
void DeviceOperations::triangle(const torch::Tensor&, std::int64_t, bool upper, const torch::Tensor& out) {
  no_kernel(upper ? "triu" : "tril", out);
}
void DeviceOperations::reduce(ReduceOperation operation, const torch::Tensor&, std::span<const std::int64_t>, DType,
                              const torch::Tensor& out) {
  no_kernel(name(operation), out);
}
void DeviceOperations::variance(const torch::Tensor&, std::span<const std::int64_t>, std::int64_t,
                                const torch::Tensor& out) {
  no_kernel("var", out);
}
void DeviceOperations::arg_reduce(ReduceOperation operation, const torch::Tensor&, std::int64_t,
                                  const torch::Tensor& out) {
  no_kernel(operation == ReduceOperation::maximum ? "argmax" : "argmin", out);
}
void DeviceOperations::cumulative_sum(const torch::Tensor&, std::int64_t, const torch::Tensor& out) {
  no_kernel("cumsum", out);
}
void DeviceOperations::softmax(const torch::Tensor&, std::int64_t, bool logarithm, const torch::Tensor& out) {
  no_kernel(logarithm ? "log_softmax" : "softmax", out);
}
void DeviceOperations::layer_norm(const torch::Tensor&, std::int64_t, const torch::Tensor&, const torch::Tensor&,
                                  double, const torch::Tensor& out) {
  no_kernel("layer_norm", out);
}
void DeviceOperations::rms_norm(const torch::Tensor&, std::int64_t, const torch::Tensor&, double,
                                const torch::Tensor& out) {
  no_kernel("rms_norm", out);
}
void DeviceOperations::matmul(const torch::Tensor&, const torch::Tensor&, const MatmulOptions&,
                              const torch::Tensor& out) {
  no_kernel("matmul", out);
}
void DeviceOperations::cat(std::span<const torch::Tensor>, std::int64_t, const torch::Tensor& out) {
  no_kernel("cat", out);
}
void DeviceOperations::index_select(const torch::Tensor&, std::int64_t, const torch::Tensor&,
                                    const torch::Tensor& out) {
  no_kernel("index_select", out);
}
void DeviceOperations::gather(const torch::Tensor&, std::int64_t, const torch::Tensor&, const torch::Tensor& out) {
  no_kernel("gather", out);
}

}  // namespace kernbench::tensor
