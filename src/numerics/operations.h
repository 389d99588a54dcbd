// Operations on values. Each submits a task and returns at once; shapes and element types are checked by the caller.
//
// Numerics (docs/model-numerics.md). The caller chooses the element type of the result. The operands of an arithmetic
// operation are first converted to their common type (numerics/scalar.h: promote; true division and the remainder of
// floats: division_type), then the operation is done in its computation type, and converted to the result type once:
//   - f64 when the common type or the result is f64;
//   - else f32 when one of these is a float (so f8, f16 and bf16 compute in f32 and round once);
//   - else 64-bit integers that wrap, so that narrower results are right modulo 2^n.
// Conversion of a float to an integer truncates toward zero, saturates, and gives 0 for NaN; to boolean it is x != 0;
// to an 8-bit float it saturates. A NaN that arithmetic yields is always the positive quiet NaN without payload. All
// results but those of the f64 functions (which are the C library's) are the same bits on every x86-64 machine,
// compiler, instruction set and thread count.
//
// Validity. A lane of a result is invalid when any lane that it depends on is invalid. Invalid lanes still have
// (reproducible) bits, and a source (numerics/memory/source.h): that of the first invalid lane that they depend on,
// else the operation's own.
#pragma once

#include <optional>
#include <span>
#include <type_traits>

#include "kernbench/rounding.h"
#include "numerics/operation.h"
#include "numerics/value.h"

namespace kernbench::numerics {

/// An operand: a tile, or a scalar that stands for a tile of that one value.
class Argument {
 public:
  Argument(Value value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): either is an operand
  Argument(Scalar scalar) : scalar_(scalar) {}         // NOLINT(google-explicit-constructor)
  template <class T>
    requires std::is_arithmetic_v<T>
  Argument(T number) : scalar_(number) {}  // NOLINT(google-explicit-constructor)

  bool is_scalar() const { return !value_.defined(); }
  /// REQUIRES: !is_scalar().
  const Value& value() const { return value_; }
  /// REQUIRES: is_scalar().
  Scalar scalar() const { return scalar_; }
  /// {} for a scalar.
  Shape shape() const { return is_scalar() ? Shape{} : value_.shape(); }

