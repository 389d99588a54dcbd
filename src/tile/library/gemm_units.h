// Units of the closed forms for matrix products: nanoseconds as numbers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanoseconds.h"
#include "kernbench/units.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

inline double ns(Time time) {
  return nanoseconds(time);
}
inline double ns_of_byte(Bandwidth bandwidth) {
  return 1e9 / static_cast<double>(bandwidth.count());
}
inline std::uint32_t channels_of_slice(const topology::Topology& topology) {
  return static_cast<std::uint32_t>(std::max(topology.cube.hbm.channels / topology.cube.pes.count(), 1));
}

}  // namespace kernbench::tile::library
