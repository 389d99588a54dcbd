#include "tile/library/normalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tile/library/elementwise.h"
#include "tile/library/pipeline.h"

namespace kernbench::tile::library {

namespace {

/// Whole lines along `along`, as many as fit.
tl::Extents lines(const Box& box, const std::vector<bool>& along, std::int64_t tiles = kLineTiles) {
  std::int64_t line = 1;
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d]) line *= box.shape[d];
  const std::int64_t budget = std::min(tcm_budget() / (4 * tiles), std::max(kLargestBlock, line));
  std::int64_t left = std::max<std::int64_t>(budget / line, 1);
  tl::Extents block = box.shape;
  for (std::size_t d = along.size(); d-- > 0;) {
    if (along[d]) continue;
    block[d] = std::min(box.shape[d], left);
    left = std::max<std::int64_t>(left / block[d], 1);
  }
  return block;
}

/// The blocks of whole lines of the program's share.
std::vector<Box> blocks_of_lines(const View& out, const std::vector<bool>& along, Share share,
                                 std::int64_t tiles = kLineTiles) {
  std::vector<Box> blocks;
  for (const Box& box : lines_of(out, along, share)) append_blocks(blocks, box, lines(box, along, tiles));
  return growing(std::move(blocks), along);
}

/// Sum over the dimensions of a line, which stay with extent 1.
tl::Tile line_sum(tl::Tile tile, const std::vector<bool>& along) {
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d] && tile.shape()[d] != 1) tile = tl::sum(tile, static_cast<int>(d), true);
  return tile;
}

}  // namespace

bool line_fits(std::int64_t elements, std::int64_t budget, std::int64_t tiles) {
  return elements * 4 * tiles <= budget;
}

void softmax(const View& x, std::size_t dimension, bool logarithm, const View& out, Share share) {
  std::vector<bool> along(x.rank(), false);
  along[dimension] = true;
  const auto axis = static_cast<int>(dimension);
  pipeline(blocks_of_lines(out, along, share), {x}, [&](const Box& block, const std::vector<tl::Tile>& tiles) {
    const auto softmax_of = [&] {
      auto tile = tl::cast(fill_out(tiles.front(), block.shape), DType::f32);
      tile = tile - tl::max(tile, axis, true);
      if (logarithm) {
        tile = tile - tl::log(tl::sum(tl::exp(tile), axis, true));
      } else {
        tile = tl::exp(tile);
        tile = tile * (1.0F / tl::sum(tile, axis, true));  // one division for each line
      }
      return tl::cast(tile, out.dtype());
    };
    store(out, block.offset, tl::fuse(softmax_of));
  });
}

namespace {

/// Which dimensions a line runs along.
std::vector<bool> last_dimensions(const View& x, std::size_t count) {
  std::vector<bool> along(x.rank(), false);
  for (std::size_t d = x.rank() - count; d < x.rank(); ++d) along[d] = true;
  return along;
}

float elements_of_a_line(const tl::Tile& lines, const std::vector<bool>& along) {
  float count = 1;
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d]) count *= static_cast<float>(lines.shape()[d]);
  return count;
}

/// The mean of each line.
tl::Tile mean_of(const tl::Tile& lines, const std::vector<bool>& along) {
  return line_sum(lines, along) / elements_of_a_line(lines, along);
}

/// 1 / sqrt(mean of squares + epsilon) of each line.
tl::Tile factor_of(const tl::Tile& lines, const std::vector<bool>& along, const NormOptions& options) {
  return tl::rsqrt(mean_of(lines * lines, along) + static_cast<float>(options.epsilon));
}

/// x * factor * weight + bias. Undefined tiles: without.
tl::Tile scaled(const tl::Tile& x, const tl::Tile& factor, const tl::Tile& weight, const tl::Tile& bias, DType dtype) {
  tl::Tile tile = x * factor;
  if (weight.defined()) tile = tile * tl::cast(weight, DType::f32);
  if (bias.defined()) tile = tile + tl::cast(bias, DType::f32);
  return tl::cast(tile, dtype);
}

