#include <algorithm>
#include <cassert>

#include "hardware/fabric/server.h"

namespace kernbench::hardware::fabric {

void Arbiter::add(const Candidate& candidate) {
  const auto at = std::lower_bound(candidates_.begin(), candidates_.end(), candidate.port,
                                   [](const Candidate& a, std::uint64_t port) { return a.port < port; });
  assert((at == candidates_.end() || at->port != candidate.port) &&
         "two transfers under way share agent and operation");
  candidates_.insert(at, candidate);
}

std::size_t Arbiter::choose_among(Time now) const {
  const auto next = std::upper_bound(candidates_.begin(), candidates_.end(), last_port_,
                                     [](std::uint64_t port, const Candidate& a) { return port < a.port; });
  const auto first = static_cast<std::size_t>(next - candidates_.begin());
  for (std::size_t i = first; i < candidates_.size(); ++i) {
    if (candidates_[i].eligible() <= now) return i;
  }
  for (std::size_t i = 0; i < first; ++i) {
    if (candidates_[i].eligible() <= now) return i;
  }
  return kNone;
}

Time Arbiter::earliest_among(Time soon) const {
  Time result = Time::max();
  for (const Candidate& candidate : candidates_) {
    result = std::min(result, candidate.eligible());
    if (result <= soon) break;
  }
  return result;
}

}  // namespace kernbench::hardware::fabric
