// Conversion of arrays between element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernbench/dtype.h"
#include "kernbench/float8.h"
#include "kernbench/half.h"
#include "numerics/scalar.h"

namespace kernbench::numerics {

/// Converts `count` elements; widths as the types say, no overlap. Rules as in numerics/operations.h: narrower floats
/// round once, to nearest with ties to even (or toward zero); 8-bit floats saturate; floats to integers truncate,
/// saturate, NaN is 0; integers wrap; boolean is x != 0.
void convert(DType to, std::byte* out, DType from, const std::byte* in, std::int64_t count,
             RoundingMode mode = RoundingMode::nearest);

/// The conversions of narrow floats, with F16C when the processor has it (the same bits either way).
void to_float(float* out, const half* in, std::int64_t count);
void to_float(float* out, const bfloat16* in, std::int64_t count);
void to_float(float* out, const float8_e4m3* in, std::int64_t count);
void to_float(float* out, const float8_e5m2* in, std::int64_t count);
void from_float(half* out, const float* in, std::int64_t count);
void from_float(bfloat16* out, const float* in, std::int64_t count);
void from_float(float8_e4m3* out, const float* in, std::int64_t count);
void from_float(float8_e5m2* out, const float* in, std::int64_t count);

/// Toward zero, saturating; NaN is 0.
std::int64_t saturate_to_integer(double value);

/// Uses the portable 16-bit conversions even where F16C exists (for tests), or F16C again. Returns the old setting.
bool force_portable_conversion(bool portable);

/// One element of an array of `dtype`, and back.
Scalar load_element(DType dtype, const std::byte* element);
void store_element(DType dtype, std::byte* element, Scalar value);

}  // namespace kernbench::numerics
