// Physical addresses: 64 bits with structure, so that an address says which memory of which part it points into.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernbench/coordinates.h"
#include "kernbench/units.h"

namespace kernbench {

/// The memories that a physical address can point into. HBM and SRAM belong to a cube, the others to a PE.
enum class AddressSpace : std::uint8_t { hbm, sram, tcm, ipcq, registers };

/// What an address says. `pe` is 0 for the spaces of a cube.
struct AddressFields {
  SipId sip{};
  CubeId cube{};
  AddressSpace space = AddressSpace::hbm;
  PeId pe{};
  std::uint64_t offset = 0;  // in bytes, within the space
  bool operator==(const AddressFields&) const = default;
};

/// One row of the address map: the local offsets that one space occupies in every cube.
struct AddressRange {
  AddressSpace space;
  std::string_view name;  // as in an address's text: "hbm"
  std::string_view description;
  std::uint64_t begin;      // first local offset (of PE 0 for a space of PEs)
  std::uint64_t size;       // bytes of the cube's, or of each PE's, range
  std::uint64_t pe_stride;  // distance from PE to PE; 0 for a space of the cube
};

/// A physical address. Bits 63..50: SIP, 49..40: cube, 39..0: local offset, divided as address_map() says.
class PhysAddr {
 public:
  static constexpr int kSipBits = 14, kCubeBits = 10, kLocalBits = 40;
  static constexpr std::int32_t kMaximumSips = 1 << kSipBits, kMaximumCubes = 1 << kCubeBits, kMaximumPes = 1024;

  constexpr PhysAddr() = default;
  explicit constexpr PhysAddr(std::uint64_t value) : value_(value) {}
  /// OutOfBoundsError when a field does not fit.
  static PhysAddr encode(const AddressFields& fields);
  /// Every value has a meaning: the ranges of the map tile all local offsets.
  AddressFields decode() const;

  constexpr std::uint64_t value() const { return value_; }
  constexpr SipId sip() const { return {static_cast<std::int32_t>(value_ >> (kCubeBits + kLocalBits))}; }
  constexpr CubeId cube() const { return {static_cast<std::int32_t>(value_ >> kLocalBits & (kMaximumCubes - 1))}; }
  constexpr std::uint64_t local_offset() const { return value_ & ((std::uint64_t{1} << kLocalBits) - 1); }
  constexpr auto operator<=>(const PhysAddr&) const = default;

 private:
  std::uint64_t value_ = 0;
};

/// The local offsets at which the windows of the PEs begin, and the size of one window.
inline constexpr std::uint64_t kPeWindows = std::uint64_t{768} << 30, kPeWindow = std::uint64_t{256} << 20;

/// All ranges of the local offset, ascending; they tile it.
// assumption: sizes leave room for several generations of each memory; the machine's own sizes come from its topology.
inline constexpr std::array<AddressRange, 5> kAddressMap = {{
    {AddressSpace::hbm, "hbm", "HBM of the cube; each PE owns an equal slice, in order of PEs", 0,
     std::uint64_t{512} << 30, 0},
    {AddressSpace::sram, "sram", "SRAM shared by the cube's PEs", std::uint64_t{512} << 30, std::uint64_t{256} << 30,
     0},
    {AddressSpace::tcm, "tcm", "tightly coupled memory of the PE", kPeWindows, std::uint64_t{128} << 20, kPeWindow},
    {AddressSpace::ipcq, "ipcq", "slots of the PE's inter-PE communication queues",
     kPeWindows + (std::uint64_t{128} << 20), std::uint64_t{64} << 20, kPeWindow},
    {AddressSpace::registers, "registers", "special-function registers of the PE",
     kPeWindows + (std::uint64_t{192} << 20), std::uint64_t{64} << 20, kPeWindow},
}};
static_assert(kPeWindows + PhysAddr::kMaximumPes * kPeWindow == std::uint64_t{1} << PhysAddr::kLocalBits);

constexpr const AddressRange& address_range(AddressSpace space) {
  return kAddressMap[static_cast<std::size_t>(space)];
}
/// Bytes that a cube, or a PE, can have in a space.
constexpr Bytes address_limit(AddressSpace space) {
  return Bytes(static_cast<std::int64_t>(address_range(space).size));
}

/// kAddressMap.
std::span<const AddressRange> address_map();

/// The address of byte `offset` of a PE's HBM slice; each PE owns `slice_capacity` consecutive bytes of its cube's HBM.
PhysAddr hbm_slice_address(PeCoordinate slice, Bytes slice_capacity, std::uint64_t offset);

/// The address of byte `offset` of the SRAM of a PE's cube.
PhysAddr sram_address(CubeCoordinate cube, std::uint64_t offset);

/// "sip0.cube2.hbm+0x1f000", "sip0.cube2.pe5.tcm+0x40".
std::string to_text(PhysAddr address);

}  // namespace kernbench
