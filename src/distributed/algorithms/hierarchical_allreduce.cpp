// All-reduce over the levels of the machine: reduce-scatter among the PEs of a cube, then among its cubes' counterparts
// in a SIP, then among SIPs, and back by all-gathers; each a ring.
//
// Of ranks that are PEs, as many in each cube and cubes in each SIP, the levels are the PEs of a cube, cubes and SIPs
// (levels.h); they fold as ring_pass.h says. With N ranks each sends 2(N - 1)/N of the data: 2(m - 1)/m of what the
// levels before have left to it in a level of m. Ranks that are SIPs are one level, and its ring that of
// ring_allreduce.
#include <fmt/format.h>

#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/own_ranges.h"
#include "distributed/algorithms/ring_pass.h"

namespace kernbench::distributed {
namespace {

void reduce_over_levels(const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  std::vector<RingOfParts> rings;
  const GroupShape shape(static_cast<int>(ranks.size), {ranks.levels.begin(), ranks.levels.end()});
  for (const Line& line : lines_through(ranks.rank, shape.levels_or_one())) rings.emplace_back(line, ranks);
  for_each_own_range(arguments, [&](Range shard) {
    reduce_over_rings(rings, *arguments.tensor, arguments.reduction, shard, ranks.size);
  });
  finish_sending();
}

std::vector<RankPair> level_channels(const GroupShape& ranks) {
  const auto levels = ranks.levels_or_one();
  std::vector<RankPair> channels;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const Line& line : lines_through(rank, levels)) {
      if (line.count > 1) channels.emplace_back(rank, static_cast<int>(line.next()));
    }
  }
  return channels;
}

std::vector<CostStep> level_steps(const GroupShape& ranks) {
  const auto levels = ranks.levels_or_one();
  std::vector<CostStep> steps;
  std::int64_t parts = 1;  // into which the levels so far cut the data
  for (std::size_t level = 0; level < levels.size(); ++level) {
    parts *= levels[level];
    CostStep step{.share = 1.0 / static_cast<double>(parts), .times = 2 * (levels[level] - 1)};
    // There all chunks are loaded and one is stored, back one is loaded and the others are stored.
    step.memory = (2.0 * levels[level] + 1) / static_cast<double>(std::max<std::int64_t>(step.times, 1));
    for (int rank = 0; rank < ranks; ++rank)
      step.messages.push_back({rank, static_cast<int>(lines_through(rank, levels)[level].next())});
    steps.push_back(step);
  }
  // Each pass begins with what the one before has stored.
  const auto passes = static_cast<std::int64_t>(2 * levels.size());
  steps.push_back({.messages = {}, .latencies = 0, .times = passes - 1, .through_memory = true});
  return steps;
}

std::string level_refusal(const GroupDescription& group) {
  const GroupShape shape = group.shape();
  if (group.rank_per_pe && shape.levels.empty()) {
    return fmt::format(
        "the {} ranks do not fill the machine evenly, with as many PEs in each cube and cubes in each SIP, one after "
        "the other (a cube has {} PEs, a SIP {} cubes)",
        group.ranks, group.machine.cube.pes.count(), group.machine.sip.cubes.count());
  }
  return more_channels_than_fit(group, level_channels(shape));
}

}  // namespace

CollectiveAlgorithm hierarchical_allreduce() {
  return {.name = "hierarchical_allreduce",
          .operation = CollectiveOperation::all_reduce,
          .topology = "levels",
          .method =
              "rings over the PEs of a cube, the cubes and the SIPs, reduce-scatters one inside the other and "
              "back by all-gathers; ranks that are SIPs are one ring",
          .fold_order = "as `ring_allreduce` in each ring, of what the rings before have left",
          .runs_on = "ranks that are SIPs; PEs, as many in each cube and cubes in each SIP",
          .refusal = level_refusal,
          .channels = level_channels,
          .kernel = reduce_over_levels,
          .steps = level_steps,
          .in_parts = true};
}

}  // namespace kernbench::distributed
