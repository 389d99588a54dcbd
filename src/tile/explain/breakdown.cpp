#include "tile/explain/breakdown.h"

#include <algorithm>
#include <array>

#include "hardware/command.h"

namespace kernbench::tile {

using hardware::EngineKind;

void BusyIntervals::add(EngineKind engine, Time start, Time end) {
  if (start == end) return;
  edges_.push_back({start, engine, +1});
  edges_.push_back({end, engine, -1});
}

Breakdown BusyIntervals::tile(Time start, Time end) const {
  auto edges = edges_;
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  Breakdown result;
  std::array<std::int32_t, 4> active{};
  const auto running = [&](EngineKind engine) { return active[static_cast<std::size_t>(engine)] > 0; };
  Time at = start;
  const auto account = [&](Time until) {
    Time& category = running(EngineKind::gemm)                               ? result.gemm
                     : running(EngineKind::vector)                           ? result.vector
                     : running(EngineKind::dma) || running(EngineKind::ipcq) ? result.dma
                                                                             : result.control;
    category += until - at;
    at = until;
  };
  for (const Edge& edge : edges) {
    account(edge.at);
    active[static_cast<std::size_t>(edge.engine)] += edge.step;
  }
  account(end);
  return result;
}

}  // namespace kernbench::tile
