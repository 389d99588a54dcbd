// The small value types of the host API: element types, scalars, shapes, devices, tensor options.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "kernbench/dtype.h"
#include "kernbench/float8.h"
#include "kernbench/half.h"
#include "kernbench/placement.h"

namespace kernbench {
/// "Float", "Half", "Long": the name that PyTorch prints.
std::ostream& operator<<(std::ostream& out, DType type);
}  // namespace kernbench

namespace kernbench::torch {

using ScalarType = DType;
using Dtype = DType;
inline constexpr ScalarType kBool = DType::boolean;
inline constexpr ScalarType kByte = DType::u8, kUInt8 = DType::u8, kU8 = DType::u8;
inline constexpr ScalarType kChar = DType::i8, kInt8 = DType::i8, kI8 = DType::i8;
inline constexpr ScalarType kInt = DType::i32, kInt32 = DType::i32, kI32 = DType::i32;
inline constexpr ScalarType kLong = DType::i64, kInt64 = DType::i64, kI64 = DType::i64;
inline constexpr ScalarType kFloat8_e4m3fn = DType::f8e4m3;
inline constexpr ScalarType kFloat8_e5m2 = DType::f8e5m2;
inline constexpr ScalarType kHalf = DType::f16, kFloat16 = DType::f16, kF16 = DType::f16;
inline constexpr ScalarType kBFloat16 = DType::bf16;
inline constexpr ScalarType kFloat = DType::f32, kFloat32 = DType::f32, kF32 = DType::f32;
inline constexpr ScalarType kDouble = DType::f64, kFloat64 = DType::f64, kF64 = DType::f64;

/// IEEE 754 binary16; converts from and to float without a cast (to nearest, ties to even).
struct Half : half {
  Half() = default;
  Half(float value) : half(value) {}                         // NOLINT(google-explicit-constructor): as c10::Half
  operator float() const { return half::operator float(); }  // NOLINT(google-explicit-constructor)
};

/// The upper half of a binary32; converts from and to float without a cast (to nearest, ties to even).
struct BFloat16 : bfloat16 {
  BFloat16() = default;
  BFloat16(float value) : bfloat16(value) {}  // NOLINT(google-explicit-constructor): as c10::BFloat16
  operator float() const { return bfloat16::operator float(); }  // NOLINT(google-explicit-constructor)
};

/// OCP FP8 E4M3 (largest number 448, no infinity); converts from and to float without a cast (to nearest, ties to even;
/// saturates, where PyTorch gives NaN).
struct Float8_e4m3fn : float8_e4m3 {
  Float8_e4m3fn() = default;
  Float8_e4m3fn(float value) : float8_e4m3(value) {}                // NOLINT(google-explicit-constructor): as c10's
  operator float() const { return float8_e4m3::operator float(); }  // NOLINT(google-explicit-constructor)
};

/// OCP FP8 E5M2 (largest number 57344); converts from and to float without a cast (to nearest, ties to even; saturates,
/// where PyTorch gives infinity).
struct Float8_e5m2 : float8_e5m2 {
  Float8_e5m2() = default;
  Float8_e5m2(float value) : float8_e5m2(value) {}                  // NOLINT(google-explicit-constructor): as c10's
  operator float() const { return float8_e5m2::operator float(); }  // NOLINT(google-explicit-constructor)
};

/// The element type that a C++ type is stored as.
template <class T>
constexpr ScalarType scalar_type_of() {
  if constexpr (std::is_same_v<T, bool>)
    return kBool;
  else if constexpr (std::is_base_of_v<half, T>)
    return kHalf;
  else if constexpr (std::is_base_of_v<bfloat16, T>)
    return kBFloat16;
  else if constexpr (std::is_same_v<T, float>)
    return kFloat;
  else if constexpr (std::is_same_v<T, double>)
    return kDouble;
  else if constexpr (std::is_base_of_v<float8_e4m3, T>)
    return kFloat8_e4m3fn;
  else if constexpr (std::is_base_of_v<float8_e5m2, T>)
    return kFloat8_e5m2;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
    return std::is_signed_v<T> ? kChar : kByte;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return kInt;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) == 8, "no tensor element type for this C++ type");
    return kLong;
  }
}

