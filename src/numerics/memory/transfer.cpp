// Gather and scatter: tiles from memory and back.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <map>
#include <vector>

#include "numerics/conversion.h"
#include "numerics/memory/access_plan.h"
#include "numerics/memory/memory.h"
#include "numerics/memory/storage.h"

namespace kernbench::numerics {

namespace {

struct GatherTask {
  DType dtype;
  std::int64_t numel;
  std::optional<Scalar> other;
  std::vector<RegionPiece> pieces;
  Cause uncovered;
  OwnSource own;

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
    if (numel == 0) return;
    out.sources.assign(static_cast<std::size_t>(numel), own.id(uncovered));
    for (const RegionPiece& piece : pieces) {
      for (std::int64_t r = 0; r < piece.where.rows; ++r) {
        const std::int64_t start = piece.tile_offset + r * piece.tile_row_stride;
        const std::int64_t first = start / item(), last = (start + piece.where.row_bytes + item() - 1) / item();
        std::fill(out.sources.begin() + first, out.sources.begin() + last, kValid);
      }
    }
  }

  static void copy_bytes(TileContents& out, const RegionPiece& piece) {
    const Region::View view = piece.region->view();
    const std::byte* source = view.at(piece.where.begin);
    std::byte* destination = out.bytes.data() + piece.tile_offset;
    for (std::int64_t r = 0; r < piece.where.rows; ++r) {
      std::memcpy(destination, source, static_cast<std::size_t>(piece.where.row_bytes));
      source += piece.where.stride;
      destination += piece.tile_row_stride;
    }
  }

  void copy_validity(TileContents& out, const RegionPiece& piece) const {
    piece.region->for_each_invalid(
        piece.where, [&](std::int64_t row, std::int64_t begin, std::int64_t end, SourceId source) {
          out.sources.resize(static_cast<std::size_t>(numel), kValid);
          if (source == kValid) {
            source = own.never_written(
                [&] { return piece.region->place(piece.where.begin + row * piece.where.stride + begin); });
          }
          const std::int64_t start = piece.tile_offset + row * piece.tile_row_stride;
          const std::int64_t first = (start + begin) / item(), last = (start + end + item() - 1) / item();
          std::fill(out.sources.begin() + first, out.sources.begin() + last, source);
        });
  }
};

struct ScatterTask {
  Operand operand;
  std::shared_ptr<const Operand> mask;  // may be null
  std::vector<RegionPiece> pieces;

  void operator()() const {
    if (!mask && !operand.has_mask() && may_have_replicas()) return store_replicas();
    for (const RegionPiece& piece : pieces) {
      if (mask)
        store_masked(piece);
      else
        store_all(piece);
    }
  }

 private:
  // Smaller ones are as well copied.
  static constexpr std::int64_t kLeastShared = 16 * 1024;

  static bool fills_region(const RegionPiece& piece) {
    return piece.region->is_whole(piece.where) && piece.region->size() >= kLeastShared;
  }

  /// Several regions are filled, each once.
  bool may_have_replicas() const {
    if (std::ranges::count_if(pieces, fills_region) < 2) return false;
    std::vector<const Region*> regions;
    for (const RegionPiece& piece : pieces) regions.push_back(piece.region.get());
    std::ranges::sort(regions);
    return std::ranges::adjacent_find(regions) == regions.end();
  }

  /// Regions that are filled with the same lanes share their bytes.
  void store_replicas() const {
    using Lanes = std::array<std::int64_t, 4>;
    std::map<Lanes, Region*> filled;
    for (const RegionPiece& piece : pieces) {
      const Lanes lanes = {piece.tile_offset, piece.where.rows, piece.where.row_bytes, piece.tile_row_stride};
      const auto same = fills_region(piece) ? filled.find(lanes) : filled.end();
      if (same == filled.end()) {
        store_all(piece);
        if (fills_region(piece)) filled.emplace(lanes, piece.region.get());
      } else {
        piece.region->share_bytes_of(*same->second);
        piece.region->set_valid(piece.where);
      }
    }
  }

  /// What becomes of a lane's bytes.
  struct Fate {
    enum class Bytes : std::uint8_t { keep, write, lose } bytes;
    SourceId source;  // kValid: they are valid then
    bool operator==(const Fate&) const = default;
  };

