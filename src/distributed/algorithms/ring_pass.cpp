#include "distributed/algorithms/ring_pass.h"

#include <algorithm>

#include "distributed/algorithms/reduction.h"

namespace kernbench::distributed {

using torch::distributed::ReduceOp;

RingOfParts::RingOfParts(const Line& line, const RankView& ranks, bool backwards)
    : line_(line),
      tile_elements_(ranks.tile_elements),
      window_(ranks.window),
      machine_(ranks.machine),
      backwards_(backwards) {
  for (std::int64_t i = 0; i < line.count; ++i) parts_.emplace_back(ranks.part(line.at(i)));
}

RingOfParts::RingOfParts(const Line& line, std::span<const PeCoordinate> pes, const RankView& ranks)
    : line_(line), tile_elements_(ranks.tile_elements), window_(ranks.window), machine_(ranks.machine) {
  for (std::int64_t i = 0; i < line.count; ++i) parts_.emplace_back(pes[static_cast<std::size_t>(line.at(i))]);
}

tl::Tile RingPass::folded(const tl::Tile& mine, std::int64_t elements) const {
  return reduce(op_, receive_from(ring_.previous(), elements, x_.dtype()), mine);
}

Range RingPass::own_chunk() const {
  const std::int64_t chunk = tl::cdiv(range_.end - range_.begin, ring_.size);
  const std::int64_t begin = std::min(range_.begin + ring_.rank * chunk, range_.end);
  return {begin, std::min(begin + chunk, range_.end)};
}

void RingPass::reduce_scatter(const Map& contribute, const Map& finish) const {
  for (std::int64_t part = 0; part < chunks_.parts(); ++part) {
    for (std::int64_t step = 1; step < ring_.size; ++step) {
      for_each_tile_of(ring_.before(step), part, [&](std::int64_t at, std::int64_t elements) {
        const tl::Tile mine = contribute(tl::load(x_, {at}, {elements}));
        send_to(ring_.next(), step == 1 ? mine : folded(mine, elements), ring_.window);
      });
    }
    for_each_tile_of(ring_.rank, part, [&](std::int64_t at, std::int64_t elements) {
      const tl::Tile mine = contribute(tl::load(x_, {at}, {elements}));
      tl::store(x_, {at}, finish(ring_.size == 1 ? mine : folded(mine, elements)));
    });
  }
}

void RingPass::all_gather() const {
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

namespace {

/// From ring `depth` on, which has what those before it have left.
void reduce_from(std::size_t depth, std::span<const RingOfParts> rings, const tl::Tensor& x, ReduceOp op, Range range,
                 std::int64_t contributions) {
  const bool innermost = depth + 1 == rings.size();
  const RingPass pass(rings[depth].view(), x, op, range);
  pass.reduce_scatter(
      [&](const tl::Tile& tile) { return depth == 0 ? contribution(op, tile, contributions) : tile; },
      [&](const tl::Tile& tile) { return innermost ? finish_reduction(op, tile, contributions) : tile; });
  if (!innermost) reduce_from(depth + 1, rings, x, op, pass.own_chunk(), contributions);
  pass.all_gather();
}

}  // namespace

void reduce_over_rings(std::span<const RingOfParts> rings, const tl::Tensor& x, ReduceOp op, Range range,
                       std::int64_t contributions) {
  reduce_from(0, rings, x, op, range, contributions);
}

}  // namespace kernbench::distributed
