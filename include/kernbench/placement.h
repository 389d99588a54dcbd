// Placement of device tensors: how a DPPolicy cuts a tensor over the cubes and PEs of a SIP.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernbench/coordinates.h"
#include "kernbench/units.h"

namespace kernbench {

/// How one level of the machine (the cubes of a SIP, or the PEs of a cube) shares a tensor. But for `balanced`, a split
/// is as even as torch::chunk makes it: pieces of ceil(extent / parts), the last one shorter, the ones after that
/// absent.
enum class Placement : std::uint8_t {
  replicate,           // each part holds all of it
  row_wise,            // the first dimension is split
  column_wise,         // the last dimension is split (of a 1-D tensor, the only one)
  tiled_row_major,     // first and last dimension, over a grid as square as possible; parts counted along rows
  tiled_column_major,  // the same grid; parts counted along columns
  /// A grid of boxes of about equal size, for any shape: of the grids that leave the least to the fullest part. Rows
  /// (all dimensions but the last) are cut, the first ones most. Only where there are fewer rows than parts the last
  /// dimension is, too, into pieces of 64 bytes at least; of a 1-D tensor, element by element. Pieces of one dimension
  /// differ by at most one element.
  balanced,
  /// One array in row-major order, whose granules a hash of the address spreads over HBM slices: equally much in each,
  /// and none of a PE's own. Of `pe` alone over the slices of each cube, whose box the cube level says; of `cube` and
  /// `pe` over those of the whole SIP. `cube` alone cannot be interleaved.
  interleaved,
};

/// Placement of a tensor on one SIP: first over its cubes, then each cube's box over the cube's PEs. There is no axis
/// across SIPs: a tensor lies on one device, which torch::ahbm::set_device or a tensor's device option chooses, and a
/// program for several devices gives each its own tensor.
struct DPPolicy {
  Placement cube = Placement::balanced;
  Placement pe = Placement::balanced;
  int num_cubes = 0;  // the first so many cubes; 0: all
  int num_pes = 0;    // of each cube, the first so many PEs; 0: all
  /// Of interleaved tensors: a power of two of bytes, from cube.hbm.access (and 8 bytes) to pe.mmu.page; 0:
  /// cube.hbm.interleave.
  Bytes granule = Bytes(0);
  bool operator==(const DPPolicy&) const = default;
};

/// A box of a tensor on one PE, in elements. Of an interleaved tensor what the PE works on, which lies in many slices.
struct ShardSpec {
  SipId sip;
  CubeId cube;
  PeId pe;
  std::vector<std::int64_t> offset, shape;
  std::int64_t bytes = 0;
  bool operator==(const ShardSpec&) const = default;
};

/// The shards of a tensor of `shape`, of elements of `itemsize` bytes, on SIP `target_sip` of a machine with
/// `num_cubes` cubes of `num_pe` PEs: ordered by cube, then PE. The cube level cuts the tensor, the PE level each
/// cube's box. Empty boxes have no shard; a scalar counts as one row. What is interleaved is shared for work as if it
/// were balanced. ValueError when the policy names more cubes or PEs than there are, interleaves over cubes and not
/// over PEs, or gives a granule to what is not interleaved, and for sizes that no tensor has.
std::vector<ShardSpec> resolve_dp_policy(const DPPolicy& policy, std::span<const std::int64_t> shape,
                                         std::int64_t itemsize, std::int32_t num_pe, std::int32_t num_cubes,
                                         SipId target_sip);

}  // namespace kernbench
