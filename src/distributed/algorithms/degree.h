// How many channels a rank has in a list of channels.
#pragma once

#include <string>
#include <string_view>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

inline constexpr std::string_view kRunsWhereChannelsFit = "as many ranks as a PE has channels for";

/// Why the channels of an algorithm, and those of a ring for the operations beside it, find no room in a group's PEs;
/// empty: they do.
std::string more_channels_than_fit(const GroupDescription& group, const std::vector<RankPair>& channels);

}  // namespace kernbench::distributed