/// One number of any element type. Integers keep 64 bits, floating-point values are held as double.
class Scalar {
 public:
  Scalar() : Scalar(0) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T value)  // NOLINT(google-explicit-constructor): numbers are scalars
      : kind_(std::is_same_v<T, bool> ? Kind::boolean
              : std::is_integral_v<T> ? Kind::integer
                                      : Kind::floating) {
    if constexpr (std::is_floating_point_v<T>)
      floating_ = static_cast<double>(value);
    else
      integer_ = static_cast<std::int64_t>(value);
  }
  Scalar(Half value) : Scalar(static_cast<float>(value)) {}           // NOLINT(google-explicit-constructor)
  Scalar(BFloat16 value) : Scalar(static_cast<float>(value)) {}       // NOLINT(google-explicit-constructor)
  Scalar(Float8_e4m3fn value) : Scalar(static_cast<float>(value)) {}  // NOLINT(google-explicit-constructor)
  Scalar(Float8_e5m2 value) : Scalar(static_cast<float>(value)) {}    // NOLINT(google-explicit-constructor)

  bool isBoolean() const { return kind_ == Kind::boolean; }
  bool isIntegral(bool include_bool) const { return kind_ == Kind::integer || (include_bool && isBoolean()); }
  bool isFloatingPoint() const { return kind_ == Kind::floating; }
  /// Bool, Long or Double.
  ScalarType type() const { return isBoolean() ? kBool : isFloatingPoint() ? kDouble : kLong; }

  /// The value as T. A value that T cannot hold is a ValueError ("value cannot be converted to type …").
  template <class T>
  T to() const {
    constexpr ScalarType kType = scalar_type_of<T>();
    if constexpr (kType == kBool)
      return toBool();
    else if constexpr (kType == kByte)
      return static_cast<T>(toByte());
    else if constexpr (kType == kChar)
      return static_cast<T>(toChar());
    else if constexpr (kType == kInt)
      return static_cast<T>(toInt());
    else if constexpr (kType == kLong)
      return static_cast<T>(toLong());
    else if constexpr (kType == kHalf)
      return toHalf();
    else if constexpr (kType == kBFloat16)
      return toBFloat16();
    else if constexpr (kType == kFloat8_e4m3fn)
      return toFloat8_e4m3fn();
    else if constexpr (kType == kFloat8_e5m2)
      return toFloat8_e5m2();
    else if constexpr (kType == kFloat)
      return toFloat();
    else
      return toDouble();
  }
  bool toBool() const { return isFloatingPoint() ? floating_ != 0 : integer_ != 0; }
  /// Negative integers down to -255 wrap, as in PyTorch.
  std::uint8_t toByte() const;
  std::int8_t toChar() const;
  std::int32_t toInt() const;
  std::int64_t toLong() const;
  Half toHalf() const;
  BFloat16 toBFloat16() const;
  Float8_e4m3fn toFloat8_e4m3fn() const;
  Float8_e5m2 toFloat8_e5m2() const;
  float toFloat() const;
  double toDouble() const { return isFloatingPoint() ? floating_ : static_cast<double>(integer_); }

 private:
  enum class Kind : std::uint8_t { boolean, integer, floating };
  double floating_ = 0;
  std::int64_t integer_ = 0;
  Kind kind_;
};

/// A view of extents, strides or indices; valid as long as what it was made from.
class IntArrayRef {
 public:
  IntArrayRef() = default;
  IntArrayRef(const std::int64_t* data, std::size_t size) : data_(data), size_(size) {}
  IntArrayRef(std::initializer_list<std::int64_t> values) : size_(values.size()) { data_ = values.begin(); }
  IntArrayRef(const std::vector<std::int64_t>& values) : data_(values.data()), size_(values.size()) {}  // NOLINT
  template <std::size_t N>
  IntArrayRef(const std::array<std::int64_t, N>& values) : data_(values.data()), size_(N) {}  // NOLINT
  IntArrayRef(const std::int64_t& value) : data_(&value), size_(1) {}                         // NOLINT

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::int64_t* data() const { return data_; }
  const std::int64_t* begin() const { return data_; }
  const std::int64_t* end() const { return data_ + size_; }
  const std::int64_t& operator[](std::size_t index) const { return data_[index]; }
  const std::int64_t& front() const { return data_[0]; }
  const std::int64_t& back() const { return data_[size_ - 1]; }
  std::vector<std::int64_t> vec() const;
  bool equals(IntArrayRef other) const;
  friend bool operator==(IntArrayRef a, IntArrayRef b) { return a.equals(b); }

