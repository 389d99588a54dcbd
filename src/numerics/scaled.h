// Elements of narrow formats with a scale for each block of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "numerics/value.h"

namespace kernbench::numerics {

/// The formats of the operands of a scaled product, by Triton's names.
enum class ScaledFormat : std::uint8_t { e2m1, e4m3, e5m2, bf16, fp16 };
/// None for another name.
std::optional<ScaledFormat> scaled_format(std::string_view name);
/// Of a tensor of such elements; two of e2m1 lie in a u8.
constexpr DType element_type(ScaledFormat format) {
  constexpr DType kTypes[]{DType::u8, DType::f8e4m3, DType::f8e5m2, DType::bf16, DType::f16};
  return kTypes[static_cast<int>(format)];
}
/// The largest exponent of the elements of an MX format; none of bf16 and fp16, which are no such formats.
constexpr std::optional<int> largest_exponent(ScaledFormat format) {
  constexpr int kExponents[]{2, 8, 15};
  if (format > ScaledFormat::e5m2) return {};
  return kExponents[static_cast<int>(format)];
}

/// One operand of a product: [rows, k] or [k, rows], or a batch of these.
struct ScaledOperand {
  ScaledFormat format = ScaledFormat::e4m3;
  bool rows_first = true;                // [rows, k]
  std::optional<bool> packed_along_k{};  // of e2m1: two elements in a byte, along k or along the rows

  /// REQUIRES: packed.
  bool packed_along_columns() const { return *packed_along_k == rows_first; }
};

/// The operand's elements as f32 of its whole shape, each multiplied with its scale, which is exact unless it leaves
/// f32's range. `scales` is [rows, k / block], or a batch of these: u8 (E8M0, blocks of 32 along k), or f8e4m3 (blocks
/// of 16); undefined: 1. An element depends on its own and on the scale.
/// REQUIRES: `x` has the type of the format, or is u8 with the bits of an 8-bit format; shapes fit together.
Value scaled_elements(Executor& executor, const Value& x, const Value& scales, const ScaledOperand& operand);

/// Elements that share a scale of this type.
constexpr std::int64_t scale_block(DType scales) {
  return scales == DType::u8 ? 32 : 16;
}

}  // namespace kernbench::numerics
