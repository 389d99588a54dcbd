// Arithmetic of the tile language: elementwise operations and reductions (vector engine), dot (GEMM engine).
// Shapes broadcast as numpy's do; element types promote by Triton's rules. docs/tile-language.md has the whole table.
#pragma once

#include <cstdint>
#include <optional>

#include "kernbench/tl/fold.h"
#include "kernbench/tl/types.h"

namespace kernbench::tl {

// ---- making tiles ----------------------------------------------------------------------------------------------

/// start, start + 1, …, end - 1 as i32 of shape {end - start}; the length must be positive.
Tile arange(std::int64_t start, std::int64_t end, Where where = Where::current());
/// A tile of one value, converted as by cast. Extents must be positive; an integer must fit an integer type.
Tile full(Extents shape, Scalar value, DType dtype, Where where = Where::current());
Tile zeros(Extents shape, DType dtype, Where where = Where::current());
Tile zeros_like(const Tile& other, Where where = Where::current());

// ---- operators -------------------------------------------------------------------------------------------------

Tile operator+(const Operand& a, const Operand& b);
Tile operator-(const Operand& a, const Operand& b);
Tile operator*(const Operand& a, const Operand& b);
/// True division; integers promote to f32.
Tile operator/(const Operand& a, const Operand& b);
/// Remainder with the sign of the dividend, as in C; floats promote to f32. A zero integer divisor makes the lane
/// invalid.
Tile operator%(const Operand& a, const Operand& b);
/// Integer division toward zero (Triton's `//` on tiles). A zero divisor makes the lane invalid. Integers only.
Tile idiv(const Operand& a, const Operand& b);
Tile operator-(const Operand& a);
/// Bits of integers and booleans. `>>` is arithmetic for signed types; a shift by a negative count, or by the width or
/// more, makes the lane invalid.
Tile operator&(const Operand& a, const Operand& b);
Tile operator|(const Operand& a, const Operand& b);
Tile operator^(const Operand& a, const Operand& b);
Tile operator<<(const Operand& a, const Operand& b);
Tile operator>>(const Operand& a, const Operand& b);
Tile operator~(const Operand& a);
/// x == 0, as bool.
Tile operator!(const Operand& a);
/// Comparisons yield bool. A scalar counts as a tile of bool, i32 (i64 when it does not fit) or f32: `f16_tile == 0.1f`
/// compares in f32, and every integer may be compared with every other one.
Tile operator<(const Operand& a, const Operand& b);
Tile operator<=(const Operand& a, const Operand& b);
Tile operator>(const Operand& a, const Operand& b);
Tile operator>=(const Operand& a, const Operand& b);
Tile operator==(const Operand& a, const Operand& b);
Tile operator!=(const Operand& a, const Operand& b);

// ---- elementwise functions -------------------------------------------------------------------------------------

/// What minimum and maximum yield when one operand is NaN: the other one, or NaN.
enum class PropagateNan : std::uint8_t { none, all };
Tile maximum(const Operand& a, const Operand& b, PropagateNan propagate_nan = PropagateNan::none);
Tile minimum(const Operand& a, const Operand& b, PropagateNan propagate_nan = PropagateNan::none);
/// min(max(x, low), high); NaN stays NaN. Where low > high: high.
Tile clamp(const Operand& x, const Operand& low, const Operand& high, Where where = Where::current());
/// `condition` ? a : b; the condition is cast to bool. The lane that is not taken may be invalid.
Tile where(const Operand& condition, const Operand& a, const Operand& b, Where where = Where::current());
/// x * y + z, fused in f32 (one rounding), then rounded to the operands' type; floats only.
Tile fma(const Operand& x, const Operand& y, const Operand& z, Where where = Where::current());
/// IEEE division of floats, in f32 at least for 16-bit operands, and rounded to their type.
Tile fdiv(const Operand& a, const Operand& b, Where where = Where::current());
Tile abs(const Tile& x, Where where = Where::current());
/// a to the power of b, computed in f32 and rounded once, with the special cases of C's pow; floats only.
Tile pow(const Operand& a, const Operand& b, Where where = Where::current());
// Each row of elementwise/unary.def: exp, log, sqrt, sin, tanh, erf, sigmoid, …; floor, ceil, round, trunc.
// Accuracy: docs/model-numerics.md.
#define KERNBENCH_FUNCTION(operation, name, ...) Tile name(const Tile& x, Where where = Where::current());
#include "kernbench/elementwise/unary.def"

/// How a conversion to a narrower float rounds: to nearest with ties to even, or toward zero.
enum class Rounding : std::uint8_t { rtne, rtz };
/// Converts the element type.
Tile cast(const Tile& x, DType dtype, Rounding rounding = Rounding::rtne, Where where = Where::current());
/// The same bits as another type of the same width, but not bool. Moves nothing.
Tile bitcast(const Tile& x, DType dtype, Where where = Where::current());

// ---- reductions ------------------------------------------------------------------------------------------------

/// Over one axis, or over all lanes when `axis` is absent (a tile of shape {}).
/// The order of the sum is documented in docs/model-numerics.md. Sums of bool, i8 and u8 are i32.
Tile sum(const Tile& x, std::optional<int> axis = std::nullopt, bool keep_dims = false, Where where = Where::current());
/// NaN lanes are ignored unless all are NaN.
Tile max(const Tile& x, std::optional<int> axis = std::nullopt, bool keep_dims = false, Where where = Where::current());
Tile min(const Tile& x, std::optional<int> axis = std::nullopt, bool keep_dims = false, Where where = Where::current());
/// Index of the largest or smallest lane along the axis (in the flattened tile when absent), as i32; of equal ones the
/// leftmost.
Tile argmax(const Tile& x, std::optional<int> axis = std::nullopt, bool keep_dims = false,
            Where where = Where::current());
Tile argmin(const Tile& x, std::optional<int> axis = std::nullopt, bool keep_dims = false,
            Where where = Where::current());
/// Running sums along the axis, one lane after the other; from the end when `reverse`.
Tile cumsum(const Tile& x, int axis = 0, bool reverse = false, Where where = Where::current());
/// Likewise running products.
Tile cumprod(const Tile& x, int axis = 0, bool reverse = false, Where where = Where::current());

// ---- matrix multiply (GEMM engine) -----------------------------------------------------------------------------

/// a [m,k] times b [k,n], or batched [g,m,k] times [g,k,n], plus `accumulator` when given. Operands of one type; f8
/// types may differ. Products of floats are exact and accumulated in f32 in the order of k, one fused multiply-add
/// each, starting from the accumulator; the result has `out_dtype` (f32 by default). i8, u8 and i32 operands
/// accumulate in i32. Values do not depend on `fold`.
Tile dot(const Tile& a, const Tile& b, const Tile& accumulator = {}, std::optional<DType> out_dtype = std::nullopt,
         Fold fold = {}, Where where = Where::current());

}  // namespace kernbench::tl
