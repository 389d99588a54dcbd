// How long a program of the matrix product takes, in closed form: what plans are chosen by. The law is written down in
// docs/adr/0026-the-plan-of-a-product.md.
#pragma once

#include <cstdint>

#include "tile/library/gemm_plan.h"
#include "tile/library/gemm_traffic.h"
#include "topology/engine_operations.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

/// How the holders of an operand are shared. All programs walk their blocks at one pace, so that those which need the
/// same part of an operand ask the same holders for it at one time.
struct OperandSharing {
  std::int64_t rows = 1, columns = 1;  // of the operand's part that one holder has
  double readers = 1;                  // programs that ask one holder at a time
};

/// What the program with the most to do works on, and what all programs of the launch read once.
struct GemmBlock {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  double programs = 1, cubes = 1;  // that have something to do
  OperandTraffic a, b;
  OperandSharing sharing_a, sharing_b;
  BusiestLink links;  // of operands with items of one byte
};

/// How a program walks its block: tiles of the result, steps of k, steps whose loads are under way.
struct GemmTiles {
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t depth = 1;
  std::int64_t first_k = 1;  // length of the first step; it doubles from there to k
  bool operator==(const GemmTiles&) const = default;
};

inline GemmTiles tiles_of(const GemmPlan& plan) {
  return {plan.tile_m, plan.tile_n, plan.tile_k, plan.depth, plan.first_k};
}
inline void set_tiles(GemmPlan& plan, const GemmTiles& tiles) {
  plan.tile_m = tiles.m, plan.tile_n = tiles.n, plan.tile_k = tiles.k;
  plan.depth = tiles.depth, plan.first_k = tiles.first_k;
}

class GemmEstimate {
 public:
  /// `row_a`, `row_b`: elements that lie one after the other in a holder's memory of the operand.
  GemmEstimate(const GemmProblem& problem, const topology::Topology& topology, std::int64_t row_a, std::int64_t row_b);

  /// Bytes of TCM that the live handles of a program hold, each tile rounded up to the TCM's alignment.
  std::int64_t tcm_bytes(const GemmTiles& tiles) const;
  /// Of which one tile of sums takes.
  std::int64_t sum_bytes(const GemmTiles& tiles) const;
  /// Bytes of TCM that they may hold.
  std::int64_t tcm_budget() const { return budget_; }
  bool fits(const GemmTiles& tiles) const { return tcm_bytes(tiles) <= budget_; }

  /// Nanoseconds from the programs' first instruction to the end of the last store.
  double time(const GemmBlock& block, const GemmTiles& tiles) const;
  /// The same, counting that short first steps ask few holders at one time.
  double time_with_first_steps(const GemmBlock& block, const GemmTiles& tiles) const;
  /// Of which it is made, in nanoseconds: one product, the walks of the page table in each step, the last store,
  /// and what comes before its first byte.
  double product(std::int64_t m, std::int64_t n, std::int64_t k) const { return step_cycles(m, n, k) * cycle_; }
  /// From its start until the next one of the same tile of the result, or of another one, may start.
  double until_next(std::int64_t m, std::int64_t n, std::int64_t k, bool same_tile) const {
    return follow_cycles(m, n, k, same_tile) * cycle_;
  }
  /// The vector engine's time for one step of k of a product m x n in f32: casts, a product and a sum.
  double on_lanes(std::int64_t m, std::int64_t n) const;
  /// Its time for those tiles of a step that the array takes turned; none where both lie as it takes them.
  double permutation_ns(const GemmTiles& tiles) const;
  double walks(const GemmBlock& block, const GemmTiles& tiles) const {
    return walks_ns(block, tiles, static_cast<double>(commands(block, tiles)));
  }
  /// Walks of the two descriptors of a step, in nanoseconds, where the tiles of one step have more pages than the TLB
  /// has entries: all are walked again in each step, and what stands behind a descriptor in its queue waits for its
  /// walks. None where the TLB holds the pages of a step.
  struct StepWalks {
    double a = 0, b = 0;
    double longest() const { return std::max(a, b); }
  };
  StepWalks walks_of_each_step(const GemmBlock& block, const GemmTiles& tiles) const;
  double finish(const GemmTiles& tiles) const { return store_ns(tiles); }
  double before_store(const GemmTiles& tiles) const { return epilogue_ns(tiles) + setup_; }
  /// Products of the program with the most to do.
  std::int64_t commands(const GemmBlock& block, const GemmTiles& tiles) const;
  /// Steps that the TCM holds beside the sums.
  std::int64_t steps_in_tcm(const GemmTiles& tiles) const;
  /// Not more than `time` of any tiles: the products on full arrays, and what has to move once.
  double at_least(const GemmBlock& block) const;
  /// Not more than `time` of tiles of tile_m x tile_n, whatever their k and depth.
  double at_least(const GemmBlock& block, std::int64_t tile_m, std::int64_t tile_n) const;

 private:
  double time(const GemmBlock& block, const GemmTiles& tiles, double traffic) const;
  /// A tile of an operand as the DMA sees it.
  struct Access {
    double bytes = 0;     // moved
    double occupied = 0;  // that the HBM channels are occupied for
    double chunk = 0;     // the largest, likewise
    double pages = 0;
  };
  struct Step {
    Access a, b;
    double service = 0;  // of the bytes alone
  };

  Access access(std::int64_t rows, std::int64_t columns, std::int64_t row) const;
  Step step(const GemmTiles& tiles, std::int64_t k) const;
  double run_bytes(double bytes) const;
  double step_cycles(std::int64_t m, std::int64_t n, std::int64_t k) const;
  double follow_cycles(std::int64_t m, std::int64_t n, std::int64_t k, bool same_tile) const;
  double products_ns(const GemmBlock& block, const GemmTiles& tiles, std::int64_t commands) const;
  struct Passes {
    double times = 1;     // how often an operand is read
    double swelling = 1;  // bytes that channels are occupied for, for each byte
    double holders = 1;   // that serve a program at a time, as many as if each had as much as the fullest
    double headers = 0;   // bytes of requests, for each byte
    double spread = 1;    // the part of the holders along k that serve at a time; 0: no better than the worst
  };
  Passes passes(const Access& access, double times, const OperandSharing& sharing, std::int64_t rows,
                std::int64_t columns) const;
  double traffic_ns(const GemmBlock& block, const Passes& a, const Passes& b) const;
  double traffic_ns(const GemmBlock& block, const GemmTiles& tiles, std::int64_t step_k) const;
  double moving_ns(const GemmBlock& block, const GemmTiles& tiles) const;
  double ahead(const GemmTiles& tiles) const;
  double latency_ns(const OperandTraffic& traffic) const;
  double walks_ns(double pages) const;
  double walks_ns(const GemmBlock& block, const GemmTiles& tiles, double steps) const;
  double epilogue_ns(const GemmTiles& tiles) const;
  double store_ns(const GemmTiles& tiles) const;
  double vector_ns(double elements, double cycles_each, double bytes) const;

  const GemmProblem& problem_;
  const topology::Topology& topology_;
  std::int64_t row_a_, row_b_;
  std::int64_t item_, out_item_, budget_, alignment_;
  topology::GemmOperand operand_;
  double cycle_;  // ns
  bool fills_each_fold_;
  // Bytes in each nanosecond, and nanoseconds.
  double slice_, channel_, router_link_, cube_links_, tcm_;
  double issue_, setup_, hbm_latency_, route_in_cube_, route_between_;
  double under_way_;  // steps whose loads the DMA queues can hold
  std::int64_t capacity_;
};

}  // namespace kernbench::tile::library
