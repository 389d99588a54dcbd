#include "hardware/journey.h"

#include <algorithm>

#include "hardware/fabric/service_time.h"

namespace kernbench::hardware {

ServerTime most_starved(const TransferLog& log) {
  ServerTime most;
  for (const TransferLog::Hop& hop : log.hops) {
    if (hop.starved > most.time) most = {hop.server, hop.starved};
  }
  return most;
}

std::vector<JourneyStep> journey_of(const TransferLog& log, const Fabric& fabric, Time start, Time end) {
  std::vector<JourneyStep> steps;
  steps.reserve(log.hops.size());
  for (std::size_t i = 0; i < log.hops.size(); ++i) {
    const TransferLog::Hop& hop = log.hops[i];
    const bool last = i + 1 == log.hops.size();
    const Time leaves = last ? end : std::min(end, hop.start + fabric::forwarding_latency(fabric.spec(hop.server)));
    steps.push_back({hop.server, start, leaves, hop.held});
    start = leaves;
  }
  return steps;
}

}  // namespace kernbench::hardware
