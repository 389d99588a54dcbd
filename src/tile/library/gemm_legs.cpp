#include "tile/library/gemm_legs.h"

#include <algorithm>
#include <cmath>

#include "tile/library/gemm_units.h"

namespace kernbench::tile::library {

GemmLegs::GemmLegs(std::span<const GemmPart> parts, const topology::Topology& topology, std::int64_t item,
                   bool transposed)
    : parts_(parts), topology_(topology), item_(item), transposed_(transposed) {}

std::size_t GemmLegs::Hash::operator()(const OperandBox& box) const {
  std::uint64_t hash = 0;
  for (int d = 0; d < 3; ++d) {
    hash = (hash ^ static_cast<std::uint64_t>(box.begin[d])) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ static_cast<std::uint64_t>(box.end[d])) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

const std::vector<GemmLeg>& GemmLegs::of(const OperandBox& box) {
  const auto [found, added] = legs_.try_emplace(box);
  if (!added) return found->second;
  const auto granule = static_cast<double>(topology_.cube.hbm.interleave.count());
  const auto least = static_cast<double>(topology_.cube.hbm.access.count());
  const std::uint32_t channels = channels_of_slice(topology_);
  for (const auto& part : parts_) {
    std::int64_t extents[3], held[3];
    bool empty = false;
    for (int d = 0; d < 3; ++d) {
      extents[d] = std::min(part.end[d], box.end[d]) - std::max(part.begin[d], box.begin[d]);
      held[d] = part.end[d] - part.begin[d];
      empty = empty || extents[d] <= 0;
    }
    if (empty) continue;
    const int along = transposed_ ? 1 : 2;
    const double elements = static_cast<double>(extents[0] * extents[1] * extents[2]);
    const double bytes = elements * static_cast<double>(item_);
    // Whole rows of a holder follow each other in its memory.
    const double run = extents[along] == held[along] ? bytes : static_cast<double>(extents[along] * item_);
    // Rows of one granule ask one channel, whoever reads them.
    std::int64_t offset = 0, span = 1;
    for (const int d : {0, along == 2 ? 1 : 2, along}) {
      offset = offset * held[d] + std::max(part.begin[d], box.begin[d]) - part.begin[d];
      span = (span - 1) * held[d] + extents[d];
    }
    const auto first = static_cast<std::uint32_t>(static_cast<double>(offset * item_) / granule);
    const auto granules =
        static_cast<std::uint32_t>(static_cast<double>((offset + span) * item_ - 1) / granule) - first + 1;
    const bool few = granules < channels;
    const double whole = std::floor(run / granule) * granule, rest = run - whole;
    found->second.push_back({part.owner, bytes, (whole + (rest > 0 ? std::max(rest, least) : 0)) / run,
                             few ? first % channels : 0, few ? granules : 0});
  }
  return found->second;
}

}  // namespace kernbench::tile::library
