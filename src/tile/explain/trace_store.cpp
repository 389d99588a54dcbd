#include "tile/explain/trace_store.h"

#include <algorithm>

namespace kernbench::tile {

std::uint64_t TraceStore::begin_launch(Time now) {
  launches_.emplace(now, ++begun_);
  return begun_;
}

void TraceStore::end_launch(std::uint64_t launch) {
  std::erase_if(launches_, [&](const auto& each) { return each.second == launch; });
  while (!ended_.empty() && (launches_.empty() || ended_.front()->end < launches_.begin()->first)) drop_first();
}

void TraceStore::begin(const std::shared_ptr<ProgramTrace>& trace) {
  running_[trace->agent] = trace;
}

void TraceStore::end(const std::shared_ptr<ProgramTrace>& trace) {
  running_.erase(trace->agent);
  ended_by_agent_[trace->agent].push_back(trace);
  ended_.push_back(trace);
  operations_ += trace->operations.size();
  while (operations_ > kMostOperations) drop_first();
}

void TraceStore::forget(const ProgramTrace& trace) {
  const auto found = running_.find(trace.agent);
  if (found != running_.end() && found->second.get() == &trace) running_.erase(found);
}

void TraceStore::drop_first() {
  const std::shared_ptr<ProgramTrace> first = ended_.front();
  ended_.pop_front();
  operations_ -= first->operations.size();
  const auto of_agent = ended_by_agent_.find(first->agent);
  of_agent->second.pop_front();
  if (of_agent->second.empty()) ended_by_agent_.erase(of_agent);
}

const ProgramTrace* TraceStore::find(sim::AgentId agent, Time at) const {
  if (const auto running = running_.find(agent); running != running_.end() && running->second->start <= at) {
    running->second->sort();
    return running->second.get();
  }
  const auto ended = ended_by_agent_.find(agent);
  if (ended == ended_by_agent_.end()) return nullptr;
  const auto found = std::ranges::find_if(ended->second, [&](const auto& each) { return at <= each->end; });
  return found != ended->second.end() && (*found)->start <= at ? found->get() : nullptr;
}

}  // namespace kernbench::tile
