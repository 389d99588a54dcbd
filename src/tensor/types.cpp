// Scalars, devices, options and shapes of kernbench/torch/types.h.
#include "kernbench/torch/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

#include "kernbench/error.h"

namespace kernbench {

std::ostream& operator<<(std::ostream& out, DType type) {
  switch (type) {
    case DType::boolean:
      return out << "Bool";
    case DType::u8:
      return out << "Byte";
    case DType::i8:
      return out << "Char";
    case DType::i32:
      return out << "Int";
    case DType::i64:
      return out << "Long";
    case DType::f8e4m3:
      return out << "Float8_e4m3fn";
    case DType::f8e5m2:
      return out << "Float8_e5m2";
    case DType::f16:
      return out << "Half";
    case DType::bf16:
      return out << "BFloat16";
    case DType::f32:
      return out << "Float";
    case DType::f64:
      return out << "Double";
  }
  return out;
}

namespace torch {

namespace {

[[noreturn]] void overflow(const char* type) {
  throw ValueError(fmt::format("value cannot be converted to type {} without overflow", type));
}

/// Infinities and NaN pass; a finite value beyond `limit` does not.
void check_range(double value, double limit, const char* type) {
  if (std::isfinite(value) && std::abs(value) > limit) overflow(type);
}

constexpr double kLargestHalf = 65504;
constexpr double kLargestBFloat16 = 0x1.FEp127;
constexpr double kLargestFloat8E4M3 = 448;
constexpr double kLargestFloat8E5M2 = 57344;

template <class T>
T to_integer(double value, const char* type) {
  // As floating-point bounds: the lowest value is exact, and one past the largest is a power of two.
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  if (!(value >= kLow && value < -kLow)) overflow(type);
  return static_cast<T>(value);
}

}  // namespace

std::int64_t Scalar::toLong() const {
  return isFloatingPoint() ? to_integer<std::int64_t>(floating_, "int64_t") : integer_;
}
std::uint8_t Scalar::toByte() const {
  const std::int64_t value = isFloatingPoint() ? to_integer<std::int64_t>(floating_, "uint8_t") : integer_;
  if (value < -UINT8_MAX || value > UINT8_MAX) overflow("uint8_t");
  return static_cast<std::uint8_t>(value);
}
std::int8_t Scalar::toChar() const {
  const std::int64_t value = isFloatingPoint() ? to_integer<std::int64_t>(floating_, "int8_t") : integer_;
  if (value < INT8_MIN || value > INT8_MAX) overflow("int8_t");
  return static_cast<std::int8_t>(value);
}
std::int32_t Scalar::toInt() const {
  if (isFloatingPoint()) return to_integer<std::int32_t>(floating_, "int");
  if (integer_ < INT32_MIN || integer_ > INT32_MAX) overflow("int");
  return static_cast<std::int32_t>(integer_);
}
float Scalar::toFloat() const {
  check_range(toDouble(), static_cast<double>(std::numeric_limits<float>::max()), "float");
  return isFloatingPoint() ? static_cast<float>(floating_) : static_cast<float>(integer_);
}
Half Scalar::toHalf() const {
  check_range(toDouble(), kLargestHalf, "at::Half");
  Half result;
  result.bits = half(toDouble()).bits;
  return result;
}
BFloat16 Scalar::toBFloat16() const {
  check_range(toDouble(), kLargestBFloat16, "at::BFloat16");
  BFloat16 result;
  result.bits = bfloat16(toDouble()).bits;
  return result;
}

Float8_e4m3fn Scalar::toFloat8_e4m3fn() const {
  check_range(toDouble(), kLargestFloat8E4M3, "at::Float8_e4m3fn");
  Float8_e4m3fn result;
  result.bits = float8_e4m3(toDouble()).bits;
  return result;
}
Float8_e5m2 Scalar::toFloat8_e5m2() const {
  check_range(toDouble(), kLargestFloat8E5M2, "at::Float8_e5m2");
  Float8_e5m2 result;
  result.bits = float8_e5m2(toDouble()).bits;
  return result;
}

std::vector<std::int64_t> IntArrayRef::vec() const {
  return {begin(), end()};
}

bool IntArrayRef::equals(IntArrayRef other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

std::ostream& operator<<(std::ostream& out, IntArrayRef values) {
  out << '[';
  for (std::size_t i = 0; i < values.size(); ++i) out << (i == 0 ? "" : ", ") << values[i];
  return out << ']';
}

std::ostream& operator<<(std::ostream& out, DeviceType type) {
  return out << (type == DeviceType::CPU ? "cpu" : "ahbm");
}

Device::Device(const std::string& text) : type_(DeviceType::CPU), index_(-1) {
  const auto colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (kind == "ahbm") {
    type_ = DeviceType::AHBM;
  } else if (kind != "cpu") {
    throw ValueError(
        fmt::format("Expected one of cpu, ahbm device type at start of device string: {}; the simulated "
                    "devices are \"ahbm:0\", \"ahbm:1\", …",
                    text));
  }
  if (colon == std::string::npos) return;
  const std::string number = text.substr(colon + 1);
  const bool digits =
      !number.empty() && number.size() <= 5 && number.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || (number.size() > 1 && number[0] == '0'))
    throw ValueError(fmt::format("Invalid device string: '{}'", text));
  index_ = std::stoi(number);
}

std::string Device::str() const {
  const std::string kind = is_cpu() ? "cpu" : "ahbm";
  return has_index() ? fmt::format("{}:{}", kind, index_) : kind;
}

std::ostream& operator<<(std::ostream& out, Device device) {
  return out << device.str();
}

TensorOptions TensorOptions::dtype(ScalarType type) const {
  TensorOptions result = *this;
  result.dtype_ = type;
  return result;
}
TensorOptions TensorOptions::device(Device device) const {
  TensorOptions result = *this;
  result.device_ = device;
  return result;
}
TensorOptions TensorOptions::requires_grad(bool value) const {
  if (value)
    throw ValueError(
        "requires_grad(true): there is no tape; leave it out, and set the gradients of parameters with mutable_grad() "
        "(docs/training.md)");
  return *this;
}
TensorOptions TensorOptions::placement(const DPPolicy& policy) const {
  TensorOptions result = *this;
  result.placement_ = policy;
  return result;
}
TensorOptions TensorOptions::name(std::string text) const {
  TensorOptions result = *this;
  result.name_ = std::move(text);
  return result;
}

}  // namespace torch
}  // namespace kernbench
