#include <algorithm>
#include <cassert>

#include "hardware/fabric/server.h"

namespace kernbench::hardware::fabric {

void Arbiter::add(const Candidate& candidate) {
  const auto at = std::lower_bound(candidates_.begin(), candidates_.end(), candidate.port,
                                   [](const Candidate& a, std::uint64_t port) { return a.port < port; });
  assert((at == candidates_.end() || at->port != candidate.port) &&
         "two transfers under way share agent and operation");
  if (candidate.port <= last_port_) ++next_;
  candidates_.insert(at, candidate);
}

void Arbiter::served(std::uint64_t port) {
  last_port_ = port;
  const auto next = std::ranges::upper_bound(candidates_, port, {}, &Candidate::port);
  next_ = static_cast<std::size_t>(next - candidates_.begin());
}

void Arbiter::remove_port(std::uint64_t port) {
  const auto at = std::ranges::lower_bound(candidates_, port, {}, &Candidate::port);
  assert(at != candidates_.end() && at->port == port);
  remove(static_cast<std::size_t>(at - candidates_.begin()));
}

std::size_t Arbiter::choose_among(Time now) const {
  for (std::size_t i = next_; i < candidates_.size(); ++i) {
    if (candidates_[i].eligible() <= now) return i;
  }
  for (std::size_t i = 0; i < next_; ++i) {
    if (candidates_[i].eligible() <= now) return i;
  }
  return kNone;
}

Time Arbiter::earliest_among(Time soon) const {
  Time result = Time::max();
  for (std::size_t i = next_; i < candidates_.size() && result > soon; ++i) {
    result = std::min(result, candidates_[i].eligible());
  }
  for (std::size_t i = 0; i < next_ && result > soon; ++i) result = std::min(result, candidates_[i].eligible());
  return result;
}

}  // namespace kernbench::hardware::fabric
