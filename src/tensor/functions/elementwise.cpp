#include "tensor/functions/elementwise.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernbench/error.h"
#include "tensor/dimensions.h"
#include "tensor/functions/host_kernels.h"
#include "tensor/promotion.h"

namespace kernbench::tensor {

using torch::Tensor;

namespace {

/// What an elementwise function computes in, and what it yields.
struct Types {
  DType compute, result;
};

bool is_comparison(BinaryOperation operation) {
  return operation >= BinaryOperation::equal && operation <= BinaryOperation::greater_equal;
}
bool is_logical(BinaryOperation operation) {
  return operation >= BinaryOperation::logical_and && operation <= BinaryOperation::logical_xor;
}
bool is_bitwise(BinaryOperation operation) {
  return operation >= BinaryOperation::bitwise_and;
}

bool is_boolean(const DeviceOperand& operand) {
  if (const auto* tensor = std::get_if<Tensor>(&operand)) return tensor->scalar_type() == DType::boolean;
  return std::get<torch::Scalar>(operand).isBoolean();
}

void check_subtraction(const DeviceOperand& a, const DeviceOperand& b) {
  if (!is_boolean(a) && !is_boolean(b)) return;
  fail("sub",
       "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
       "use the `~` or `logical_not()` operator instead.");
}

void check_power(DType common, const DeviceOperand& exponent) {
  const auto* number = std::get_if<torch::Scalar>(&exponent);
  if (number != nullptr && is_integral(common, true) && number->isIntegral(true) && number->toLong() < 0)
    fail("pow", "Integers to negative integer powers are not allowed; convert the base to a floating-point type");
}

Types types_of(BinaryOperation operation, const DeviceOperand& a, const DeviceOperand& b) {
  using enum BinaryOperation;
  const std::array operands{a, b};
  const DType common = result_type(operands);
  if (is_comparison(operation) || is_logical(operation)) return {common, DType::boolean};
  if (is_bitwise(operation)) {
    const bool shift = operation >= shift_left;
    if (!is_integral(common, !shift)) fail_type(name(operation), common, "use integers or bools");
    return {common, common};
  }
  if (operation == subtract) check_subtraction(a, b);
  if (operation == power) check_power(common, b);
  if (operation == divide) return {floating_result(common), floating_result(common)};
  const bool no_booleans = operation == floor_divide || operation == truncate_divide || operation == remainder ||
                           operation == fmod || operation == power;
  if (no_booleans && common == DType::boolean) fail_type(name(operation), common, "convert to integers first");
  return {common, common};
}

/// The functions that integers do not have.
bool needs_floats(UnaryOperation operation) {
  using enum UnaryOperation;
  return (operation >= square_root && operation <= sigmoid);
}

Types types_of(UnaryOperation operation, DType type) {
  using enum UnaryOperation;
  if (needs_floats(operation)) return {floating_result(type), floating_result(type)};
  switch (operation) {
    case logical_not:
    case is_nan:
    case is_infinite:
    case is_finite:
      return {type, DType::boolean};
    case bitwise_not:
      if (!is_integral(type, true)) fail_type(name(operation), type, "use integers or bools");
      return {type, type};
    case sign:
      return {type, type};
    case silu:
    case gelu:
    case gelu_tanh:
      if (!is_floating_point(type)) fail_type(name(operation), type, "convert to a floating-point type first");
      return {type, type};
    default:
      if (type == DType::boolean) fail_type(name(operation), type, "convert to integers first, or use ~ to invert");
      return {type, type};
  }
}

std::vector<HostArray> host_arrays(std::span<const DeviceOperand> operands, const Tensor& out) {
  std::vector<HostArray> arrays;
  arrays.reserve(operands.size());
  for (const DeviceOperand& operand : operands) arrays.push_back(host_array(operand, impl_of(out).sizes));
  return arrays;
}

/// All operands are computed in one type.
void run_on_host(const HostLoop& loop, std::span<const DeviceOperand> operands, DType compute, const Tensor& out) {
  const std::vector<DType> computes(operands.size(), compute);
  run_host_loop(out, compute, host_arrays(operands, out), computes, loop);
}

void execute(BinaryOperation operation, const DeviceOperand& a, const DeviceOperand& b, DType compute,
             const Tensor& out) {
  if (out.numel() == 0) return;
  if (out.is_cpu()) {
    const std::array operands{a, b};
    run_on_host(host_loop(operation, arithmetic_type(compute)), operands, compute, out);
    return;
  }
  const auto& sizes = impl_of(out).sizes;
  device_kernels(name(operation)).binary(operation, device_operand(a, sizes), device_operand(b, sizes), compute, out);
}

void execute(UnaryOperation operation, const Tensor& x, DType compute, const Tensor& out) {
  if (out.numel() == 0) return;
  if (!out.is_cpu()) {
    device_kernels(name(operation)).unary(operation, x, compute, out);
    return;
  }
  const std::array<DeviceOperand, 1> operands{x};
  // ~false is true, which no integer arithmetic says.
  const bool inverts = operation == UnaryOperation::bitwise_not && compute == DType::boolean;
  run_on_host(host_loop(inverts ? UnaryOperation::logical_not : operation, arithmetic_type(compute)), operands, compute,
              out);
}

void execute_multiply_add(const char* call, std::span<const DeviceOperand> operands, DType compute, const Tensor& out) {
  if (out.numel() == 0) return;
  if (out.is_cpu()) return run_on_host(multiply_add_loop(arithmetic_type(compute)), operands, compute, out);
  const auto& sizes = impl_of(out).sizes;
  device_kernels(call).multiply_add(device_operand(operands[0], sizes), device_operand(operands[1], sizes),
                                    device_operand(operands[2], sizes), compute, out);
}

std::vector<DeviceOperand> clamp_operands(const Tensor& x, const std::optional<DeviceOperand>& low,
                                          const std::optional<DeviceOperand>& high) {
  if (!low && !high) fail("clamp", "At least one of 'min' or 'max' must not be None");
  std::vector<DeviceOperand> operands{x};
  if (low) operands.push_back(*low);
  if (high) operands.push_back(*high);
  return operands;
}

void execute_clamp(std::span<const DeviceOperand> operands, bool low, bool high, DType compute, const Tensor& out) {
  if (out.numel() == 0) return;
  if (out.is_cpu()) return run_on_host(clamp_loop(low, high, arithmetic_type(compute)), operands, compute, out);
  const auto& sizes = impl_of(out).sizes;
  const auto at = [&](std::size_t i) { return std::optional(device_operand(operands[i], sizes)); };
  const Tensor x = std::get<Tensor>(operands[0]).expand(sizes);
  device_kernels("clamp").clamp(x, low ? at(1) : std::nullopt, high ? at(low ? 2 : 1) : std::nullopt, compute, out);
}

DType clamp_type(std::span<const DeviceOperand> operands) {
  const DType type = result_type(operands);
  if (type == DType::boolean) fail_type("clamp", type, "convert to integers first");
  return type;
}

}  // namespace

Tensor binary(BinaryOperation operation, const DeviceOperand& a, const DeviceOperand& b) {
  const std::array operands{a, b};
  const Place place = place_of(name(operation), operands);
  const Types types = types_of(operation, a, b);
  const Extents shape = broadcast_shape(name(operation), operands);
  Tensor out = new_elementwise_result(name(operation), place, shape, types.result, operands);
  execute(operation, a, b, types.compute, out);
  return out;
}

void binary_in_place(BinaryOperation operation, const Tensor& out, const DeviceOperand& b) {
  const std::array operands{DeviceOperand(out), b};
  const Place place = place_of(name(operation), operands);
  if (place.on_device() && out.is_cpu())
    fail(name(operation), "a host tensor cannot be written in place with a result on " + place.device.str());
  const Types types = types_of(operation, out, b);
  check_in_place(name(operation), out, broadcast_shape(name(operation), operands), types.result, operands);
  execute(operation, out, apart(out, b), types.compute, out);
}

Tensor unary(UnaryOperation operation, const Tensor& x) {
  const Place place = place_of(name(operation), {x});
  const Types types = types_of(operation, x.scalar_type());
  const std::array<DeviceOperand, 1> operands{x};
  Tensor out = new_elementwise_result(name(operation), place, impl_of(x).sizes, types.result, operands);
  execute(operation, x, types.compute, out);
  return out;
}

void unary_in_place(UnaryOperation operation, const Tensor& out) {
  place_of(name(operation), {out});
  const Types types = types_of(operation, out.scalar_type());
  const std::array<DeviceOperand, 1> operands{out};
  check_in_place(name(operation), out, impl_of(out).sizes, types.result, operands);
  execute(operation, out, types.compute, out);
}

Tensor multiply_add(const char* call, const DeviceOperand& a, const DeviceOperand& b, const DeviceOperand& c) {
  const std::array operands{a, b, c};
  const Place place = place_of(call, operands);
  const DType type = result_type(operands);
  const Extents shape = broadcast_shape(call, operands);
  Tensor out = new_elementwise_result(call, place, shape, type, operands);
  execute_multiply_add(call, operands, type, out);
  return out;
}

void multiply_add_in_place(const char* call, const Tensor& out, const DeviceOperand& a, const DeviceOperand& b) {
  const std::array operands{a, b, DeviceOperand(out)};
  place_of(call, operands);
  const DType type = result_type(operands);
  check_in_place(call, out, broadcast_shape(call, operands), type, operands);
  const std::array separate{apart(out, a), apart(out, b), DeviceOperand(out)};
  execute_multiply_add(call, separate, type, out);
}

Tensor where(const Tensor& condition, const DeviceOperand& a, const DeviceOperand& b) {
  const std::array operands{DeviceOperand(condition), a, b};
  const Place place = place_of("where", operands);
  if (condition.scalar_type() != DType::boolean) {
    fail("where", fmt::format("expected condition to be a boolean tensor, but got a tensor with dtype {}; compare it "
                              "first, as in x != 0",
                              text_of(condition.scalar_type())));
  }
  const DType type = result_type(std::span(operands).subspan(1));
  const Extents shape = broadcast_shape("where", operands);
  Tensor out = new_elementwise_result("where", place, shape, type, operands);
  if (out.numel() == 0) return out;
  if (place.on_device()) {
    const DeviceOperand chosen = device_operand(condition, shape);
    if (const auto* number = std::get_if<torch::Scalar>(&chosen)) {
      const DeviceOperand taken = device_operand(number->toBool() ? a : b, shape);
      if (const auto* value = std::get_if<torch::Scalar>(&taken))
        out.fill_(*value);
      else
        out.copy_(std::get<Tensor>(taken));
      return out;
    }
    device_kernels("where").where(std::get<Tensor>(chosen), device_operand(a, shape), device_operand(b, shape), out);
    return out;
  }
  const std::array computes{DType::boolean, type, type};
  run_host_loop(out, type, host_arrays(operands, out), computes, where_loop(arithmetic_type(type)));
  return out;
}

Tensor clamp(const Tensor& x, const std::optional<DeviceOperand>& low, const std::optional<DeviceOperand>& high) {
  const auto operands = clamp_operands(x, low, high);
  const Place place = place_of("clamp", operands);
  const DType type = clamp_type(operands);
  Tensor out = new_elementwise_result("clamp", place, broadcast_shape("clamp", operands), type, operands);
  execute_clamp(operands, low.has_value(), high.has_value(), type, out);
  return out;
}

void clamp_in_place(const Tensor& out, const std::optional<DeviceOperand>& low,
                    const std::optional<DeviceOperand>& high) {
  const auto operands = clamp_operands(out, low, high);
  place_of("clamp", operands);
  const DType type = clamp_type(operands);
  check_in_place("clamp", out, broadcast_shape("clamp", operands), type, operands);
  execute_clamp(operands, low.has_value(), high.has_value(), type, out);
}

}  // namespace kernbench::tensor