  std::int64_t item() const { return item_size(operand.dtype); }

  Fate fate(std::int64_t lane) const {
    if (mask) {
      if (const SourceId source = mask->source(lane); source != kValid) return {Fate::Bytes::lose, source};
      if (mask->data()[lane] == std::byte{0}) return {Fate::Bytes::keep, kValid};
    }
    return {Fate::Bytes::write, operand.source(lane)};
  }

  void store_all(const RegionPiece& piece) const {
    const std::byte* source = operand.data() + piece.tile_offset;
    std::byte* destination = piece.region->to_write(piece.where.begin);
    for (std::int64_t r = 0; r < piece.where.rows; ++r) {
      std::memcpy(destination, source, static_cast<std::size_t>(piece.where.row_bytes));
      source += piece.tile_row_stride;
      destination += piece.where.stride;
    }
    if (!operand.has_mask()) {
      piece.region->set_valid(piece.where);
      return;
    }
    for_each_run(piece, [&](const Fate& fate, std::int64_t, std::int64_t target, std::int64_t bytes) {
      piece.region->mark({target, 1, bytes, 0}, fate.source);
    });
  }

  void store_masked(const RegionPiece& piece) const {
    for_each_run(piece, [&](const Fate& fate, std::int64_t source, std::int64_t target, std::int64_t bytes) {
      if (fate.bytes == Fate::Bytes::keep) return;
      if (fate.bytes != Fate::Bytes::lose) {
        std::memcpy(piece.region->to_write(target), operand.data() + source, static_cast<std::size_t>(bytes));
      }
      piece.region->mark({target, 1, bytes, 0}, fate.source);
    });
  }

  /// Calls visit(fate, first byte in the tile, first byte in the region, bytes) for runs of lanes that are alike.
  template <class Visit>
  void for_each_run(const RegionPiece& piece, Visit&& visit) const {
    for (std::int64_t r = 0; r < piece.where.rows; ++r) {
      const std::int64_t start = piece.tile_offset + r * piece.tile_row_stride;
      const std::int64_t to_region = piece.where.begin + r * piece.where.stride - start;
      const std::int64_t end = start + piece.where.row_bytes;
      for (std::int64_t byte = start; byte < end;) {
        const Fate shared = fate(byte / item());
        std::int64_t run_end = byte;
        while (run_end < end && fate(run_end / item()) == shared) run_end += item() - run_end % item();
        run_end = std::min(run_end, end);  // a row that is cut by the end of a region may end within an element
        visit(shared, byte, byte + to_region, run_end - byte);
        byte = run_end;
      }
    }
  }
};

}  // namespace

Value gather(Executor& executor, const OperationKey& key, DType dtype, const Shape& shape,
             std::span<const Piece> pieces, std::optional<Scalar> other, Cause uncovered, When when) {
  const AccessPlan plan(pieces, item_size(dtype));
  if (!executor.enabled() || plan.has_left_out()) return without_data(dtype, shape);
  Value value =
      compute(executor, dtype, shape, {},
              GatherTask{dtype, shape.numel(), other, plan.pieces(), uncovered, OwnSource::of_read(executor.sources())},
              key, plan.conflicts(false), when);
  plan.record(false, value.producer());
  return value;
}

void scatter(Executor& executor, const OperationKey& key, const Value& value, std::span<const Piece> pieces,
             const Value& mask) {
  const AccessPlan plan(pieces, item_size(value.dtype()));
  if (!executor.enabled()) return;
  if (lacks_data({&value, &mask})) return plan.set_left_out(true);
  if (!mask.defined()) plan.set_left_out(false);
  std::vector<TaskHandle> dependencies = plan.conflicts(true);
  dependencies.push_back(value.producer());
  std::shared_ptr<const Operand> lanes;
  if (mask.defined()) {
    assert(mask.shape() == value.shape() && mask.dtype() == DType::boolean);
    dependencies.push_back(mask.producer());
    lanes = std::make_shared<const Operand>(mask);
  }
  plan.record(true, executor.submit(key, dependencies, ScatterTask{Operand(value), std::move(lanes), plan.pieces()},
                                    value.bytes()));
}

}  // namespace kernbench::numerics