tl::Tile load_if(const std::optional<View>& view, const tl::Extents& at, const tl::Extents& shape) {
  return view ? load(*view, at, shape) : tl::Tile();
}

std::int64_t line_tiles(const NormOperands& operands) {
  return operands.residual ? kLineTilesWithSum : kLineTiles;
}

}  // namespace

void normalize(const NormOperands& operands, const NormOptions& options, const NormResults& results, Share share) {
  const View& out = results.out;
  const std::vector<bool> along = last_dimensions(operands.x, options.dimensions);
  std::vector<View> loaded{operands.x};
  for (const auto* more : {&operands.residual, &operands.weight, &operands.bias})
    if (*more) loaded.push_back(**more);
  const auto blocks = blocks_of_lines(out, along, share, line_tiles(operands));
  pipeline(blocks, loaded, [&](const Box& block, const std::vector<tl::Tile>& tiles) {
    const tl::Tile factors = operands.weight ? tiles[operands.residual ? 2 : 1] : tl::Tile();
    const tl::Tile offsets = operands.bias ? tiles.back() : tl::Tile();
    tl::Tile x = tiles.front();
    if (operands.residual) {
      x = fill_out(x + tiles[1], block.shape);
      store(*results.sum, block.offset, x);
    }
    store(out, block.offset, tl::fuse([&] {
            tl::Tile lines = fill_out(tl::cast(x, DType::f32), block.shape);
            if (options.centred) lines = lines - mean_of(lines, along);
            return scaled(lines, factor_of(lines, along, options), factors, offsets, out.dtype());
          }));
  });
}

namespace {

/// Running sums over lines, line i of each block to sum i.
struct LineSums {
  tl::Tile running, lines;

  /// Adds the running sums to each other and to `lines`.
  void fold(const std::vector<bool>& along) {
    if (!running.defined()) return;
    std::vector<bool> across = along;
    across.flip();
    lines = tl::fuse([&] {
      const tl::Tile sum = line_sum(running, across);
      return lines.defined() ? lines + sum : sum;
    });
    running = tl::Tile();
  }
};

/// One reading of x and the gradient, by the blocks of a program.
class NormBackward {
 public:
  NormBackward(const NormBackwardOperands& operands, const NormOptions& options, const NormBackwardResults& results)
      : operands_(operands), options_(options), results_(results), along_(last_dimensions(operands.x, 1)) {}

  void run(Share share, bool makes_input, bool makes_sums) {
    makes_input_ = makes_input;
    sums_weight_ = makes_sums && results_.weight;
    sums_bias_ = makes_sums && results_.bias;
    std::vector<View> loaded{operands_.x, operands_.grad};
    if (operands_.weight && makes_input) loaded.push_back(*operands_.weight);
    PipelineOptions pipelined;
    pipelined.beside = 4 * kTilesBeside;
    const auto blocks = blocks_of_lines(results_.input, along_, share, kLineTilesOfBackward);
    pipeline(
        blocks, loaded, [this](const Box& block, std::vector<tl::Tile> tiles) { add(block, std::move(tiles)); },
        pipelined);
  }

  void store_sums() {
    store_sum(results_.weight, of_weight_);
    store_sum(results_.bias, of_bias_);
  }

 private:
  static constexpr std::int64_t kTilesBeside = 6;

  void add(const Box& block, std::vector<tl::Tile> tiles) {
    for (LineSums* sums : {&of_weight_, &of_bias_})
      if (sums->running.defined() && sums->running.shape() != block.shape) sums->fold(along_);
    std::vector<tl::Tile> made = tl::fuse([&] {
      tl::Tile h = fill_out(tl::cast(tiles[0], DType::f32), block.shape);
      if (options_.centred) h = h - mean_of(h, along_);
      const tl::Tile factor = factor_of(h, along_, options_);
      h = h * factor;
      const tl::Tile grad = fill_out(tiles[1], block.shape);
      std::vector<tl::Tile> results;
      if (makes_input_) results.push_back(input_of(h, factor, grad, tiles));
      if (sums_weight_)
        results.push_back(of_weight_.running.defined() ? tl::fma(grad, h, of_weight_.running) : grad * h);
      if (sums_bias_)
        results.push_back(of_bias_.running.defined() ? of_bias_.running + grad : tl::cast(grad, DType::f32));
      return results;
    });
    tiles.clear();
    if (sums_bias_) of_bias_.running = take_last(made);
    if (sums_weight_) of_weight_.running = take_last(made);
    if (makes_input_) store(results_.input, block.offset, take_last(made));
  }

