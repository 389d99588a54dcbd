#include "distributed/ranks/rank_barrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/host_wait.h"

namespace kernbench::distributed {

std::string Roster::name(int rank) const {
  return at(rank).joined ? at(rank).name : fmt::format("rank {}", rank);
}

void Roster::append_edge(int rank, const std::string& what, std::vector<sim::WaitEdge>& edges,
                         std::string unmet) const {
  const Worker& worker = at(rank);
  if (worker.fiber != nullptr && !worker.fiber->finished()) {
    edges.push_back({worker.fiber, fmt::format("the call of {} on rank {}", what, rank), true});
    edges.back().unmet =
        unmet.empty() ? fmt::format("{}, which {} has not called", what, worker.name) : std::move(unmet);
    return;
  }
  const char* fate = worker.joined ? "has ended" : "has not joined";
  sim::WaitEdge edge{nullptr, fmt::format("the call of {} on rank {}, which {}", what, rank, fate), true};
  edge.missing = name(rank);
  edge.fault = fmt::format("{} {}", worker.joined ? "has ended without calling" : "has not called", what);
  edges.push_back(std::move(edge));
}

void Roster::tell(int rank, const runtime::FailureRef& failure) const {
  sim::Fiber* const worker = at(rank).fiber;
  if (worker != nullptr && !worker->finished()) runtime::tell(*worker, failure);
}

RankBarrier::RankBarrier(std::string what, std::shared_ptr<const Roster> roster, std::vector<int> ranks)
    : what_(std::move(what)), roster_(std::move(roster)), ranks_(std::move(ranks)), here_(ranks_.size()) {
  reached_.describe_as([this] { return fmt::format("{}, missing ranks: {}", what_, set_text(missing())); });
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
