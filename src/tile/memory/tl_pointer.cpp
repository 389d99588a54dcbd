// Pointers into tensors: arithmetic, strided blocks, gather and scatter.
#include <fmt/format.h>

#include "addressing/tensor_descriptor.h"
#include "kernbench/tl.h"
#include "tile/memory/memory_access.h"
#include "tile/memory/tl_access.h"
#include "tile/program/conversion.h"

namespace kernbench::tl {

using tile::access_call;
using tile::AccessCall;
using tile::Lanes;
using tile::Program;

PointerTile operator+(const Tensor& base, const Tile& offsets) {
  return base.data_ptr() + offsets;
}
Pointer operator+(const Tensor& base, std::int64_t elements) {
  return base.data_ptr() + elements;
}
PointerTile operator+(const Pointer& base, const Tile& offsets) {
  return {base, offsets};
}
PointerTile operator+(const Tile& offsets, const Pointer& base) {
  return {base, offsets};
}

namespace {

/// A scalar that is a whole number moves the base; everything else is arithmetic on the offsets.
bool moves_base(const Operand& offsets) {
  return offsets.is_scalar() && offsets.scalar().kind() != Scalar::Kind::floating;
}

}  // namespace

PointerTile operator+(const PointerTile& pointers, const Operand& offsets) {
  if (moves_base(offsets)) return {pointers.base() + offsets.scalar().as_integer(), pointers.offsets()};
  return {pointers.base(), Operand(pointers.offsets(), offsets.where()) + offsets};
}
PointerTile operator+(const Operand& offsets, const PointerTile& pointers) {
  return pointers + offsets;
}
PointerTile operator-(const PointerTile& pointers, const Operand& offsets) {
  if (moves_base(offsets)) return {pointers.base() - offsets.scalar().as_integer(), pointers.offsets()};
  return {pointers.base(), Operand(pointers.offsets(), offsets.where()) - offsets};
}

namespace {

void store_strided(const AccessCall& call, const Pointer& pointer, const Extents& shape, const Extents& strides,
                   const Operand& value, const StoreOptions& options, tile::ChosenLane known = {}) {
  const auto block = tile::whole_block(pointer.offset(), shape, strides);
  check_strided(call, pointer.tensor(), block, true);
  Lanes lanes = lanes_of(call, options, shape);
  lanes.chosen = known;
  const Tile converted = stored_value(call, pointer.tensor(), value, shape);
  issue_store(call, converted, shape, places_of_strided(call, pointer.tensor(), block, true), lanes);
}

/// The lanes of a pointer tile are chosen here: what is masked off has no place.
Lanes chosen(Lanes lanes, const Program& program, const PointerTile& pointers, const AccessCall& call) {
  lanes.offsets = program.own(pointers.offsets(), call.name, call.where).get();
  lanes.mask_chooses = false;
  return lanes;
}

}  // namespace

Tile load(const Pointer& pointer, LoadOptions options, Where where) {
  return load(pointer, {}, {}, std::move(options), where);
}

Tile load(const Pointer& pointer, Extents shape, Extents strides, LoadOptions options, Where where) {
  const AccessCall call = access_call("load", "load", where);
  const auto block = tile::whole_block(pointer.offset(), shape, strides);
  check_strided(call, pointer.tensor(), block, false);
  const Lanes lanes = lanes_of(call, options, shape);
  const auto result = call.program.new_tile(pointer.dtype(), shape, call.kind, where);
  return issue_load(call, result, places_of_strided(call, pointer.tensor(), block, false), lanes);
}

Tile load(const PointerTile& pointers, LoadOptions options, Where where) {
  return tile::load_gather(access_call("load", "gather", where), pointers, options);
}

void store(const Pointer& pointer, const Operand& value, StoreOptions options, Where where) {
  store_strided(access_call("store", "store", where), pointer, {}, {}, value, options);
}

void store(const Pointer& pointer, Extents strides, const Tile& value, StoreOptions options, Where where) {
  const AccessCall call = access_call("store", "store", where);
  const Extents shape = call.program.own(value, call.name, where)->shape();
  store_strided(call, pointer, shape, strides, value, options);
}

void store(const PointerTile& pointers, const Operand& value, StoreOptions options, Where where) {
  const AccessCall call = access_call("store", "scatter", where);
  const Tensor& tensor = pointers.base().tensor();
  const Extents shape = call.program.own(pointers.offsets(), call.name, where)->shape();
  const Lanes lanes = chosen(lanes_of(call, options, shape), call.program, pointers, call);
  const Tile converted = stored_value(call, tensor, value, shape);
  const auto where_to = resolve_lanes(call.program, call.name, pointers, lanes.mask, where, true);
  issue_store(call, converted, shape, places_of_lanes(call, tensor, where_to), lanes);
}

}  // namespace kernbench::tl

namespace kernbench::tile {

void store_lane(const tl::Pointer& pointer, const tl::Extents& strides, const tl::Tile& value, const tl::Tile& mask,
                ChosenLane chosen, const tl::Where& where) {
  tl::store_strided(access_call("store", "store", where), pointer, value.shape(), strides, value, {.mask = mask},
                    chosen);
}

tl::Tile load_gather(const AccessCall& call, const tl::PointerTile& pointers, const tl::LoadOptions& options) {
  const tl::Extents shape = call.program.own(pointers.offsets(), call.name, call.where)->shape();
  const Lanes lanes = tl::chosen(lanes_of(call, options, shape), call.program, pointers, call);
  const auto where_from = resolve_lanes(call.program, call.name, pointers, lanes.mask, call.where, false);
  const auto result = call.program.new_tile(pointers.dtype(), shape, call.kind, call.where);
  return issue_load(call, result, places_of_lanes(call, pointers.base().tensor(), where_from), lanes);
}

}  // namespace kernbench::tile