 private:
  const std::int64_t* data_ = nullptr;
  std::size_t size_ = 0;
};
/// "[2, 3]"
std::ostream& operator<<(std::ostream& out, IntArrayRef values);

/// A dimension or several, or none named: `x.sum(0)`, `x.sum({0, 1})`, `x.sum()`.
class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(std::nullopt_t) {}                                                              // NOLINT
  OptionalIntArrayRef(const std::int64_t& value) : values_(value), given_(true) {}                    // NOLINT
  OptionalIntArrayRef(IntArrayRef values) : values_(values), given_(true) {}                          // NOLINT
  OptionalIntArrayRef(std::initializer_list<std::int64_t> values) : values_(values), given_(true) {}  // NOLINT
  OptionalIntArrayRef(const std::vector<std::int64_t>& values) : values_(values), given_(true) {}     // NOLINT
  bool has_value() const { return given_; }
  const IntArrayRef& value() const { return values_; }

 private:
  IntArrayRef values_;
  bool given_ = false;
};

enum class DeviceType : std::int8_t { CPU, AHBM };
inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kAHBM = DeviceType::AHBM;
std::ostream& operator<<(std::ostream& out, DeviceType type);

/// "cpu", "ahbm" (the fiber's current device) or "ahbm:1".
class Device {
 public:
  Device(DeviceType type, int index = -1) : type_(type), index_(index) {}  // NOLINT(google-explicit-constructor)
  Device(const std::string& text);                                         // NOLINT(google-explicit-constructor)
  Device(const char* text) : Device(std::string(text)) {}                  // NOLINT(google-explicit-constructor)
  DeviceType type() const { return type_; }
  /// -1: none given.
  int index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  bool is_cpu() const { return type_ == DeviceType::CPU; }
  bool is_ahbm() const { return type_ == DeviceType::AHBM; }
  std::string str() const;
  bool operator==(const Device&) const = default;

 private:
  DeviceType type_;
  int index_;
};
std::ostream& operator<<(std::ostream& out, Device device);

/// What a factory makes: element type, device, and (for a device tensor) its placement.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : dtype_(type) {}   // NOLINT(google-explicit-constructor)
  TensorOptions(Device device) : device_(device) {}  // NOLINT(google-explicit-constructor)
  TensorOptions(DeviceType type) : device_(type) {}  // NOLINT(google-explicit-constructor)
  /// A device's text. (A template, so that the literal 0 is no null text.)
  template <class Text>
    requires std::is_convertible_v<Text, std::string> && (!std::is_same_v<Text, std::nullptr_t>)
  TensorOptions(const Text& device) : device_(std::string(device)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] TensorOptions dtype(ScalarType type) const;
  [[nodiscard]] TensorOptions device(Device device) const;
  [[nodiscard]] TensorOptions device(DeviceType type, int index) const { return device(Device(type, index)); }
  /// Accepted when false: KernBench has no autograd.
  [[nodiscard]] TensorOptions requires_grad(bool value) const;
  /// How the tensor is cut over the device's cubes and PEs (KernBench only).
  [[nodiscard]] TensorOptions placement(const DPPolicy& policy) const;
  /// The tensor's name in errors and reports (KernBench only).
  [[nodiscard]] TensorOptions name(std::string text) const;

  ScalarType dtype() const { return dtype_.value_or(kFloat); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  const std::optional<ScalarType>& dtype_opt() const { return dtype_; }
  const std::optional<Device>& device_opt() const { return device_; }
  const std::optional<DPPolicy>& placement_opt() const { return placement_; }
  const std::string& name_or_empty() const { return name_; }

 private:
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  std::optional<DPPolicy> placement_;
  std::string name_;
};

inline TensorOptions dtype(ScalarType type) {
  return TensorOptions().dtype(type);
}
inline TensorOptions device(Device where) {
  return TensorOptions().device(where);
}
inline TensorOptions requires_grad(bool value = true) {
  return TensorOptions().requires_grad(value);
}
inline TensorOptions placement(const DPPolicy& policy) {
  return TensorOptions().placement(policy);
}

}  // namespace kernbench::torch
