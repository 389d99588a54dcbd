// Element types of tensors and tiles.
#pragma once

#include <cstdint>

namespace kernbench {

/// Element type. The order is that of Triton's promotion: kind first (bool < integer < float), then width.
enum class DType : std::uint8_t { boolean, i32, f16, bf16, f32, i64, f64 };
// f64 and i64 exist on the host only (references, shapes, PyTorch's defaults); devices reject them.

/// Size of one element in bytes.
constexpr std::int64_t item_size(DType type) {
  switch (type) {
    case DType::boolean:
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
  return type == DType::f16 || type == DType::bf16 || type == DType::f32 || type == DType::f64;
}

/// "f16": the name in kernels, reports and the command line.
constexpr const char* name(DType type) {
  switch (type) {
    case DType::boolean:
      return "bool";
    case DType::i32:
      return "i32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f32:
      return "f32";
    case DType::i64:
      return "i64";
    case DType::f64:
      return "f64";
  }
  return "?";
}

}  // namespace kernbench
