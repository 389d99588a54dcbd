#include "tile/library/gemm_plan.h"

#include "tile/library/gemm_partitioner.h"
#include "tile/library/gemm_replay_search.h"
#include "tile/library/gemm_search.h"
#include "tile/library/gemm_tuning.h"

namespace kernbench::tile::library {

GemmPlan plan_gemm(const GemmProblem& problem, std::span<const PeCoordinate> pes, const GemmOperands& operands,
                   const topology::Topology& topology, const PlanTimer& timer) {
  GemmPartitioner partitioner(problem, pes, operands, topology);
  check_smallest_tiles(partitioner);
  std::vector<GemmCandidate> candidates = partitioner.candidates();
  if (operands.a.empty() || operands.b.empty()) return partitioner.plan(least_estimate(partitioner, candidates));
  const bool measured = static_cast<bool>(timer);
  GemmReplaySearch replays(partitioner, pes, operands, measured);
  const GemmChoice best = replays.least(candidates);
  if (!measured) return partitioner.plan(best);
  return GemmTuning(partitioner, candidates, replays.replayed(), timer).least(replays.shortlist(best));
}

}  // namespace kernbench::tile::library
