// What the algorithms have in common that use the links of a device in several directions at one time: its PEs divide
// the directions among themselves, and the program of each goes one way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

inline constexpr std::string_view kRunsOnSipsOfSeveralPes =
    "ranks that are SIPs of several PEs, as many as a PE has channels for";

inline constexpr std::string_view kTwoRings =
    "two rings, each of half of the PEs, around in opposite directions at one time";

/// Which of `ways` ways the calling PE goes. A row of the mesh of PEs, whose messages share a lane to the IO chiplet,
/// goes one way: in a line for several links a message would hold up those behind it whose link is free. Where there
/// are fewer rows than ways, the PEs of a row differ.
std::int64_t way_of_this_pe(const topology::Topology& machine, std::int64_t ways);
std::int64_t way_of(PeCoordinate pe, const topology::Topology& machine, std::int64_t ways);
/// Which of the ways the calling PE goes first, of those that go all of them: as above, but that where rows are no
/// multiple of the ways, the PEs of the rows that are left differ. So as many go each way at one time.
std::int64_t first_way_of_this_pe(const topology::Topology& machine, std::int64_t ways);
/// The ranks in the order in which the calling PE goes around a ring in both directions.
RankView in_my_direction(const RankView& ranks);
/// Those channels and those in the opposite direction, each once.
std::vector<RankPair> both_ways(std::vector<RankPair> channels);
/// Those messages and those in the opposite direction, each of half the bytes.
CostStep both_ways(CostStep step);
inline constexpr std::string_view kBidirectionalRing = "bidirectional_ring";
std::vector<RankPair> bidirectional_ring_channels(const GroupShape& ranks);

/// Why a group cannot run an algorithm with these channels; empty: it can. `one_way` is what it can run instead.
std::string both_ways_refusal(const GroupDescription& group, const std::vector<RankPair>& channels,
                              std::string_view one_way);

}  // namespace kernbench::distributed
