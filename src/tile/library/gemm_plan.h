// How the library's matrix product is cut: over the PEs of a launch, and into tiles within each. Plain data, made on
// the host before the launch; gemm.h runs it. What a plan is chosen by: gemm_estimate.h.
//
// Tiling. A cube's PEs take a block of C each; a PE walks its block tile by tile (tile_m x tile_n), and each tile over
// k in steps of tile_k with an f32 (integers: i32) accumulator tile. The loads of `depth` steps are under
// way while the GEMM engine works on those before them. The first steps of the first
// tile are short, so that the GEMM engine starts early.
//
// Edges. Where the last rows or columns of C would cost every program one more pass of its array, the ranges end before
// them, and all programs share them as blocks of their own, after their range.
//
// Together. Programs whose walks over an operand are the same may load its tiles by multicast, each tile once for all.
//
// Vector share. Of each step of few rows the vector engine takes the last part of k, `vector_share` of it, and keeps
// its sums in a tile of its own: the array, of which a few rows work, and the lanes go through the weights together.
// Its command comes behind the permutations for the next step, which the array would wait for.
//
// Growing steps. Of a long k that both engines share, steps grow by `more_k` each: two loads under way then keep up
// with the products from a short first step on, and the array is filled and drained a few times only.
//
// Engines. The plan says how much of the array a block of a product takes at most, and how many DMA queues take the
// loads in turn: those of the machine that it was made for, or fewer. Steps and the loads under way go with them: who
// keeps a plan and has a larger array or more queues later has the same blocks in the same queues.
//
// TCM. The live handles of a program never hold more than `tcm_bytes`, at most the PE's TCM divided by its contexts:
//   two accumulators + depth steps of both operands (twice, where they are transposed on the way), or
//   two accumulators more, with a vector share, or
//   kEpilogueTiles f32 tiles while an epilogue (scaling, bias, activation) runs,
// each tile rounded up to `pe.tcm.alignment`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/coordinates.h"
#include "kernbench/dtype.h"
#include "kernbench/tl/fold.h"
#include "kernbench/tl/multicast.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

/// C [batch, m, n] = A [batch, m, k] times B [batch, k, n].
struct GemmShape {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
};

/// A box of a matrix operand that a PE holds: [batch, rows, columns].
struct GemmPart {
  PeCoordinate owner;
  std::int64_t begin[3] = {0, 0, 0}, end[3] = {0, 0, 0};
};

/// Who holds which part of the operands and of the result; empty: not known, taken to be spread evenly.
struct GemmOperands {
  std::span<const GemmPart> a, b, out;
};

/// In which order products are accumulated. exact: one chain in the order of k, so that the result has the same bits on
/// every machine and for every placement. any: a PE may begin with the part of k that lies nearest and wrap around, and
/// k may be split; the order is still a function of the plan alone.
enum class KOrder : std::uint8_t { exact, any };

struct GemmProblem {
  GemmShape shape;
  DType dtype = DType::f16;  // of the operands
  KOrder order = KOrder::exact;
  bool epilogue = false;                            // scaling, bias or activation follow the product
  bool transposed_a = false, transposed_b = false;  // the operand's rows are not rows of its memory
  std::int64_t split_k = 0;                         // 0: chosen (1 unless order is any)
  std::int64_t tile_m = 0, tile_n = 0, tile_k = 0;  // 0: chosen
  std::int64_t depth = 0;                           // 0: chosen
};

/// A box of the product [batch, m, n, k], from `begin` to before `end`.
struct GemmRange {
  std::int64_t batch[2] = {0, 0}, m[2] = {0, 0}, n[2] = {0, 0}, k[2] = {0, 0};
  std::int64_t split = 0;    // index of the part of k
  std::int64_t k_start = 0;  // where the walk over k begins
  bool empty() const { return batch[0] >= batch[1] || m[0] >= m[1] || n[0] >= n[1] || k[0] >= k[1]; }
};

struct GemmPlan {
  GemmShape shape;
  /// How many parts each extent has: over the cubes and over the PEs of each.
  struct Grid {
    std::int64_t batch = 1, m = 1, n = 1, k = 1;
    std::int64_t count() const { return batch * m * n * k; }
    bool operator==(const Grid&) const = default;
  };
  Grid cubes, pes;
  std::int64_t split_k = 1;
  std::int64_t tile_m = 1, tile_n = 1, tile_k = 1;
  std::int64_t depth = 1;    // steps whose loads are under way when the program waits for the first of them
  std::int64_t first_k = 1;  // length of the first step of a program
  std::int64_t more_k = 0;   // the second step is twice as long, others so much longer each; 0: each twice, to `tile_k`
  tl::Fold fold;             // of each product
  std::int64_t dma_queues = 0;  // that loads take in turn, at most; 0: all
  double vector_share = 0;      // part of each step's k that the vector engine takes
  std::int64_t tcm_bytes = 0;
  /// One range for each program of the launch.
  std::vector<GemmRange> ranges;
  /// What each program works on after its range, where the ranges leave a few rows or columns (gemm_edges.h); either
  /// may be empty. Without such there are none.
  std::vector<std::array<GemmRange, 2>> edges;
  /// With whom each program loads the tiles of an operand by multicast (gemm_groups.h); null: alone. Empty: all do.
  std::vector<std::shared_ptr<const tl::MulticastGroup>> mates_a, mates_b;
  bool loads_together() const { return !mates_a.empty() || !mates_b.empty(); }
  /// Where the programs find what they read of an operand: shares of its elements; what is left is in other cubes.
  struct Nearby {
    double own = 0, cube = 0;
  };
  Nearby a, b;
  /// What the plan was chosen by, from the programs' first instruction to their last store.
  double estimated_ns = 0;
  double second_launch_ns = 0;  // what the launch that adds the parts of k is taken to need
};

constexpr std::int64_t kEpilogueTiles = 4;

/// What was chosen, as names and values for people: "tile_k" "256".
std::vector<std::pair<std::string, std::string>> choices(const GemmPlan& plan);

/// Of each plan its time in nanoseconds, infinite when it does not run.
struct PlanTimes {
  std::vector<double> ns;
  /// What measuring each of them has cost, as a part of what a product may cost. Of one that took longer than one
  /// before it this depends on the host's threads. Where more machines than one are asked, of the first.
  std::vector<double> costs = {};
};
/// What measuring a plan costs where that is cheap, at most: machines of a few PEs. assumption
inline constexpr double kCheapMeasurement = 0.003;
/// Measures plans. One that takes longer than `limit`, or than one before it, need not be measured to its end, and is
/// infinite then.
using PlanTimer = std::function<PlanTimes(std::span<const GemmPlan> plans, double limit)>;

/// Plans for programs on `pes` (ascending, not empty). Throws OutOfMemoryError when no tile fits into the TCM. Where
/// it is known who holds the operands and `timer` is there, it has the last word between the most promising plans.
GemmPlan plan_gemm(const GemmProblem& problem, std::span<const PeCoordinate> pes, const GemmOperands& operands,
                   const topology::Topology& topology, const PlanTimer& timer = {});

}  // namespace kernbench::tile::library
