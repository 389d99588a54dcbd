#include "distributed/algorithms/degree.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/ring.h"

namespace kernbench::distributed {

std::string more_channels_than_fit(const GroupDescription& group, const std::vector<RankPair>& channels) {
  std::set<RankPair> all(channels.begin(), channels.end());
  for (const RankPair& pair : ring_channels(group.ranks)) all.insert(pair);
  std::vector<std::int64_t> sends(static_cast<std::size_t>(group.ranks)), receives = sends;
  for (const auto& [from, to] : all) {
    ++sends[static_cast<std::size_t>(from)];
    ++receives[static_cast<std::size_t>(to)];
  }
  const std::int64_t needed = std::max(*std::ranges::max_element(sends), *std::ranges::max_element(receives));
  const std::int64_t fit = channels_that_fit(group);
  if (needed <= fit) return {};
  return fmt::format(
      "a PE needs {} channels to send and to receive, and has room for {} (pe.ipcq.queues is {}; {} slots of {} in "
      "{}): take fewer ranks, or {}",
      needed, fit, group.machine.pe.ipcq.queues, group.spec.n_slots, to_text(group.spec.slot_size),
      kBufferKindNames[static_cast<std::size_t>(group.spec.buffer_kind)], ways_to_channels(group, needed));
}

}  // namespace kernbench::distributed
