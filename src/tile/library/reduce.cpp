#include "tile/library/reduce.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "tile/library/pipeline.h"
#include "tile/library/tile_functions.h"

namespace kernbench::tile::library {

namespace {

std::int64_t block_limit(std::int64_t live_tiles) {
  return std::clamp<std::int64_t>(tcm_budget() / (4 * live_tiles), 1, kLargestBlock);
}

/// The type in which a sum or a comparison is done.
DType wide(DType dtype) {
  return is_floating_point(dtype) && item_size(dtype) < 4 ? DType::f32 : dtype;
}

/// Over several axes, keeping them.
template <class Reduce>
tl::Tile over(tl::Tile tile, const std::vector<bool>& reduced, const Reduce& reduce) {
  for (std::size_t d = 0; d < reduced.size(); ++d)
    if (reduced[d] && tile.shape()[d] != 1) tile = reduce(tile, static_cast<int>(d));
  return tile;
}

/// The extreme of a block: tl::max ignores NaN, so whether there is one is found beside it.
tl::Tile extreme(const tl::Tile& tile, const std::vector<bool>& reduced, bool largest) {
  auto value = over(tile, reduced, [&](const tl::Tile& x, int axis) {
    return largest ? tl::max(x, axis, true) : tl::min(x, axis, true);
  });
  if (!is_floating_point(tile.dtype())) return value;
  const auto nan = over(tl::cast(tile != tile, DType::i32), reduced,
                        [](const tl::Tile& x, int axis) { return tl::max(x, axis, true); });
  return tl::where(nan != 0, kNan, value);
}

/// A product by halves: the reduced dimension's extent is a power of two.
tl::Tile product(tl::Tile tile, const std::vector<bool>& reduced) {
  for (std::size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d] || tile.shape()[d] == 1) continue;
    tl::Extents order = tile.shape();
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    const std::size_t last = order.size() - 1;
    std::swap(order[d], order[last]);
    if (d != last) tile = tl::permute(tile, order);
    while (tile.shape()[last] > 1) {
      tl::Extents outer = tile.shape();
      outer[last] /= 2;
      const tl::Extents pairs{outer.numel(), 2};
      const auto [first, second] = tl::split(tl::reshape(tile, pairs));
      tile = tl::reshape(first * second, outer);
    }
    if (d != last) tile = tl::permute(tile, order);
  }
  return tile;
}

tl::Tile reduce_block(const tl::Tile& tile, Reduction reduction, const std::vector<bool>& reduced) {
  switch (reduction) {
    case Reduction::sum:
      return over(tile, reduced, [](const tl::Tile& x, int axis) { return tl::sum(x, axis, true); });
    case Reduction::product:
      return product(tile, reduced);
    case Reduction::maximum:
    case Reduction::minimum:
      return extreme(tile, reduced, reduction == Reduction::maximum);
  }
  return tile;
}

tl::Tile combine(const tl::Tile& a, const tl::Tile& b, Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return a + b;
    case Reduction::product:
      return a * b;
    case Reduction::maximum:
      return tl::maximum(a, b, tl::PropagateNan::all);
    case Reduction::minimum:
      return tl::minimum(a, b, tl::PropagateNan::all);
  }
  return a;
}

/// The part of x that a box of the result is made from.
Box source_of(const View& x, Box box, const std::vector<bool>& reduced, std::optional<std::size_t> chunked,
              std::int64_t chunk) {
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (!reduced[d]) continue;
    if (chunked == d) {
      const std::int64_t begin = box.offset[d] * chunk;
      box.shape[d] = std::min((box.offset[d] + box.shape[d]) * chunk, x.sizes[d]) - begin;
      box.offset[d] = begin;
    } else {
      box.offset[d] = 0;
      box.shape[d] = x.sizes[d];
    }
  }
  return box;
}

std::int64_t power_of_two_below(std::int64_t n) {
  std::int64_t power = 1;
  while (2 * power <= n) power *= 2;
  return power;
}

class Reducer {
 public:
  Reducer(const View& x, const std::vector<View>& more, const View& out, const ReduceOptions& options)
      : x_(x), more_(more), out_(out), options_(options) {}

