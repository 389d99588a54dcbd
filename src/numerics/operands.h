// Reading the operands of elementwise operations: chunk by chunk, broadcast and converted.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "numerics/broadcast_loop.h"
#include "numerics/conversion.h"
#include "numerics/memory/storage.h"
#include "numerics/operations.h"

namespace kernbench::numerics {

inline constexpr std::int64_t kChunk = 256;  // elements; the buffers fit on a fiber's stack
using ChunkBuffer = std::array<std::byte, kChunk * sizeof(double)>;

/// Whether every value of `from` is one of `to`.
constexpr bool widens(DType from, DType to) {
  if (from == to || from == DType::boolean || to == DType::f64) return from != DType::i64 || to == from;
  if (is_integer(from)) {
    const bool byte = item_size(from) == 1;
    if (to == DType::i64) return true;
    if (to == DType::i32 || to == DType::f16 || to == DType::bf16 || to == DType::f32) return byte;
    return false;
  }
  if (is_float8(from)) return to > DType::f8e5m2;
  return from != DType::f32 && to == DType::f32;
}

/// A tile or a scalar on one side of an operation, as a task captures it.
struct Side {
  std::optional<Operand> tile;
  Scalar scalar;

  explicit Side(const Argument& argument) {
    if (argument.is_scalar())
      scalar = argument.scalar();
    else
      tile.emplace(argument.value());
  }
  Shape shape() const { return tile ? tile->shape : Shape{}; }
  bool has_mask() const { return tile && tile->has_mask(); }
  /// What made the lane invalid; kValid when it is valid.
  SourceId source(std::int64_t lane) const { return tile ? tile->source(lane) : kValid; }
};

/// The types that an operation's operands go through.
struct OperandTypes {
  DType common = DType::f32;       // first to this one
  DType computation = DType::f32;  // then to this one
  ScalarRule rule = ScalarRule::element;
};

/// The integers of a whole tile as i64, which holds those of all types.
inline std::vector<std::int64_t> whole_numbers(const Operand& operand) {
  const std::int64_t count = operand.shape.numel();
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  convert(DType::i64, reinterpret_cast<std::byte*>(numbers.data()), operand.dtype, operand.data(), count);
  return numbers;
}

/// Delivers chunks of one side in the computation type.
class ChunkReader {
 public:
  ChunkReader(const Side& side, const OperandTypes& types)
      : side_(side), wanted_(types.computation), item_(static_cast<std::size_t>(item_size(wanted_))) {
    const DType own = side.tile ? side.tile->dtype : types.common;
    const bool staged = side.tile ? !widens(own, types.common) : types.rule != ScalarRule::computation;
    common_ = staged ? types.common : wanted_;
  }

  /// `count` <= kChunk elements from `offset`, all the same one when the stride is 0. Good until the next call.
  const std::byte* read(std::int64_t offset, std::int64_t stride, std::int64_t count) {
    if (stride == 0) return repeat(offset, count);
    filled_ = 0;
    const DType type = side_.tile->dtype;
    const std::byte* source = side_.tile->data() + offset * item_size(type);
    if (type == wanted_ && common_ == wanted_ && type != DType::boolean) return source;
    convert_tile(source, count);
    return buffer_.data();
  }

 private:
  void convert_tile(const std::byte* source, std::int64_t count) {
    if (common_ == wanted_) {
      convert(wanted_, buffer_.data(), side_.tile->dtype, source, count);
      return;
    }
    convert(common_, stage_.data(), side_.tile->dtype, source, count);
    convert(wanted_, buffer_.data(), common_, stage_.data(), count);
  }

  const std::byte* repeat(std::int64_t offset, std::int64_t count) {
    if (filled_ >= count && filled_offset_ == offset) return buffer_.data();
    if (side_.tile) {
      convert_tile(side_.tile->data() + offset * item_size(side_.tile->dtype), 1);
    } else {
      store_element(common_, stage_.data(), side_.scalar);
      convert(wanted_, buffer_.data(), common_, stage_.data(), 1);
    }
    for (std::int64_t i = 1; i < count; ++i) {
      std::memcpy(buffer_.data() + i * static_cast<std::int64_t>(item_), buffer_.data(), item_);
    }
    filled_ = count;
    filled_offset_ = offset;
    return buffer_.data();
  }

  const Side& side_;
  DType wanted_;
  DType common_;
  std::size_t item_;
  std::int64_t filled_ = 0;
  std::int64_t filled_offset_ = -1;
  alignas(64) ChunkBuffer buffer_;
  alignas(64) ChunkBuffer stage_;
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

/// The loop over a result of `shape` and its operands.
template <std::size_t kOperands>
BroadcastLoop<kOperands> loop_over(const Shape& shape, const std::array<Side, kOperands>& sides) {
  std::array<Shape, kOperands> shapes;
  std::array<const Shape*, kOperands> pointers;
  for (std::size_t o = 0; o < kOperands; ++o) {
    shapes[o] = sides[o].shape();
    pointers[o] = &shapes[o];
  }
  return BroadcastLoop<kOperands>(shape, pointers);
}

/// Lanes of the result are valid where those of all operands are; else the first that is not stands for it.
template <std::size_t kOperands>
void combine_validity(TileContents& out, const Shape& shape, const std::array<Side, kOperands>& sides) {
  if (std::ranges::none_of(sides, [](const Side& side) { return side.has_mask(); })) return;
  out.sources.resize(static_cast<std::size_t>(shape.numel()));
  const BroadcastLoop<kOperands> loop = loop_over(shape, sides);
  const auto& strides = loop.row_strides();
  loop.for_each_row([&](std::int64_t start, const auto& offsets, std::int64_t row) {
    for (std::int64_t i = 0; i < row; ++i) {
      SourceId source = kValid;
      for (std::size_t o = 0; o < kOperands; ++o) {
        source = first_invalid(source, sides[o].source(offsets[o] + i * strides[o]));
      }
      out.sources[static_cast<std::size_t>(start + i)] = source;
    }
  });
}

}  // namespace kernbench::numerics
