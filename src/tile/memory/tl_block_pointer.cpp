// Block pointers and tensor descriptors: blocks of strided parents that are cut at the parent's bounds.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "addressing/tensor_descriptor.h"
#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "tile/memory/memory_access.h"
#include "tile/memory/multicast_table.h"
#include "tile/memory/tl_access.h"
#include "tile/program/conversion.h"

namespace kernbench::tile {

namespace {

using tl::Extents;

/// The lanes of a block that lie inside of the parent in the checked dimensions. `empty`: none does.
struct Cut {
  StridedBlock block;
  bool empty = false;
};

/// Element steps beyond any memory, which still add up without overflow: eight of them fit.
constexpr std::int64_t kFar = std::int64_t{1} << 59;

std::int64_t step_of(std::int64_t index, std::int64_t stride) {
  std::int64_t step = 0;
  if (__builtin_mul_overflow(index, stride, &step)) return kFar;
  return std::clamp(step, -kFar, kFar);
}

Cut cut(const tl::BlockPointer& pointer, const Extents& checked) {
  Cut result;
  const std::size_t rank = pointer.shape.size();
  StridedBlock& block = result.block;
  block.offset = std::clamp(pointer.base.offset(), -kFar, kFar);
  block.tile = block.shape = block.lane_strides = pointer.block_shape;
  block.strides = pointer.strides;
  std::int64_t lane_stride = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const bool check = std::ranges::find(checked, static_cast<std::int64_t>(i)) != checked.end();
    const std::int64_t extent = pointer.block_shape[i];
    const std::int64_t first = std::clamp(pointer.offsets[i], -kFar, kFar), end = std::min(pointer.shape[i], kFar);
    const std::int64_t low = check ? std::clamp<std::int64_t>(-first, 0, extent) : 0;
    const std::int64_t high = check ? std::clamp<std::int64_t>(end - first, 0, extent) : extent;
    if (low >= high) result.empty = true;
    block.shape[i] = high - low;
    block.lane_strides[i] = lane_stride;
    block.lane += low * lane_stride;
    block.offset += step_of(first + low, pointer.strides[i]);
    lane_stride *= extent;
  }
  return result;
}

void check_dimensions(const AccessCall& call, const tl::BlockPointer& pointer, const Extents& checked) {
  for (const std::int64_t dimension : checked) {
    if (dimension < 0 || dimension >= static_cast<std::int64_t>(pointer.shape.size())) {
      call.value_error(fmt::format("boundary_check names dimension {}, but the block pointer has {} dimensions",
                                   dimension, pointer.shape.size()));
    }
  }
}

/// What the padding reads as; absent: such lanes are invalid.
std::optional<numerics::Scalar> padding_value(const AccessCall& call, tl::Padding padding, DType dtype) {
  switch (padding) {
    case tl::Padding::undefined:
      return std::nullopt;
    case tl::Padding::zero:
      return numerics::Scalar(0);
    case tl::Padding::nan:
      break;
  }
  if (!is_floating_point(dtype)) {
    call.value_error(fmt::format("padding with NaN needs a floating-point tensor, got {}; use zero", name(dtype)));
  }
  return numerics::Scalar(std::numeric_limits<double>::quiet_NaN());
}

Cut checked_cut(const AccessCall& call, const tl::BlockPointer& pointer, const Extents& checked, bool write) {
  check_dimensions(call, pointer, checked);
  Cut result = cut(pointer, checked);
  if (!result.empty) check_strided(call, pointer.base.tensor(), result.block, write);
  return result;
}

Places places_of_cut(const AccessCall& call, const tl::BlockPointer& pointer, const Cut& cut, bool write) {
  return cut.empty ? Places() : places_of_strided(call, pointer.base.tensor(), cut.block, write);
}

}  // namespace

tl::Tile load_block_pointer(const AccessCall& call, const tl::BlockPointer& pointer, const tl::BlockOptions& options,
                            const MulticastPart* together) {
  const Cut inside = checked_cut(call, pointer, options.boundary_check, false);
  Lanes lanes;
  lanes.other = padding_value(call, options.padding, pointer.base.dtype());
  // The tile first: a block that is far too large must not be walked through.
  const auto result = call.program.new_tile(pointer.base.dtype(), pointer.block_shape, call.kind, call.where);
  const auto places = [&] { return places_of_cut(call, pointer, inside, false); };
  return issue_load(call, result, together != nullptr ? places_of_member(call, *together, places) : places(), lanes,
                    together);
}

hardware::CommandRef store_block_pointer(const AccessCall& call, const tl::BlockPointer& pointer, const tl::Tile& value,
                                         const tl::BlockOptions& options) {
  const Cut inside = checked_cut(call, pointer, options.boundary_check, true);
  const auto& state = *call.program.own(value, call.name, call.where);
  if (!(state.shape() == pointer.block_shape)) {
    call.value_error(
        fmt::format("a value of shape {} cannot be stored to a block of shape {}; the shapes must be equal",
                    to_text(state.shape()), to_text(pointer.block_shape)));
  }
  const tl::Tile converted = stored_value(call, pointer.base.tensor(), value, pointer.block_shape);
  return issue_store(call, converted, pointer.block_shape, places_of_cut(call, pointer, inside, true), {});
}

}  // namespace kernbench::tile

