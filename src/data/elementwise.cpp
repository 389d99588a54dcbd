#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "data/broadcast_loop.h"
#include "data/conversion.h"
#include "data/kernels.h"
#include "data/operations.h"
#include "data/storage.h"

namespace kernbench::data {

namespace {

constexpr std::int64_t kChunk = 256;  // elements; the buffers fit on a fiber's stack
using ChunkBuffer = std::array<std::byte, kChunk * sizeof(double)>;

/// A tile or a scalar on one side of an operation.
struct Side {
  std::optional<Operand> tile;
  Scalar scalar;

  explicit Side(const Value& value) : tile(value) {}
  explicit Side(Scalar value) : scalar(value) {}
  Shape shape() const { return tile ? tile->shape : Shape{}; }
  bool has_mask() const { return tile && tile->has_mask(); }
};

/// Delivers chunks of one side in the wanted type.
class ChunkReader {
 public:
  ChunkReader(const Side& side, DType wanted) : side_(side), wanted_(wanted), item_(item_size(wanted)) {}

  /// `count` <= kChunk elements from `offset`, all the same one when the stride is 0. Good until the next call.
  const std::byte* read(std::int64_t offset, std::int64_t stride, std::int64_t count) {
    if (stride == 0) return repeat(offset, count);
    filled_ = 0;
    const DType type = side_.tile->dtype;
    const std::byte* source = side_.tile->data() + offset * item_size(type);
    if (type == wanted_ && type != DType::boolean) return source;
    convert(wanted_, buffer_.data(), type, source, count);
    return buffer_.data();
  }

 private:
  const std::byte* repeat(std::int64_t offset, std::int64_t count) {
    if (filled_ >= count && filled_offset_ == offset) return buffer_.data();
    if (side_.tile) {
      convert(wanted_, buffer_.data(), side_.tile->dtype, side_.tile->data() + offset * item_size(side_.tile->dtype),
              1);
    } else {
      store_element(wanted_, buffer_.data(), side_.scalar);
    }
    for (std::int64_t i = 1; i < count; ++i) std::memcpy(buffer_.data() + i * item_, buffer_.data(), item_);
    filled_ = count;
    filled_offset_ = offset;
    return buffer_.data();
  }

  const Side& side_;
  DType wanted_;
  std::int64_t item_;
  std::int64_t filled_ = 0;
  std::int64_t filled_offset_ = -1;
  alignas(64) ChunkBuffer buffer_;
};

/// Calls visit(result_offset, offsets, count) for chunks of at most kChunk elements.
template <std::size_t kOperands, class Visit>
void for_each_chunk(const BroadcastLoop<kOperands>& loop, Visit&& visit) {
  const auto& strides = loop.row_strides();
  loop.for_each_row([&](std::int64_t start, auto offsets, std::int64_t row) {
    for (std::int64_t done = 0; done < row; done += kChunk) {
      visit(start + done, offsets, std::min(kChunk, row - done));
      for (std::size_t o = 0; o < kOperands; ++o) offsets[o] += strides[o] * kChunk;
    }
  });
}

std::uint8_t lane_valid(const Side& side, std::int64_t lane) {
  return side.has_mask() ? side.tile->validity()[static_cast<std::size_t>(lane)] : std::uint8_t{1};
}

void combine_validity(TileContents& out, const Shape& shape, const Side& a, const Side& b) {
  if (!a.has_mask() && !b.has_mask()) return;
  out.validity.resize(static_cast<std::size_t>(shape.numel()));
  const Shape a_shape = a.shape(), b_shape = b.shape();
  const BroadcastLoop<2> loop(shape, {&a_shape, &b_shape});
  const auto& strides = loop.row_strides();
  loop.for_each_row([&](std::int64_t start, const auto& offsets, std::int64_t row) {
    for (std::int64_t i = 0; i < row; ++i) {
      out.validity[static_cast<std::size_t>(start + i)] =
          lane_valid(a, offsets[0] + i * strides[0]) & lane_valid(b, offsets[1] + i * strides[1]);
    }
  });
}

struct BinaryTask {
  BinaryOperation operation;
  DType computation;
  DType result;
  Shape shape;
  Side a, b;

