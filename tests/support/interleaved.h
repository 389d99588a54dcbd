// Interleaved placements among the random ones of a test.
#pragma once

#include <array>
#include <cstdint>

#include "kernbench/placement.h"

namespace kernbench::testing {

/// `policy`, or in one of three draws the same with PEs or both levels interleaved, in granules of different sizes.
inline DPPolicy maybe_interleaved(DPPolicy policy, std::uint64_t draw) {
  if (draw % 3 != 0) return policy;
  policy.pe = Placement::interleaved;
  if (draw / 3 % 2 == 0) policy.cube = Placement::interleaved;
  policy.granule = std::array{Bytes(0), Bytes(64), Bytes(128), Bytes(512)}[draw / 6 % 4];
  return policy;
}

}  // namespace kernbench::testing