  void run() const {
    for (Box box : share_of(out_, options_.share)) {
      if (!options_.chunked) {
        run(box);
        continue;
      }
      // One chunk after the other: the blocks of a chunk are reduced to one element.
      const std::size_t d = *options_.chunked;
      const std::int64_t end = box.offset[d] + box.shape[d];
      box.shape[d] = 1;
      for (; box.offset[d] < end; ++box.offset[d]) run(box);
    }
  }

 private:
  void run(const Box& box) const {
    const Box source = source_of(x_, box, options_.reduced, options_.chunked, options_.chunk);
    const tl::Extents block = blocks_of(source);
    tl::Extents kept_block = box.shape, reduced_block = block;
    for (std::size_t d = 0; d < x_.rank(); ++d) {
      if (!options_.reduced[d]) kept_block[d] = block[d];
    }
    for_each_block(box, kept_block, [&](const tl::Extents& at, const tl::Extents& shape) {
      Box elements = source;
      for (std::size_t d = 0; d < x_.rank(); ++d) {
        if (options_.reduced[d]) continue;
        elements.offset[d] = at[d];
        elements.shape[d] = reduced_block[d] = shape[d];
      }
      auto result = reduce_elements(elements, reduced_block);
      const auto finished = [&](const tl::Tile& reduced) {
        return tl::cast(fill_out(options_.finish ? options_.finish(reduced) : reduced, shape), out_.dtype());
      };
      result = tl::fuse(finished, result);
      store(out_, at, result);
    });
  }

  tl::Extents blocks_of(const Box& source) const {
    tl::Extents shape = source.shape;
    if (options_.reduction == Reduction::product) {
      // Products halve one dimension: of the reduced ones only the last is longer than 1, a power of two.
      bool last = true;
      for (std::size_t d = shape.size(); d-- > 0;) {
        if (!options_.reduced[d]) continue;
        shape[d] = last ? power_of_two_below(shape[d]) : 1;
        last = false;
      }
    }
    std::vector<std::size_t> fast;
    for (const View* view : {&x_, &out_}) {
      const auto dimension = fast_dimension(*view);
      if (dimension && std::ranges::find(fast, *dimension) == fast.end()) fast.push_back(*dimension);
    }
    if (fast.size() < 2) fast.clear();
    tl::Extents block = block_shape(shape, block_limit(10), fast);
    if (options_.reduction == Reduction::product) {
      for (std::size_t d = 0; d < block.size(); ++d)
        if (options_.reduced[d]) block[d] = power_of_two_below(block[d]);
    }
    return block;
  }

  tl::Tile reduce_elements(const Box& elements, const tl::Extents& block) const {
    tl::Tile result;
    const auto add = [&](const tl::Extents& at, const tl::Extents& shape) {
      const std::vector<tl::Tile> loaded = load_all(at, shape);
      const auto part =
          tl::fuse([&] { return reduce_block(mapped(loaded, at, shape), options_.reduction, options_.reduced); });
      result = result.defined() ? combine(result, part, options_.reduction) : part;
    };
    for_each_block(elements, block, [&](const tl::Extents& at, const tl::Extents& shape) {
      if (options_.reduction == Reduction::product)
        in_powers_of_two(at, shape, add);
      else
        add(at, shape);
    });
    return result.defined() ? result : of_nothing(elements.shape);
  }

  /// What a reduction of no elements gives.
  tl::Tile of_nothing(tl::Extents shape) const {
    for (std::size_t d = 0; d < x_.rank(); ++d)
      if (options_.reduced[d]) shape[d] = 1;
    const DType dtype = options_.compute == DType::boolean ? DType::i32 : wide(options_.compute);
    const bool zero = options_.reduction == Reduction::sum || options_.reduction == Reduction::maximum;
    return tl::full(shape, zero ? 0 : 1, dtype);
  }

