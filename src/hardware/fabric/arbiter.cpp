#include <algorithm>
#include <cassert>

#include "hardware/fabric/server.h"

namespace kernbench::hardware::fabric {

/// Lanes up to the one that was served last stand behind the others; all of them before what a transfer injects.
inline std::uint64_t Arbiter::place_of(std::uint64_t port) const {
  if (!is_lane(port)) return port;
  constexpr std::uint64_t kNextRound = std::uint64_t{1} << (kLaneShift - 1);
  return port <= (is_lane(last_port_) ? last_port_ : last_lane_) ? port | kNextRound : port;
}

/// The first candidate whose place is not before that of a port.
inline std::size_t Arbiter::find(std::uint64_t port) const {
  const auto place = [this](const Candidate& candidate) { return place_of(candidate.port); };
  const auto before = [](const Candidate& a, std::uint64_t other) { return a.port < other; };
  const auto at = is_lane(port) ? std::ranges::lower_bound(candidates_, place_of(port), {}, place)
                                : std::lower_bound(candidates_.begin(), candidates_.end(), port, before);
  return static_cast<std::size_t>(at - candidates_.begin());
}

void Arbiter::add_to_others(const Candidate& candidate) {
  const bool lane = is_lane(candidate.port);
  if (lane) [[unlikely]]
    lanes_ = true;
  const auto at = candidates_.begin() + static_cast<std::ptrdiff_t>(find(candidate.port));
  assert((at == candidates_.end() || at->port != candidate.port) &&
         "two transfers under way share agent and operation");
  if (candidate.port <= last_port_ || (lane && is_lane(last_port_))) ++next_;
  candidates_.insert(at, candidate);
}

/// Lanes behind the one that is served come first from then on.
std::size_t Arbiter::serve_beside_lanes(std::size_t index) {
  const std::uint64_t port = candidates_[index].port;
  if (is_lane(port)) {
    const auto lane = [](const Candidate& candidate) { return is_lane(candidate.port); };
    const auto at = candidates_.begin() + static_cast<std::ptrdiff_t>(index);
    const auto begin = std::find_if(candidates_.begin(), at, lane);
    const auto end = std::find_if_not(at, candidates_.end(), lane);
    std::rotate(begin, at + 1, end);
    index = static_cast<std::size_t>(end - candidates_.begin()) - 1;
  }
  keep_lane(port);
  last_port_ = port;
  next_ = index + 1;
  return index;
}

void Arbiter::turn_after(std::uint64_t port) {
  last_port_ = port;
  next_ = 0;
  if (candidates_.empty()) return;
  const auto behind = [&](const Candidate& a) { return a.port > port && !(is_lane(port) && is_lane(a.port)); };
  const auto in_order = [this](const Candidate& a, const Candidate& b) { return place_of(a.port) < place_of(b.port); };
  std::ranges::sort(candidates_, in_order);
  next_ = static_cast<std::size_t>(std::ranges::find_if(candidates_, behind) - candidates_.begin());
}

void Arbiter::served(std::uint64_t port) {
  lanes_ = lanes_ || is_lane(port);
  keep_lane(port);
  turn_after(port);
}

void Arbiter::take_back(std::uint64_t port) {
  turn_after(port);
}

void Arbiter::remove_port(std::uint64_t port) {
  const std::size_t at = find(port);
  assert(at < candidates_.size() && candidates_[at].port == port);
  remove(at);
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

Arbiter::Next Arbiter::next_among(Time free) const {
  Next first;
  const auto look_at = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Time eligible = candidates_[i].eligible();
      if (eligible <= free) {
        first = {free, i};
        return true;
      }
      if (eligible < first.when) first = {eligible, i};
    }
    return false;
  };
  if (!look_at(next_, candidates_.size())) look_at(0, std::min(next_, candidates_.size()));
  return first;
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
