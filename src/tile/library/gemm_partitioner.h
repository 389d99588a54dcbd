// The ways to share a product over the PEs of a launch: what the programs of each work on, and what they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tile/library/gemm_estimate.h"
#include "tile/library/gemm_measurements.h"
#include "tile/library/gemm_plan.h"
#include "tile/library/gemm_traffic.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

/// A plan gives way to another one when that is expected to be so much shorter. So small changes of a machine change
/// few plans, and of plans that are about equal the one with larger tiles, longer steps and fewer loads under way wins.
inline constexpr double kPlanMargin = PlanMeasurements::kMargin;

/// So many ways to share a product beside the best one are pursued, where plans are measured.
inline constexpr std::size_t kRefinedGrids = 2;

/// One way to share the product over the PEs.
struct GemmCandidate {
  GemmPlan::Grid cubes, pes;
  GemmShape whole;  // less than the product's by its edges
  GemmBlock block;
  double more = 0;      // of the launch that adds the parts of k, and of edges
  double at_least = 0;  // whatever the tiles
};

/// A way to share the product with the tiles of its programs, and how long that is expected to take.
struct GemmChoice {
  double ns = kNever;
  const GemmCandidate* candidate = nullptr;
  GemmTiles tiles;
};

class GemmPartitioner {
 public:
  /// All arguments must outlive this.
  GemmPartitioner(const GemmProblem& problem, std::span<const PeCoordinate> pes, const GemmOperands& operands,
                  const topology::Topology& topology);

  /// Those that the problem allows, the most promising first. ValueError if there is none.
  std::vector<GemmCandidate> candidates();
  /// Adds what the links carry, by the traffic of all cubes: what counts is that a link is busier than others.
  void measure_links(GemmCandidate& candidate);

  const GemmProblem& problem() const { return problem_; }
  const topology::Topology& topology() const { return topology_; }
  const GemmEstimate& law() const { return law_; }
  std::int64_t pe_count() const { return static_cast<std::int64_t>(pes_.size()); }
  /// Of B, that one holder has.
  std::int64_t rows_of_b() const { return sharing_b_.rows; }
  /// One range for each program.
  std::vector<GemmRange> ranges(const GemmCandidate& candidate, const GemmTiles& tiles) const;
  /// By the estimate.
  GemmChoice choice(const GemmCandidate& candidate, const GemmTiles& tiles) const {
    return {law_.time(candidate.block, tiles) + candidate.more, &candidate, tiles};
  }
  GemmPlan plan(const GemmChoice& choice) const;

 private:
  bool allowed(const GemmCandidate& candidate) const;
  bool leave_edges(GemmCandidate& candidate);
  void measure(GemmCandidate& candidate);
  void measure_block(GemmCandidate& candidate) const;
  void sample_traffic(GemmCandidate& candidate);
  void add_readers(const GemmCandidate& candidate, std::int64_t cube);
  double sum_ns(std::int64_t split) const;
  double adding_ns(std::int64_t split) const;
  GemmRange range(const GemmCandidate& candidate, const GemmTiles& tiles, std::int64_t index) const;

  const GemmProblem& problem_;
  std::span<const PeCoordinate> pes_;
  const GemmOperands& operands_;
  const topology::Topology& topology_;
  GemmEstimate law_;
  OperandLocality locality_a_, locality_b_;
  OperandSharing sharing_a_, sharing_b_;              // with copies as readers
  std::vector<OperandReader> readers_a_, readers_b_;  // kept for their memory
  std::int64_t pes_of_cube_;                          // all, where cubes do not have equally many
};

}  // namespace kernbench::tile::library
