#include "topology/system_graph.h"

#include <algorithm>
#include <cassert>

namespace kernbench::topology {
namespace {

MeshExtent extent_of(const SystemSpec& spec) {
  const bool grid = spec.topology == SystemTopology::torus_2d || spec.topology == SystemTopology::mesh_2d;
  if (!grid) return {spec.sips, 1};
  return spec.mesh ? *spec.mesh : most_square(spec.sips);
}

}  // namespace

MeshExtent most_square(std::int32_t count) {
  std::int32_t height = 1;
  for (std::int32_t divisor = 1; std::int64_t{divisor} * divisor <= count; ++divisor) {
    if (count % divisor == 0) height = divisor;
  }
  return {count / height, height};
}

SystemGraph::SystemGraph(const SystemSpec& spec) : kind_(spec.topology), sips_(spec.sips), extent_(extent_of(spec)) {
  assert(sips_ >= 1 && extent_.count() == sips_);
  neighbours_.resize(static_cast<std::size_t>(sips_));
  switch (kind_) {
    case SystemTopology::ring_1d:
    case SystemTopology::torus_2d:
      connect_grid(true);
      break;
    case SystemTopology::mesh_2d:
      connect_grid(false);
      break;
    case SystemTopology::fully_connected:
      for (std::int32_t from = 0; from < sips_; ++from) {
        for (std::int32_t to = 0; to < sips_; ++to) {
          if (to != from) neighbours_[static_cast<std::size_t>(from)].push_back(to);
        }
      }
      break;
    case SystemTopology::switched:
      if (sips_ == 1) break;
      neighbours_.emplace_back();
      for (std::int32_t sip = 0; sip < sips_; ++sip) {
        neighbours_[static_cast<std::size_t>(sip)].push_back(sips_);
        neighbours_.back().push_back(sip);
      }
      break;
  }
}

void SystemGraph::connect_grid(bool wrap) {
  const auto [width, height] = extent_;
  for (std::int32_t node = 0; node < sips_; ++node) {
    const std::int32_t x = node % width;
    const std::int32_t y = node / width;
    auto& to = neighbours_[static_cast<std::size_t>(node)];
    if (wrap || x + 1 < width) to.push_back(y * width + (x + 1) % width);
    if (wrap || x > 0) to.push_back(y * width + (x + width - 1) % width);
    if (wrap || y + 1 < height) to.push_back((y + 1) % height * width + x);
    if (wrap || y > 0) to.push_back((y + height - 1) % height * width + x);
    std::ranges::sort(to);
    // A ring of two has one link each way, a ring of one has none.
    to.erase(std::unique(to.begin(), to.end()), to.end());
    std::erase(to, node);
  }
}

void SystemGraph::fail(const Detours::Links& links) {
  Detours::Links both = links;
  for (const auto& [from, to] : links) both.emplace_back(to, from);
  detours_.emplace(neighbours_, sips_, both);
}

std::vector<SipHop> SystemGraph::path(SipId from, SipId to) const {
  assert(from.value >= 0 && from.value < sips_ && to.value >= 0 && to.value < sips_);
  std::vector<SipHop> hops;
  if (from == to) return hops;
  if (detours_) return detours_->path(from, to);
  switch (kind_) {
    case SystemTopology::fully_connected:
      hops.push_back({from.value, to.value, 0});
      break;
    case SystemTopology::switched:
      hops.push_back({from.value, sips_, 0});
      hops.push_back({sips_, to.value, 0});
      break;
    case SystemTopology::ring_1d:
    case SystemTopology::torus_2d:
    case SystemTopology::mesh_2d: {
      const std::int32_t width = extent_.width;
      walk(from.value % width, to.value % width, width, from.value / width * width, 1, hops);
      walk(from.value / width, to.value / width, extent_.height, to.value % width, width, hops);
      break;
    }
  }
  return hops;
}

// Goes along one dimension, in which node `position` is number first + position * stride.
void SystemGraph::walk(std::int32_t position, std::int32_t target, std::int32_t length, std::int32_t first,
                       std::int32_t stride, std::vector<SipHop>& hops) const {
  const std::int32_t up = (target - position + length) % length;
  const bool wraps = kind_ != SystemTopology::mesh_2d;
  const bool tie_upwards = position % 2 == 0;  // so that ways across a ring load both directions alike
  const bool upwards = !wraps ? target > position : 2 * up == length ? tie_upwards : 2 * up < length;
  std::uint8_t channel = 0;
  while (position != target) {
    const std::int32_t next = (position + (upwards ? 1 : length - 1)) % length;
    if (upwards ? next == 0 : position == 0) channel = 1;
    hops.push_back({first + position * stride, first + next * stride, channel});
    position = next;
  }
}

}  // namespace kernbench::topology