  /// The last block of a product need not have a power of two: it is cut into pieces that do.
  template <class Add>
  void in_powers_of_two(tl::Extents at, tl::Extents shape, const Add& add) const {
    std::size_t d = shape.size();
    while (d > 0 && !(options_.reduced[d - 1] && shape[d - 1] > 1)) --d;
    if (d == 0) return add(at, shape);
    std::int64_t left = shape[d - 1];
    while (left > 0) {
      shape[d - 1] = power_of_two_below(left);
      add(at, shape);
      at[d - 1] += shape[d - 1];
      left -= shape[d - 1];
    }
  }

  std::vector<tl::Tile> load_all(const tl::Extents& at, const tl::Extents& shape) const {
    std::vector<tl::Tile> tiles{load(x_, at, shape)};
    for (const View& view : more_) tiles.push_back(load(view, at, shape));
    return tiles;
  }

  tl::Tile mapped(const std::vector<tl::Tile>& loaded, const tl::Extents& at, const tl::Extents& shape) const {
    std::vector<tl::Tile> tiles{tl::cast(tl::cast(loaded.front(), options_.compute), wide(options_.compute))};
    for (std::size_t i = 1; i < loaded.size(); ++i) tiles.push_back(tl::cast(loaded[i], wide(options_.compute)));
    return fill_out(options_.map ? options_.map(tiles, {at, shape}) : tiles.front(), shape);
  }

  const View& x_;
  const std::vector<View>& more_;
  const View& out_;
  const ReduceOptions& options_;
};

/// The best element of lines so far.
struct Best {
  tl::Tile value, index, nan;
};

Best best_of_block(const tl::Tile& x, const tl::Tile& indices, std::int64_t first, int axis, bool largest) {
  Best best;
  const bool floating = is_floating_point(x.dtype());
  const auto position = [&](const tl::Tile& t, bool most) {
    return most ? tl::argmax(t, axis, true) : tl::argmin(t, axis, true);
  };
  if (floating) {
    // tl::max and tl::argmax ignore NaN.
    const auto is_nan = tl::cast(x != x, DType::i32);
    best.nan = tl::max(is_nan, axis, true);
    best.value = largest ? tl::max(x, axis, true) : tl::min(x, axis, true);
    best.index = tl::where(best.nan != 0, position(is_nan, true), position(x, largest));
  } else {
    best.value = largest ? tl::max(x, axis, true) : tl::min(x, axis, true);
    best.index = position(x, largest);
  }
  if (!indices.defined()) {
    best.index = best.index + first;
    return best;
  }
  // What is known of the element at that position.
  tl::Extents line = x.shape();
  for (std::size_t d = 0; d < line.size(); ++d)
    if (static_cast<int>(d) != axis) line[d] = 1;
  const auto positions = tl::reshape(tl::arange(0, x.shape()[static_cast<std::size_t>(axis)]), line);
  best.index = tl::sum(tl::where(positions == best.index, indices, 0), axis, true);
  return best;
}

/// Blocks go far along the axis, too: what is found in one is compared with what was found before.
tl::Extents arg_block(const View& x, const Box& source, std::size_t axis) {
  std::vector<std::size_t> fast;
  if (const auto dimension = fast_dimension(x); dimension && *dimension != axis) fast = {*dimension, axis};
  return block_shape(source.shape, block_limit(12), fast);
}

Best better_of(const Best& a, const Best& b, bool largest) {
  auto second = largest ? b.value > a.value : b.value < a.value;
  Best best;
  if (a.nan.defined()) {
    second = tl::where(a.nan != 0, false, second | (b.nan != 0));
    best.nan = tl::maximum(a.nan, b.nan);
  }
  best.value = tl::where(second, b.value, a.value);
  best.index = tl::where(second, b.index, a.index);
  return best;
}

}  // namespace

void reduce(const View& x, const std::vector<View>& more, const View& out, const ReduceOptions& options) {
  Reducer(x, more, out, options).run();
}

