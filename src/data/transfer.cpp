// Gather and scatter: tiles from memory and back.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "data/access_plan.h"
#include "data/conversion.h"
#include "data/memory.h"
#include "data/storage.h"

namespace kernbench::data {

namespace {

struct GatherTask {
  DType dtype;
  std::int64_t numel;
  std::optional<Scalar> other;
  std::vector<RegionPiece> pieces;

  void operator()(TileContents& out) const {
    if (!covers_all()) fill_uncovered(out);
    for (const RegionPiece& piece : pieces) {
      copy_bytes(out, piece);
      copy_validity(out, piece);
    }
  }

 private:
  std::int64_t item() const { return item_size(dtype); }

  /// Pieces share no element, so that it is enough to count.
  bool covers_all() const {
    std::int64_t covered = 0;
    for (const RegionPiece& piece : pieces) covered += piece.where.rows * piece.where.row_bytes;
    return covered == numel * item();
  }

  void fill_uncovered(TileContents& out) const {
    if (other) {
      std::byte element[sizeof(double)];
      store_element(dtype, element, *other);
      for (std::int64_t i = 0; i < numel; ++i) {
        std::memcpy(out.bytes.data() + i * item(), element, static_cast<std::size_t>(item()));
      }
      return;
    }
    std::fill_n(out.bytes.data(), numel * item(), std::byte{0});
    out.validity.assign(static_cast<std::size_t>(numel), 0);
    for (const RegionPiece& piece : pieces) {
      for (std::int64_t r = 0; r < piece.where.rows; ++r) {
        const std::int64_t start = piece.tile_offset + r * piece.tile_row_stride;
        const std::int64_t first = start / item(), last = (start + piece.where.row_bytes + item() - 1) / item();
        std::fill(out.validity.begin() + first, out.validity.begin() + last, std::uint8_t{1});
      }
    }
  }

  static void copy_bytes(TileContents& out, const RegionPiece& piece) {
    const std::byte* source = piece.region->bytes(piece.where.begin);
    std::byte* destination = out.bytes.data() + piece.tile_offset;
    for (std::int64_t r = 0; r < piece.where.rows; ++r) {
      std::memcpy(destination, source, static_cast<std::size_t>(piece.where.row_bytes));
      source += piece.where.stride;
      destination += piece.tile_row_stride;
    }
  }

  void copy_validity(TileContents& out, const RegionPiece& piece) const {
    piece.region->for_each_invalid(piece.where, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
      if (out.validity.empty()) out.validity.assign(static_cast<std::size_t>(numel), 1);
      const std::int64_t start = piece.tile_offset + row * piece.tile_row_stride;
      const std::int64_t first = (start + begin) / item(), last = (start + end + item() - 1) / item();
      std::fill(out.validity.begin() + first, out.validity.begin() + last, std::uint8_t{0});
    });
  }
};

struct ScatterTask {
  Operand operand;
  std::vector<RegionPiece> pieces;

  void operator()() const {
    for (const RegionPiece& piece : pieces) {
      const std::byte* source = operand.data() + piece.tile_offset;
      std::byte* destination = piece.region->bytes(piece.where.begin);
      for (std::int64_t r = 0; r < piece.where.rows; ++r) {
        std::memcpy(destination, source, static_cast<std::size_t>(piece.where.row_bytes));
        source += piece.tile_row_stride;
        destination += piece.where.stride;
      }
      if (operand.has_mask())
        set_validity_by_lane(piece);
      else
        piece.region->set_validity(piece.where, true);
    }
  }

 private:
  void set_validity_by_lane(const RegionPiece& piece) const {
    const std::int64_t item = item_size(operand.dtype);
    const auto valid_at = [&](std::int64_t byte) {
      return operand.validity()[static_cast<std::size_t>(byte / item)] != 0;
    };
    for (std::int64_t r = 0; r < piece.where.rows; ++r) {
      const std::int64_t start = piece.tile_offset + r * piece.tile_row_stride;
      const std::int64_t target = piece.where.begin + r * piece.where.stride - start;
      const std::int64_t end = start + piece.where.row_bytes;
      // Runs of lanes that are alike.
      for (std::int64_t byte = start; byte < end;) {
        const bool valid = valid_at(byte);
        std::int64_t run_end = byte;
        while (run_end < end && valid_at(run_end) == valid) ++run_end;
        piece.region->set_validity({target + byte, 1, run_end - byte, 0}, valid);
        byte = run_end;
      }
    }
  }
};

}  // namespace

Value gather(Executor& executor, const OperationKey& key, DType dtype, const Shape& shape,
             std::span<const Piece> pieces, std::optional<Scalar> other) {
  const AccessPlan plan(pieces, item_size(dtype));
  if (!executor.enabled()) return compute(executor, dtype, shape, {}, {});
  Value value = compute(executor, dtype, shape, {}, GatherTask{dtype, shape.numel(), other, plan.pieces()}, key,
                        plan.conflicts(false));
  plan.record(false, value.producer());
  return value;
}

void scatter(Executor& executor, const OperationKey& key, const Value& value, std::span<const Piece> pieces) {
  const AccessPlan plan(pieces, item_size(value.dtype()));
  if (!executor.enabled()) return;
  std::vector<TaskHandle> dependencies = plan.conflicts(true);
  dependencies.push_back(value.producer());
  plan.record(true, executor.submit(key, dependencies, ScatterTask{Operand(value), plan.pieces()}, value.bytes()));
}

}  // namespace kernbench::data