  tl::Tile input_of(const tl::Tile& h, const tl::Tile& factor, const tl::Tile& grad,
                    const std::vector<tl::Tile>& tiles) const {
    const tl::Tile inner = operands_.weight ? grad * tl::cast(tiles[2], DType::f32) : tl::cast(grad, DType::f32);
    const tl::Tile along_h = mean_of(inner * h, along_) * factor;
    const tl::Tile rest =
        options_.centred ? tl::fma(inner, factor, -(mean_of(inner, along_) * factor)) : inner * factor;
    return tl::cast(tl::fma(h, -along_h, rest), results_.input.dtype());
  }

  static tl::Tile take_last(std::vector<tl::Tile>& tiles) {
    tl::Tile last = std::move(tiles.back());
    tiles.pop_back();
    return last;
  }

  void store_sum(const std::optional<View>& parts, LineSums& sums) {
    if (!parts) return;
    sums.fold(along_);
    const tl::Extents line{1, parts->sizes[1]};
    store(*parts, {tl::program_id(), 0},
          sums.lines.defined() ? tl::reshape(sums.lines, line) : tl::full(line, 0, DType::f32));
  }

  const NormBackwardOperands& operands_;
  const NormOptions& options_;
  const NormBackwardResults& results_;
  const std::vector<bool> along_;
  bool makes_input_ = true, sums_weight_ = false, sums_bias_ = false;
  LineSums of_weight_, of_bias_;
};

}  // namespace

void normalize_backward(const NormBackwardOperands& operands, const NormOptions& options,
                        const NormBackwardResults& results, Share share, bool counts_once) {
  const bool sums = results.weight || results.bias;
  NormBackward backward(operands, options, results);
  backward.run(share, true, sums && counts_once);
  if (sums && !counts_once) backward.run(Share::spread, false, true);
  backward.store_sums();
}

void add_parts(const std::vector<SumOfParts>& sums, Share share) {
  const std::int64_t programs = sums.front().parts.sizes[0];
  const std::int64_t elements = std::min(tcm_budget() / (4 * 3 * std::ssize(sums)), kLargestBlock);
  const std::int64_t limit = std::max<std::int64_t>(elements / programs, 1);
  for (const Box& box : share_of(sums.front().out, share)) {
    for_each_block(box, block_shape(box.shape, limit), [&](const tl::Extents& at, const tl::Extents& shape) {
      std::vector<PendingLoad> under_way;
      for (const SumOfParts& sum : sums) under_way.push_back(load_async(sum.parts, {0, at[1]}, {programs, shape[1]}));
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const tl::Tile parts = wait(std::move(under_way[i]));
        store(sums[i].out, at,
              tl::fuse([&] { return tl::cast(fill_out(tl::sum(parts, 0, true), shape), sums[i].out.dtype()); }));
      }
    });
  }
}

namespace {

/// Which lines of the view a part is of.
std::pair<std::int64_t, std::int64_t> lines_of_part(const View& view, const Box& part, const std::vector<bool>& along) {
  std::int64_t first = 0, count = 1;
  for (std::size_t d = 0; d < along.size(); ++d) {
    if (along[d]) continue;
    first = first * view.sizes[d] + part.offset[d];
    count *= part.shape[d];
  }
  return {first, count};
}

}  // namespace

