// All-reduce on a grid of ranks: reduce-scatter along the rows, all-reduce of what that leaves along the columns,
// all-gather along the rows; each a ring. On a torus of SIPs every message goes to a neighbour, and there are
// 2 (columns - 1) + 2 (rows - 1) steps instead of 2 (n - 1).
//
// n ranks make the most square grid, not taller than wide, rank r in row r / columns: the SIPs of a torus_2d without a
// mesh of its own. A prime number makes one row, and the ring of ring_allreduce.
//
// The elements of each shard are cut into a chunk for each column, and each of these into a part for each row. Of chunk
// c, row i is folded to y[i] = ((x[i, c+1] ∘ x[i, c+2]) ∘ …) ∘ x[i, c], then part q of the chunk over the rows,
//   ((y[q+1] ∘ y[q+2]) ∘ …) ∘ y[q]
// (indices modulo columns and rows), from the left, in the tensor's own type (AVG: divided by n in the end, once).
//
// What a ring passes on is bounded as in ring_allreduce; the rings follow each other, and partial results are stored in
// the tensor.
#include <algorithm>
#include <functional>

#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/reduction.h"
#include "distributed/algorithms/shard_chunks.h"

namespace kernbench::distributed {
namespace {

using torch::distributed::ReduceOp;
using Parts = std::vector<std::optional<tensor::DevicePart>>;

struct Grid {
  explicit Grid(std::int64_t ranks) {
    for (std::int64_t candidate = 1; candidate * candidate <= ranks; ++candidate) {
      if (ranks % candidate == 0) rows = candidate;
    }
    columns = ranks / rows;
  }
  std::int64_t rows = 1, columns = 1;
};

/// One ring of a grid, as one of its ranks sees it, and a range of elements on it.
class RingPass {
 public:
  RingPass(const RankView& ring, const tl::Tensor& x, ReduceOp op, Range range)
      : ring_(ring), x_(x), op_(op), chunks_(range, ring) {}

  /// The rank's own chunk := its fold over the ring.
  void reduce_scatter(const std::function<tl::Tile(const tl::Tile&)>& finish) const {
    for (std::int64_t part = 0; part < chunks_.parts(); ++part) {
      for (std::int64_t step = 1; step < ring_.size; ++step) {
        for_each_tile_of(ring_.before(step), part, [&](std::int64_t at, std::int64_t elements) {
          const tl::Tile mine = tl::load(x_, {at}, {elements});
          send_to(ring_.next(), step == 1 ? mine : folded(mine, elements), ring_.window);
        });
      }
      for_each_tile_of(ring_.rank, part, [&](std::int64_t at, std::int64_t elements) {
        const tl::Tile mine = tl::load(x_, {at}, {elements});
        tl::store(x_, {at}, finish(ring_.size == 1 ? mine : folded(mine, elements)));
      });
    }
  }

  /// The other ranks' chunks := theirs.
  void all_gather() const {
    for (std::int64_t part = 0; part < chunks_.parts() && ring_.size > 1; ++part) {
      for_each_tile_of(ring_.rank, part, [&](std::int64_t at, std::int64_t elements) {
        send_to(ring_.next(), tl::load(x_, {at}, {elements}), ring_.window);
      });
      for (std::int64_t step = 1; step < ring_.size; ++step) {
        for_each_tile_of(ring_.before(step), part, [&](std::int64_t at, std::int64_t elements) {
          const tl::Tile result = receive_from(ring_.previous(), elements, x_.dtype());
          tl::store(x_, {at}, result);
          if (step + 1 < ring_.size) send_to(ring_.next(), result, ring_.window);
        });
      }
    }
  }

 private:
  template <class Body>
  void for_each_tile_of(std::int64_t chunk, std::int64_t part, const Body& body) const {
    for_each_tile(chunks_.part_of(chunk, part), ring_.tile_elements, body);
  }
  tl::Tile folded(const tl::Tile& mine, std::int64_t elements) const {
    return reduce(op_, receive_from(ring_.previous(), elements, x_.dtype()), mine);
  }

  const RankView& ring_;
  const tl::Tensor& x_;
  ReduceOp op_;
  ShardChunks chunks_;
};

/// `count` ranks from `first` on, `stride` apart, as the one at `place` sees them.
RankView ring_of(const RankView& ranks, Parts& parts, std::int64_t first, std::int64_t stride, std::int64_t count,
                 std::int64_t place) {
  for (std::int64_t i = 0; i < count; ++i) parts.emplace_back(ranks.part(first + i * stride));
  return {place, count, parts, ranks.tile_elements, ranks.window};
}

void reduce_on_grid(const RankView& ranks, const CollectiveArguments& arguments) {
  if (ranks.size == 1) return;
  const Grid grid(ranks.size);
  const std::int64_t row = ranks.rank / grid.columns, column = ranks.rank % grid.columns;
  Parts in_row, in_column;
  const RankView along_row = ring_of(ranks, in_row, row * grid.columns, 1, grid.columns, column);
  const RankView along_column = ring_of(ranks, in_column, column, grid.columns, grid.rows, row);
  const tl::Tensor& x = *arguments.tensor;
  const ReduceOp op = arguments.reduction;
  for_each_local_shard(x, [&](Range shard) {
    const std::int64_t chunk = tl::cdiv(shard.end - shard.begin, grid.columns);
    const std::int64_t begin = std::min(shard.begin + column * chunk, shard.end);
    const RingPass over_row(along_row, x, op, shard);
    const RingPass over_column(along_column, x, op, {begin, std::min(begin + chunk, shard.end)});
    over_row.reduce_scatter([](const tl::Tile& tile) { return tile; });
    over_column.reduce_scatter([&](const tl::Tile& tile) { return finish_reduction(op, tile, ranks.size); });
    over_column.all_gather();
    over_row.all_gather();
  });
  finish_sending();
}

std::vector<RankPair> grid_channels(int ranks) {
  const Grid grid(ranks);
  std::vector<RankPair> channels;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t row = rank / grid.columns, column = rank % grid.columns;
    channels.emplace_back(rank, static_cast<int>(row * grid.columns + (column + 1) % grid.columns));
    if (grid.rows > 1) channels.emplace_back(rank, static_cast<int>((row + 1) % grid.rows * grid.columns + column));
  }
  return channels;
}

std::string grid_refusal(const GroupDescription& group) {
  return more_channels_than_fit(group, grid_channels(group.ranks));
}

}  // namespace

CollectiveAlgorithm grid_ring_allreduce() {
  return {.name = "grid_ring_allreduce",
          .operation = CollectiveOperation::all_reduce,
          .topology = "grid_2d",
          .method = "rings along the rows and columns of the most square grid of ranks, 2(rows + columns - 2) steps",
          .fold_order = "as `ring_allreduce` along each row, then its results along each column",
          .runs_on = kRunsWhereChannelsFit,
          .refusal = grid_refusal,
          .channels = grid_channels,
          .kernel = reduce_on_grid};
}

}  // namespace kernbench::distributed