namespace kernbench::tl {

using tile::access_call;
using tile::AccessCall;
using tile::to_text;

namespace {

void check_parent(const AccessCall& call, const BlockPointer& pointer) {
  const std::size_t rank = pointer.shape.size();
  if (pointer.strides.size() != rank || pointer.offsets.size() != rank || pointer.block_shape.size() != rank) {
    call.value_error(fmt::format("shape {}, strides {}, offsets {} and block shape {} must have one rank",
                                 to_text(pointer.shape), to_text(pointer.strides), to_text(pointer.offsets),
                                 to_text(pointer.block_shape)));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (pointer.shape[i] < 0) call.value_error(fmt::format("shape {} has a negative extent", to_text(pointer.shape)));
    if (pointer.strides[i] < 0) {
      call.value_error(fmt::format("strides {} must not be negative", to_text(pointer.strides)));
    }
    if (pointer.block_shape[i] <= 0) {
      call.value_error(fmt::format("block shape {} must be positive in every dimension", to_text(pointer.block_shape)));
    }
  }
}

constexpr std::int64_t kAlignment = 16;  // bytes

void check_aligned(const AccessCall& call, const char* what, std::int64_t elements, DType dtype) {
  if (elements % (kAlignment / item_size(dtype)) == 0) return;
  call.value_error(
      fmt::format("{} {} elements of {} is no multiple of {} bytes ({} elements), as a tensor descriptor "
                  "needs; choose an aligned one, or use a block pointer",
                  what, elements, name(dtype), kAlignment, kAlignment / item_size(dtype)));
}

BlockPointer at(BlockPointer block, const Extents& offsets, const AccessCall& call) {
  if (offsets.size() != block.shape.size()) {
    call.value_error(fmt::format("{} offsets were given to a tensor descriptor of {} dimensions", offsets.size(),
                                 block.shape.size()));
  }
  if (!offsets.empty()) check_aligned(call, "the innermost offset of", offsets[offsets.size() - 1], block.base.dtype());
  block.offsets = offsets;
  return block;
}

BlockOptions all_checked(const BlockPointer& block) {
  BlockOptions options;
  options.boundary_check = block.shape;
  for (std::size_t i = 0; i < block.shape.size(); ++i) options.boundary_check[i] = static_cast<std::int64_t>(i);
  options.padding = Padding::zero;
  return options;
}

}  // namespace

BlockPointer make_block_ptr(const Pointer& base, Extents shape, Extents strides, Extents offsets, Extents block_shape,
                            Where where) {
  BlockPointer pointer{base, shape, strides, offsets, block_shape};
  check_parent(access_call("make_block_ptr", "", where), pointer);
  return pointer;
}

BlockPointer advance(BlockPointer pointer, Extents offsets, Where where) {
  const AccessCall call = access_call("advance", "", where);
  if (offsets.size() != pointer.offsets.size()) {
    call.value_error(fmt::format("{} offsets were given to a block pointer of {} dimensions", offsets.size(),
                                 pointer.offsets.size()));
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (__builtin_add_overflow(pointer.offsets[i], offsets[i], &pointer.offsets[i]))
      call.value_error(fmt::format("the offsets {} lead out of the range of 64-bit integers", to_text(offsets)));
  }
  return pointer;
}

Tile load(const BlockPointer& pointer, BlockOptions options, Where where) {
  const AccessCall call = access_call("load", "load", where);
  check_parent(call, pointer);
  return tile::load_block_pointer(call, pointer, options);
}

void store(const BlockPointer& pointer, const Tile& value, BlockOptions options, Where where) {
  const AccessCall call = access_call("store", "store", where);
  check_parent(call, pointer);
  tile::store_block_pointer(call, pointer, value, options);
}

TensorDescriptor make_tensor_descriptor(const Pointer& base, Extents shape, Extents strides, Extents block_shape,
                                        Where where) {
  const AccessCall call = access_call("make_tensor_descriptor", "", where);
  Extents origin = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) origin[i] = 0;
  BlockPointer block{base, shape, strides, origin, block_shape};
  check_parent(call, block);
  if (shape.empty()) call.value_error("a tensor descriptor has at least one dimension");
  check_aligned(call, "the base offset of", base.offset(), base.dtype());
  for (std::size_t i = 0; i + 1 < strides.size(); ++i) {
    check_aligned(call, "the stride of", strides[i], base.dtype());
  }
  if (strides[strides.size() - 1] != 1) {
    call.value_error(fmt::format("the last stride must be 1, got {}; use a block pointer for other layouts",
                                 strides[strides.size() - 1]));
  }
  return {std::move(block)};
}

Tile TensorDescriptor::load(Extents offsets, Where where) const {
  const AccessCall call = access_call("TensorDescriptor::load", "load", where);
  return tile::load_block_pointer(call, at(block_, offsets, call), all_checked(block_));
}

void TensorDescriptor::store(Extents offsets, const Tile& value, Where where) const {
  const AccessCall call = access_call("TensorDescriptor::store", "store", where);
  tile::store_block_pointer(call, at(block_, offsets, call), value, all_checked(block_));
}

}  // namespace kernbench::tl
