#include "distributed/algorithms/all_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "distributed/algorithm_spec.h"

namespace kernbench::distributed {

std::string all_pairs_refusal(const GroupDescription& group) {
  const std::int64_t needed = group.ranks - 1, fit = channels_that_fit(group);
  if (needed <= fit) return {};
  return fmt::format(
      "a PE needs {} channels to send and {} to receive, one for each other rank, and has room for {} "
      "(pe.ipcq.queues is {}; {} slots of {} in {}): take at most {} ranks, or {}",
      needed, needed, fit, group.machine.pe.ipcq.queues, group.spec.n_slots, to_text(group.spec.slot_size),
      kBufferKindNames[static_cast<std::size_t>(group.spec.buffer_kind)], fit + 1, ways_to_channels(group, needed));
}

std::vector<CostStep> from_root_steps(const GroupShape& ranks) {
  const int chunks = std::max(1, ranks - 1);
  CostStep step{.share = 1.0 / chunks, .latencies = 2, .memory = 1.0 * chunks};
  for (const auto& [from, to] : channels_of_all_pairs(ranks)) {
    if (to != 0) step.messages.push_back({from, to});
  }
  return {step};
}

std::vector<CostStep> to_root_steps(const GroupShape& ranks) {
  auto steps = from_root_steps(ranks);
  for (CostStep::Message& message : steps.front().messages) std::swap(message.from, message.to);
  steps.front().memory *= 2;
  return steps;
}

}  // namespace kernbench::distributed
