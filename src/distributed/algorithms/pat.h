// The trees of PAT ("parallel aggregated trees"): how the blocks of all ranks go to all others, each along a binomial
// tree of its own, in few steps and through buffers that do not grow with the message (Jeaugey, "PAT: a new algorithm
// for all-gather and reduce-scatter operations at scale", 2025).
//
// The rank o places after that of a block has the block from the rank at offset o - w, w the lowest binary digit of o;
// so far ranks have it first. All trees are gone through at one time: in a step of distance d each rank sends to the
// rank d places after it, of each of some blocks a few tiles. A step takes up to `most` blocks. Where ranks have more
// than that, what has come is passed on in groups of so many, one group to its end before the next one begins; so of
// each distance one group waits at most.
//
// A reduce-scatter goes the same ways back.
#pragma once

#include <cstdint>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "kernbench/dtype.h"

namespace kernbench::distributed {

struct PatStep {
  std::int64_t distance = 1;
  std::vector<std::int64_t> offsets = {};  // at which ranks have their blocks from this step on
};
/// The steps of an all-gather of so many ranks.
std::vector<PatStep> pat_steps(std::int64_t ranks, std::int64_t most);
/// Whether the rank at that offset passes the block on; its last step is that of distance 1.
bool passes_on(std::int64_t offset, std::int64_t ranks);
/// The most blocks that a rank has between receiving and passing them on, its own with them.
std::int64_t most_held(const std::vector<PatStep>& steps, std::int64_t ranks);

/// What fits into the slots of a channel and, with what is under way, into half of the TCM of a program.
struct PatPlan {
  PatPlan(const RankView& ranks, DType dtype);
  std::vector<PatStep> steps;
  std::int64_t tile_elements = 1, tiles_at_once = 1;  // tiles of each block in a step
};

/// The cost of the steps, each with as many blocks as there are. In an all-gather a rank has its own block from the
/// beginning, and each other one for all later steps: of those of a step, only the blocks that have moved in each step
/// before wait for the last one.
std::vector<CostStep> pat_gather_cost(const GroupShape& ranks);
std::vector<CostStep> pat_scatter_cost(const GroupShape& ranks);

}  // namespace kernbench::distributed