LineReaders line_readers(const View& out, const std::vector<bool>& along) {
  std::map<PeCoordinate, std::set<std::pair<std::int64_t, std::int64_t>>> lines_of_pe;
  for (const addressing::Shard& shard : out.tensor.descriptor().shards) {
    auto& mine = lines_of_pe[shard.owner];
    for (const Box& part : parts_in(out, shard.offset, shard.shape)) mine.insert(lines_of_part(out, part, along));
  }
  LineReaders readers;
  std::int64_t program = 0;
  for (const auto& [pe, all_lines] : lines_of_pe) {
    for (const auto& lines : all_lines) readers[lines].programs.push_back(program);
    ++program;
  }
  for (auto& [lines, group] : readers) group.name = fmt::format("{} lines from {}", lines.second, lines.first);
  return readers;
}

namespace {

/// The lines of a part, whole, and who reads them.
struct PartOfLines {
  Box part, lines;
  const tl::MulticastGroup* readers;
};

/// The parts that the calling PE holds. All programs come to their lines in one order, or they would wait for each
/// other.
std::vector<PartOfLines> parts_of_lines(const View& out, const std::vector<bool>& along, const LineReaders& readers) {
  std::vector<Box> boxes = local_boxes(out);
  std::ranges::sort(boxes, {}, [&](const Box& part) { return lines_of_part(out, part, along); });
  std::vector<PartOfLines> parts;
  for (const Box& box : boxes) {
    Box lines = box;
    for (std::size_t d = 0; d < along.size(); ++d)
      if (along[d]) lines.offset[d] = 0, lines.shape[d] = out.sizes[d];
    parts.push_back({box, lines, &readers.at(lines_of_part(out, box, along))});
  }
  return parts;
}

}  // namespace

void softmax_parts(const View& x, std::size_t dimension, bool logarithm, const View& out, const LineReaders& readers) {
  std::vector<bool> along(x.rank(), false);
  along[dimension] = true;
  const auto axis = static_cast<int>(dimension);
  for (const auto& [part, lines, mates] : parts_of_lines(out, along, readers)) {
    const tl::Tile all = load(*mates, x, lines.offset, lines.shape), own = load(x, part.offset, part.shape);
    store(out, part.offset, tl::fuse([&] {
            const tl::Tile whole = tl::cast(fill_out(all, lines.shape), DType::f32);
            const tl::Tile largest = tl::max(whole, axis, true);
            const tl::Tile sum = tl::sum(tl::exp(whole - largest), axis, true);
            const tl::Tile mine = tl::cast(fill_out(own, part.shape), DType::f32) - largest;
            return tl::cast(logarithm ? mine - tl::log(sum) : tl::exp(mine) * (1.0F / sum), out.dtype());
          }));
  }
}

void normalize_parts(const NormOperands& operands, const NormOptions& options, const NormResults& results,
                     const LineReaders& readers) {
  const View& out = results.out;
  const std::vector<bool> along = last_dimensions(operands.x, options.dimensions);
  for (const auto& [part, lines, mates] : parts_of_lines(out, along, readers)) {
    tl::Tile x = load(*mates, operands.x, lines.offset, lines.shape);
    tl::Tile own = load(operands.x, part.offset, part.shape);
    tl::Tile residual, own_residual;
    if (operands.residual) {
      residual = load(*mates, *operands.residual, lines.offset, lines.shape);
      own_residual = load(*operands.residual, part.offset, part.shape);
    }
    const tl::Tile factors = load_if(operands.weight, part.offset, part.shape);
    const tl::Tile offsets = load_if(operands.bias, part.offset, part.shape);
    if (operands.residual) {
      own = fill_out(own + own_residual, part.shape);
      store(*results.sum, part.offset, own);
      x = x + residual;
    }
    store(out, part.offset, tl::fuse([&] {
            tl::Tile whole = fill_out(tl::cast(x, DType::f32), lines.shape);
            tl::Tile mine = fill_out(tl::cast(own, DType::f32), part.shape);
            if (options.centred) {
              const tl::Tile mean = mean_of(whole, along);
              whole = whole - mean;
              mine = mine - mean;
            }
            return scaled(mine, factor_of(whole, along, options), factors, offsets, out.dtype());
          }));
  }
}

}  // namespace kernbench::tile::library
