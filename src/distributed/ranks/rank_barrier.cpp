#include "distributed/ranks/rank_barrier.h"

#include <algorithm>
#include <utility>

#include "runtime/host_wait.h"

namespace kernbench::distributed {

Name Roster::name(int rank) const {
  return at(rank).joined ? at(rank).name : Name::rank(rank);
}

std::optional<int> Roster::device_of(int rank) const {
  std::vector<int> devices;
  for (const Worker& worker : workers_) devices.push_back(worker.device);
  std::ranges::sort(devices);
  const bool shared = std::ranges::adjacent_find(devices) != devices.end();
  return shared || !at(rank).joined ? std::nullopt : std::optional(at(rank).device);
}

void Roster::append_edge(int rank, const Name& what, std::vector<sim::WaitEdge>& edges, Name unmet) const {
  const Worker& worker = at(rank);
  if (worker.fiber != nullptr && !worker.fiber->finished()) {
    edges.push_back({worker.fiber, named("the call of {} on {}", what, Name::rank(rank)), true});
    edges.back().unmet = unmet.empty() ? named("{}, which {} has not called", what, worker.name) : std::move(unmet);
    return;
  }
  const char* fate = worker.joined ? "ended" : "did not join";  // of one rank and of several
  sim::WaitEdge edge{nullptr, named("the call of {} on {}, which {}", what, Name::rank(rank), fate), true};
  edge.missing = {name(rank)};
  edge.fault = {sim::kHas, named("{} {}", worker.joined ? "ended without calling" : "not called", what)};
  edges.push_back(std::move(edge));
}

void Roster::tell(int rank, const runtime::FailureRef& failure) const {
  sim::Fiber* const worker = at(rank).fiber;
  if (worker != nullptr && !worker->finished()) runtime::tell(*worker, failure);
}

RankBarrier::RankBarrier(std::string what, std::shared_ptr<const Roster> roster, std::vector<int> ranks)
    : what_(std::move(what)), roster_(std::move(roster)), ranks_(std::move(ranks)), here_(ranks_.size()) {
  reached_.describe_as([this] { return named("{}, missing ranks: {}", what_, set_text(missing())); });
  reached_.provided_by([this](std::vector<sim::WaitEdge>& edges) {
    for (const int rank : missing()) roster_->append_edge(rank, what_, edges);
  });
}

void RankBarrier::arrive(int rank) {
  here_[static_cast<std::size_t>(std::ranges::find(ranks_, rank) - ranks_.begin())] = true;
  if (std::ranges::find(here_, false) == here_.end()) reached_.set();
}

bool RankBarrier::has(int rank) const {
  return here_[static_cast<std::size_t>(std::ranges::find(ranks_, rank) - ranks_.begin())];
}

std::vector<int> RankBarrier::missing() const {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!here_[i]) ranks.push_back(ranks_[i]);
  }
  return ranks;
}

}  // namespace kernbench::distributed
