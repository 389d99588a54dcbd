// Element types of tensors and tiles.
#pragma once

#include <cstdint>

namespace kernbench {

/// Element type. By kind (bool < integer < float), then by width; what two types promote to is in numerics/scalar.h.
/// f8e4m3 and f8e5m2 are the OCP 8-bit formats (kernbench/float8.h). f64 exists on the host only (references, PyTorch's
/// defaults): devices reject it.
enum class DType : std::uint8_t { boolean, u8, i8, i32, i64, f8e4m3, f8e5m2, f16, bf16, f32, f64 };

/// Size of one element in bytes.
constexpr std::int64_t item_size(DType type) {
  switch (type) {
    case DType::boolean:
    case DType::u8:
    case DType::i8:
    case DType::f8e4m3:
    case DType::f8e5m2:
      return 1;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::i32:
    case DType::f32:
      return 4;
    case DType::i64:
    case DType::f64:
      return 8;
  }
  return 0;
}

constexpr bool is_floating_point(DType type) {
  return type >= DType::f8e4m3;
}
/// u8, i8, i32, i64; not bool.
constexpr bool is_integer(DType type) {
  return type >= DType::u8 && type <= DType::i64;
}
/// Whether the type has negative values.
constexpr bool is_signed(DType type) {
  return type > DType::u8;
}
constexpr bool is_float8(DType type) {
  return type == DType::f8e4m3 || type == DType::f8e5m2;
}
/// Whether tensors of the type can lie on a device: all but f64.
constexpr bool device_supports(DType type) {
  return type != DType::f64;
}

/// "f16": the name in kernels, reports and the command line.
constexpr const char* name(DType type) {
  switch (type) {
    case DType::boolean:
      return "bool";
    case DType::u8:
      return "u8";
    case DType::i8:
      return "i8";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::f8e4m3:
      return "f8e4m3";
    case DType::f8e5m2:
      return "f8e5m2";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
  }
  return "?";
}

}  // namespace kernbench
