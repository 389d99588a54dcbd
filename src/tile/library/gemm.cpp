#include "tile/library/gemm.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "tile/library/gemm_vector_share.h"

namespace kernbench::tile::library {

namespace {

/// Of blocks of few rows the pages are touched before they are stored to: more rows take longer to read than to walk
/// for.
constexpr std::int64_t kTouchedRows = 16;

/// One matrix of a batch.
View matrix_of(const View& view, std::int64_t batch) {
  return {view.tensor,
          {view.sizes[1], view.sizes[2]},
          {view.strides[1], view.strides[2]},
          view.offset + batch * view.strides[0]};
}

/// With elements that repeat made to.
tl::Tile whole(const tl::Tile& tile, const tl::Extents& shape) {
  return tile.shape() == shape ? tile : tl::broadcast_to(tile, shape);
}

DType accumulator_type(DType operands) {
  return is_floating_point(operands) ? DType::f32 : DType::i32;
}

/// activation(alpha * x + beta * addend) in `dtype`; `x` is f32, or i32 where nothing asks for a fraction. Of three
/// dimensions it is in parts, whose sum is meant; `more` is added to it where it is defined.
tl::Tile finish_tile(const tl::Tile& x, const tl::Tile& more, const GemmEpilogue& epilogue, std::int64_t batch,
                     std::int64_t row, std::int64_t column, DType dtype) {
  const bool integers = !is_floating_point(x.dtype());
  const auto scaled = [&](const tl::Tile& tile, double factor) {
    if (factor == 1) return tile;
    return integers ? tile * static_cast<std::int64_t>(factor) : tile * static_cast<float>(factor);
  };
  const std::int64_t rows = x.size(-2), columns = x.size(-1);
  tl::Tile addend;
  if (epilogue.addend) {
    const View& view = *epilogue.addend;
    const View matrix{view.tensor,
                      {view.sizes[1], view.sizes[2]},
                      {view.strides[1], view.strides[2]},
                      view.offset + batch * view.strides[0]};
    addend = load(matrix, {row, column}, {rows, columns});
  }
  return tl::fuse([&] {
    tl::Tile y = x.shape().size() == 3 ? tl::sum(x, 0) : x;
    if (more.defined()) y = y + more;
    y = scaled(y, epilogue.alpha);
    if (addend.defined()) y = y + scaled(tl::cast(addend, y.dtype()), epilogue.beta);
    return tl::cast(activate(y, epilogue.activation), dtype);
  });
}

/// One tile of C, and one step of k of it: `length` for the GEMM engine, then `more` for the vector engine.
struct Step {
  std::int64_t batch, m, n, rows, columns;
  std::int64_t k, length, more;
  bool last;     // of its tile
  bool of_edge;  // which no other program has
};

/// Appends the parts of `tile` [rows, columns, parts], of which there is a power of two, as tiles of their own.
void take_apart(std::vector<tl::Tile>& all, const tl::Tile& tile) {
  const std::int64_t rows = tile.size(0), columns = tile.size(1), parts = tile.size(2);
  if (parts == 1) return all.push_back(tl::view(tile, {rows, columns}));
  const auto [even, odd] = tl::split(tl::view(tile, {rows, columns, parts / 2, 2}));
  take_apart(all, even);
  take_apart(all, odd);
}

/// What the vector engine multiplies: x [rows, k], y [k, columns], or as it lies in memory [columns, k].
struct LaneOperands {
  tl::Tile x, y;
  bool turned_y = false;
};

/// sums + x times y on the vector engine, in f32: chains of fused multiply-adds over every n-th k, and the sum of what
/// they yield.
tl::Tile multiply_on_lanes(const LaneOperands& operands, const tl::Tile& sums) {
  return tl::fuse([&] {
    const auto& [x, y, turned] = operands;
    const std::int64_t rows = x.size(0), k = x.size(1), columns = y.size(turned ? 0 : 1);
    const std::int64_t chain = chain_on_lanes(rows, columns, k);
    // One f32 operand makes f32 products: the smaller one is cast.
    const bool casts_y = columns < rows;
    const tl::Tile left = casts_y ? x : tl::cast(x, DType::f32), right = casts_y ? tl::cast(y, DType::f32) : y;
    std::vector<tl::Tile> lefts, rights;
    take_apart(lefts, tl::view(left, {rows, k / chain, chain}));
    if (turned)
      take_apart(rights, tl::view(right, {columns, k / chain, chain}));
    else if (chain == 1)
      rights.push_back(right);
    else
      take_apart(rights, tl::permute(tl::view(right, {k / chain, chain, columns}), {0, 2, 1}));
    tl::Tile products;
    for (std::size_t i = 0; i < lefts.size(); ++i) {
      const auto l = tl::expand_dims(lefts[i], turned ? 1 : 2), r = tl::expand_dims(rights[i], 0);
      products = i == 0 ? l * r : tl::fma(l, r, products);
    }
    const tl::Tile all = tl::sum(products, turned ? 2 : 1);
    return sums.defined() ? sums + all : all;
  });
}

/// How long the step behind one of `length` is.
std::int64_t next_length(std::int64_t length, const GemmPlan& plan) {
  const bool grows = plan.more_k > 0 && length > plan.first_k;
  return std::min(grows ? length + plan.more_k : 2 * length, plan.tile_k);
}

/// A step of `length` before the last `left` of k; where steps grow it takes all that is left rather than little less.
std::int64_t step_length(std::int64_t length, std::int64_t left, const GemmPlan& plan) {
  if (plan.more_k > 0 && left <= std::min(plan.tile_k, length + length / 2)) return left;
  return std::min(length, left);
}

/// Appends what a program does in `range`. For each tile k runs from k_start to the end, then from the beginning. Steps
/// begin with `length` and get longer.
void add_steps(std::vector<Step>& steps, std::int64_t& length, const GemmRange& range, const GemmPlan& plan,
               bool of_edge) {
  if (range.empty()) return;
  const auto walk = [&](Step step, std::int64_t begin, std::int64_t end) {
    for (step.k = begin; step.k < end; step.k += step.length + step.more) {
      step.length = step_length(length, end - step.k, plan);
      step.more = vector_length(plan, step.length);
      step.length -= step.more;
      steps.push_back(step);
      length = next_length(length, plan);
    }
  };
  for (std::int64_t batch = range.batch[0]; batch < range.batch[1]; ++batch) {
    for (std::int64_t m = range.m[0]; m < range.m[1]; m += plan.tile_m) {
      for (std::int64_t n = range.n[0]; n < range.n[1]; n += plan.tile_n) {
        const Step tile{
            batch, m,     n,      std::min(plan.tile_m, range.m[1] - m), std::min(plan.tile_n, range.n[1] - n), 0, 0,
            0,     false, of_edge};
        walk(tile, range.k_start, range.k[1]);
        walk(tile, range.k[0], range.k_start);
        steps.back().last = true;
      }
    }
  }
}

/// All that a program does, in order: its range, then its edges. The steps of the first tile begin short.
std::vector<Step> steps_of(std::size_t program, const GemmPlan& plan) {
  std::vector<Step> steps;
  std::int64_t length = plan.first_k;
  add_steps(steps, length, plan.ranges.at(program), plan, false);
  if (plan.edges.empty()) return steps;
  for (const GemmRange& edge : plan.edges.at(program)) add_steps(steps, length, edge, plan, true);
  return steps;
}

/// The tiles of the operands, loaded ahead (over the ends of tiles too), so that the DMA works while the engines
/// do: `depth` steps are under way when the program waits for the first of them. No more: loads under way share the
/// bandwidth, and those that are needed first should have it.
class Loader {
 public:
  Loader(const View& a, const View& b, const std::vector<Step>& steps, const GemmPlan& plan, std::size_t program)
      : a_(a),
        b_(b),
        steps_(steps),
        depth_(static_cast<std::size_t>(plan.depth)),
        mates_a_(plan.mates_a.empty() ? nullptr : plan.mates_a[program].get()),
        mates_b_(plan.mates_b.empty() ? nullptr : plan.mates_b[program].get()) {}
  /// The tiles of the next step for the GEMM engine.
  std::pair<tl::Tile, tl::Tile> take() {
    load_ahead();
    const Step& step = steps_[taken_];
    Pair& loads = loading_.front().whole;
    arrive_b(loading_.front(), step);
    auto x = whole(wait(std::move(loads.first)), {step.rows, step.length});
    return {std::move(x), std::move(loading_.front().b)};
  }
  /// Those of the same step for the vector engine; ends the step. What is permuted for the next step is permuted
  /// before.
  LaneOperands take_more() {
    const Step& step = steps_[taken_++];
    Loads loads = std::move(loading_.front());
    loading_.pop_front();
    if (step.more == 0) return {};
    // The vector engine takes its commands in turn: what the array waits for goes before what takes long.
    if (!loading_.empty() && !loading_.front().whole.second.back.empty()) arrive_b(loading_.front(), steps_[taken_]);
    auto& [first, second] = loads.more;
    const bool turned = !second.back.empty();
    second.back = {};
    const tl::Extents shape = turned ? tl::Extents{step.columns, step.more} : tl::Extents{step.more, step.columns};
    auto x = wait(std::move(first)), y = wait(std::move(second));
    return {whole(x, {step.rows, step.more}), whole(y, shape), turned};
  }

