#include "numerics/memory/masked_transfer.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "numerics/memory/access_plan.h"
#include "numerics/memory/storage.h"
#include "numerics/operations.h"

namespace kernbench::numerics {

namespace {

/// A boolean tile of the block's shape, or none: all lanes.
class LaneMask {
 public:
  explicit LaneMask(const Value& mask) {
    if (mask.defined()) mask_.emplace(mask);
  }
  bool operator()(std::int64_t lane) const {
    return !mask_ || mask_->data()[static_cast<std::size_t>(lane)] != std::byte{0};
  }

 private:
  std::optional<Operand> mask_;
};

/// Calls visit(first, last) for the maximal runs of lanes in [begin, end) that `alike` puts together with their first
/// lane.
template <class Alike, class Visit>
void for_each_run(std::int64_t begin, std::int64_t end, const Alike& alike, const Visit& visit) {
  while (begin < end) {
    std::int64_t next = begin + 1;
    while (next < end && alike(begin, next)) ++next;
    visit(begin, next);
    begin = next;
  }
}

/// Lanes of one row of a piece. Elements do not lie across regions: mapped ranges hold whole elements.
struct RowLanes {
  std::int64_t first, last, memory;  // `memory`: of the first lane, in the region
};
RowLanes lanes_of(const RegionPiece& piece, std::int64_t row, std::int64_t item) {
  const std::int64_t first = (piece.tile_offset + row * piece.tile_row_stride) / item;
  return {first, first + piece.where.row_bytes / item, piece.where.begin + row * piece.where.stride};
}

/// Of a lane that nothing has been copied to.
constexpr SourceId kUntouched = ~SourceId{0};

struct MaskedGather {
  DType dtype;
  std::int64_t numel;
  std::vector<RegionPiece> pieces;
  LaneMask mask;
  std::optional<Operand> other;
  OwnSource own;

  void operator()(TileContents& out) const {
    fill(out);
    for (const RegionPiece& piece : pieces) {
      copy(out, piece);
      copy_validity(out, piece);
    }
    explain_untouched(out);
    if (std::ranges::all_of(out.sources, [](SourceId source) { return source == kValid; })) out.sources.clear();
  }

 private:
  std::int64_t item() const { return item_size(dtype); }

  void fill(TileContents& out) const {
    const auto lanes = static_cast<std::size_t>(numel);
    if (!other) {
      std::fill_n(out.bytes.data(), numel * item(), std::byte{0});
      out.sources.assign(lanes, kUntouched);
      return;
    }
    std::memcpy(out.bytes.data(), other->data(), static_cast<std::size_t>(numel * item()));
    if (other->has_mask())
      out.sources = other->sources();
    else
      out.sources.assign(lanes, kValid);
  }

  void copy(TileContents& out, const RegionPiece& piece) const {
    const Region::View view = piece.region->view();
    for (std::int64_t row = 0; row < piece.where.rows; ++row) {
      const RowLanes lanes = lanes_of(piece, row, item());
      const auto alike = [&](std::int64_t a, std::int64_t b) { return mask(a) == mask(b); };
      for_each_run(lanes.first, lanes.last, alike, [&](std::int64_t begin, std::int64_t end) {
        if (!mask(begin)) return;
        std::memcpy(out.bytes.data() + begin * item(), view.at(lanes.memory + (begin - lanes.first) * item()),
                    static_cast<std::size_t>((end - begin) * item()));
        std::fill(out.sources.begin() + begin, out.sources.begin() + end, kValid);
      });
    }
  }

  void explain_untouched(TileContents& out) const {
    for (std::size_t lane = 0; lane < out.sources.size(); ++lane) {
      if (out.sources[lane] != kUntouched) continue;
      out.sources[lane] = own.id(mask(static_cast<std::int64_t>(lane)) ? Cause::outside : Cause::masked);
    }
  }

  void copy_validity(TileContents& out, const RegionPiece& piece) const {
    piece.region->for_each_invalid(
        piece.where, [&](std::int64_t row, std::int64_t begin, std::int64_t end, SourceId source) {
          const std::int64_t start = lanes_of(piece, row, item()).first;
          const std::int64_t last = start + (end + item() - 1) / item();
          for (std::int64_t lane = start + begin / item(); lane < last; ++lane) {
            if (!mask(lane)) continue;
            if (source == kValid) {
              source = own.never_written(
                  [&] { return piece.region->place(lanes_of(piece, row, item()).memory + (lane - start) * item()); });
            }
            out.sources[static_cast<std::size_t>(lane)] = source;
          }
        });
  }
};

struct MaskedScatter {
  Operand operand;
  std::vector<RegionPiece> pieces;
  LaneMask mask;

  void operator()() const {
    const std::int64_t item = item_size(operand.dtype);
    const auto alike = [&](std::int64_t a, std::int64_t b) {
      return mask(a) == mask(b) && operand.source(a) == operand.source(b);
    };
    for (const RegionPiece& piece : pieces) {
      for (std::int64_t row = 0; row < piece.where.rows; ++row) {
        const RowLanes lanes = lanes_of(piece, row, item);
        for_each_run(lanes.first, lanes.last, alike, [&](std::int64_t begin, std::int64_t end) {
          if (!mask(begin)) return;
          const std::int64_t target = lanes.memory + (begin - lanes.first) * item;
          const std::int64_t bytes = (end - begin) * item;
          std::memcpy(piece.region->to_write(target), operand.data() + begin * item, static_cast<std::size_t>(bytes));
          piece.region->mark({target, 1, bytes, 0}, operand.source(begin));
        });
      }
    }
  }
};

}  // namespace

Value gather_masked(Executor& executor, const OperationKey& key, DType dtype, const Shape& shape,
                    std::span<const Piece> pieces, const Value& mask, const Value& other) {
  assert(executor.enabled());
  const AccessPlan plan(pieces, item_size(dtype));
  if (plan.has_left_out() || lacks_data({&mask, &other})) return without_data(dtype, shape);
  Value lanes, rest;
  std::vector<TaskHandle> dependencies = plan.conflicts(false);
  if (mask.defined()) dependencies.push_back((lanes = broadcast_to(executor, mask, shape)).producer());
  if (other.defined())
    dependencies.push_back((rest = broadcast_to(executor, cast(executor, other, dtype), shape)).producer());
  if (lacks_data({&rest})) return without_data(dtype, shape);
  MaskedGather task{dtype,           shape.numel(), plan.pieces(),
                    LaneMask(lanes), std::nullopt,  OwnSource::of_read(executor.sources())};
  if (rest.defined()) task.other.emplace(rest);
  Value value = compute(executor, dtype, shape, {}, std::move(task), key, std::move(dependencies));
  plan.record(false, value.producer());
  return value;
}

void scatter_masked(Executor& executor, const OperationKey& key, const Value& value, std::span<const Piece> pieces,
                    const Value& mask) {
  assert(executor.enabled());
  const AccessPlan plan(pieces, item_size(value.dtype()));
  if (lacks_data({&value, &mask})) return plan.set_left_out(true);
  const Value lanes = broadcast_to(executor, mask, value.shape());
  std::vector<TaskHandle> dependencies = plan.conflicts(true);
  dependencies.push_back(value.producer());
  dependencies.push_back(lanes.producer());
  MaskedScatter task{Operand(value), plan.pieces(), LaneMask(lanes)};
  plan.record(true, executor.submit(key, dependencies, std::move(task), value.bytes()));
}

}  // namespace kernbench::numerics
