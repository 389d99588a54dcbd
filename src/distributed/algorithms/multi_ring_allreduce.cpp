// All-reduce along several rings at one time that together use the links between all pairs of ranks alike.
//
// A ring is an order of the ranks. Ring s goes from each rank to the one s places after it, for the s from 1 to n - 1
// that have no factor in common with n. Where n is prime each ordered pair of ranks is next to each other in one of
// them; else some pairs are in none. Four ranks have no rings that use each pair once (Tillson, "A Hamiltonian
// decomposition of K*_2m, 2m >= 8", 1980); all six orders that begin with rank 0 have each pair twice. Of R rings each
// takes 1/R of the elements, so that each link between two of 4 ranks, or of a prime number, carries 2/n of the bytes:
// as much as in direct exchange.
//
// In direct exchange every PE sends to all ranks, so that in a lane of PEs to the IO chiplet messages to several links
// wait behind each other. Here each PE goes around one ring. PEs that follow each other in a lane go around the same
// one, so that most lanes have messages to one link only. Where PEs are no multiple of the rings, the first ones have
// one PE more each; each ring is followed by the one in the opposite direction, with which it has no link in common.
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "distributed/algorithms/all_pairs.h"
#include "distributed/algorithms/own_ranges.h"
#include "distributed/algorithms/ring_reduction.h"
#include "kernbench/tl/program.h"

namespace kernbench::distributed {
namespace {

using RingOrder = std::vector<int>;

/// Each followed by the one in the opposite direction.
std::vector<RingOrder> rings_of(int ranks) {
  std::vector<RingOrder> rings;
  const auto add = [&](const RingOrder& order) {
    rings.push_back(order);
    rings.push_back(order);
    std::reverse(rings.back().begin() + 1, rings.back().end());
  };
  if (ranks == 2) return {{0, 1}};
  if (ranks == 4) {
    for (const RingOrder& order : {RingOrder{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}}) add(order);
    return rings;
  }
  for (int stride = 1; 2 * stride < ranks; ++stride) {
    if (std::gcd(stride, ranks) != 1) continue;
    RingOrder order;
    for (int place = 0; place < ranks; ++place) order.push_back(place * stride % ranks);
    add(order);
  }
  return rings;
}

/// A ring as this rank sees it.
class RingOfOrder {
 public:
  RingOfOrder(const RingOrder& order, const RankView& ranks) : ranks_(ranks) {
    for (const int rank : order) {
      if (rank == ranks.rank) place_ = std::ssize(parts_);
      parts_.emplace_back(ranks.part(rank));
    }
  }
  RankView view() const { return {place_, ranks_.size, parts_, ranks_.tile_elements, ranks_.window, ranks_.machine}; }

 private:
  const RankView& ranks_;
  std::vector<std::optional<tensor::DevicePart>> parts_;
  std::int64_t place_ = 0;
};

/// Of the calling PE among those of its SIP, row by row of the mesh.
std::int64_t place_of_this_pe(const topology::Topology& machine) {
  const auto& cubes = machine.sip.cubes;
  const auto& pes = machine.cube.pes;
  const auto cube = tl::cube_id(), pe = tl::pe_id();
  const std::int64_t row = cube / cubes.width * pes.height + pe / pes.width;
  const std::int64_t column = cube % cubes.width * pes.width + pe % pes.width;
  return row * cubes.width * pes.width + column;
}

/// Of so many rings, which have as many PEs each, or one more.
std::size_t ring_of(std::int64_t place, std::int64_t pes, std::int64_t rings) {
  const std::int64_t each = pes / rings, more = pes % rings;
  if (place < more * (each + 1)) return static_cast<std::size_t>(place / (each + 1));
  return static_cast<std::size_t>(more + (place - more * (each + 1)) / each);
}

void reduce_around_rings(const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  const auto rings = rings_of(static_cast<int>(ranks.size));
  const std::int64_t place = place_of_this_pe(*ranks.machine);
  const RingOfOrder order(rings[ring_of(place, ranks.machine->pes_per_sip(), std::ssize(rings))], ranks);
  for_each_own_range(arguments,
                     [&](Range shard) { reduce_around(order.view(), *arguments.tensor, arguments.reduction, shard); });
  finish_sending();
}

std::string multi_ring_refusal(const GroupDescription& group) {
  if (group.rank_per_pe || group.machine.pes_per_sip() == 1)
    return "each rank has one PE, which goes around one ring only; ring_allreduce does the same";
  return all_pairs_refusal(group);
}

std::vector<CostStep> multi_ring_steps(const GroupShape& ranks) {
  const auto rings = rings_of(ranks);
  CostStep step{
      .share = 1.0 / ranks, .times = 2 * (ranks - 1), .memory = static_cast<double>(ranks) / std::max(1, ranks - 1)};
  int way = 0;
  for (const RingOrder& ring : rings) {
    for (std::size_t place = 0; place < ring.size(); ++place) {
      const int from = ring[place], to = ring[(place + 1) % ring.size()];
      step.messages.push_back({from, to, 1.0 / static_cast<double>(rings.size()), way});
    }
    ++way;
  }
  return {step};
}

}  // namespace

CollectiveAlgorithm multi_ring_allreduce() {
  return {.name = "multi_ring_allreduce",
          .operation = CollectiveOperation::all_reduce,
          .topology = kAllPairs,
          .method =
              "rings of equal parts of the PEs at one time: to the rank s places after, for each s that has no "
              "factor in common with n; of 4 ranks, in all six orders",
          .fold_order = "as `ring_allreduce`, with the ranks in the order of the ring of the PE",
          .runs_on = "ranks that are SIPs of several PEs, as many as a PE has channels for, and one more",
          .refusal = multi_ring_refusal,
          .channels = channels_of_all_pairs,
          .kernel = reduce_around_rings,
          .steps = multi_ring_steps,
          .in_parts = true};
}

}  // namespace kernbench::distributed
