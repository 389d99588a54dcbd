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
/// Of a mesh: links, each way one, and on how many of them a message between two nodes goes on average.
inline double links_of(const MeshExtent& mesh) {
  return 2.0 * ((mesh.width - 1) * mesh.height + (mesh.height - 1) * mesh.width);
}
inline double mean_distance(const MeshExtent& mesh) {
  return (mesh.width + mesh.height) / 3.0;
}
inline std::uint32_t channels_of_slice(const topology::Topology& topology) {
  return static_cast<std::uint32_t>(std::max(topology.cube.hbm.channels / topology.cube.pes.count(), 1));
}

}  // namespace kernbench::tile::library
