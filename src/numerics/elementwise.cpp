// Elementwise operations on one and two operands, and tiles made from nothing.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "numerics/kernels.h"
#include "numerics/operands.h"
#include "numerics/operations.h"

namespace kernbench::numerics {

namespace {

bool is_remainder(BinaryOperation operation) {
  return operation == BinaryOperation::fmod || operation == BinaryOperation::remainder;
}

/// The element type that the operands of an operation meet in.
DType common_type(BinaryOperation operation, const Argument& a, const Argument& b, ScalarRule rule) {
  assert(!a.is_scalar() || !b.is_scalar());
  const auto with_scalar = [rule](const Argument& tile, const Scalar& scalar) {
    const DType own = tile.value().dtype();
    return rule == ScalarRule::tile ? promote(own, element_type(scalar)) : promote(own, scalar.kind());
  };
  const DType common = a.is_scalar()   ? with_scalar(b, a.scalar())
                       : b.is_scalar() ? with_scalar(a, b.scalar())
                                       : promote(a.value().dtype(), b.value().dtype());
  const bool divides = operation == BinaryOperation::divide || (is_remainder(operation) && is_floating_point(common));
  return divides ? division_type(common, common) : common;
}

struct BinaryTask {
  BinaryOperation operation;
  OperandTypes types;
  DType result;
  Shape shape;
  std::array<Side, 2> sides;
  OwnSource own;

  void operator()(TileContents& out) const {
    combine_validity(out, shape, sides);
    if (is_checked(operation, types.computation))
      run_checked(out);
    else
      run(out, binary_kernel(operation, types.computation));
  }

 private:
  /// Calls kernel(left, right, computed, start, count) and converts what it computed.
  template <class Kernel>
  void run_chunks(TileContents& out, Kernel&& kernel) const {
    const BroadcastLoop<2> loop = loop_over(shape, sides);
    const auto& strides = loop.row_strides();
    ChunkReader left(sides[0], types), right(sides[1], types);
    alignas(64) ChunkBuffer buffer;
    for_each_chunk(loop, [&](std::int64_t start, const auto& offsets, std::int64_t count) {
      std::byte* destination = out.bytes.data() + start * item_size(result);
      std::byte* computed = result == types.computation ? destination : buffer.data();
      kernel(left.read(offsets[0], strides[0], count), right.read(offsets[1], strides[1], count), computed, start,
             count);
      if (computed != destination) convert(result, destination, types.computation, computed, count);
    });
  }

  void run(TileContents& out, BinaryKernel kernel) const {
    run_chunks(out, [&](const std::byte* a, const std::byte* b, std::byte* computed, std::int64_t, std::int64_t count) {
      kernel(a, b, computed, count);
    });
  }

  /// For operations that some operands have no result for: those lanes become invalid.
  void run_checked(TileContents& out) const {
    const CheckedKernel kernel = checked_kernel(operation);
    const std::int64_t bits = result == DType::boolean ? 1 : 8 * item_size(result);
    std::array<std::uint8_t, kChunk> good;
    run_chunks(
        out, [&](const std::byte* a, const std::byte* b, std::byte* computed, std::int64_t start, std::int64_t count) {
          if (kernel(a, b, computed, count, bits, good.data())) return;
          out.sources.resize(static_cast<std::size_t>(shape.numel()), kValid);
          const SourceId mine = own.id(cause());
          for (std::int64_t i = 0; i < count; ++i) {
            if (good[static_cast<std::size_t>(i)] != 0) continue;
            SourceId& source = out.sources[static_cast<std::size_t>(start + i)];
            source = first_invalid(source, mine);
          }
        });
  }

  Cause cause() const {
    if (operation == BinaryOperation::shift_left || operation == BinaryOperation::shift_right)
      return Cause::shift_count;
    return is_remainder(operation) ? Cause::remainder_by_zero : Cause::divide_by_zero;
  }
};

}  // namespace

Value full(Executor& executor, const Shape& shape, DType dtype, Scalar value) {
  return compute(executor, dtype, shape, {}, [dtype, value](TileContents& out) {
    const auto item = static_cast<std::size_t>(item_size(dtype));
    const std::size_t size = out.bytes.size();
    if (size == 0) return;
    store_element(dtype, out.bytes.data(), value);
    // Doubles the filled part until it is the whole.
    for (std::size_t filled = item; filled < size; filled *= 2) {
      std::memcpy(out.bytes.data() + filled, out.bytes.data(), std::min(filled, size - filled));
    }
  });
}

Value arange(Executor& executor, std::int64_t start, std::int64_t end, DType dtype) {
  const std::int64_t count = std::max<std::int64_t>(end - start, 0);
  return compute(executor, dtype, Shape{count}, {}, [=](TileContents& out) {
    for (std::int64_t i = 0; i < count; ++i) store_element(dtype, out.bytes.data() + i * item_size(dtype), start + i);
  });
}

Value binary(Executor& executor, BinaryOperation operation, const Argument& a, const Argument& b, DType result,
             ScalarRule rule) {
  const std::optional<Shape> shape = broadcast_shapes(a.shape(), b.shape());
  assert(shape);
  const DType common = common_type(operation, a, b, rule);
  // Comparisons do not depend on what their 0 or 1 is stored as.
  const bool question = info(operation).yields == Yields::boolean;
  const DType computation = question ? computation_type({common}) : computation_type({common, result});
  return calculate(
      executor, result, *shape, {&a.value(), &b.value()},
      BinaryTask{
          operation, {common, computation, rule}, result, *shape, {Side(a), Side(b)}, OwnSource(executor.sources())});
}

Value unary(Executor& executor, UnaryOperation operation, const Value& x, DType result) {
  if (operation == UnaryOperation::bit_not && result == DType::boolean) operation = UnaryOperation::logical_not;
  const UnaryInfo& row = info(operation);
  DType computation =
      row.yields == Yields::boolean ? computation_type({x.dtype()}) : computation_type({x.dtype(), result});
  if (row.yields == Yields::floating) computation = floating_computation_type(computation);
  const std::int64_t numel = x.numel();
  return calculate(executor, result, x.shape(), {&x}, [=, side = Side(x)](TileContents& out) {
    const UnaryKernel kernel = unary_kernel(operation, computation);
    ChunkReader reader(side, {side.tile->dtype, computation, ScalarRule::element});
    alignas(64) ChunkBuffer buffer;
    for (std::int64_t start = 0; start < numel; start += kChunk) {
      const std::int64_t count = std::min(kChunk, numel - start);
      std::byte* destination = out.bytes.data() + start * item_size(result);
      std::byte* computed = result == computation ? destination : buffer.data();
      kernel(reader.read(start, 1, count), computed, count);
      if (computed != destination) convert(result, destination, computation, computed, count);
    }
    out.sources = side.tile->sources();
  });
}

Value cast(Executor& executor, const Value& x, DType dtype, RoundingMode rounding) {
  if (x.dtype() == dtype) return x;
  const std::int64_t numel = x.numel();
  return calculate(executor, dtype, x.shape(), {&x}, [=, operand = Operand(x)](TileContents& out) {
    convert(dtype, out.bytes.data(), operand.dtype, operand.data(), numel, rounding);
    out.sources = operand.sources();
  });
}

Value bitcast(Executor&, const Value& x, DType dtype) {
  assert(item_size(x.dtype()) == item_size(dtype));
  if (x.dtype() == dtype) return x;
  const auto& storage = x.storage();
  return Value(std::make_shared<TileStorage>(TileStorage{dtype, storage->shape, storage->producer, storage->contents}));
}

}  // namespace kernbench::numerics
