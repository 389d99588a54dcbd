// Where a device tensor's elements live: how a DPPolicy cuts a tensor over the cubes and PEs of a SIP.
#pragma once

#include <cstdint>

namespace kernbench {

/// How one level of the machine (the cubes of a SIP, or the PEs of a cube) shares a tensor. A split is as even as
/// torch::chunk makes it: pieces of ceil(extent / parts), the last one shorter, the ones after that absent.
enum class Placement : std::uint8_t {
  replicate,           // each part holds all of it
  row_wise,            // the first dimension is split
  column_wise,         // the last dimension is split (of a 1-D tensor, the only one)
  tiled_row_major,     // first and last dimension, over a grid as square as possible; parts counted along rows
  tiled_column_major,  // the same grid; parts counted along columns
};

/// Placement of a tensor on one SIP: first over its cubes, then each cube's box over the cube's PEs.
struct DPPolicy {
  Placement cube = Placement::row_wise;
  Placement pe = Placement::row_wise;
  int num_cubes = 0;  // the first so many cubes; 0: all
  int num_pes = 0;    // of each cube, the first so many PEs; 0: all
  bool operator==(const DPPolicy&) const = default;
};

}  // namespace kernbench
