#include "tile/library/gemm_traffic.h"

#include <algorithm>
#include <cstdlib>

namespace kernbench::tile::library {

namespace {

double overlap(const GemmPart& part, const OperandBox& box) {
  double volume = 1;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t extent = std::min(part.end[d], box.end[d]) - std::max(part.begin[d], box.begin[d]);
    if (extent <= 0) return 0;
    volume *= static_cast<double>(extent);
  }
  return volume;
}

double volume_of(const OperandBox& box) {
  double volume = 1;
  for (int d = 0; d < 3; ++d) volume *= static_cast<double>(std::max<std::int64_t>(box.end[d] - box.begin[d], 0));
  return volume;
}

}  // namespace

OperandLocality::OperandLocality(std::span<const GemmPart> parts, std::span<const PeCoordinate> pes,
                                 const topology::Topology& topology)
    : parts_(parts),
      width_(topology.sip.cubes.width),
      per_cube_(topology.cube.pes.count()),
      pes_(static_cast<double>(pes.size())),
      slices_(static_cast<std::size_t>(topology.pes_per_sip()), 0),
      loads_(topology) {
  std::vector<bool> used(static_cast<std::size_t>(topology.sip.cubes.count()), false);
  for (const auto& pe : pes) used[static_cast<std::size_t>(pe.cube.value)] = true;
  cubes_ = static_cast<double>(std::ranges::count(used, true));
  mean_hops_ = (topology.sip.cubes.width + topology.sip.cubes.height) / 3.0;
}

std::int64_t OperandLocality::distance(PeCoordinate a, PeCoordinate b) const {
  if (a == b) return 0;
  return 1 + std::abs(a.cube.value % width_ - b.cube.value % width_) +
         std::abs(a.cube.value / width_ - b.cube.value / width_);
}

OperandTraffic OperandLocality::evenly(double all) const {
  OperandTraffic result;
  result.own = all / pes_;
  result.cube = all * std::max(1 / cubes_ - 1 / pes_, 0.0);
  result.remote = all - result.own - result.cube;
  result.hops = result.remote * mean_hops_;
  return result;
}

OperandTraffic OperandLocality::of_reader(const OperandReader& reader, double scale) {
  const double all = volume_of(reader.box);
  sources_.clear();
  double far = 0, far_hops = 0, near = 0, own = 0;
  for (const auto& part : parts_) {
    const double volume = overlap(part, reader.box);
    if (volume == 0) continue;
    const std::int64_t away = distance(part.owner, reader.pe);
    const auto slice = static_cast<std::size_t>(part.owner.cube.value) * static_cast<std::size_t>(per_cube_) +
                       static_cast<std::size_t>(part.owner.pe.value);
    sources_.push_back({volume, slice, away});
    if (away == 0) {
      own += volume;
    } else if (away == 1) {
      near += volume;
    } else {
      far += volume, far_hops += volume * static_cast<double>(away - 1);
    }
  }
  OperandTraffic result;
  result.own = std::min(own, all);
  result.cube = std::min(near, all - result.own);
  result.remote = all - result.own - result.cube;
  result.hops = far > 0 ? result.remote * far_hops / far : 0;
  for (const Source& source : sources_) {
    double& slice = slices_[source.slice];
    if (source.distance == 0) slice += source.volume;
    if (source.distance == 1) slice += source.volume * result.cube / near;
    if (source.distance > 1) slice += scale * source.volume * result.remote / far;
  }
  return result;
}

const std::vector<OperandLocality::Holding>& OperandLocality::holdings(const OperandBox& box) {
  const auto found = std::ranges::find(boxes_, box, &std::pair<OperandBox, std::vector<Holding>>::first);
  if (found != boxes_.end()) return found->second;
  std::vector<Holding>& all = boxes_.emplace_back(box, std::vector<Holding>{}).second;
  for (const auto& part : parts_) {
    if (const double volume = overlap(part, box); volume > 0) all.push_back({volume, part.owner});
  }
  return all;
}

const LinkLoads& OperandLocality::link_loads(std::span<const OperandReader> readers) {
  loads_.clear();
  boxes_.clear();
  for (const auto& reader : readers) {
    const auto& all = holdings(reader.box);
    // Own slice, own cube, other cubes: of replicas the nearest is read, as in of_reader.
    double level[3] = {0, 0, 0};
    const auto level_of = [&](const Holding& holding) {
      return static_cast<std::size_t>(std::min<std::int64_t>(distance(holding.owner, reader.pe), 2));
    };
    for (const Holding& holding : all) level[level_of(holding)] += holding.volume;
    double left = volume_of(reader.box);
    double share[3] = {0, 0, 0};
    for (std::size_t i = 0; i < 3; ++i) {
      const double read = std::min(level[i], left);
      share[i] = level[i] > 0 ? read / level[i] : 0;
      left -= read;
    }
    for (const Holding& holding : all) {
      if (const double part = share[level_of(holding)]; part > 0)
        loads_.add(holding.owner, reader.pe, part * holding.volume);
    }
  }
  return loads_;
}

OperandTraffic OperandLocality::traffic(std::span<const OperandReader> readers, double scale) {
  OperandTraffic sum;
  if (parts_.empty()) {
    double all = 0;
    for (const auto& reader : readers) all += volume_of(reader.box);
    sum = evenly(all * scale);
    sum.hottest = sum.all() / pes_;
    return sum;
  }
  std::ranges::fill(slices_, 0);
  for (const auto& reader : readers) {
    const OperandTraffic one = of_reader(reader, scale);
    sum.own += scale * one.own;
    sum.cube += scale * one.cube;
    sum.remote += scale * one.remote;
    sum.hops += scale * one.hops;
  }
  sum.hottest = *std::ranges::max_element(slices_);
  return sum;
}

}  // namespace kernbench::tile::library
