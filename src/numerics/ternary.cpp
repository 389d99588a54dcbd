// Elementwise operations on three operands, and masks.
#include <cassert>
#include <cmath>
#include <limits>

#include "numerics/kernels.h"
#include "numerics/operands.h"
#include "numerics/operations.h"

namespace kernbench::numerics {

namespace {

template <class T>
T fused(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    const T value = std::fma(a, b, c);
    return value == value ? value : std::numeric_limits<T>::quiet_NaN();
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b) +
                          static_cast<std::uint64_t>(c));
  }
}

template <class T>
T clamped(T x, T low, T high) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x != x || low != low || high != high) return std::numeric_limits<T>::quiet_NaN();
  }
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

template <class T, T (*kFunction)(T, T, T)>
void ternary_loop(const std::byte* a, const std::byte* b, const std::byte* c, std::byte* out, std::int64_t count) {
  const auto* first = reinterpret_cast<const T*>(a);
  const auto* second = reinterpret_cast<const T*>(b);
  const auto* third = reinterpret_cast<const T*>(c);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) result[i] = kFunction(first[i], second[i], third[i]);
}

/// On a processor that has the instruction; the C library's function gives the same bits more slowly.
__attribute__((target("fma"))) void fused_floats(const std::byte* a, const std::byte* b, const std::byte* c,
                                                 std::byte* out, std::int64_t count) {
  const auto* first = reinterpret_cast<const float*>(a);
  const auto* second = reinterpret_cast<const float*>(b);
  const auto* third = reinterpret_cast<const float*>(c);
  auto* result = reinterpret_cast<float*>(out);
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = __builtin_fmaf(first[i], second[i], third[i]);
    result[i] = value == value ? value : std::numeric_limits<float>::quiet_NaN();
  }
}

TernaryKernel fma_kernel(DType computation) {
  static const bool has_instruction = __builtin_cpu_supports("fma") != 0;
  if (computation == DType::f32) return has_instruction ? fused_floats : ternary_loop<float, fused<float>>;
  if (computation == DType::f64) return ternary_loop<double, fused<double>>;
  return ternary_loop<std::int64_t, fused<std::int64_t>>;
}

TernaryKernel clamp_kernel(DType computation) {
  if (computation == DType::f32) return ternary_loop<float, clamped<float>>;
  if (computation == DType::f64) return ternary_loop<double, clamped<double>>;
  return ternary_loop<std::int64_t, clamped<std::int64_t>>;
}

struct TernaryTask {
  TernaryKernel kernel;
  OperandTypes types;
  DType result;
  Shape shape;
  std::array<Side, 3> sides;

  void operator()(TileContents& out) const {
    combine_validity(out, shape, sides);
    const BroadcastLoop<3> loop = loop_over(shape, sides);
    const auto& strides = loop.row_strides();
    ChunkReader a(sides[0], types), b(sides[1], types), c(sides[2], types);
    alignas(64) ChunkBuffer buffer;
    for_each_chunk(loop, [&](std::int64_t start, const auto& offsets, std::int64_t count) {
      std::byte* destination = out.bytes.data() + start * item_size(result);
      std::byte* computed = result == types.computation ? destination : buffer.data();
      kernel(a.read(offsets[0], strides[0], count), b.read(offsets[1], strides[1], count),
             c.read(offsets[2], strides[2], count), computed, count);
      if (computed != destination) convert(result, destination, types.computation, computed, count);
    });
  }
};

Shape common_shape(const Argument& a, const Argument& b, const Argument& c) {
  const std::optional<Shape> two = broadcast_shapes(a.shape(), b.shape());
  assert(two);
  const std::optional<Shape> all = broadcast_shapes(*two, c.shape());
  assert(all);
  return *all;
}

/// The element type that the operands meet in: tiles first, then scalars.
DType common_type(std::initializer_list<const Argument*> arguments) {
  std::optional<DType> common;
  for (const Argument* argument : arguments) {
    if (argument->is_scalar()) continue;
    common = common ? promote(*common, argument->value().dtype()) : argument->value().dtype();
  }
  assert(common);
  for (const Argument* argument : arguments) {
    if (argument->is_scalar()) common = promote(*common, argument->scalar().kind());
  }
  return *common;
}

