#include "hardware/hbm/slice_use.h"

#include <algorithm>

namespace kernbench::hardware {
namespace {

std::int32_t channels_of_slice(const topology::CubeSpec& cube) {
  return cube.hbm.channels / cube.pes.count();
}

}  // namespace

RowAccesses accesses_of(const StridedRange& range, Bytes granule) {
  const std::int64_t row = range.row_bytes.count(), size = granule.count();
  const auto offset = static_cast<std::int64_t>(range.address % static_cast<std::uint64_t>(size));
  const std::int64_t first = std::min(row, size - offset);
  return {Bytes(first), Bytes((row - first) % size), (row - first) / size};
}

BurstSums in_channels(const StridedRange& range, Bytes granule, Bytes burst, Bytes access) {
  const bool alike = range.rows == 1 || range.stride % granule.count() == 0;
  if (!alike) return {0, std::max(range.row_bytes, access) * range.rows};
  const RowAccesses row = accesses_of(range, granule);
  BurstSums work{0, std::max(row.first, access)};
  if (row.last > Bytes()) work.others += std::max(row.last, access);
  // A burst that is no longer than a granule has one whole granule or a part of one, and nothing else.
  if (burst <= granule && burst >= access) {
    const std::int64_t parts = granule.count() / burst.count();
    work.bursts = row.whole * parts;
    if (row.first == granule) {
      work.bursts += parts;
      work.others -= granule;
    }
  } else {
    work.others += std::max(granule, access) * row.whole;
  }
  return {work.bursts * range.rows, work.others * range.rows};
}

void SliceUse::add(const DmaLeg& leg, Bytes bytes, const topology::Topology& topology) {
  const topology::HbmSpec& hbm = topology.cube.hbm;
  const Bytes burst = topology.cube.noc.burst;
  bytes_ += bytes;
  if (bytes == Bytes()) return;
  for (const StridedRange& range : leg.ranges) {
    if (range.total() == Bytes()) continue;
    const BurstSums sums = in_channels(range, hbm.interleave, burst, hbm.access);
    occupied_ += burst * sums.bursts + sums.others;
  }
  if (leg.ranges.size() != 1 || leg.ranges.front().rows != 1) return;
  const StridedRange& range = leg.ranges.front();
  const RowAccesses row = accesses_of(range, hbm.interleave);
  if (row.whole > 0 || row.last > Bytes()) return;
  const auto channels = static_cast<std::uint32_t>(channels_of_slice(topology.cube));
  alone_.resize(channels);
  alone_[interleave(range.address, hbm.interleave, channels)] += std::max(row.first, hbm.access);
}

Time SliceUse::least_time(const topology::Topology& topology) const {
  const Bandwidth channel = topology.cube.hbm.channel_bandwidth();
  const std::int64_t channels = channels_of_slice(topology.cube);
  Time least = Time::picoseconds(transfer_time(occupied_, channel).count() / channels);
  for (const Bytes bytes : alone_) least = std::max(least, transfer_time(bytes, channel));
  return least;
}

}  // namespace kernbench::hardware