  void operator()(TileContents& out) const {
    const BinaryKernel kernel = binary_kernel(operation, computation);
    const Shape a_shape = a.shape(), b_shape = b.shape();
    const BroadcastLoop<2> loop(shape, {&a_shape, &b_shape});
    const auto& strides = loop.row_strides();
    ChunkReader left(a, computation), right(b, computation);
    alignas(64) ChunkBuffer buffer;
    for_each_chunk(loop, [&](std::int64_t start, const auto& offsets, std::int64_t count) {
      std::byte* destination = out.bytes.data() + start * item_size(result);
      std::byte* computed = result == computation ? destination : buffer.data();
      kernel(left.read(offsets[0], strides[0], count), right.read(offsets[1], strides[1], count), computed, count);
      if (computed != destination) convert(result, destination, computation, computed, count);
    });
    combine_validity(out, shape, a, b);
  }
};

DType binary_computation(BinaryOperation operation, DType a, DType b, DType result) {
  // Comparisons do not depend on what their 0 or 1 is stored as.
  const bool arithmetic = operation < BinaryOperation::equal;
  const DType computation = arithmetic ? computation_type({a, b, result}) : computation_type({a, b});
  return operation == BinaryOperation::divide ? floating_computation_type(computation) : computation;
}

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

Value binary(Executor& executor, BinaryOperation operation, const Value& a, const Value& b, DType result) {
  const std::optional<Shape> shape = broadcast_shapes(a.shape(), b.shape());
  assert(shape);
  const DType computation = binary_computation(operation, a.dtype(), b.dtype(), result);
  return compute(executor, result, *shape, {&a, &b},
                 BinaryTask{operation, computation, result, *shape, Side(a), Side(b)});
}

Value binary(Executor& executor, BinaryOperation operation, const Value& a, Scalar b, DType result) {
  const DType computation = binary_computation(operation, a.dtype(), promote(a.dtype(), b.kind()), result);
  return compute(executor, result, a.shape(), {&a},
                 BinaryTask{operation, computation, result, a.shape(), Side(a), Side(b)});
}

Value binary(Executor& executor, BinaryOperation operation, Scalar a, const Value& b, DType result) {
  const DType computation = binary_computation(operation, promote(b.dtype(), a.kind()), b.dtype(), result);
  return compute(executor, result, b.shape(), {&b},
                 BinaryTask{operation, computation, result, b.shape(), Side(a), Side(b)});
}

Value unary(Executor& executor, UnaryOperation operation, const Value& x, DType result) {
  DType computation =
      operation == UnaryOperation::logical_not ? computation_type({x.dtype()}) : computation_type({x.dtype(), result});
  if (needs_floating_point(operation)) computation = floating_computation_type(computation);
  const std::int64_t numel = x.numel();
  return compute(executor, result, x.shape(), {&x}, [=, side = Side(x)](TileContents& out) {
    const UnaryKernel kernel = unary_kernel(operation, computation);
    ChunkReader reader(side, computation);
    alignas(64) ChunkBuffer buffer;
    for (std::int64_t start = 0; start < numel; start += kChunk) {
      const std::int64_t count = std::min(kChunk, numel - start);
      std::byte* destination = out.bytes.data() + start * item_size(result);
      std::byte* computed = result == computation ? destination : buffer.data();
      kernel(reader.read(start, 1, count), computed, count);
      if (computed != destination) convert(result, destination, computation, computed, count);
    }
    out.validity = side.tile->validity();
  });
}

Value where(Executor& executor, const Value& condition, const Value& a, const Value& b, DType result) {
  const std::optional<Shape> values = broadcast_shapes(a.shape(), b.shape());
  assert(values);
  const std::optional<Shape> shape = broadcast_shapes(condition.shape(), *values);
  assert(shape);
  auto work = [result, shape = *shape, sides = std::array{Side(condition), Side(a), Side(b)}](TileContents& out) {
    const BroadcastLoop<3> loop(shape, {&sides[0].tile->shape, &sides[1].tile->shape, &sides[2].tile->shape});
    const auto& strides = loop.row_strides();
    const std::int64_t item = item_size(result);
    const bool masked = std::ranges::any_of(sides, [](const Side& side) { return side.has_mask(); });
    if (masked) out.validity.resize(static_cast<std::size_t>(shape.numel()));
    ChunkReader conditions(sides[0], DType::boolean), left(sides[1], result), right(sides[2], result);
    for_each_chunk(loop, [&](std::int64_t start, const auto& offsets, std::int64_t count) {
      const std::byte* chosen = conditions.read(offsets[0], strides[0], count);
      const std::byte* sources[] = {right.read(offsets[2], strides[2], count),
                                    left.read(offsets[1], strides[1], count)};
      for (std::int64_t i = 0; i < count; ++i) {
        const bool take_a = chosen[i] != std::byte{0};
        std::memcpy(out.bytes.data() + (start + i) * item, sources[take_a] + i * item, static_cast<std::size_t>(item));
        if (!masked) continue;
        const std::size_t taken = take_a ? 1 : 2;
        out.validity[static_cast<std::size_t>(start + i)] =
            lane_valid(sides[0], offsets[0] + i * strides[0]) &
            lane_valid(sides[taken], offsets[taken] + i * strides[taken]);
      }
    });
  };
  return compute(executor, result, *shape, {&condition, &a, &b}, std::move(work));
}

Value cast(Executor& executor, const Value& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const std::int64_t numel = x.numel();
  return compute(executor, dtype, x.shape(), {&x}, [=, operand = Operand(x)](TileContents& out) {
    convert(dtype, out.bytes.data(), operand.dtype, operand.data(), numel);
    out.validity = operand.validity();
  });
}

}  // namespace kernbench::data
