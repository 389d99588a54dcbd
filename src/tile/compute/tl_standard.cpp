// What Triton's standard library makes of other functions.
#include <fmt/format.h>

#include "kernbench/tl.h"
#include "tile/compute/fuse_as.h"
#include "tile/compute/tile_operands.h"

namespace kernbench::tl {

using tile::fuse_as;
using tile::Program;

namespace {

/// Checked here, an axis is refused under the name of the function that the program calls.
int checked_axis(const char* call, const Tile& x, int axis, const Where& where) {
  auto& program = Program::current(call, where);
  return tile::checked_axis(program, call, axis, program.own(x, call, where)->shape(), where);
}

}  // namespace

Tile softmax(const Tile& x, int dim, Where where) {
  dim = checked_axis("softmax", x, dim, where);
  return fuse_as("softmax", where, [&] {
    const Tile wide = cast(x, DType::f32, Rounding::rtne, where);
    const Tile exponentials = exp(wide - max(wide, dim, true, where), where);
    return fdiv(exponentials, sum(exponentials, dim, true, where), where);
  });
}

Tile sum(const Tile& x, std::optional<int> axis, bool keep_dims, DType dtype, Where where) {
  return fuse_as("sum", where, [&] {
    const Tile all = sum(cast(x, dtype, Rounding::rtne, where), axis, keep_dims, where);
    return cast(all, dtype, Rounding::rtne, where);
  });
}
Tile cumsum(const Tile& x, int axis, bool reverse, DType dtype, Where where) {
  return fuse_as("cumsum", where, [&] {
    const Tile all = cumsum(cast(x, dtype, Rounding::rtne, where), axis, reverse, where);
    return cast(all, dtype, Rounding::rtne, where);
  });
}

Tile xor_sum(const Tile& x, std::optional<int> axis, bool keep_dims, Where where) {
  return fuse_as("xor_sum", where,
                 [&] { return reduce(x, axis, [](const Tile& a, const Tile& b) { return a ^ b; }, keep_dims, where); });
}
Tile reduce_or(const Tile& x, std::optional<int> axis, bool keep_dims, Where where) {
  return fuse_as("reduce_or", where,
                 [&] { return reduce(x, axis, [](const Tile& a, const Tile& b) { return a | b; }, keep_dims, where); });
}

std::pair<Tile, Tile> max_with_index(const Tile& x, int axis, bool keep_dims, Where where) {
  axis = checked_axis("max_with_index", x, axis, where);
  return fuse_as("max_with_index", where,
                 [&] { return std::pair{max(x, axis, keep_dims, where), argmax(x, axis, keep_dims, where)}; });
}
std::pair<Tile, Tile> min_with_index(const Tile& x, int axis, bool keep_dims, Where where) {
  axis = checked_axis("min_with_index", x, axis, where);
  return fuse_as("min_with_index", where,
                 [&] { return std::pair{min(x, axis, keep_dims, where), argmin(x, axis, keep_dims, where)}; });
}

std::pair<Tile, Tile> broadcast(const Tile& a, const Tile& b, Where where) {
  tile::OperationInfo info = tile::operations::kBroadcastTo;
  info.kind = "broadcast";
  const Operand left = a, right = b;
  const Extents shape = tile::TileOperands(Program::current(info.kind, where), info, {&left, &right}, where).shape();
  return {broadcast_to(a, shape, where), broadcast_to(b, shape, where)};
}

Tile interleave(const Tile& a, const Tile& b, Where where) {
  Tile pairs = join(a, b, where);
  const Extents shape = pairs.shape();
  Extents result(shape.span().first(shape.size() - 1));
  if (result.empty()) return pairs;  // of two numbers
  result[result.size() - 1] *= 2;
  return reshape(pairs, result, where);
}

Tile umulhi(const Tile& a, const Tile& b, Where where) {
  auto& program = Program::current("umulhi", where);
  for (const Tile* operand : {&a, &b}) {
    const DType type = program.own(*operand, "umulhi", where)->dtype();
    if (type == DType::i32) continue;
    tile::refuse(program, "umulhi", fmt::format("an operand is {}; both must be i32", name(type)), where);
  }
  return fuse_as("umulhi", where, [&] {
    constexpr std::int64_t kLower = 0xFFFFFFFF;
    const Tile left = cast(a, DType::i64, Rounding::rtne, where) & kLower,
               right = cast(b, DType::i64, Rounding::rtne, where) & kLower;
    return cast(left * right >> 32, DType::i32);
  });
}

Tile div_rn(const Tile& a, const Tile& b, Where where) {
  return fdiv(a, b, where);
}
Tile sqrt_rn(const Tile& x, Where where) {
  return sqrt(x, where);
}

}  // namespace kernbench::tl