 private:
  using Pair = std::pair<PendingLoad, PendingLoad>;
  struct Loads {
    Pair whole, more;
    tl::Tile b;  // of `whole`, when it has been waited for
  };

  void load_ahead() {
    while (loading_.size() < depth_ && next_ < steps_.size()) load_next();
  }
  static void arrive_b(Loads& loads, const Step& step) {
    if (!loads.b.defined()) loads.b = whole(wait(std::move(loads.whole.second)), {step.length, step.columns});
  }
  static tl::Tile whole(const tl::Tile& tile, const tl::Extents& shape) { return library::whole(tile, shape); }
  Pair load(const Step& step, std::int64_t k, std::int64_t length) const {
    auto left = load(step.of_edge ? nullptr : mates_a_, matrix_of(a_, step.batch), {step.m, k}, {step.rows, length});
    return {std::move(left),
            load(step.of_edge ? nullptr : mates_b_, matrix_of(b_, step.batch), {k, step.n}, {length, step.columns})};
  }
  static PendingLoad load(const tl::MulticastGroup* mates, const View& matrix, const tl::Extents& offsets,
                          const tl::Extents& shape) {
    return mates == nullptr ? load_async(matrix, offsets, shape) : load_async(*mates, matrix, offsets, shape);
  }
  void load_next() {
    const Step& step = steps_[next_++];
    Loads loads{load(step, step.k, step.length), {}, {}};
    if (step.more > 0) loads.more = load(step, step.k + step.length, step.more);
    loading_.push_back(std::move(loads));
  }

