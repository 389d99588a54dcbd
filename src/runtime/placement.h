// DPPolicy → ShardSpec: which box of a tensor each PE holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/coordinates.h"
#include "kernbench/placement.h"

namespace kernbench::runtime {

/// A box of a tensor on one PE, in elements.
struct ShardSpec {
  SipId sip;
  CubeId cube;
  PeId pe;
  std::vector<std::int64_t> offset, shape;
  std::int64_t bytes = 0;
  bool operator==(const ShardSpec&) const = default;
};

/// The shards of a tensor of `shape` on SIP `target_sip` with `num_cubes` cubes of `num_pe` PEs, by coordinate.
/// The cube level cuts the tensor, the PE level each cube's box. Empty boxes have no shard; a scalar counts as one row.
/// ValueError when the policy names more cubes or PEs than there are.
std::vector<ShardSpec> resolve_dp_policy(const DPPolicy& policy, std::span<const std::int64_t> shape,
                                         std::int64_t itemsize, std::int32_t num_pe, std::int32_t num_cubes,
                                         SipId target_sip);

}  // namespace kernbench::runtime
