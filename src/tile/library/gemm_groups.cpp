#include "tile/library/gemm_groups.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/tl/program.h"

namespace kernbench::tile::library {

namespace {

/// What decides which tiles of an operand a program loads, and in which order.
using Walk = std::array<std::int64_t, 8>;

Walk walk_of(const GemmRange& range, const std::int64_t (&axis)[2], std::int64_t other_tiles) {
  return {range.batch[0], range.batch[1], axis[0], axis[1], range.k[0], range.k[1], range.k_start, other_tiles};
}

using Groups = std::vector<std::shared_ptr<const tl::MulticastGroup>>;

/// By program; empty where all walks differ.
template <class WalkOf>
Groups groups(const GemmPlan& plan, const char* name, const WalkOf& walk) {
  std::map<Walk, tl::MulticastGroup> all;
  for (std::size_t i = 0; i < plan.ranges.size(); ++i) {
    if (!plan.ranges[i].empty()) all[walk(plan.ranges[i])].programs.push_back(static_cast<std::int64_t>(i));
  }
  Groups of(plan.ranges.size());
  std::size_t number = 0;
  bool any = false;
  for (auto& [key, group] : all) {
    group.name = name + std::to_string(number++);
    if (group.programs.size() < 2) continue;
    any = true;
    const auto shared = std::make_shared<const tl::MulticastGroup>(std::move(group));
    for (const std::int64_t program : shared->programs) of[static_cast<std::size_t>(program)] = shared;
  }
  return any ? of : Groups();
}

}  // namespace

bool load_together(GemmPlan& plan) {
  GemmPlan shared = plan;
  for (GemmRange& range : shared.ranges) range.k_start = range.k[0];
  shared.mates_a = groups(shared, "a", [&](const GemmRange& range) {
    return walk_of(range, range.m, tl::cdiv(range.n[1] - range.n[0], plan.tile_n));
  });
  shared.mates_b = groups(shared, "b", [&](const GemmRange& range) {
    return walk_of(range, range.n, tl::cdiv(range.m[1] - range.m[0], plan.tile_m));
  });
  if (!shared.loads_together()) return false;
  plan = std::move(shared);
  return true;
}

}  // namespace kernbench::tile::library
