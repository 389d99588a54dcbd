// Memory that the programs of a cube share: allocation, loads and stores.
#include <string>
#include <utility>

#include "kernbench/tl.h"
#include "tile/memory/buffer_access.h"
#include "tile/memory/cube_memory.h"
#include "tile/memory/memory_access.h"
#include "tile/memory/multicast_table.h"

namespace kernbench::tl {

using tile::access_call;
using tile::AccessCall;
using tile::CubeRegion;
using tile::Lanes;
using tile::MulticastBlock;
using tile::MulticastPart;

namespace {

/// The box of a region, which has been checked; `together`: as a member of a multicast, or null.
Tile load_box(const AccessCall& call, const CubeRegion& region, const Extents& offsets, const Extents& shape,
              const MulticastPart* together = nullptr) {
  const auto result = call.program.new_tile(region.dtype, shape, call.kind, call.where);
  return issue_load(call, result, places_of_region(region, offsets, shape, call.reader()), Lanes(), together);
}

const CubeRegion& checked_region(const AccessCall& call, const CubeBuffer& buffer, const Extents& offsets,
                                 const Extents& shape) {
  const CubeRegion& region = tile::own_region(call, buffer);
  tile::check_inside(call, region.shape, region.where, offsets, shape);
  return region;
}

Tile load_region(const AccessCall& call, const CubeBuffer& buffer, const Extents& offsets, const Extents& shape) {
  return load_box(call, checked_region(call, buffer, offsets, shape), offsets, shape);
}

hardware::CommandRef store_region(const AccessCall& call, const CubeBuffer& buffer, const Extents& offsets,
                                  const Tile& value) {
  call.program.own(value, call.name, call.where);
  const CubeRegion& region = checked_region(call, buffer, offsets, value.shape());
  const Tile converted = cast(value, region.dtype, Rounding::rtne, call.where);
  return issue_store(call, converted, value.shape(),
                     places_of_region(region, offsets, value.shape(), call.program.coordinate()), Lanes());
}

}  // namespace

DType CubeBuffer::dtype() const {
  return state_->region().dtype;
}
Extents CubeBuffer::shape() const {
  return state_->region().shape;
}

CubeBuffer alloc(Extents shape, DType dtype, CubeScope scope, Where where) {
  const AccessCall call = access_call("alloc", "alloc", where);
  tile::check_buffer(call, shape, dtype);
  const std::string name = std::move(scope.name);
  if (name.empty()) {
    call.value_error("memory of the cube needs a name, by which its programs share it: tl::CubeScope{\"weights\"}");
  }
  return CubeBuffer(std::make_shared<tile::CubeBufferState>(
      call.program, call.program.cube_memory().region(call, name, dtype, shape)));
}

Tile load(const CubeBuffer& buffer, Extents offsets, Extents shape, Where where) {
  return load_region(access_call("load", "cube_load", where), buffer, offsets, shape);
}

void store(const CubeBuffer& buffer, Extents offsets, const Tile& value, Where where) {
  store_region(access_call("store", "cube_store", where), buffer, offsets, value);
}

AsyncLoad load_async(const CubeBuffer& buffer, Extents offsets, Extents shape, Where where) {
  const AccessCall call = access_call("load_async", "cube_load", where);
  return started(call, load_region(call, buffer, offsets, shape));
}

Token store_async(const CubeBuffer& buffer, Extents offsets, const Tile& value, Where where) {
  const AccessCall call = access_call("store_async", "cube_store", where);
  return started(call, store_region(call, buffer, offsets, value));
}

Tile multicast_load(const MulticastGroup& group, const CubeBuffer& buffer, Extents offsets, Extents shape,
                    Where where) {
  AccessCall call = access_call("multicast_load", "multicast_load", where);
  const CubeRegion& region = checked_region(call, buffer, offsets, shape);
  MulticastBlock block;
  block.tensor = tile::text_of(region);
  block.va = region.offset;
  block.dtype = region.dtype;
  block.offsets = offsets;
  block.shape = shape;
  const MulticastPart part = take_part(call, group, block);
  return load_box(call, region, offsets, shape, &part);
}

}  // namespace kernbench::tl
