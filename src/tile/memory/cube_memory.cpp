#include "tile/memory/cube_memory.h"

#include <fmt/format.h>

#include "addressing/locate.h"
#include "base/name_format.h"
#include "base/text.h"
#include "kernbench/error.h"
#include "tile/memory/access.h"
#include "tile/program/conversion.h"

namespace kernbench::tile {

namespace {

/// "f16 [64, 32] (4KiB)"
std::string block_text(DType dtype, const tl::Extents& shape) {
  return fmt::format("{} {} ({})", name(dtype), to_text(shape),
                     kernbench::to_text(Bytes(shape.numel() * item_size(dtype))));
}

}  // namespace

CubeMemoryTable::~CubeMemoryTable() {
  const auto rooms = rooms_.lock();
  if (rooms == nullptr) return;
  for (const auto& [key, region] : regions_) rooms->give_back_sram(region->cube, region->offset, region->size);
}

void CubeMemoryTable::out_of_memory(const AccessCall& call, const CubeRegion& wanted, Bytes free) const {
  const Bytes capacity = call.program.environment().machine.topology().cube.sram.capacity;
  std::string mine;
  for (const auto& [key, region] : regions_) {
    if (region->cube != wanted.cube) continue;
    mine += fmt::format("\n  \"{}\" {} from program {} at {}", region->name, block_text(region->dtype, region->shape),
                        region->first, to_text(region->where));
  }
  throw OutOfMemoryError(
      fmt::format("out of memory in {}.sram: \"{}\" is {}, and {} of {} are free; the rest is held by slots of queues, "
                  "windows and other launches, and by this one's regions. Use smaller regions, another buffer_kind for "
                  "queues, or raise cube.sram.capacity. Regions of this launch:{}",
                  kernbench::to_text(wanted.cube), wanted.name, block_text(wanted.dtype, wanted.shape),
                  kernbench::to_text(free), kernbench::to_text(capacity), mine.empty() ? " none" : mine),
      call.program.place(call.where));
}

std::shared_ptr<CubeRegion> CubeMemoryTable::take(const AccessCall& call, const std::string& name, DType dtype,
                                                  const tl::Extents& shape) {
  const Environment& environment = call.program.environment();
  const PeCoordinate at = call.program.coordinate();
  auto region = std::make_shared<CubeRegion>(CubeRegion{.name = name,
                                                        .cube = cube_of(at),
                                                        .dtype = dtype,
                                                        .shape = shape,
                                                        .size = Bytes(shape.numel() * item_size(dtype)),
                                                        .first = call.program.id(),
                                                        .where = call.where,
                                                        .bytes = nullptr});
  const auto rooms = rooms_.lock();
  const auto offset = rooms->take_sram(region->cube, region->size);
  if (!offset) out_of_memory(call, *region, rooms->free_sram(region->cube));
  region->offset = *offset;
  const PeCoordinate owner{at.sip, at.cube, PeId{}};
  region->bytes = std::make_shared<BufferBytes>(environment.executor, buffer_layout(shape, dtype, owner));
  region->bytes->memory.map(0, region->size.count(), environment.fresh_memory_is_zero);
  return region;
}

std::shared_ptr<const CubeRegion> CubeMemoryTable::region(const AccessCall& call, const std::string& name, DType dtype,
                                                          const tl::Extents& shape) {
  const PeCoordinate at = call.program.coordinate();
  const std::pair key{cube_of(at), name};
  const auto found = regions_.find(key);
  if (found == regions_.end()) return regions_.emplace(key, take(call, name, dtype, shape)).first->second;
  const CubeRegion& known = *found->second;
  if (known.dtype == dtype && known.shape == shape) return found->second;
  call.value_error(fmt::format(
      "\"{}\" is {} here on {}, but {} for program {} on {} at {}; programs of a cube share what they allocate under "
      "one name, so give all the same type and shape, or another name",
      name, block_text(dtype, shape), to_name(at), block_text(known.dtype, known.shape), known.first,
      to_name(call.program.launch().place_of(known.first)), to_text(known.where)));
}

std::string text_of(const CubeRegion& region) {
  return fmt::format("\"{}\" in {}.sram", region.name, kernbench::to_text(region.cube));
}

Places places_of_region(const CubeRegion& region, const tl::Extents& offsets, const tl::Extents& shape,
                        PeCoordinate reader) {
  Places places;
  hardware::DmaLeg leg{reader, {}, AddressSpace::sram};
  for (const auto& piece : locate_box(region.bytes->layout, offsets.span(), shape.span())) {
    leg.ranges.push_back({region.offset + piece.va, piece.rows, Bytes(piece.row_bytes), piece.stride});
    places.pieces.push_back(data_piece(region.bytes->memory, piece.va, piece, item_size(region.dtype)));
  }
  places.legs.push_back(std::move(leg));
  return places;
}

const CubeRegion& own_region(const AccessCall& call, const tl::CubeBuffer& buffer) {
  if (buffer.state() == nullptr) call.value_error("an empty buffer was used");
  if (!buffer.state()->belongs_to(call.program)) {
    call.value_error("the buffer is another program's handle; allocate under its name in each program that uses it");
  }
  return buffer.state()->region();
}

}  // namespace kernbench::tile
