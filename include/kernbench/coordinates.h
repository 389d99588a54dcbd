// Coordinates of parts of the machine: SIP, cube within the SIP, PE within the cube.
#pragma once

#include <compare>
#include <cstdint>

namespace kernbench {

/// Index of a SIP (a device) in the system.
struct SipId {
  std::int32_t value = 0;
  constexpr auto operator<=>(const SipId&) const = default;
};
/// Index of a cube in its SIP, row by row over the cube mesh (x fastest).
struct CubeId {
  std::int32_t value = 0;
  constexpr auto operator<=>(const CubeId&) const = default;
};
/// Index of a PE in its cube, row by row over the PE mesh (x fastest).
struct PeId {
  std::int32_t value = 0;
  constexpr auto operator<=>(const PeId&) const = default;
};

/// A cube of the system.
struct CubeCoordinate {
  SipId sip;
  CubeId cube;
  constexpr auto operator<=>(const CubeCoordinate&) const = default;
};

/// A PE of the system; also names the PE's HBM slice.
struct PeCoordinate {
  SipId sip;
  CubeId cube;
  PeId pe;
  constexpr auto operator<=>(const PeCoordinate&) const = default;
};

/// Extents of a two-dimensional mesh; index = y * width + x.
struct MeshExtent {
  std::int32_t width = 1;
  std::int32_t height = 1;
  constexpr std::int32_t count() const { return width * height; }
  constexpr auto operator<=>(const MeshExtent&) const = default;
};

}  // namespace kernbench