void reduce_held(const std::vector<View>& tensors, const ReduceOptions& options, const View& out) {
  constexpr std::size_t kUnderWay = 3;
  struct Part {
    const View& view;
    Box block;
  };
  std::vector<Part> parts;
  for (const View& view : tensors) {
    for (const Box& box : share_of(view, Share::held)) {
      for_each_block(box, block_shape(box.shape, block_limit(10)),
                     [&](const tl::Extents& at, const tl::Extents& shape) { parts.push_back({view, {at, shape}}); });
    }
  }
  std::deque<PendingLoad> under_way;
  std::size_t next = 0;
  tl::Tile result;
  for (const Part& part : parts) {
    for (; next < parts.size() && under_way.size() < kUnderWay; ++next)
      under_way.push_back(load_async(parts[next].view, parts[next].block.offset, parts[next].block.shape));
    const tl::Tile loaded = wait(std::move(under_way.front()));
    under_way.pop_front();
    const std::vector<bool> all(part.view.rank(), true);
    const auto value = tl::fuse([&] {
      const tl::Tile x = fill_out(tl::cast(loaded, DType::f32), part.block.shape);
      return reduce_block(options.map({x}, part.block), options.reduction, all);
    });
    const tl::Tile number = tl::reshape(value, {1});
    result = result.defined() ? combine(result, number, options.reduction) : number;
  }
  store(out, {tl::program_id()}, result.defined() ? result : tl::full({1}, 0, DType::f32));
}

void arg_reduce(const View& x, const std::optional<View>& indices, const View& out, const std::optional<View>& values,
                const ArgReduceOptions& options) {
  const std::size_t axis = options.dimension;
  std::vector<bool> reduced(x.rank(), false);
  reduced[axis] = true;
  const auto line = [&](const Box& box) {
    const Box source =
        source_of(x, box, reduced, options.chunk > 0 ? std::optional(axis) : std::nullopt, options.chunk);
    const tl::Extents block = arg_block(x, source, axis);
    tl::Extents kept = block;
    kept[axis] = 1;
    for_each_block(box, kept, [&](const tl::Extents& at, const tl::Extents& shape) {
      Box elements{at, shape};
      elements.offset[axis] = source.offset[axis];
      elements.shape[axis] = source.shape[axis];
      tl::Extents step = shape;
      step[axis] = block[axis];
      Best best;
      for_each_block(elements, step, [&](const tl::Extents& from, const tl::Extents& extents) {
        tl::Tile known;
        if (indices) known = tl::cast(fill_out(load(*indices, from, extents), extents), DType::i32);
        const auto loaded = fill_out(load(x, from, extents), extents);
        // 8-bit and boolean values compare as wider ones.
        const bool narrow = item_size(x.dtype()) == 1;
        const DType dtype = !narrow ? x.dtype() : is_floating_point(x.dtype()) ? DType::f32 : DType::i32;
        const auto results = tl::fuse([&] {
          const auto found = best_of_block(tl::cast(loaded, dtype), known, options.first + from[axis],
                                           static_cast<int>(axis), options.largest);
          const Best both = best.value.defined() ? better_of(best, found, options.largest) : found;
          std::vector<tl::Tile> tiles{both.value, both.index};
          if (both.nan.defined()) tiles.push_back(both.nan);
          return tiles;
        });
        best = {results[0], results[1], results.size() > 2 ? results[2] : tl::Tile()};
      });
      store(out, at, best.index);
      if (values) store(*values, at, best.nan.defined() ? tl::where(best.nan != 0, kNan, best.value) : best.value);
    });
  };
  for (Box box : share_of(out, options.share)) {
    const std::int64_t end = box.offset[axis] + box.shape[axis];
    box.shape[axis] = 1;
    for (; box.offset[axis] < end; ++box.offset[axis]) line(box);
  }
}

namespace {

/// The type in which running sums are added.
DType type_of_sums(const View& out) {
  return is_floating_point(out.dtype()) ? wide(out.dtype()) : out.dtype();
}

/// The sum of the chunks that end before `at`; undefined when there are none.
tl::Tile sum_of_chunks(const ChunkTotals& totals, tl::Extents at, tl::Extents shape, std::size_t dimension,
                       DType compute) {
  const std::int64_t whole = at[dimension] / totals.chunk;
  shape[dimension] = 1;
  tl::Tile sum;
  for (std::int64_t g = totals.running ? std::max<std::int64_t>(whole - 1, 0) : 0; g < whole; ++g) {
    at[dimension] = g;
    const auto total = tl::cast(load(totals.sums, at, shape), compute);
    sum = sum.defined() ? sum + total : total;
  }
  return sum;
}

}  // namespace