Value ternary(Executor& executor, TernaryKernel (*kernel_for)(DType), const Argument& a, const Argument& b,
              const Argument& c, DType result, ScalarRule rule) {
  const DType common = common_type({&a, &b, &c});
  const DType computation = computation_type({common, result});
  const Shape shape = common_shape(a, b, c);
  return calculate(
      executor, result, shape, {&a.value(), &b.value(), &c.value()},
      TernaryTask{kernel_for(computation), {common, computation, rule}, result, shape, {Side(a), Side(b), Side(c)}});
}

struct WhereTask {
  DType result;
  Shape shape;
  std::array<Side, 3> sides;  // condition, a, b

  void operator()(TileContents& out) const {
    const BroadcastLoop<3> loop = loop_over(shape, sides);
    const auto& strides = loop.row_strides();
    const std::int64_t item = item_size(result);
    const bool masked = std::ranges::any_of(sides, [](const Side& side) { return side.has_mask(); });
    if (masked) out.sources.resize(static_cast<std::size_t>(shape.numel()));
    const OperandTypes values{result, result, ScalarRule::element};
    ChunkReader conditions(sides[0], {DType::boolean, DType::boolean, ScalarRule::element});
    ChunkReader left(sides[1], values), right(sides[2], values);
    for_each_chunk(loop, [&](std::int64_t start, const auto& offsets, std::int64_t count) {
      const std::byte* chosen = conditions.read(offsets[0], strides[0], count);
      const std::byte* sources[] = {right.read(offsets[2], strides[2], count),
                                    left.read(offsets[1], strides[1], count)};
      for (std::int64_t i = 0; i < count; ++i) {
        const bool take_a = chosen[i] != std::byte{0};
        std::memcpy(out.bytes.data() + (start + i) * item, sources[take_a] + i * item, static_cast<std::size_t>(item));
        if (!masked) continue;
        const std::size_t taken = take_a ? 1 : 2;
        out.sources[static_cast<std::size_t>(start + i)] = first_invalid(
            sides[0].source(offsets[0] + i * strides[0]), sides[taken].source(offsets[taken] + i * strides[taken]));
      }
    });
  }
};

struct MaskTask {
  Shape shape;
  std::array<Side, 2> sides;  // the tile, the mask
  OwnSource own;

  void operator()(TileContents& out) const {
    std::memcpy(out.bytes.data(), sides[0].tile->data(), out.bytes.size());
    combine_validity(out, shape, sides);
    out.sources.resize(static_cast<std::size_t>(shape.numel()), kValid);
    const BroadcastLoop<2> loop = loop_over(shape, sides);
    ChunkReader mask(sides[1], {DType::boolean, DType::boolean, ScalarRule::element});
    for_each_chunk(loop, [&](std::int64_t start, const auto& offsets, std::int64_t count) {
      const std::byte* kept = mask.read(offsets[1], loop.row_strides()[1], count);
      for (std::int64_t i = 0; i < count; ++i) {
        if (kept[i] != std::byte{0}) continue;
        SourceId& source = out.sources[static_cast<std::size_t>(start + i)];
        if (source == kValid) source = own.id(Cause::masked);
      }
    });
  }
};

}  // namespace

Value fma(Executor& executor, const Argument& a, const Argument& b, const Argument& c, DType result, ScalarRule rule) {
  return ternary(executor, fma_kernel, a, b, c, result, rule);
}

Value clamp(Executor& executor, const Argument& x, const Argument& low, const Argument& high, DType result,
            ScalarRule rule) {
  return ternary(executor, clamp_kernel, x, low, high, result, rule);
}

Value where(Executor& executor, const Argument& condition, const Argument& a, const Argument& b, DType result) {
  const Shape shape = common_shape(condition, a, b);
  return calculate(executor, result, shape, {&condition.value(), &a.value(), &b.value()},
                   WhereTask{result, shape, {Side(condition), Side(a), Side(b)}});
}

Value mask_lanes(Executor& executor, const Value& x, const Value& mask) {
  assert(broadcast_shapes(x.shape(), mask.shape()) == x.shape());
  return compute(executor, x.dtype(), x.shape(), {&x, &mask},
                 MaskTask{x.shape(), {Side(x), Side(mask)}, OwnSource(executor.sources())});
}

}  // namespace kernbench::numerics
