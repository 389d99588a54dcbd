#include "tensor/functions/elementwise.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernbench/error.h"
#include "numerics/kernels.h"
#include "tensor/dimensions.h"
#include "tensor/functions/host_kernels.h"
#include "tensor/promotion.h"

namespace kernbench::tensor {

using numerics::info;
using numerics::Takes;
using numerics::Yields;
using torch::Tensor;

namespace {

/// What an elementwise function computes in, and what it yields.
struct Types {
  DType compute, result;
};

bool is(const ElementwiseCall& call, BinaryOperation operation) {
  const auto* binary = std::get_if<BinaryOperation>(&call.operation.operation);
  return binary != nullptr && *binary == operation;
}
bool is(const ElementwiseCall& call, TernaryOperation operation) {
  const auto* ternary = std::get_if<TernaryOperation>(&call.operation.operation);
  return ternary != nullptr && *ternary == operation;
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

void check_condition(const DeviceOperand& condition) {
  const DType type = std::get<Tensor>(condition).scalar_type();
  if (type == DType::boolean) return;
  fail("where", fmt::format("expected condition to be a boolean tensor, but got a tensor with dtype {}; compare it "
                            "first, as in x != 0",
                            text_of(type)));
}

void check_taken(const ElementwiseCall& call, DType type) {
  switch (call.operation.takes) {
    case Takes::any:
      return;
    case Takes::numbers:
      if (type != DType::boolean) return;
      fail_type(
          call.name, type,
          call.operands.size() == 1 ? "convert to integers first, or use ~ to invert" : "convert to integers first");
    case Takes::floats:
      if (is_floating_point(type)) return;
      fail_type(call.name, type, "convert to a floating-point type first");
    case Takes::bits:
      if (is_integral(type, true)) return;
      fail_type(call.name, type, "use integers or bools");
    case Takes::integers:
      if (is_integral(type, false)) return;
      fail_type(call.name, type, "use integers or bools");
  }
}

/// With the checks of single operations.
Types types_of(const ElementwiseCall& call) {
  const bool chooses = is(call, TernaryOperation::where);
  if (chooses) check_condition(call.operands[0]);
  const DType common = result_type(call.operands.subspan(chooses ? 1 : 0));
  if (is(call, BinaryOperation::subtract)) check_subtraction(call.operands[0], call.operands[1]);
  if (is(call, BinaryOperation::power)) check_power(common, call.operands[1]);
  check_taken(call, common);
  if (call.operation.yields == Yields::boolean) return {common, DType::boolean};
  if (call.operation.yields == Yields::floating) return {floating_result(common), floating_result(common)};
  return {common, common};
}

/// Whether some operands have no result, which an error says at the call.
bool may_fail(const ElementwiseInfo& operation, std::span<const DeviceOperand> operands, DType compute) {
  const auto* binary = std::get_if<BinaryOperation>(&operation.operation);
  if (binary == nullptr || !numerics::is_checked(*binary, arithmetic_type(compute))) return false;
  const auto* number = std::get_if<torch::Scalar>(&operands[1]);
  return number == nullptr || number->toLong() == 0;
}

/// The one tensor among numbers, if nobody has made its elements yet, and they are those of `out` in the same order.
const TensorImpl* not_yet_made(std::span<const DeviceOperand> operands, const TensorImpl& out) {
  const TensorImpl* found = nullptr;
  for (const DeviceOperand& operand : operands) {
    const auto* tensor = std::get_if<Tensor>(&operand);
    if (tensor == nullptr) continue;
    if (found != nullptr) return nullptr;
    found = &impl_of(*tensor);
    if (!found->storage->may_be_source() || !found->is_whole() || found->sizes != out.sizes) return nullptr;
  }
  return found;
}

/// A new tensor, whose elements are not made before somebody looks at them: most initial values are made of others,
/// and without data nobody does.
bool is_made_later(const ElementwiseInfo& operation, std::span<const DeviceOperand> operands, DType compute,
                   const Tensor& out) {
  const TensorImpl& result = impl_of(out);
  if (result.storage->is_made() || !result.is_whole() || result.numel() < Storage::kFewElements) return false;
  const TensorImpl* const from = not_yet_made(operands, result);
  if (from == nullptr || may_fail(operation, operands, compute)) return false;
  std::vector<HostArray> arrays;
  for (const DeviceOperand& operand : operands) arrays.push_back(array_without_data(operand, result.sizes));
  result.storage->make_from(
      *from->storage,
      later(from->storage->source(), from->dtype, std::move(arrays), std::vector<DType>(operands.size(), compute),
            compute, result.dtype, host_loop(operation, compute)),
      result.dtype);
  return true;
}

void run_on_host(const ElementwiseInfo& operation, std::span<const DeviceOperand> operands, DType compute,
                 const Tensor& out) {
  std::vector<HostArray> arrays;
  arrays.reserve(operands.size());
  for (const DeviceOperand& operand : operands) arrays.push_back(host_array(operand, impl_of(out).sizes));
  const std::vector<DType> computes(operands.size(), compute);
  run_host_loop(out, compute, arrays, computes, host_loop(operation, compute));
}

/// A host condition of no dimensions chooses for all elements.
void choose(bool condition, const DeviceOperand& a, const DeviceOperand& b, const Tensor& out) {
  const DeviceOperand taken = device_operand(condition ? a : b, impl_of(out).sizes);
  if (const auto* value = std::get_if<torch::Scalar>(&taken))
    out.fill_(*value);
  else
    out.copy_(std::get<Tensor>(taken));
}

void run_on_device(const ElementwiseCall& call, std::span<const DeviceOperand> given, DType compute,
                   const Tensor& out) {
  std::vector<DeviceOperand> operands;
  for (const DeviceOperand& operand : given) operands.push_back(device_operand(operand, impl_of(out).sizes));
  if (is(call, TernaryOperation::where)) {
    if (const auto* condition = std::get_if<torch::Scalar>(&operands[0]))
      return choose(condition->toBool(), given[1], given[2], out);
  }
  device_kernels(call.name).elementwise(call.operation, operands, compute, out);
}

/// The functions of the first operand of another kind; null when all are host and device tensors.
TensorFunctions* functions_of(std::span<const DeviceOperand> operands) {
  for (const DeviceOperand& operand : operands) {
    const auto* tensor = std::get_if<Tensor>(&operand);
    if (tensor != nullptr && impl_of(*tensor).functions) return impl_of(*tensor).functions.get();
  }
  return nullptr;
}

std::vector<DeviceOperand> clamp_operands(const Tensor& x, const std::optional<DeviceOperand>& low,
                                          const std::optional<DeviceOperand>& high) {
  if (!low && !high) fail("clamp", "At least one of 'min' or 'max' must not be None");
  std::vector<DeviceOperand> operands{x};
  if (low) operands.push_back(*low);
  if (high) operands.push_back(*high);
  return operands;
}

const ElementwiseInfo& clamp_info(bool low, bool high) {
  if (low && high) return info(TernaryOperation::clamp);
  return info(low ? BinaryOperation::clamp_min : BinaryOperation::clamp_max);
}

/// Numbers, and tensors of one, that integers are computed with take their type first: beside bytes -1 is 255.
DeviceOperand in_type(const DeviceOperand& operand, DType compute) {
  if (!is_integral(compute, false)) return operand;
  if (const auto* number = std::get_if<torch::Scalar>(&operand)) {
    if (number->isFloatingPoint() || number->isBoolean()) return operand;
    const std::int64_t value = number->toLong();
    return torch::Scalar(compute == DType::u8    ? std::int64_t{static_cast<std::uint8_t>(value)}
                         : compute == DType::i8  ? std::int64_t{static_cast<std::int8_t>(value)}
                         : compute == DType::i32 ? std::int64_t{static_cast<std::int32_t>(value)}
                                                 : value);
  }
  const Tensor& tensor = std::get<Tensor>(operand);
  const DType type = tensor.scalar_type();
  const bool is_number = tensor.dim() == 0 && tensor.is_cpu();
  return is_number && type != compute && is_integral(type, false) ? DeviceOperand(tensor.to(compute)) : operand;
}

/// A power of a tensor to 1, 2, 3 or -1 is made of products, as libtorch's are.
std::optional<ElementwiseInfo> as_products(const ElementwiseCall& call) {
  if (!is(call, BinaryOperation::power) || !std::holds_alternative<Tensor>(call.operands[0])) return std::nullopt;
  const auto* number = std::get_if<torch::Scalar>(&call.operands[1]);
  if (number == nullptr) return std::nullopt;
  const double exponent = number->toDouble();
  if (exponent != -1 && exponent != 1 && exponent != 2 && exponent != 3) return std::nullopt;
  ElementwiseInfo row = call.operation;
  row.operation = ComposedOperation{Composition::power, {exponent}};
  return row;
}

}  // namespace

Tensor elementwise(const ElementwiseCall& call) {
  if (TensorFunctions* functions = functions_of(call.operands)) return functions->elementwise(call);
  const ComputePlace place = place_of(call.name, call.operands);
  if (call.in_place != nullptr && place.on_device() && call.in_place->is_cpu())
    fail(call.name, "a host tensor cannot be written in place with a result on " + place.device.str());
  const Types types = types_of(call);
  const Extents shape = broadcast_shape(call.name, call.operands);
  std::vector<DeviceOperand> operands(call.operands.begin(), call.operands.end());
  for (DeviceOperand& operand : operands) operand = in_type(operand, types.compute);
  Tensor out;
  if (call.in_place == nullptr) {
    out = new_elementwise_result(call.name, place, shape, types.result, operands);
  } else {
    out = *call.in_place;
    check_in_place(call.name, out, shape, types.result, operands);
    for (DeviceOperand& operand : operands) operand = apart(out, operand);
  }
  if (out.numel() == 0) return out;
  const auto products = as_products(call);
  if (products) operands.pop_back();
  const ElementwiseInfo& operation = products ? *products : call.operation;
  if (out.is_cpu()) {
    if (call.in_place != nullptr || !is_made_later(operation, operands, types.compute, out))
      run_on_host(operation, operands, types.compute, out);
    return out;
  }
  run_on_device({operation, operands, call.in_place, call.name}, operands, types.compute, out);
  return out;
}

Tensor binary(BinaryOperation operation, const DeviceOperand& a, const DeviceOperand& b) {
  const std::array operands{a, b};
  return elementwise({info(operation), operands});
}

void binary_in_place(BinaryOperation operation, const Tensor& out, const DeviceOperand& b) {
  const std::array operands{DeviceOperand(out), b};
  elementwise({info(operation), operands, &out});
}

Tensor unary(UnaryOperation operation, const Tensor& x) {
  const std::array<DeviceOperand, 1> operands{x};
  return elementwise({info(operation), operands});
}

void unary_in_place(UnaryOperation operation, const Tensor& out) {
  const std::array<DeviceOperand, 1> operands{out};
  elementwise({info(operation), operands, &out});
}

Tensor multiply_add(const char* call, const DeviceOperand& a, const DeviceOperand& b, const DeviceOperand& c) {
  const std::array operands{a, b, c};
  return elementwise({info(TernaryOperation::multiply_add), operands, nullptr, call});
}

void multiply_add_in_place(const char* call, const Tensor& out, const DeviceOperand& a, const DeviceOperand& b) {
  const std::array operands{a, b, DeviceOperand(out)};
  elementwise({info(TernaryOperation::multiply_add), operands, &out, call});
}

Tensor composed(const char* call, const ComposedOperation& operation, std::span<const DeviceOperand> operands,
                const Tensor* out) {
  const bool asks = operation.kind == Composition::isclose;
  const ElementwiseInfo row{operation, call, Takes::floats, asks ? Yields::boolean : Yields::same};
  return elementwise({row, operands, out, call});
}

void where_in_place(const char* call, const Tensor& condition, const DeviceOperand& value, const Tensor& x) {
  const std::array operands{DeviceOperand(condition), value, DeviceOperand(x)};
  elementwise({info(TernaryOperation::where), operands, &x, call});
}

Tensor where(const Tensor& condition, const DeviceOperand& a, const DeviceOperand& b) {
  const std::array operands{DeviceOperand(condition), a, b};
  return elementwise({info(TernaryOperation::where), operands});
}

Tensor clamp(const Tensor& x, const std::optional<DeviceOperand>& low, const std::optional<DeviceOperand>& high) {
  const auto operands = clamp_operands(x, low, high);
  return elementwise({clamp_info(low.has_value(), high.has_value()), operands});
}

void clamp_in_place(const Tensor& out, const std::optional<DeviceOperand>& low,
                    const std::optional<DeviceOperand>& high) {
  const auto operands = clamp_operands(out, low, high);
  elementwise({clamp_info(low.has_value(), high.has_value()), operands, &out});
}

}  // namespace kernbench::tensor
