// Read, modify and write of single elements of memory.
#include <fmt/format.h>

#include <array>
#include <cassert>
#include <cstring>
#include <optional>

#include "kernbench/error.h"
#include "numerics/conversion.h"
#include "numerics/kernels.h"
#include "numerics/memory/access_plan.h"
#include "numerics/memory/memory.h"
#include "numerics/memory/storage.h"

namespace kernbench::numerics {

namespace {

BinaryOperation binary_operation(AtomicOperation operation) {
  switch (operation) {
    case AtomicOperation::maximum:
      return BinaryOperation::maximum;
    case AtomicOperation::minimum:
      return BinaryOperation::minimum;
    case AtomicOperation::bit_and:
      return BinaryOperation::bit_and;
    case AtomicOperation::bit_or:
      return BinaryOperation::bit_or;
    case AtomicOperation::bit_xor:
      return BinaryOperation::bit_xor;
    default:
      return BinaryOperation::add;
  }
}

/// One element of the given type: the result of `kernel`, rounded once.
class ElementOperation {
 public:
  ElementOperation(AtomicOperation operation, DType dtype)
      : dtype_(dtype),
        computation_(computation_type({dtype})),
        kernel_(binary_kernel(binary_operation(operation), computation_)) {
    assert(kernel_ != nullptr);  // floats have no operations on bits
  }

  void apply(const std::byte* old, const std::byte* operand, std::byte* out) const {
    alignas(8) std::array<std::byte, 8> left, right, result;
    convert(computation_, left.data(), dtype_, old, 1);
    convert(computation_, right.data(), dtype_, operand, 1);
    kernel_(left.data(), right.data(), result.data(), 1);
    convert(dtype_, out, computation_, result.data(), 1);
  }

 private:
  DType dtype_, computation_;
  BinaryKernel kernel_;
};

class AtomicTask {
 public:
  AtomicTask(AtomicOperation operation, const Value& operand, const Value& compare, const Value& mask,
             std::vector<RegionPiece> pieces, const OwnSource& own)
      : operation_(operation), operand_(operand), pieces_(std::move(pieces)), own_(own) {
    if (compare.defined()) compare_.emplace(compare);
    if (mask.defined()) mask_.emplace(mask);
  }

  void operator()(TileContents& out) const {
    const std::int64_t numel = operand_.shape.numel();
    std::memset(out.bytes.data(), 0, out.bytes.size());
    out.sources.resize(static_cast<std::size_t>(numel));
    const std::vector<Place> places = places_of_lanes(numel);
    const ElementOperation element(operation_, operand_.dtype);
    for (std::int64_t lane = 0; lane < numel; ++lane) {
      const Place& place = places[static_cast<std::size_t>(lane)];
      out.sources[static_cast<std::size_t>(lane)] =
          place.region != nullptr ? act(out, lane, place, element) : own_.id(Cause::masked_atomic);
    }
  }

 private:
  struct Place {
    Region* region = nullptr;
    std::int64_t offset = 0;
  };

  std::int64_t item() const { return item_size(operand_.dtype); }

  std::vector<Place> places_of_lanes(std::int64_t numel) const {
    std::vector<Place> places(static_cast<std::size_t>(numel));
    for (const RegionPiece& piece : pieces_) {
      for (std::int64_t r = 0; r < piece.where.rows; ++r) {
        const std::int64_t first = (piece.tile_offset + r * piece.tile_row_stride) / item();
        for (std::int64_t i = 0; i < piece.where.row_bytes / item(); ++i) {
          places[static_cast<std::size_t>(first + i)] = {piece.region.get(),
                                                         piece.where.begin + r * piece.where.stride + i * item()};
        }
      }
    }
    return places;
  }

  /// The source of the lane of the result.
  SourceId act(TileContents& out, std::int64_t lane, const Place& place, const ElementOperation& element) const {
    const SourceId of_mask = mask_ ? mask_->source(lane) : kValid;
    if (of_mask == kValid && mask_ && mask_->data()[lane] == std::byte{0}) return own_.id(Cause::masked_atomic);
    const Rectangle where{place.offset, 1, item(), 0};
    std::byte* memory = place.region->to_write(place.offset);
    std::memcpy(out.bytes.data() + lane * item(), memory, static_cast<std::size_t>(item()));
    if (of_mask != kValid) {
      place.region->set_invalid(where, of_mask);
      return of_mask;
    }
    const SourceId old = source_of(*place.region, where);
    const SourceId now = modify(memory, lane, old, element);
    if ((now == kValid) != (old == kValid))
      place.region->mark(where, now);
    else if (now != kValid)
      place.region->set_source(where, now);
    return old;
  }

