#include "tensor/promotion.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "kernbench/error.h"
#include "tensor/tensor_impl.h"

namespace kernbench::tensor {

namespace {

bool is_byte_float(DType type) {
  return is_floating_point(type) && item_size(type) == 1;
}

bool is_unsigned(DType type) {
  return name(type)[0] == 'u';
}

DType promoted_integers(DType a, DType b) {
  if (item_size(a) != item_size(b)) return item_size(a) > item_size(b) ? a : b;
  return is_unsigned(a) == is_unsigned(b) ? a : DType::i32;
}

using Category = std::optional<DType>;

Category merged(const Category& a, const Category& b) {
  if (!a || !b) return a ? a : b;
  return promoted(*a, *b);
}

/// The lower category counts only where its kind is higher.
Category combined(const Category& higher, const Category& lower) {
  if (higher && is_floating_point(*higher)) return higher;
  if (higher == DType::boolean || (lower && is_floating_point(*lower))) {
    // An integer with a floating-point number of lower category takes that number's type.
    return merged(higher, lower);
  }
  return higher ? higher : lower;
}

}  // namespace

std::string text_of(DType type) {
  std::ostringstream text;
  text << type;
  return text.str();
}

bool is_integral(DType type, bool or_bool) {
  return type == DType::boolean ? or_bool : !is_floating_point(type);
}

DType floating_result(DType type) {
  return is_floating_point(type) ? type : DType::f32;
}

DType wide_type(DType type) {
  return is_floating_point(type) && item_size(type) < item_size(DType::f32) ? DType::f32 : type;
}

DType promoted(DType a, DType b) {
  if (a == b) return a;
  if (is_byte_float(a) || is_byte_float(b)) {
    throw ValueError(
        fmt::format("Promotion for Float8 Types is not supported, attempted to promote {} and {}; cast one of them "
                    "with .to(…)",
                    text_of(a), text_of(b)));
  }
  const bool a_floats = is_floating_point(a), b_floats = is_floating_point(b);
  if (a_floats != b_floats) return a_floats ? a : b;
  if (a_floats) {
    if (item_size(a) == item_size(b)) return DType::f32;  // f16 and bf16
    return item_size(a) > item_size(b) ? a : b;
  }
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  return promoted_integers(a, b);
}

DType result_type(std::span<const DeviceOperand> operands) {
  Category dimensioned, zero_dimensional, number;
  for (const DeviceOperand& operand : operands) {
    if (const auto* tensor = std::get_if<torch::Tensor>(&operand)) {
      const TensorImpl& impl = impl_of(*tensor);
      Category& category = impl.sizes.empty() ? zero_dimensional : dimensioned;
      category = merged(category, impl.dtype);
    } else {
      const DType type = std::get<torch::Scalar>(operand).type();
      number = merged(number, is_floating_point(type) ? DType::f32 : type);
    }
  }
  return *combined(dimensioned, combined(zero_dimensional, number));
}

bool can_cast(DType from, DType to) {
  if (is_floating_point(from) && !is_floating_point(to)) return false;
  return from == DType::boolean || to != DType::boolean;
}

}  // namespace kernbench::tensor
