// All-to-all of Bruck: ceil(log2 n) steps on any number of ranks, for blocks of one size (Bruck, Ho, Kipnis, Upfal and
// Weathersby, "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997).
//
// A block for the rank o places after its own takes the hops that the binary digits of o say: in the step of distance d
// = 1, 2, 4, … < n each rank sends those blocks to the rank d places after it whose o has that digit. On its way a
// block stands in the output where the block of that o belongs, which comes there with its last hop. So a block is sent
// up to log2 n times, and all of them must have one size.
#include <bit>

#include "distributed/algorithms/block_parts.h"
#include "distributed/algorithms/bruck.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {
namespace {

/// The first hop of a block.
std::int64_t first_distance(std::int64_t offset) {
  return std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(offset));
}

void exchange_by_digits(const RankView& ranks, const CollectiveArguments& arguments) {
  const BlockArguments& blocks = arguments.blocks;
  keep_own(of(blocks.inputs, ranks.rank), of(blocks.outputs, ranks.rank), of(blocks.sent, ranks.rank),
           ranks.tile_elements);
  for (std::int64_t distance = 1; distance < ranks.size; distance *= 2) {
    std::vector<BlockTile> sent, taken;
    // Backwards: what comes in then goes to one place after the other.
    for (std::int64_t offset = ranks.size; --offset >= distance;) {
      if ((offset & distance) == 0) continue;
      const std::int64_t to = ranks.after(offset), from = ranks.before(offset);
      const BlockRow& here = first_distance(offset) == distance ? of(blocks.inputs, to) : of(blocks.outputs, from);
      append_tiles(sent, here, of(blocks.sent, to), ranks.tile_elements);
      append_tiles(taken, of(blocks.outputs, from), of(blocks.received, from), ranks.tile_elements);
    }
    exchange(ranks, distance, sent, taken);
  }
  finish_sending();
}

std::vector<CostStep> digit_steps(const GroupShape& ranks) {
  std::vector<CostStep> steps;
  for (int distance = 1; distance < ranks; distance *= 2) {
    int sent = 0;
    for (int offset = distance; offset < ranks; ++offset) sent += (offset & distance) != 0 ? 1 : 0;
    steps.push_back(bruck_step(ranks, distance, static_cast<double>(sent) / ranks.ranks));
    steps.back().through_memory = true;
    steps.back().memory = 2;
  }
  return steps;
}

}  // namespace

CollectiveAlgorithm bruck_all_to_all() {
  return {.name = "bruck_all_to_all",
          .operation = CollectiveOperation::all_to_all,
          .topology = kBruck,
          .method = "in the step of distance 1, 2, 4, … the blocks whose way has that binary digit: ceil(log2 n) steps",
          .fold_order = "",
          .runs_on = "as many ranks as a PE has channels for, with blocks of one size",
          .refusal = bruck_refusal,
          .channels = bruck_channels,
          .kernel = exchange_by_digits,
          .steps = digit_steps,
          .validator = [](const collectives::Group&, const collectives::Call& call) -> std::string {
            if (call.equal_blocks) return {};
            return "its blocks pass through other ranks, in the places of theirs, and they have different sizes";
          }};
}

}  // namespace kernbench::distributed
