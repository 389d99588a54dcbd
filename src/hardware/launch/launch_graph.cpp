#include "hardware/launch/launch_graph.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace kernbench::hardware {

LaunchGraph::LaunchGraph(std::vector<std::vector<std::size_t>> after)
    : after_(std::move(after)), before_(after_.size()), over_(after_.size()), open_(after_.size()) {
  assert(!after_.empty());
  for (std::size_t launch = 0; launch < after_.size(); ++launch) {
    waits_for_.push_back(after_[launch].size());
    for (const std::size_t earlier : after_[launch]) {
      assert(earlier < launch);
      before_[earlier].push_back(launch);
    }
  }
}

void LaunchGraph::handled(const MessageTimes& times) {
  for (Launch* launch : launches_) launch->handled(times);
}

bool LaunchGraph::turn_came() {
  std::vector<std::size_t> over;
  for (std::size_t launch = 0; launch < launches_.size(); ++launch) {
    if (after_[launch].empty() && launches_[launch]->turn_came()) over.push_back(launch);
  }
  return give_turns(std::move(over));
}

bool LaunchGraph::over(const Launch& launch) {
  return give_turns({index_of(launch)});
}

/// A list instead of recursion: a chain of launches that were taken back is over in one instant.
bool LaunchGraph::give_turns(std::vector<std::size_t> over) {
  while (!over.empty()) {
    const std::size_t ended = over.back();
    over.pop_back();
    over_[ended] = true;
    --open_;
    for (const std::size_t next : before_[ended]) {
      if (--waits_for_[next] == 0 && launches_[next]->turn_came()) over.push_back(next);
    }
  }
  return open_ == 0;
}

void LaunchGraph::append_before(const Launch& launch, std::vector<sim::WaitEdge>& edges) const {
  for (const std::size_t earlier : after_[index_of(launch)]) {
    if (!over_[earlier]) edges.push_back({launches_[earlier], "its turn in the graph"});
  }
}

void LaunchGraph::append_open(std::vector<sim::WaitEdge>& edges, const char* reason) const {
  for (std::size_t launch = 0; launch < launches_.size(); ++launch) {
    if (!over_[launch]) edges.push_back({launches_[launch], reason});
  }
}

std::size_t LaunchGraph::index_of(const Launch& launch) const {
  const auto found = std::ranges::find(launches_, &launch);
  assert(found != launches_.end());
  return static_cast<std::size_t>(std::distance(launches_.begin(), found));
}

}  // namespace kernbench::hardware
