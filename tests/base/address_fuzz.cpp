// Reads arbitrary bytes as physical addresses and as fields of them: every value decodes, what encodes decodes to the
// same, neighbours are neighbours, and what does not fit is refused with the field's name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/address.h"
#include "kernbench/error.h"

namespace {

using kernbench::AddressFields;
using kernbench::AddressRange;
using kernbench::PhysAddr;

void require(bool condition) {
  if (!condition) std::abort();
}

/// A plain reading of the map, by looking for the window that holds the offset.
AddressFields slow_decode(std::uint64_t value) {
  AddressFields fields;
  fields.sip.value = static_cast<std::int32_t>(value / (std::uint64_t{1} << 50));
  fields.cube.value = static_cast<std::int32_t>(value / (std::uint64_t{1} << 40) % 1024);
  const std::uint64_t local = value % (std::uint64_t{1} << 40);
  for (const AddressRange& range : kernbench::address_map()) {
    const std::uint64_t pes = range.pe_stride == 0 ? 1 : PhysAddr::kMaximumPes;
    if (local < range.begin || local >= range.begin + pes * (range.pe_stride == 0 ? range.size : range.pe_stride)) {
      continue;
    }
    const std::uint64_t inside = local - range.begin;
    const std::uint64_t pe = range.pe_stride == 0 ? 0 : inside / range.pe_stride;
    const std::uint64_t offset = inside - pe * range.pe_stride;
    if (offset >= range.size) continue;
    fields.space = range.space;
    fields.pe.value = static_cast<std::int32_t>(pe);
    fields.offset = offset;
    return fields;
  }
  std::abort();
}

void check_value(std::uint64_t value) {
  const PhysAddr address(value);
  const AddressFields fields = address.decode();
  require(fields == slow_decode(value));
  require(PhysAddr::encode(fields) == address);
  require(!kernbench::to_text(address).empty());
}

void check_fields(const AddressFields& fields) {
  const AddressRange& range = kernbench::address_range(fields.space);
  const std::int32_t pes = range.pe_stride == 0 ? 1 : PhysAddr::kMaximumPes;
  const auto inside = [](std::int32_t value, std::int32_t limit) { return value >= 0 && value < limit; };
  const bool sip = inside(fields.sip.value, PhysAddr::kMaximumSips);
  const bool cube = inside(fields.cube.value, PhysAddr::kMaximumCubes);
  const bool pe = inside(fields.pe.value, pes), offset = fields.offset < range.size;
  try {
    require(PhysAddr::encode(fields).decode() == fields);
    require(sip && cube && pe && offset);
  } catch (const kernbench::OutOfBoundsError& error) {
    const std::string named = !sip ? "SIP " : !cube ? "cube " : !pe ? "PE " : "offset ";
    require(!(sip && cube && pe && offset));
    require(std::string(error.what()).starts_with(named));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t words[3] = {};
  std::memcpy(words, data, size < sizeof words ? size : sizeof words);
  check_value(words[0]);
  check_value(words[0] + 1);
  AddressFields fields;
  fields.sip.value = static_cast<std::int32_t>(words[1]);
  fields.cube.value = static_cast<std::int32_t>(words[1] >> 32) % 2048;
  fields.pe.value = static_cast<std::int32_t>(words[2] >> 45) % 2048;
  fields.space = static_cast<kernbench::AddressSpace>(words[2] % kernbench::kAddressMap.size());
  fields.offset = words[0] >> (words[2] % 64);
  check_fields(fields);
  fields.sip.value %= PhysAddr::kMaximumSips;
  check_fields(fields);
  return 0;
}