void cumulative_sum(const View& x, const std::optional<ChunkTotals>& totals, std::size_t dimension, const View& out) {
  const DType compute = type_of_sums(out);
  const auto axis = static_cast<int>(dimension);
  for (const Box& box : local_boxes(out)) {
    const tl::Extents block = block_shape(box.shape, block_limit(8));
    tl::Extents kept = block;
    kept[dimension] = box.shape[dimension];
    for_each_block(box, kept, [&](const tl::Extents& at, const tl::Extents& shape) {
      tl::Tile carry;
      if (totals && at[dimension] > 0) {
        carry = sum_of_chunks(*totals, at, shape, dimension, compute);
        // A placement need not begin its parts at whole chunks.
        Box rest{at, shape};
        rest.offset[dimension] = at[dimension] / totals->chunk * totals->chunk;
        rest.shape[dimension] = at[dimension] - rest.offset[dimension];
        for_each_block(rest, block, [&](const tl::Extents& from, const tl::Extents& extents) {
          const auto sum = tl::sum(tl::cast(fill_out(load(x, from, extents), extents), compute), axis, true);
          carry = carry.defined() ? carry + sum : sum;
        });
      }
      tl::Extents step = shape;
      step[dimension] = block[dimension];
      for_each_block({at, shape}, step, [&](const tl::Extents& from, const tl::Extents& extents) {
        const auto tile = tl::cast(fill_out(load(x, from, extents), extents), compute);
        auto sums = tl::cumsum(tile, axis);
        if (carry.defined()) sums = sums + carry;
        if (from[dimension] + extents[dimension] < at[dimension] + shape[dimension]) {
          const auto total = tl::sum(tile, axis, true);
          carry = carry.defined() ? carry + total : total;
        }
        store(out, from, sums);
      });
    });
  }
}

void running_sums(const View& x, std::size_t dimension, const View& out) {
  const DType compute = type_of_sums(out);
  std::vector<bool> along(out.rank(), false);
  along[dimension] = true;
  std::vector<Box> blocks;
  for (const Box& lines : lines_of(out, along, Share::spread)) {
    // Whole lines where they fit.
    tl::Extents line = lines.shape, others = lines.shape;
    for (std::size_t d = 0; d < line.size(); ++d) (d == dimension ? others : line)[d] = 1;
    const std::int64_t limit = block_limit(8), together = block_shape(line, limit)[dimension];
    const tl::Extents beside = block_shape(others, std::max<std::int64_t>(limit / together, 1));
    for_each_block({lines.offset, others}, beside, [&](const tl::Extents& at, tl::Extents shape) {
      shape[dimension] = lines.shape[dimension];
      tl::Extents block = shape;
      block[dimension] = together;
      append_blocks(blocks, {at, shape}, block);
    });
  }
  tl::Tile last;  // running sums of a line whose end is yet to come
  pipeline(blocks, {x}, [&](const Box& block, std::vector<tl::Tile> tiles) {
    auto tile = tl::cast(fill_out(tiles.front(), block.shape), compute);
    tiles.clear();
    tl::Extents positions = block.shape, one = block.shape;
    for (std::size_t d = 0; d < positions.size(); ++d) (d == dimension ? one : positions)[d] = 1;
    const std::int64_t end = block.shape[dimension] - 1;
    if (block.offset[dimension] > 0)
      tile = tl::where(tl::reshape(tl::arange(0, end + 1), positions) == 0, last + tile, tile);
    const auto sums = tl::cumsum(tile, static_cast<int>(dimension));
    last = {};
    if (block.offset[dimension] + end + 1 < out.sizes[dimension])
      last = tl::gather(sums, tl::full(one, end, DType::i32), static_cast<int>(dimension));
    store(out, block.offset, sums);
  });
}

}  // namespace kernbench::tile::library