  const View& a_;
  const View& b_;
  const std::vector<Step>& steps_;
  std::size_t depth_;
  const tl::MulticastGroup *mates_a_, *mates_b_;  // null: alone
  std::size_t next_ = 0, taken_ = 0;
  std::deque<Loads> loading_;
};

}  // namespace

void gemm(const View& a, const View& b, const View& out, const GemmEpilogue& epilogue,
          const std::shared_ptr<const GemmPlan>& plan) {
  const auto program = static_cast<std::size_t>(tl::program_id());
  const GemmRange& range = plan->ranges.at(program);
  if (range.empty()) return;
  const bool split = plan->split_k > 1;
  const DType chain = accumulator_type(a.dtype());
  // Without an epilogue the GEMM engine itself rounds the result of the last step.
  const bool rounds = !split && plan->vector_share == 0 && !epilogue.any() && is_floating_point(chain) &&
                      is_floating_point(out.dtype());
  const DType last_type = rounds ? out.dtype() : chain;
  tl::use_dma_queues(static_cast<std::int32_t>(plan->dma_queues));
  const std::vector<Step> steps = steps_of(program, *plan);
  Loader loader(a, b, steps, *plan, program);
  tl::Tile accumulator, sums;              // of the GEMM engine, and of the vector engine
  bool touched = plan->vector_share == 0;  // of many rows the end is the least part
  for (const Step& step : steps) {
    {
      const auto [left, right] = loader.take();
      if (!touched)
        touch(matrix_of(out, split ? range.split : step.batch), {step.m, step.n}, {step.rows, step.columns});
      touched = true;
      accumulator = tl::dot(left, right, accumulator, step.last ? last_type : chain, plan->fold);
    }
    if (const LaneOperands more = loader.take_more(); more.x.defined()) sums = multiply_on_lanes(more, sums);
    if (!step.last) continue;
    if (split && sums.defined()) accumulator = accumulator + sums;
    if (!split) accumulator = finish_tile(accumulator, sums, epilogue, step.batch, step.m, step.n, out.dtype());
    store(matrix_of(out, split ? range.split : step.batch), {step.m, step.n}, accumulator);
    accumulator = sums = tl::Tile();
  }
}

void gemm_finish(const View& parts, const View& out, const GemmEpilogue& epilogue, Share share) {
  const std::int64_t count = parts.sizes[0];
  const std::int64_t room = tcm_budget() / 4;
  for (const Box& box : share_of(out, share)) {
    const auto block = block_shape(box.shape, std::max<std::int64_t>(room / (2 * (count + kEpilogueTiles)), 1));
    for_each_block(box, block, [&](const tl::Extents& at, const tl::Extents& shape) {
      for (std::int64_t batch = at[0]; batch < at[0] + shape[0]; ++batch) {
        if (shape[1] <= kTouchedRows) touch(matrix_of(out, batch), {at[1], at[2]}, {shape[1], shape[2]});
        const tl::Extents all{0, at[1], at[2]}, block_of_parts{count, shape[1], shape[2]};
        const tl::Tile of_parts = load(parts, all, block_of_parts);
        store(matrix_of(out, batch), {at[1], at[2]},
              finish_tile(of_parts, tl::Tile(), epilogue, batch, at[1], at[2], out.dtype()));
      }
    });
  }
}

}  // namespace kernbench::tile::library
