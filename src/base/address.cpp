#include "base/address.h"

#include <fmt/core.h>

#include <cassert>

#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench {

namespace {

void check(const char* field, std::uint64_t value, std::uint64_t limit) {
  if (value >= limit)
    throw OutOfBoundsError(
        fmt::format("{} {:#x} does not fit into a physical address: the limit is {:#x}", field, value, limit));
}

std::uint64_t index(std::int32_t value) {
  return static_cast<std::uint32_t>(value);
}

}  // namespace

std::span<const AddressRange> address_map() {
  return kAddressMap;
}

PhysAddr PhysAddr::encode(const AddressFields& fields) {
  const AddressRange& range = address_range(fields.space);
  check("SIP", index(fields.sip.value), kMaximumSips);
  check("cube", index(fields.cube.value), kMaximumCubes);
  check("PE", index(fields.pe.value), range.pe_stride == 0 ? 1 : kMaximumPes);
  check("offset", fields.offset, range.size);
  const std::uint64_t local = range.begin + range.pe_stride * index(fields.pe.value) + fields.offset;
  return PhysAddr(index(fields.sip.value) << (kCubeBits + kLocalBits) | index(fields.cube.value) << kLocalBits | local);
}

AddressFields PhysAddr::decode() const {
  AddressFields fields{.sip = sip(), .cube = cube()};
  const std::uint64_t local = local_offset();
  if (local >= kPeWindows) fields.pe.value = static_cast<std::int32_t>((local - kPeWindows) / kPeWindow);
  for (const AddressRange& range : kAddressMap) {
    const std::uint64_t begin = range.begin + range.pe_stride * index(fields.pe.value);
    if (local < begin || local - begin >= range.size) continue;
    fields.space = range.space;
    fields.offset = local - begin;
    return fields;
  }
  // The ranges of the map tile all 2^40 local offsets.
  assert(false);
  return fields;
}

PhysAddr hbm_slice_address(PeCoordinate slice, Bytes slice_capacity, std::uint64_t offset) {
  const auto capacity = static_cast<std::uint64_t>(slice_capacity.count());
  check("offset", offset, capacity);
  return PhysAddr::encode({.sip = slice.sip,
                           .cube = slice.cube,
                           .space = AddressSpace::hbm,
                           .pe = {},
                           .offset = index(slice.pe.value) * capacity + offset});
}

PhysAddr sram_address(CubeCoordinate cube, std::uint64_t offset) {
  return PhysAddr::encode(
      {.sip = cube.sip, .cube = cube.cube, .space = AddressSpace::sram, .pe = {}, .offset = offset});
}

std::string to_text(PhysAddr address) {
  const AddressFields fields = address.decode();
  const AddressRange& range = address_range(fields.space);
  const std::string part = range.pe_stride == 0 ? to_text(CubeCoordinate{fields.sip, fields.cube})
                                                : to_text(PeCoordinate{fields.sip, fields.cube, fields.pe});
  return fmt::format("{}.{}+{:#x}", part, range.name, fields.offset);
}

}  // namespace kernbench
