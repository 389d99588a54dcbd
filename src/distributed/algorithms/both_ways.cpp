#include "distributed/algorithms/both_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/ring.h"
#include "kernbench/tl/program.h"
#include "topology/spec.h"

namespace kernbench::distributed {
namespace {

struct Row {
  std::int64_t number, of;
};

/// Of the mesh of PEs of a SIP.
Row row_of(PeCoordinate pe, const topology::Topology& machine) {
  const auto& cubes = machine.sip.cubes;
  const auto& pes = machine.cube.pes;
  return {pe.cube.value / cubes.width * pes.height + pe.pe.value / pes.width, cubes.height * pes.height};
}

}  // namespace

std::int64_t way_of_this_pe(const topology::Topology& machine, std::int64_t ways) {
  const auto cube = static_cast<std::int32_t>(tl::cube_id()), pe = static_cast<std::int32_t>(tl::pe_id());
  return way_of({SipId{}, CubeId{cube}, PeId{pe}}, machine, ways);
}

std::int64_t way_of(PeCoordinate of, const topology::Topology& machine, std::int64_t ways) {
  const auto [row, rows] = row_of(of, machine);
  return rows < ways ? (of.cube.value + of.pe.value) % ways : row % ways;
}

std::int64_t first_way_of_this_pe(const topology::Topology& machine, std::int64_t ways) {
  const PeCoordinate here{SipId{}, CubeId{static_cast<std::int32_t>(tl::cube_id())},
                          PeId{static_cast<std::int32_t>(tl::pe_id())}};
  const auto [row, rows] = row_of(here, machine);
  return row >= rows - rows % ways ? (here.cube.value + here.pe.value) % ways : row % ways;
}

RankView in_my_direction(const RankView& ranks) {
  return way_of_this_pe(*ranks.machine, 2) == 0 ? ranks : ranks.reversed();
}

std::vector<RankPair> both_ways(std::vector<RankPair> channels) {
  const std::set<RankPair> one_way(channels.begin(), channels.end());
  for (const auto& [from, to] : one_way) {
    if (!one_way.contains({to, from})) channels.emplace_back(to, from);
  }
  return channels;
}

CostStep both_ways(CostStep step) {
  int ways = 0;
  for (const CostStep::Message& message : step.messages) ways = std::max(ways, message.way + 1);
  for (std::size_t i = 0, one_way = step.messages.size(); i < one_way; ++i) {
    step.messages[i].weight /= 2;
    const auto [from, to, weight, way] = step.messages[i];
    step.messages.push_back({to, from, weight, ways + way});
  }
  return step;
}

std::vector<RankPair> bidirectional_ring_channels(const GroupShape& ranks) {
  return both_ways(ring_channels(ranks));
}

std::string both_ways_refusal(const GroupDescription& group, const std::vector<RankPair>& channels,
                              std::string_view one_way) {
  if (group.rank_per_pe || group.machine.sip.cubes.count() * group.machine.cube.pes.count() == 1)
    return fmt::format("each rank has one PE, which goes one way only; {} does the same", one_way);
  return more_channels_than_fit(group, channels);
}

}  // namespace kernbench::distributed
