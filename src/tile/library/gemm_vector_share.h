// The part of a product of few rows that the vector engine takes: of each step the last part of k.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/library/gemm_estimate.h"
#include "tile/library/gemm_plan.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

/// Its part is of so many items: whole accesses of 64 B of the shipped machines where steps are long. Short steps are
/// those of matrices whose rows are cut over the PEs, and there each item is a row.
inline constexpr std::int64_t kVectorItems = 32, kVectorRows = 4, kLongStep = 256;

/// How much of a step of `length` along k the vector engine takes: about the plan's share, and never all.
std::int64_t vector_length(const GemmPlan& plan, std::int64_t length);

/// How many products of an element the vector engine adds up by fused multiply-adds, one after the other, before a sum
/// adds up what the chains of a step of `k` have yielded: a power of two that divides k.
std::int64_t chain_on_lanes(std::int64_t rows, std::int64_t columns, std::int64_t k);

/// Plans with such a part.
class GemmVectorShare {
 public:
  /// All arguments must outlive this.
  GemmVectorShare(const GemmProblem& problem, const topology::Topology& topology, const GemmEstimate& law)
      : problem_(problem), topology_(topology), law_(law) {}

  /// Adds `plan` in steps of `tiles` with a part for the vector engine to `plans`, where it is worth while, fits, and
  /// is not there yet.
  void add(std::vector<GemmPlan>& plans, GemmPlan plan, const GemmTiles& tiles) const;
  /// Adds `plan` likewise in other steps, with a short first one only if `short_first`: two engines want shorter steps,
  /// more of them under way.
  void add_in_steps_for_both(std::vector<GemmPlan>& plans, const GemmPlan& plan, bool short_first) const;
  /// Whether the caller leaves it to the library to take these steps in place of `found`.
  bool are_free(const GemmTiles& tiles, const GemmTiles& found) const;

 private:
  double share(const GemmPlan& plan) const;

  const GemmProblem& problem_;
  const topology::Topology& topology_;
  const GemmEstimate& law_;
};

}  // namespace kernbench::tile::library