  SourceId source_of(Region& region, const Rectangle& where) const {
    SourceId first = kValid;
    region.for_each_invalid(where, [&](std::int64_t, std::int64_t, std::int64_t, SourceId source) {
      if (source == kValid) source = own_.never_written([&] { return region.place(where.begin); });
      first = first_invalid(first, source);
    });
    return first;
  }

  /// Changes the element; what makes it invalid now.
  SourceId modify(std::byte* memory, std::int64_t lane, SourceId old, const ElementOperation& element) const {
    const std::byte* operand = operand_.data() + lane * item();
    const SourceId of_operand = operand_.source(lane);
    const auto size = static_cast<std::size_t>(item());
    if (operation_ == AtomicOperation::exchange) {
      std::memcpy(memory, operand, size);
      return of_operand;
    }
    if (operation_ == AtomicOperation::compare_exchange) {
      const SourceId compared = first_invalid(old, compare_->source(lane));
      if (std::memcmp(memory, compare_->data() + lane * item(), size) != 0) return compared;
      std::memcpy(memory, operand, size);
      return first_invalid(compared, of_operand);
    }
    std::array<std::byte, 8> result;
    element.apply(memory, operand, result.data());
    std::memcpy(memory, result.data(), size);
    return first_invalid(old, of_operand);
  }

  AtomicOperation operation_;
  Operand operand_;
  std::optional<Operand> compare_, mask_;
  std::vector<RegionPiece> pieces_;
  OwnSource own_;
};

/// Whether the executor skips the operation; an exchange calculates nothing.
bool left_out(const Executor& executor, AtomicOperation operation, DType dtype) {
  const bool calculates = operation != AtomicOperation::exchange && operation != AtomicOperation::compare_exchange;
  return executor.skips_floating_point() && calculates && is_floating_point(dtype);
}

/// An element in two mappings is in no one place.
void check_whole_elements(const AccessPlan& plan, std::int64_t item) {
  for (const RegionPiece& piece : plan.pieces()) {
    if (piece.tile_offset % item == 0 && piece.where.row_bytes % item == 0) continue;
    throw OutOfBoundsError(
        fmt::format("an atomic operation on an element of {} bytes at address {:#x}, which lies in two mapped ranges; "
                    "align elements to their size",
                    item, piece.region->address() + static_cast<std::uint64_t>(piece.where.begin)));
  }
}

}  // namespace

Value atomic(Executor& executor, const OperationKey& key, AtomicOperation operation, std::span<const Piece> pieces,
             const Value& operand, const Value& compare, const Value& mask, DType dtype, const Shape& shape) {
  const AccessPlan plan(pieces, item_size(dtype));
  check_whole_elements(plan, item_size(dtype));
  if (!executor.enabled()) return without_data(dtype, shape);
  if (plan.has_left_out() || left_out(executor, operation, dtype) || lacks_data({&operand, &compare, &mask})) {
    plan.set_left_out(true);
    return without_data(dtype, shape);
  }
  auto storage = std::make_shared<TileStorage>(TileStorage{dtype, shape, nullptr, nullptr});
  assert(operand.dtype() == dtype && operand.shape() == shape);
  assert((operation == AtomicOperation::compare_exchange) == compare.defined());
  assert(!compare.defined() || (compare.dtype() == dtype && compare.shape() == shape));
  assert(!mask.defined() || (mask.dtype() == DType::boolean && mask.shape() == shape));
  std::vector<TaskHandle> dependencies = plan.conflicts(true);
  for (const Value* input : {&operand, &compare, &mask}) {
    if (input->defined()) dependencies.push_back(input->producer());
  }
  storage->contents = std::make_shared<TileContents>();
  const std::int64_t bytes = shape.numel() * item_size(dtype);
  // Memory changes whether or not anybody looks at the result, so the task holds it.
  auto work = [out = storage->contents, bytes,
               task = std::make_shared<const AtomicTask>(operation, operand, compare, mask, plan.pieces(),
                                                         OwnSource::of_read(executor.sources()))] {
    out->bytes = AlignedBytes(bytes);
    (*task)(*out);
  };
  storage->producer = executor.submit(key, dependencies, std::move(work), bytes);
  plan.record(true, storage->producer);
  return Value(std::move(storage));
}

}  // namespace kernbench::numerics
