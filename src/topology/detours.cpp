#include "topology/detours.h"

#include <algorithm>
#include <cassert>

#include "topology/system_graph.h"

namespace kernbench::topology {
namespace {

std::size_t at(std::int32_t value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

Detours::Detours(std::vector<std::vector<std::int32_t>> neighbours, std::int32_t sips, const Links& failed)
    : neighbours_(std::move(neighbours)) {
  assert(sips <= kMostSips);
  for (const auto& [from, to] : failed) std::erase(neighbours_[at(from)], to);
  order(sips);
  const std::size_t pairs = at(sips) * neighbours_.size();
  arrival_.assign(pairs, kNone);
  steps_.resize(pairs * kPhases);
  for (std::int32_t from = 0; from < sips; ++from) search(from);
}

// Breadth first from the root of each component; the root of the first one is the switch, if there is one.
void Detours::order(std::int32_t sips) {
  const auto nodes = static_cast<std::int32_t>(neighbours_.size());
  constexpr std::int32_t kUnknown = -1;
  place_.assign(neighbours_.size(), kUnknown);
  std::int32_t placed = 0;
  const auto grow = [&](std::int32_t root) {
    if (place_[at(root)] != kUnknown) return;
    place_[at(root)] = placed++;
    std::vector<std::int32_t> level{root};
    while (!level.empty()) {
      std::vector<std::int32_t> next;
      for (const std::int32_t node : level)
        next.insert(next.end(), neighbours_[at(node)].begin(), neighbours_[at(node)].end());
      std::ranges::sort(next);
      next.erase(std::unique(next.begin(), next.end()), next.end());
      std::erase_if(next, [&](std::int32_t node) { return place_[at(node)] != kUnknown; });
      for (const std::int32_t node : next) place_[at(node)] = placed++;
      level = std::move(next);
    }
  };
  if (nodes > sips) grow(sips);
  for (std::int32_t node = 0; node < nodes; ++node) grow(node);
}

// Breadth first over (node, phase). An earlier phase allows all that a later one does, so a node that was reached in
// one is not worth reaching in a later one.
void Detours::search(std::int32_t from) {
  struct State {
    std::int32_t node, phase;
  };
  std::vector<std::int32_t> best(neighbours_.size(), kPhases);  // by node: the earliest phase so far
  std::vector<State> open{{from, 0}};
  best[at(from)] = 0;
  arrival_[index(from, from)] = 0;
  for (std::size_t next = 0; next < open.size(); ++next) {
    const State here = open[next];
    for (const std::int32_t to : neighbours_[at(here.node)]) {
      const bool going_up = here.phase % 2 == 0;
      const std::int32_t phase = here.phase + (is_up(here.node, to) == going_up ? 0 : 1);
      if (phase >= best[at(to)]) continue;
      best[at(to)] = phase;
      steps_[index(from, to) * kPhases + at(phase)] = {static_cast<std::int16_t>(here.node),
                                                       static_cast<std::int8_t>(here.phase)};
      auto& arrival = arrival_[index(from, to)];
      if (arrival == kNone) arrival = static_cast<std::int8_t>(phase);
      open.push_back({to, phase});
    }
  }
}

std::vector<SipHop> Detours::path(SipId from, SipId to) const {
  assert(reaches(from, to.value));
  std::vector<SipHop> hops;
  std::int32_t node = to.value;
  std::int8_t phase = arrival_[index(from.value, to.value)];
  while (node != from.value) {
    const Step& step = steps_[index(from.value, node) * kPhases + at(phase)];
    hops.push_back({step.before, node, static_cast<std::uint8_t>(phase / 2)});
    node = step.before;
    phase = step.phase_before;
  }
  std::ranges::reverse(hops);
  return hops;
}

}  // namespace kernbench::topology
