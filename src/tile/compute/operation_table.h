// The arithmetic and the changes of shape of the tile language: for each operation its name, which element types it
// takes, what type it yields, and what it costs. The functions of one operand are those rows of
// numerics/elementwise_table.h that have a call. The operations are made from this table, and so is the one in
// docs/tile-language.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "numerics/operation.h"
#include "topology/engine_operations.h"

namespace kernbench::tile {

/// Which element types an operation takes; of several operands, the type to which they promote.
enum class Accepts : std::uint8_t { any, integers, bits, floats };

/// The element type of the result.
enum class ResultType : std::uint8_t {
  promoted,   // what the operands promote to
  quotient,   // f32
  remainder,  // f32 for floats, else what the operands promote to
  boolean,
  same,      // the operand's
  floating,  // the operand's when it is a float, else f32
  sum,       // the operand's; i32 for bool, i8 and u8
  index,     // i32
  named,     // given in the call
  product,   // of dot: out_dtype, by default f32, or i32 for integers
};

/// How the shape of the result follows from those of the operands.
enum class ResultShape : std::uint8_t { broadcast, same, given, reduced, product, changed };

/// What runs it.
enum class Runs : std::uint8_t { vector, gemm, nowhere };

struct OperationInfo {
  const char* kind;       // in reports and errors: "add"
  std::string_view call;  // as a kernel writes it
  Runs runs;
  topology::VectorOperation cost;  // of vector commands
  Accepts accepts;
  ResultShape shape;
  ResultType type;
  std::string_view values;  // rounding and special cases
};

namespace operations {

using topology::VectorOperation;

inline constexpr std::string_view kOnce = "computed in f32, rounded once; integers wrap";

constexpr OperationInfo elementwise(const char* kind, std::string_view call, VectorOperation cost, Accepts accepts,
                                    ResultType type, std::string_view values) {
  return {kind, call, Runs::vector, cost, accepts, ResultShape::broadcast, type, values};
}
constexpr OperationInfo unary(const char* kind, std::string_view call, VectorOperation cost, Accepts accepts,
                              ResultType type, std::string_view values) {
  return {kind, call, Runs::vector, cost, accepts, ResultShape::same, type, values};
}
constexpr OperationInfo comparison(const char* kind, std::string_view call) {
  return elementwise(kind, call, VectorOperation::compare, Accepts::any, ResultType::boolean,
                     "compared in the promoted type; a scalar counts as a tile; false with NaN");
}
constexpr OperationInfo reduction(const char* kind, std::string_view call, VectorOperation cost, ResultType type,
                                  std::string_view values) {
  return {kind, call, Runs::vector, cost, Accepts::any, ResultShape::reduced, type, values};
}
constexpr OperationInfo changing(const char* kind, std::string_view call, VectorOperation cost, Accepts accepts,
                                 ResultType type, std::string_view values) {
  return {kind, call, Runs::vector, cost, accepts, ResultShape::changed, type, values};
}
constexpr OperationInfo product(const char* kind, std::string_view call, std::string_view values) {
  return {kind,  call, Runs::gemm, VectorOperation::fma, Accepts::any, ResultShape::product, ResultType::product,
          values};
}
constexpr OperationInfo movement(const char* kind, std::string_view call, ResultType type, std::string_view values) {
  return changing(kind, call, VectorOperation::copy, Accepts::any, type, values);
}
constexpr OperationInfo view_of(const char* kind, std::string_view call, ResultType type, std::string_view values) {
  return {kind, call, Runs::nowhere, VectorOperation::copy, Accepts::any, ResultShape::changed, type, values};
}

inline constexpr OperationInfo kArange{
    "arange",     "arange(start, end)", Runs::vector,      VectorOperation::copy,
    Accepts::any, ResultShape::given,   ResultType::index, "start, start + 1, … end - 1"};
inline constexpr OperationInfo kFull{"full",
                                     "full(shape, value, dtype)",
                                     Runs::vector,
                                     VectorOperation::copy,
                                     Accepts::any,
                                     ResultShape::given,
                                     ResultType::named,
                                     "the value converted as by cast; an integer must fit an integer type"};
inline constexpr OperationInfo kZeros{"full",       "zeros(shape, dtype)", Runs::vector,      VectorOperation::copy,
                                      Accepts::any, ResultShape::given,    ResultType::named, "0"};
inline constexpr OperationInfo kZerosLike{"full",       "zeros_like(x)",   Runs::vector,     VectorOperation::copy,
                                          Accepts::any, ResultShape::same, ResultType::same, "0; x is not read"};

inline constexpr auto kAdd =
    elementwise("add", "a + b", VectorOperation::add, Accepts::any, ResultType::promoted, kOnce);
inline constexpr auto kSubtract =
    elementwise("sub", "a - b", VectorOperation::add, Accepts::any, ResultType::promoted, kOnce);
inline constexpr auto kMultiply =
    elementwise("mul", "a * b", VectorOperation::multiply, Accepts::any, ResultType::promoted, kOnce);
inline constexpr auto kDivide = elementwise("div", "a / b", VectorOperation::divide, Accepts::any, ResultType::quotient,
                                            "operands rounded to f32; correctly rounded quotient");
inline constexpr auto kRemainder =
    elementwise("rem", "a % b", VectorOperation::remainder, Accepts::any, ResultType::remainder,
                "sign of the dividend (C's % and fmod), exact; an integer divisor of 0: 0, invalid");
inline constexpr auto kIntegerDivide =
    elementwise("idiv", "idiv(a, b)", VectorOperation::integer_divide, Accepts::integers, ResultType::promoted,
                "toward zero; a divisor of 0: 0, invalid");
inline constexpr auto kNegate =
    unary("neg", "-a", VectorOperation::add, Accepts::any, ResultType::same, "exact; integers wrap");
inline constexpr auto kBitAnd =
    elementwise("and", "a & b", VectorOperation::bitwise, Accepts::bits, ResultType::promoted, "exact");
inline constexpr auto kBitOr =
    elementwise("or", "a \\| b", VectorOperation::bitwise, Accepts::bits, ResultType::promoted, "exact");
inline constexpr auto kBitXor =
    elementwise("xor", "a ^ b", VectorOperation::bitwise, Accepts::bits, ResultType::promoted, "exact");
inline constexpr auto kShiftLeft =
    elementwise("shl", "a << b", VectorOperation::shift, Accepts::integers, ResultType::promoted,
                "a count below 0, or of the width or more: 0, invalid");
inline constexpr auto kShiftRight = elementwise("shr", "a >> b", VectorOperation::shift, Accepts::integers,
                                                ResultType::promoted, "arithmetic for signed types; counts as for <<");
inline constexpr auto kBitNot =
    unary("not", "~a", VectorOperation::bitwise, Accepts::bits, ResultType::same, "exact; of bool its negation");
inline constexpr auto kLogicalNot =
    unary("is_zero", "!a", VectorOperation::compare, Accepts::any, ResultType::boolean, "a == 0; false for NaN");
inline constexpr auto kLess = comparison("lt", "a < b");
inline constexpr auto kLessEqual = comparison("le", "a <= b");
inline constexpr auto kGreater = comparison("gt", "a > b");
inline constexpr auto kGreaterEqual = comparison("ge", "a >= b");
inline constexpr auto kEqual = comparison("eq", "a == b");
inline constexpr auto kNotEqual =
    elementwise("ne", "a != b", VectorOperation::compare, Accepts::any, ResultType::boolean,
                "compared in the promoted type; a scalar counts as a tile; true with NaN");

inline constexpr auto kMaximum =
    elementwise("maximum", "maximum(a, b, propagate_nan)", VectorOperation::minimum, Accepts::any, ResultType::promoted,
                "exact; of NaN and a number the number, or NaN if asked for; -0 < +0");
inline constexpr auto kMinimum = elementwise("minimum", "minimum(a, b, propagate_nan)", VectorOperation::minimum,
                                             Accepts::any, ResultType::promoted, "as maximum");
inline constexpr auto kClamp =
    elementwise("clamp", "clamp(x, low, high)", VectorOperation::clamp, Accepts::any, ResultType::promoted,
                "exact; NaN when one of the three is NaN; high where low > high; -0 equals +0");
inline constexpr auto kWhere =
    elementwise("where", "where(condition, a, b)", VectorOperation::select, Accepts::any, ResultType::promoted,
                "exact; condition is cast to bool, a and b promote; the other side may be invalid");
inline constexpr auto kFma = elementwise("fma", "fma(x, y, z)", VectorOperation::fma, Accepts::floats,
                                         ResultType::promoted, "x * y + z fused in f32, then rounded to the type");
inline constexpr auto kFdiv = elementwise("fdiv", "fdiv(a, b)", VectorOperation::divide, Accepts::floats,
                                          ResultType::promoted, "the quotient in f32, then rounded to the type");
inline constexpr auto kAbs =
    unary("abs", "abs(x)", VectorOperation::add, Accepts::any, ResultType::same, "exact; of the lowest integer itself");
inline constexpr auto kPower = elementwise("pow", "pow(a, b)", VectorOperation::pow, Accepts::floats,
                                           ResultType::promoted, "computed in f32, rounded once; as C's pow");
inline constexpr auto kCast = unary(
    "cast", "cast(x, dtype, rounding)", VectorOperation::cast, Accepts::any, ResultType::named,
    "rtne or rtz, once; float to integer truncates and saturates, NaN 0; f8 saturates; free when the type is x's");
inline constexpr OperationInfo kBitcast{
    "bitcast",    "bitcast(x, dtype)", Runs::nowhere,     VectorOperation::copy,
    Accepts::any, ResultShape::same,   ResultType::named, "the same bits; types of one width, not to bool"};

inline constexpr auto kSum = reduction("sum", "sum(x, axis, keep_dims)", VectorOperation::reduce, ResultType::sum,
                                       "in f32 by a fixed pairwise tree, rounded once; integers wrap");
inline constexpr auto kMax = reduction("max", "max(x, axis, keep_dims)", VectorOperation::reduce, ResultType::same,
                                       "exact; NaN is ignored unless all are");
inline constexpr auto kMin =
    reduction("min", "min(x, axis, keep_dims)", VectorOperation::reduce, ResultType::same, "as max");
inline constexpr auto kArgmax =
    reduction("argmax", "argmax(x, axis, keep_dims)", VectorOperation::argreduce, ResultType::index,
              "of equal ones the leftmost; NaN is ignored unless all are (then 0)");
inline constexpr auto kArgmin =
    reduction("argmin", "argmin(x, axis, keep_dims)", VectorOperation::argreduce, ResultType::index, "as argmax");
inline constexpr auto kCumsum =
    unary("cumsum", "cumsum(x, axis, reverse)", VectorOperation::scan, Accepts::any, ResultType::sum,
          "one lane after the other in f32, each rounded once; integers wrap");

inline constexpr auto kCumprod = unary("cumprod", "cumprod(x, axis, reverse)", VectorOperation::scan, Accepts::any,
                                       ResultType::sum, "as cumsum, of products");

inline constexpr auto kSort = unary("sort", "sort(x, dim, descending)", VectorOperation::sort, Accepts::any,
                                    ResultType::same, "exact; NaN counts as the largest; equal lanes keep their order");
inline constexpr auto kTopk = changing("topk", "topk(x, k, dim)", VectorOperation::sort, Accepts::any, ResultType::same,
                                       "the k largest, descending: the first k of sort");
inline constexpr auto kHistogram =
    changing("histogram", "histogram(x, bins, mask)", VectorOperation::compare, Accepts::integers, ResultType::index,
             "[bins]; each lane is compared with each bin; another number: all invalid");
/// Of one round of Philox4x32: two products of 32 bits (lower and upper half of each), four exclusive ors, two sums.
inline constexpr std::int64_t kPhiloxRoundOperations = 10;
inline constexpr auto kRandint =
    unary("randint", "randint(seed, offset)", VectorOperation::multiply, Accepts::integers, ResultType::index,
          "Philox4x32-10, as Triton's, to the bit; 100 operations a lane");
inline constexpr auto kRandint4x = unary("randint4x", "randint4x(seed, offset)", VectorOperation::multiply,
                                         Accepts::integers, ResultType::index, "all four words, one after the other");

inline constexpr auto kDot = product("dot", "dot(a, b, accumulator, out_dtype, fold)",
                                     "one chain of f32 fused multiply-adds over k, rounded once; integers wrap in i32");
inline constexpr auto kDotScaled =
    product("dot_scaled", "dot_scaled(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, accumulator, options)",
            "dot in f32 of the operands times their scales");

inline constexpr auto kReshape = view_of("reshape", "reshape(x, shape)", ResultType::same, "one extent may be -1");
inline constexpr auto kView = view_of("view", "view(x, shape)", ResultType::same, "as reshape");
inline constexpr auto kRavel = view_of("ravel", "ravel(x)", ResultType::same, "one dimension, in row-major order");
inline constexpr auto kExpandDims =
    view_of("expand_dims", "expand_dims(x, axis)", ResultType::same, "an extent of 1 before `axis`");
inline constexpr auto kPermute =
    movement("permute", "permute(x, order)", ResultType::same, "result dimension i is dimension order[i]");
inline constexpr auto kTrans =
    movement("trans", "trans(x), trans(x, order)", ResultType::same, "swaps the last two dimensions, or permutes");
inline constexpr auto kBroadcastTo =
    movement("broadcast_to", "broadcast_to(x, shape)", ResultType::same, "repeats extents of 1; free when equal");
inline constexpr auto kCat =
    movement("cat", "cat(tiles, axis)", ResultType::same, "one after the other; one type, the other extents equal");
inline constexpr auto kJoin =
    movement("join", "join(a, b)", ResultType::promoted, "broadcast, on a new last dimension of extent 2");
inline constexpr auto kSplit =
    movement("split", "split(x)", ResultType::same, "two tiles, one command each; the last extent must be 2");
inline constexpr auto kFlip = movement("flip", "flip(x, dim)", ResultType::same, "in reverse order");
inline constexpr auto kGather =
    changing("gather_lanes", "gather(x, index, axis)", VectorOperation::gather, Accepts::any, ResultType::same,
             "of index's shape; an index outside of the axis: 0, invalid");

}  // namespace operations

/// The command of an elementwise operation of numerics/elementwise_table.h that has a cost.
const OperationInfo& operation_info(numerics::UnaryOperation operation);
const OperationInfo& operation_info(numerics::BinaryOperation operation);

/// All of the above and the functions of one operand, in the order of the headers.
std::span<const OperationInfo* const> operation_table();

}  // namespace kernbench::tile
