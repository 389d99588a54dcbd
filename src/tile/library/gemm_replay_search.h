// The tiles of a plan by replays, where it is known who holds the operands.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "tile/library/gemm_partitioner.h"
#include "tile/library/gemm_replay.h"

namespace kernbench::tile::library {

class GemmReplaySearch {
 public:
  /// All arguments must outlive this. `measured`: the plans with the shortest replays will be measured.
  GemmReplaySearch(GemmPartitioner& partitioner, std::span<const PeCoordinate> pes, const GemmOperands& operands,
                   bool measured)
      : partitioner_(partitioner),
        replay_(partitioner.problem(), partitioner.topology(), partitioner.law(), pes, operands),
        measured_(measured) {}

  /// The shortest replay: of the estimate's best tiles for each of the most promising candidates, and of what is near
  /// the best of these. `candidates`: the most promising first.
  GemmChoice least(std::span<GemmCandidate> candidates);

  // What follows is there after `least`, where plans are measured.
  /// All that were replayed to their end, the shortest first.
  std::span<const GemmChoice> replayed() const { return replayed_; }
  /// What is worth a measurement: `best`, which `least` has returned, and then the others, the shortest replays first.
  std::vector<GemmChoice> shortlist(const GemmChoice& best) const;

 private:
  std::vector<GemmChoice> best_of_other_grids(const GemmChoice& best) const;
  void try_replay(const GemmCandidate& candidate, const GemmTiles& tiles, GemmChoice& best, double within);
  void try_near(const GemmTiles& tiles, GemmChoice& best);
  void refine(GemmChoice& best);
  void refine_steps(GemmChoice& best);
  void refine_extents(GemmChoice& best);
  void refine_first_step(GemmChoice& best);
  void try_one_step(GemmChoice& best);
  std::array<double, 2> measured_up_to() const;

  GemmPartitioner& partitioner_;
  GemmReplay replay_;
  bool measured_;
  std::vector<GemmChoice> replayed_;
};

}  // namespace kernbench::tile::library
