// All-reduce of partial sums: each replica of a tensor, on each rank, is a contribution. Replicas are added inside of
// each device first, then over the ranks, and all of them end with the result.
//
// Of each box of the tensor the PEs of a device that hold a replica stand in levels (levels.h): the PEs of a cube, and
// cubes. Each level is a ring, then the ranks are; of PEs in odd rows of the mesh the ranks go around in the opposite
// order. Reduce-scatter from level to level, and back by all-gathers, as ring_pass.h says; so a PE sends 2(N - 1)/N of
// its replica, N contributions.
//
// AVG is over the contributions.
#include <algorithm>

#include "distributed/algorithms/both_ways.h"
#include "distributed/algorithms/ring.h"
#include "distributed/algorithms/ring_pass.h"

namespace kernbench::distributed {
namespace {

/// The PEs of the box on the calling PE's device, and the calling PE's place among them.
struct Holders {
  explicit Holders(const Replicas::Box& box) : pes(box.holders) {
    for (std::size_t i = 0; i < pes.size(); ++i) {
      pes[i].sip = SipId{static_cast<std::int32_t>(tl::device_id())};
      if (pes[i].cube.value == tl::cube_id() && pes[i].pe.value == tl::pe_id()) place = static_cast<std::int64_t>(i);
    }
  }
  std::vector<PeCoordinate> pes;
  std::int64_t place = 0;
};

void reduce_box(const Replicas::Box& box, Range shard, const RankView& ranks, const CollectiveArguments& arguments) {
  const Holders holders(box);
  std::vector<RingOfParts> rings;
  for (const Line& line : lines_through(holders.place, box.levels)) {
    if (line.count > 1) rings.emplace_back(line, holders.pes, ranks);
  }
  if (ranks.size > 1) {
    rings.emplace_back(Line{0, 1, ranks.size, ranks.rank}, ranks, way_of_this_pe(*ranks.machine, 2) == 1);
  }
  if (rings.empty()) return;
  reduce_over_rings(rings, *arguments.tensor, arguments.reduction, shard,
                    static_cast<std::int64_t>(box.holders.size()) * ranks.size);
}

void reduce_partials(const RankView& ranks, const CollectiveArguments& arguments) {
  const auto& boxes = arguments.replicas->boxes;
  for_each_local_shard(*arguments.tensor, [&](Range shard) {
    if (shard.begin == shard.end) return;
    const auto box = std::ranges::lower_bound(boxes, shard.begin, {}, &Replicas::Box::begin);
    reduce_box(*box, shard, ranks, arguments);
  });
  finish_sending();
}

}  // namespace

CollectiveAlgorithm intercube_allreduce() {
  return {.name = "intercube_allreduce",
          .operation = CollectiveOperation::all_reduce_partials,
          .topology = "intercube",
          .method =
              "rings over the PEs of a cube, the cubes and the ranks, reduce-scatters one inside the other and back by "
              "all-gathers",
          .fold_order =
              "as `ring_allreduce` in each ring, of what the rings before have left; of the ranks of PEs in "
              "odd rows of the mesh in the opposite order",
          .runs_on = kRunsOnAnyGroup,
          .refusal = runs_on_any_group,
          .channels = ring_channels,
          .kernel = reduce_partials};
}

}  // namespace kernbench::distributed
