// Operations on values. Each submits a task and returns at once; shapes and element types are checked by the caller.
//
// Numerics. The caller chooses the element type of the result. Arithmetic is done in the operation's computation type
// and converted to the result type once:
//   - f64 when an operand or the result is f64 (or an i64 meets a float);
//   - else f32 when an operand or the result is a float (so f16 and bf16 compute in f32 and round once);
//   - else 64-bit integers that wrap, so that i32 results wrap modulo 2^32.
// Scalars are rounded to the computation type. Conversion of a float to an integer truncates toward zero, saturates,
// and gives 0 for NaN; to boolean it is x != 0. A NaN that arithmetic yields is always the positive quiet NaN without
// payload. All results but those of f64 exp, log and tanh (which are the C library's) are the same bits on every x86-64
// machine, compiler, instruction set and thread count.
//
// Validity. A lane of a result is invalid when any lane that it depends on is invalid. Invalid lanes still have
// (reproducible) bits.
#pragma once

#include <optional>
#include <span>

#include "data/value.h"

namespace kernbench::data {

enum class BinaryOperation : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,   // true division: the computation type is at least f32
  minimum,  // the other operand when one is NaN; -0 < +0
  maximum,
  equal,  // comparisons are made in the computation type of their operands; a comparison with NaN is false but for !=
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,  // of x != 0
  logical_or,
};
constexpr bool is_comparison(BinaryOperation operation) {
  return operation >= BinaryOperation::equal && operation <= BinaryOperation::greater_equal;
}
constexpr bool is_logical(BinaryOperation operation) {
  return operation >= BinaryOperation::logical_and;
}

enum class UnaryOperation : std::uint8_t {
  negate,
  absolute,
  exponential,  // this and the next two: within 0.501 ulp in f32
  logarithm,
  hyperbolic_tangent,
  square_root,
  reciprocal_square_root,  // 1 / sqrt(x), two roundings
  floor,
  ceil,
  logical_not,
};

enum class ReduceOperation : std::uint8_t { sum, maximum, minimum };

/// A tile of one value / of start, start + 1, …, end - 1 (shape {end - start}).
Value full(Executor& executor, const Shape& shape, DType dtype, Scalar value);
Value arange(Executor& executor, std::int64_t start, std::int64_t end, DType dtype);

/// Element by element with numpy broadcasting. Comparisons and logical operations yield `result` = boolean as a rule.
/// REQUIRES: broadcast_shapes(a.shape(), b.shape()).
Value binary(Executor& executor, BinaryOperation operation, const Value& a, const Value& b, DType result);
Value binary(Executor& executor, BinaryOperation operation, const Value& a, Scalar b, DType result);
Value binary(Executor& executor, BinaryOperation operation, Scalar a, const Value& b, DType result);
Value unary(Executor& executor, UnaryOperation operation, const Value& x, DType result);
/// `condition` ? a : b, lane by lane, all three broadcast. A lane depends on the operand that it takes, not on the
/// other.
Value where(Executor& executor, const Value& condition, const Value& a, const Value& b, DType result);
/// Converts the element type; narrower floats round to nearest, ties to even, overflow to infinity.
/// The same value when the type is the same already.
Value cast(Executor& executor, const Value& x, DType dtype);

/// Matrix product: a [m,k] x b [k,n], or batched [g,m,k] x [g,k,n]; plus `accumulator` (shape of the result) if given.
/// Floats: every output is one chain of f32 fused multiply-adds over k in order, from the accumulator (as f32) or +0,
/// rounded once to `result`. f64: multiply, then add, in double. Integers accumulate in the operands' type and wrap.
/// Large products are split over the executor's threads without a change of bits.
/// REQUIRES: a and b of one element type, not boolean.
Value dot(Executor& executor, const Value& a, const Value& b, const Value& accumulator, DType result);

/// Reduces `axis`, or all lanes when absent (shape {}); with keep_dims reduced extents stay as 1.
/// sum: in the computation type, by a fixed pairwise tree over the lanes in order: blocks of 8 consecutive lanes are
/// added from left to right, starting from the first lane, then neighbouring partial sums are added in pairs, an odd
/// one moving up unchanged, until one is left. No lanes: 0.
/// maximum, minimum: NaN lanes are ignored unless all are NaN. No lanes: the computation type's lowest (maximum) or
/// highest (minimum) value, -inf or inf for floats. axis counts from 0 and must be < rank.
Value reduce(Executor& executor, ReduceOperation operation, const Value& x, std::optional<int> axis, bool keep_dims,
             DType result);

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

}  // namespace kernbench::data