 private:
  Value value_;
  Scalar scalar_;
};

/// What a scalar operand is rounded to: the operands' common element type, as in Triton's arithmetic (`f16_tile + 0.1f`
/// adds f16(0.1)); just the type that the operation computes in, as PyTorch does; or the type in which a tile of the
/// scalar meets the other operand, as in Triton's comparisons (`f16_tile == 0.1f` compares with f32(0.1)).
enum class ScalarRule : std::uint8_t { element, computation, tile };

/// A tile of one value / of start, start + 1, …, end - 1 (shape {end - start}).
Value full(Executor& executor, const Shape& shape, DType dtype, Scalar value);
Value arange(Executor& executor, std::int64_t start, std::int64_t end, DType dtype);

/// Element by element with numpy broadcasting. Comparisons and logical operations yield `result` = boolean as a rule.
/// REQUIRES: a tile among the operands; their shapes broadcast; integers for operations on bits.
Value binary(Executor& executor, BinaryOperation operation, const Argument& a, const Argument& b, DType result,
             ScalarRule rule = ScalarRule::element);
Value unary(Executor& executor, UnaryOperation operation, const Value& x, DType result);
/// a * b + c: floats with one rounding in the computation type (an f32 fused multiply-add for f8, f16, bf16 and f32),
/// then one to `result`; integers wrap. REQUIRES: as for binary.
Value fma(Executor& executor, const Argument& a, const Argument& b, const Argument& c, DType result,
          ScalarRule rule = ScalarRule::element);
/// min(max(x, low), high): NaN stays NaN, a bound that is NaN makes NaN; where low > high it is high. REQUIRES: as for
/// binary.
Value clamp(Executor& executor, const Argument& x, const Argument& low, const Argument& high, DType result,
            ScalarRule rule = ScalarRule::element);
/// `condition` ? a : b, lane by lane, all three broadcast; a and b are converted to `result`. A lane depends on the
/// operand that it takes, not on the other. REQUIRES: a tile among the operands.
Value where(Executor& executor, const Argument& condition, const Argument& a, const Argument& b, DType result);
/// Converts the element type; narrower floats round to nearest with ties to even and overflow to infinity (f8: to the
/// largest number), or round toward zero. The same value when the type is the same already.
Value cast(Executor& executor, const Value& x, DType dtype, RoundingMode rounding = RoundingMode::nearest);
/// The same bits as another type; computes nothing. REQUIRES: equal item_size. A boolean of bits other than 0 and 1 is
/// true.
Value bitcast(Executor& executor, const Value& x, DType dtype);
/// `x` with the lanes invalid where `mask` (cast to boolean, broadcast to x's shape) is false or invalid itself.
Value mask_lanes(Executor& executor, const Value& x, const Value& mask);

/// Matrix product: a [m,k] x b [k,n], or batched [g,m,k] x [g,k,n]; plus `accumulator` (shape of the result) if given.
/// Floats: every output is one chain of f32 fused multiply-adds over k in order, from the accumulator (as f32) or +0,
/// rounded once to `result`. f64: multiply, then add, in double. i8, u8 (mixed too) and i32 accumulate in i32, i64 in
/// i64; integers wrap. Large products are split over the executor's threads without a change of bits.
/// REQUIRES: a and b of one element type, or of two 8-bit floats or two 8-bit integers; not boolean.
Value dot(Executor& executor, const Value& a, const Value& b, const Value& accumulator, DType result);

/// Reduces `axis`, or all lanes when absent (shape {}; indices count in row-major order); with keep_dims reduced
/// extents stay as 1.
/// sum, product: in the computation type of operand and result, by a fixed pairwise tree over the lanes in order:
/// blocks of 8 consecutive lanes are added from left to right, starting from the first lane, then neighbouring partial
/// sums are added in pairs, an odd one moving up unchanged, until one is left. No lanes: 0 (product: 1).
/// maximum, minimum: no lanes: the computation type's lowest (maximum) or highest (minimum) value, -inf or inf for
/// floats. logical_and: no lanes: true. argmax, argmin: `result` is i32 or i64; no lanes: 0, invalid.
/// axis counts from 0 and must be < rank.
Value reduce(Executor& executor, ReduceOperation operation, const Value& x, std::optional<int> axis, bool keep_dims,
             DType result);
/// Running sums along the axis, from its first lane (its last, when `reverse`), one lane after the other in the
/// computation type; each lane is rounded once to `result`. A lane depends on all lanes before it.
Value cumsum(Executor& executor, const Value& x, int axis, bool reverse, DType result);
/// Likewise running products.
Value cumprod(Executor& executor, const Value& x, int axis, bool reverse, DType result);
/// The first `kept` lanes of each line along the axis in ascending or descending order; NaN counts as the largest, and
/// equal lanes keep their order. Each depends on all of its line. REQUIRES: not f64.
Value sort(Executor& executor, const Value& x, int axis, bool descending, std::int64_t kept);
/// How many lanes of `x`, where `mask` (if defined) is true, have each of the numbers 0 … bins - 1: i32 of shape
/// {bins}. Every count depends on all lanes that are counted; all are invalid when one of these has another number.
/// REQUIRES: integers; a mask is boolean and of x's shape.
Value histogram(Executor& executor, const Value& x, const Value& mask, std::int64_t bins);
/// Random bits: the first `outputs` of the four words of Philox4x32 with the key `seed` and the counter `offset` (of
/// more than 32 bits in its two lower words), as i32 of shape {lanes, outputs}. REQUIRES: integers.
Value philox(Executor& executor, std::uint64_t seed, const Value& offset, int outputs, int rounds);

/// Result dimension i is dimension order[i] of `x`.
Value permute(Executor& executor, const Value& x, std::span<const int> order);
/// Swaps the last two dimensions.
Value transpose(Executor& executor, const Value& x);
/// The same elements in another shape. REQUIRES: equal numel.
Value reshape(Executor& executor, const Value& x, const Shape& shape);
/// Inserts an extent of 1 before dimension `axis` (0 … rank).
Value expand_dims(Executor& executor, const Value& x, int axis);
/// REQUIRES: broadcast_shapes(x.shape(), shape) == shape.
Value broadcast_to(Executor& executor, const Value& x, const Shape& shape);
/// One after the other along `axis`. REQUIRES: at least one value; one element type; shapes equal but for the axis.
Value cat(Executor& executor, std::span<const Value> values, int axis);
/// The lanes start, start + step, … (`length` of them) along `axis`. step >= 1.
Value narrow(Executor& executor, const Value& x, int axis, std::int64_t start, std::int64_t length,
             std::int64_t step = 1);

/// In reverse order along `axis`.
Value flip(Executor& executor, const Value& x, int axis);
/// The lanes whose places along `axis` the integers of `index` say, of its shape: that of x but for the axis. A place
/// outside of x makes the lane invalid.
Value take_along(Executor& executor, const Value& x, const Value& index, int axis);

}  // namespace kernbench::numerics
