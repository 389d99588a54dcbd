#include "tile/library/join.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "tile/library/elementwise.h"
#include "tile/library/pipeline.h"
#include "tile/program/program.h"

namespace kernbench::tile::library {

namespace {

/// Of a block: a piece turned round, what is joined, the same turned round and cast.
constexpr std::int64_t kTilesBeside = 4;
constexpr std::int64_t kJoinsUnderWay = 3;

/// A part's share of a block, in indices of the result.
struct Piece {
  const JoinedPart* part;
  Box box;
};

class Joiner {
 public:
  Joiner(const View& out, const std::vector<JoinedPart>& parts, std::size_t dimension)
      : out_(out), parts_(parts), dimension_(dimension), limits_(machine_limits()) {
    const auto& program = Program::current("library kernel", tl::Where::current());
    alignment_ = program.environment().machine.topology().pe.tcm.alignment.count();
  }

  void run(bool apart) const {
    const std::vector<Box> blocks = blocks_in_order(apart);
    const std::size_t depth = depth_of(blocks);
    std::deque<std::vector<PendingLoad>> under_way;
    std::size_t next = 0;
    for (const Box& block : blocks) {
      for (; next < blocks.size() && under_way.size() < depth; ++next) under_way.push_back(load_block(blocks[next]));
      std::vector<PendingLoad> loads = std::move(under_way.front());
      under_way.pop_front();
      store_with_gaps(out_, block.offset, joined(block, std::move(loads)));
    }
  }

 private:
  Box box_of(const JoinedPart& part) const {
    Box box{out_.sizes, out_.sizes};
    for (std::size_t d = 0; d < out_.rank(); ++d) box.offset[d] = 0;
    box.offset[dimension_] = part.start;
    box.shape[dimension_] = part.source.sizes[dimension_];
    return box;
  }

  std::vector<Piece> pieces_of(const Box& block) const {
    const std::int64_t begin = block.offset[dimension_], end = begin + block.shape[dimension_];
    auto part = std::ranges::partition_point(parts_, [&](const JoinedPart& candidate) {
      return candidate.start + candidate.source.sizes[dimension_] <= begin;
    });
    std::vector<Piece> pieces;
    for (; part != parts_.end() && part->start < end; ++part)
      if (const auto common = intersection(box_of(*part), block)) pieces.push_back({&*part, *common});
    return pieces;
  }

  Box in_source(const Piece& piece) const {
    Box box = piece.box;
    box.offset[dimension_] -= piece.part->start;
    return box;
  }

  std::vector<PendingLoad> load_block(const Box& block) const {
    std::vector<PendingLoad> loads;
    for (const Piece& piece : pieces_of(block)) {
      const Box from = in_source(piece);
      loads.push_back(load_async(piece.part->source, from.offset, from.shape));
    }
    return loads;
  }

  tl::Tile joined(const Box& block, std::vector<PendingLoad> loads) const {
    std::vector<tl::Tile> tiles;
    const auto pieces = pieces_of(block);
    for (std::size_t i = 0; i < pieces.size(); ++i)
      tiles.push_back(fill_out(tl::cast(wait(std::move(loads[i])), out_.dtype()), pieces[i].box.shape));
    return tiles.size() == 1 ? tiles.front() : tl::cat(std::span<const tl::Tile>(tiles), static_cast<int>(dimension_));
  }

  /// Bytes of the tiles that a block loads, at most.
  std::int64_t bytes_to_load(const tl::Extents& block) const {
    const std::int64_t pieces = std::min(static_cast<std::int64_t>(parts_.size()), block[dimension_]);
    return block.numel() * item_size(out_.dtype()) + pieces * alignment_;
  }
  /// And of all others that are alive with them.
  std::int64_t bytes_of_rest(const tl::Extents& block) const {
    const std::int64_t beside = bytes_beside(out_, limits_);
    return block.numel() * (kTilesBeside * widest_item({&out_, 1}) + beside) + (beside == 0 ? 0 : kBytesOfMask);
  }

  /// A block of a box that has room in the TCM together with the one that is loaded next.
  tl::Extents fitting_block(const tl::Extents& box, std::span<const std::size_t> fast) const {
    std::int64_t limit = kLargestBlock;
    tl::Extents block = block_shape(box, limit, fast);
    while (limit > 1 && 2 * bytes_to_load(block) + bytes_of_rest(block) > limits_.tcm)
      block = block_shape(box, limit /= 2, fast);
    return block;
  }

  std::size_t depth_of(const std::vector<Box>& blocks) const {
    std::int64_t depth = kJoinsUnderWay;
    for (const Box& block : blocks)
      depth = std::min(depth, (limits_.tcm - bytes_of_rest(block.shape)) / bytes_to_load(block.shape) - 1);
    return static_cast<std::size_t>(std::max<std::int64_t>(depth, 1));
  }

  /// Whether what a part has in the result would be stored in pieces shorter than an access of the HBM.
  bool is_narrow(const JoinedPart& part) const {
    const tl::Extents whole = box_of(part).shape;
    return run_of(out_, whole) * item_size(out_.dtype()) < limits_.access && whole.numel() < out_.numel();
  }

  /// The blocks of the result, of one part each unless parts are narrow.
  std::vector<Box> blocks_in_order(bool apart) const {
    const bool several = std::ranges::any_of(parts_, [&](const JoinedPart& part) { return is_narrow(part); });
    std::vector<Box> blocks;
    std::vector<bool> long_rows(out_.rank(), false);
    for (const Box& box : local_boxes(out_)) {
      if (several) {
        append_blocks(blocks, box, fitting_block(box.shape, {}));
        continue;
      }
      for (const Piece& piece : pieces_of(box)) {
        const auto fast = fast_dimensions(out_, {piece.part->source});
        append_blocks(blocks, piece.box, fitting_block(piece.box.shape, fast));
        for (const std::size_t d : fast) long_rows[d] = true;
      }
    }
    if (blocks.empty()) return blocks;
    long_rows[dimension_] = long_rows[dimension_] || several;
    if (apart) begin_apart(blocks);
    return growing(std::move(blocks), long_rows);
  }

  const View& out_;
  const std::vector<JoinedPart>& parts_;
  std::size_t dimension_;
  MachineLimits limits_;
  std::int64_t alignment_ = 1;
};

}  // namespace

void join(const View& out, const std::vector<JoinedPart>& parts, std::size_t dimension, bool apart) {
  Joiner(out, parts, dimension).run(apart);
}

bool joins_meet(const View& out, const std::vector<JoinedPart>& parts, std::size_t dimension) {
  std::size_t slices = 0;
  for (const JoinedPart& part : parts) slices += part.source.tensor.descriptor().shards.size();
  // Of the first part of a block alone: the others of a row of narrow ones lie about as it does.
  std::map<const JoinedPart*, SliceFinder> finders;
  return programs_meet(
      held_boxes(out), slices, {}, kLargestBlock, [&](const Box& block, std::set<PeCoordinate>& found) {
        const auto next = std::ranges::upper_bound(parts, block.offset[dimension], {}, &JoinedPart::start);
        const JoinedPart& part = *std::prev(next);
        Box in_source = block;
        in_source.offset[dimension] -= part.start;
        in_source.shape[dimension] =
            std::min(block.shape[dimension], part.source.sizes[dimension] - in_source.offset[dimension]);
        return finders.try_emplace(&part, part.source).first->second.add(in_source, found);
      });
}

}  // namespace kernbench::tile::library
