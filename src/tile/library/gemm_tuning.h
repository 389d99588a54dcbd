// The last choice between plans of a product, by measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tile/library/gemm_measurements.h"
#include "tile/library/gemm_partitioner.h"
#include "tile/library/gemm_vector_share.h"

namespace kernbench::tile::library {

/// Replays leave out what a simulation does not, and know nothing of loads by multicast, of the vector engine and of
/// steps that grow. So plans with about equal replays are measured, then what is made of the shortest ones.
class GemmTuning {
 public:
  /// `replayed`: the shortest first. All arguments must outlive this.
  GemmTuning(GemmPartitioner& partitioner, std::span<GemmCandidate> candidates, std::span<const GemmChoice> replayed,
             const PlanTimer& timer);

  /// `shortlist`: plans with short replays, the shortest one first.
  GemmPlan least(std::span<const GemmChoice> shortlist);

 private:
  TimedPlan climbed(TimedPlan best, std::span<const GemmPlan> plans);
  void add_near(std::vector<GemmPlan>& near, std::span<const GemmPlan> tried, const GemmPlan& plan) const;
  TimedPlan least_of_mates(TimedPlan best, const std::vector<GemmPlan>& plans);
  TimedPlan together(TimedPlan best, const std::vector<GemmPlan>& plans, std::span<const std::size_t> order,
                     TimedPlan mates);
  bool is_far_from_arrays(const TimedPlan& best) const;
  TimedPlan in_other_parts(TimedPlan best);
  TimedPlan in_wide_steps(TimedPlan best);
  std::vector<GemmChoice> widest_steps();
  GemmChoice widest_steps(GemmCandidate& candidate);
  GemmPlan with_growing_steps(TimedPlan best);
  void add_longer_steps(std::vector<GemmPlan>& all, const GemmPlan& plan) const;
  void add_smaller_tiles(std::vector<GemmPlan>& all, const GemmPlan& plan) const;
  void add_in_tiles(std::vector<GemmPlan>& all, const GemmPlan& plan, const GemmTiles& tiles) const;
  TimedPlan with_vector_share(const std::vector<GemmPlan>& plans, std::span<const std::size_t> order, double ns);
  std::vector<GemmPlan> shared_of_shortest(const std::vector<GemmPlan>& plans,
                                           std::span<const std::size_t> order) const;
  std::vector<GemmPlan> shared_of_replays() const;
  void add_with_shared_steps(std::vector<GemmPlan>& shared, const GemmChoice& replayed) const;
  TimedPlan within_cubes(TimedPlan best);
  GemmCandidate* fewest_parts_within_cubes() const;
  bool sums_are_few(std::int64_t parts) const;

  GemmPartitioner& partitioner_;
  const GemmProblem& problem_;
  const topology::Topology& topology_;
  const GemmEstimate& law_;
  std::span<GemmCandidate> candidates_;
  std::span<const GemmChoice> replayed_;
  PlanMeasurements measurements_;
  GemmVectorShare share_;
};

}  // namespace kernbench::tile::library
