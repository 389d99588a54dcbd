#include "tile/library/attention.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

namespace kernbench::tile::library {

namespace {

/// Stands for the largest score where a row has seen none: so low that all others are larger, and finite, so that
/// differences are numbers.
constexpr float kNoScore = -1e30F;
constexpr std::int64_t kStepsAhead = 2;  // steps whose keys and values are under way

/// One step of a unit: some of its keys.
struct AttentionStep {
  const AttentionUnit* unit;
  std::int64_t key, keys;
  bool first, last;  // of the unit
};

std::vector<AttentionStep> attention_steps(const std::vector<AttentionUnit>& units, std::int64_t keys) {
  std::vector<AttentionStep> steps;
  for (const AttentionUnit& unit : units) {
    const std::size_t first = steps.size();
    const auto walk = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t key = begin; key < end; key += keys)
        steps.push_back({&unit, key, std::min(keys, end - key), false, false});
    };
    walk(unit.first_key, unit.key_end);
    walk(unit.key, unit.first_key);
    steps[first].first = steps.back().last = true;
  }
  return steps;
}

/// One matrix of a view of four dimensions.
View head_of(const View& view, std::int64_t batch, std::int64_t head) {
  return {view.tensor,
          {view.sizes[2], view.sizes[3]},
          {view.strides[2], view.strides[3]},
          view.offset + batch * view.strides[0] + head * view.strides[1]};
}

View transposed_head(const View& matrix) {
  return {matrix.tensor, {matrix.sizes[1], matrix.sizes[0]}, {matrix.strides[1], matrix.strides[0]}, matrix.offset};
}

/// One program: its steps, with operands under way ahead of them.
class Attention {
 public:
  Attention(const View& q, const View& k, const View& v, double scale, const AttentionPlan& plan,
            const std::vector<AttentionUnit>& units)
      : q_(q),
        k_(k),
        v_(v),
        factor_(scale > 0 ? 1 : static_cast<float>(scale)),
        scale_(scale > 0 ? static_cast<float>(scale) : 1),
        shape_(plan.shape),
        group_(plan.shape.heads / plan.shape.kv_heads),
        steps_(attention_steps(units, plan.keys)) {}

  /// Calls finish(unit, sums of weighed values, sums of weights, largest scores) for each unit.
  template <class Finish>
  void run(const Finish& finish) {
    if (steps_.empty()) return;
    tl::Tile scores = next_scores();
    for (const AttentionStep& step : steps_) {
      tl::Tile mine = std::exchange(scores, tl::Tile());
      tl::Tile values = std::exchange(values_, tl::Tile());
      // The products of the next step are made while the vector engine works on this one's.
      if (&step != &steps_.back()) scores = next_scores();
      add(step, std::exchange(mine, tl::Tile()), values);
      if (step.last) finish(*step.unit, result_, sum_, largest_);
    }
  }

 private:
  struct Operands {
    std::optional<PendingLoad> queries;
    PendingLoad keys, values;
  };

  void load_next() {
    const AttentionStep& step = steps_[loaded_++];
    const AttentionUnit& unit = *step.unit;
    Operands operands;
    if (step.first)
      operands.queries = load_async(q_, {unit.batch, unit.head, unit.row, 0}, {1, unit.heads, unit.rows, shape_.size});
    const std::int64_t kv_head = unit.head / group_;
    operands.keys =
        load_async(transposed_head(head_of(k_, unit.batch, kv_head)), {0, step.key}, {shape_.size, step.keys});
    operands.values = load_async(head_of(v_, unit.batch, kv_head), {step.key, 0}, {step.keys, shape_.value_size});
    loading_.push_back(std::move(operands));
  }

  tl::Tile next_scores() {
    while (std::ssize(loading_) < kStepsAhead && loaded_ < steps_.size()) load_next();
    const AttentionStep& step = steps_[taken_++];
    Operands operands = std::move(loading_.front());
    loading_.pop_front();
    if (operands.queries) {
      const std::int64_t rows = step.unit->heads * step.unit->rows;
      queries_ =
          tl::reshape(fill_out(wait(std::move(*operands.queries)), {1, step.unit->heads, step.unit->rows, shape_.size}),
                      {rows, shape_.size});
    }
    const tl::Tile keys = fill_out(wait(std::move(operands.keys)), {shape_.size, step.keys});
    values_ = fill_out(wait(std::move(operands.values)), {step.keys, shape_.value_size});
    return tl::dot(queries_, keys);
  }

  /// Without the scores of keys that a row does not see.
  tl::Tile masked(const AttentionStep& step, const tl::Tile& all) const {
    const AttentionUnit& unit = *step.unit;
    tl::Tile scores = factor_ != 1 ? all * factor_ : all;
    if (!shape_.causal || step.key + step.keys - 1 <= unit.row) return scores;
    const tl::Tile row = tl::arange(0, unit.heads * unit.rows) % unit.rows + unit.row;
    const tl::Tile key = tl::arange(step.key, step.key + step.keys);
    return tl::where(tl::expand_dims(row, 1) >= tl::expand_dims(key, 0), scores, 2 * kNoScore);
  }

  void add(const AttentionStep& step, tl::Tile scores, const tl::Tile& values) {
    auto [weights, largest, sum, keep] = tl::fuse([&] {
      const tl::Tile seen = masked(step, scores);
      const tl::Tile most =
          tl::maximum(tl::max(seen, 1, true), step.first ? tl::Operand(kNoScore) : tl::Operand(largest_));
      const tl::Tile weighed = tl::exp(tl::fma(seen, scale_, most * -scale_));
      const tl::Tile all = tl::sum(weighed, 1, true);
      const tl::Tile narrow = tl::cast(weighed, values.dtype());
      if (step.first) return std::array{narrow, most, all, all};
      const tl::Tile kept = tl::exp((largest_ - most) * scale_);  // of what came before
      return std::array{narrow, most, sum_ * kept + all, kept};
    });
    scores = tl::Tile();
    result_ = step.first ? tl::dot(weights, values) : tl::dot(weights, values, result_ * keep);
    sum_ = std::move(sum);
    largest_ = std::move(largest);
  }

  const View &q_, &k_, &v_;
  float factor_;  // of scores before the largest is taken: where the scale is not positive it would be the smallest
  float scale_;   // of what remains
  const AttentionShape& shape_;
  std::int64_t group_;
  std::vector<AttentionStep> steps_;
  std::size_t loaded_ = 0, taken_ = 0;
  std::deque<Operands> loading_;
  tl::Tile queries_, values_;             // of the step whose scores were made last
  tl::Tile result_, sum_, largest_ = {};  // of the unit that is under way
};

}  // namespace

void attention(const View& q, const View& k, const View& v, double scale, const View& out,
               const std::optional<View>& logs, const std::shared_ptr<const AttentionPlan>& plan) {
  const auto& units = plan->units.at(static_cast<std::size_t>(tl::program_id()));
  const float log_scale = scale > 0 ? static_cast<float>(scale) : 1.0F;
  Attention(q, k, v, scale, *plan, units)
      .run([&](const AttentionUnit& unit, const tl::Tile& result, const tl::Tile& sum, const tl::Tile& largest) {
        // A row of a part of the keys may have seen none of them: its sum is 0.
        const auto [mean, log] = tl::fuse([&] {
          const tl::Tile total = logs ? tl::maximum(sum, 1e-30F, tl::PropagateNan::all) : sum;
          const tl::Tile weighed = tl::cast(result * (1.0F / total), out.dtype());
          return std::pair{weighed, logs ? largest * log_scale + tl::log(total) : weighed};
        });
        const std::int64_t columns = plan->shape.value_size;
        if (!logs) {
          store(out, {unit.batch, unit.head, unit.row, 0}, tl::reshape(mean, {1, unit.heads, unit.rows, columns}));
          return;
        }
        const tl::Extents at{unit.split, unit.batch, unit.head, unit.row, 0};
        store(out, at, tl::reshape(mean, {1, 1, unit.heads, unit.rows, columns}));
        store(*logs, at, tl::reshape(log, {1, 1, unit.heads, unit.rows, 1}));
      });
}

void attention_finish(const View& parts, const View& logs, const View& out, Share share) {
  const std::int64_t splits = parts.sizes[0];
  const std::int64_t room = tcm_budget() / 4;
  for (const Box& box : share_of(out, share)) {
    const auto block = block_shape(box.shape, std::max<std::int64_t>(room / (4 * (splits + 2)), 1));
    for_each_block(box, block, [&](const tl::Extents& at, const tl::Extents& shape) {
      const tl::Extents from{0, at[0], at[1], at[2], at[3]};
      const tl::Extents all{splits, shape[0], shape[1], shape[2], shape[3]};
      const tl::Extents one{splits, shape[0], shape[1], shape[2], 1};
      const tl::Tile log = fill_out(load(logs, {0, at[0], at[1], at[2], 0}, one), one);
      const auto combined = [&](const tl::Tile& results) {
        const tl::Tile weights = tl::exp(log - tl::max(log, 0, true));
        const tl::Tile sum = tl::sum(fill_out(results, all) * weights, 0);
        return tl::cast(sum * (1.0F / tl::sum(weights, 0)), out.dtype());
      };
      store(out, at, tl::fuse(combined, load(parts, from, all)));
    });
  }
}

namespace {

std::int64_t parts_of_size(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Bytes of all tiles of a program that are alive at one time.
std::int64_t attention_tcm_bytes(const AttentionShape& shape, std::int64_t rows, std::int64_t keys) {
  const std::int64_t width = item_size(shape.dtype);
  const std::int64_t queries = 2 * rows * shape.size * width;
  const std::int64_t operands = keys * (shape.size + shape.value_size) * width;
  const std::int64_t scores = rows * keys * (4 * 4 + width);
  const std::int64_t results = 3 * rows * shape.value_size * 4;
  return queries + (kStepsAhead + 2) * operands + scores + results + 16 * rows * 4;
}

/// Of the vector engine, which does most of the work, in operations: `steps` of a unit of so many rows.
double attention_unit_cost(const AttentionShape& shape, std::int64_t rows, std::int64_t keys, std::int64_t step) {
  constexpr double kEachScore = 8, kEachKey = 1, kEachRow = 64, kEachStep = 4096;
  const auto r = static_cast<double>(rows), n = static_cast<double>(keys);
  const double steps = static_cast<double>(parts_of_size(keys, step));
  const auto columns = static_cast<double>(shape.value_size);
  return n * (kEachScore * r + kEachKey * static_cast<double>(shape.size)) +
         steps * (kEachStep + r * (kEachRow + columns));
}

constexpr std::int64_t kEnoughUnits = 16;  // for each program

/// Units of one choice, and what the busiest program has to do.
class AttentionCandidate {
 public:
  AttentionCandidate(const AttentionShape& shape, std::int64_t rows, std::int64_t splits, std::int64_t programs,
                     std::int64_t budget)
      : shape_(shape), group_(shape.heads / shape.kv_heads) {
    plan_.shape = shape;
    plan_.rows = std::min(rows, shape.length);
    plan_.heads = std::clamp<std::int64_t>(rows / shape.length, 1, group_);
    plan_.keys = kMostKeys;
    while (plan_.keys > 1 && !fits(budget)) plan_.keys /= 2;
    fits_ = fits(budget);
    if (!fits_) return;
    part_ = parts_of_size(shape.keys, splits);
    plan_.splits = parts_of_size(shape.keys, part_);
    plan_.keys = std::min(plan_.keys, part_);
    deal(programs);
    if (plan_.splits > 1) cost_ += kFinish + 2.0 * static_cast<double>(plan_.splits * shape_.value_size);
  }
  bool fits() const { return fits_; }
  double cost() const { return cost_; }
  AttentionPlan take() { return std::move(plan_); }

 private:
  using Costed = std::pair<double, AttentionUnit>;
  static constexpr std::int64_t kMostKeys = 512;
  static constexpr double kFinish = 64 * 1024;  // of a second launch: about 2 us

  bool fits(std::int64_t budget) const {
    return attention_tcm_bytes(shape_, plan_.rows * plan_.heads, plan_.keys) <= budget;
  }

  /// Of one kv head.
  std::vector<Costed> units_of(std::int64_t batch, std::int64_t kv_head) const {
    std::vector<Costed> units;
    for (std::int64_t first = 0; first < group_; first += plan_.heads) {
      const std::int64_t heads = std::min(plan_.heads, group_ - first);
      for (std::int64_t row = 0; row < shape_.length; row += plan_.rows) {
        const std::int64_t rows = std::min(plan_.rows, shape_.length - row);
        const std::int64_t seen = shape_.causal ? std::min(shape_.keys, row + rows) : shape_.keys;
        for (std::int64_t split = 0; split < plan_.splits; ++split) {
          // A part of which no row sees anything still has to say so.
          const std::int64_t key = split * part_;
          const std::int64_t end = std::clamp(seen, key + 1, std::min(key + part_, shape_.keys));
          units.push_back({attention_unit_cost(shape_, rows * heads, end - key, plan_.keys),
                           {batch, kv_head * group_ + first, heads, row, rows, split, key, end, key}});
        }
      }
    }
    return units;
  }

  /// Deals units to the programs from `first` to `end`: the most expensive one first, each to the one with least to do.
  void deal(std::vector<Costed>& units, std::int64_t first, std::int64_t end) {
    std::ranges::stable_sort(units, [](const Costed& a, const Costed& b) { return a.first > b.first; });
    std::vector<std::pair<double, std::int64_t>> least;  // a heap
    for (std::int64_t program = first; program < end; ++program) {
      least.emplace_back(load_[static_cast<std::size_t>(program)], program);
    }
    std::ranges::make_heap(least, std::greater());
    for (auto& [cost, unit] : units) {
      std::ranges::pop_heap(least, std::greater());
      auto& [load, program] = least.back();
      load += cost;
      const std::int64_t steps = parts_of_size(unit.key_end - unit.key, plan_.keys);
      unit.first_key += (program - first) * steps / (end - first) * plan_.keys;
      plan_.units[static_cast<std::size_t>(program)].push_back(unit);
      std::ranges::push_heap(least, std::greater());
    }
    for (const auto& [load, program] : least) {
      load_[static_cast<std::size_t>(program)] = load;
      cost_ = std::max(cost_, load);
    }
  }

  /// Kv heads get programs of their own where that leaves none of them idle, else all share all.
  void deal(std::int64_t programs) {
    plan_.units.resize(static_cast<std::size_t>(programs));
    load_.resize(static_cast<std::size_t>(programs));
    const std::int64_t kv_heads = shape_.batch * shape_.kv_heads;
    const bool apart = kv_heads <= programs ? programs % kv_heads == 0 : kv_heads % programs == 0;
    std::vector<Costed> all;
    for (std::int64_t i = 0; i < kv_heads; ++i) {
      auto units = units_of(i / shape_.kv_heads, i % shape_.kv_heads);
      const std::int64_t first = i * programs / kv_heads;
      if (apart)
        deal(units, first, std::max(first + 1, (i + 1) * programs / kv_heads));
      else
        all.insert(all.end(), units.begin(), units.end());
    }
    if (!apart) deal(all, 0, programs);
  }

  AttentionShape shape_;
  std::int64_t group_, part_ = 1;
  AttentionPlan plan_;
  std::vector<double> load_;  // by program
  double cost_ = 0;
  bool fits_ = false;
};

}  // namespace

std::shared_ptr<const AttentionPlan> plan_attention(const AttentionShape& shape, std::int64_t programs,
                                                    std::int64_t budget) {
  // Units beyond these only make steps shorter.
  const std::int64_t enough = kEnoughUnits * programs;
  std::optional<AttentionCandidate> best;
  for (std::int64_t rows = 256; rows >= 1; rows /= 2) {
    const std::int64_t units = parts_of_size(shape.batch * shape.heads * shape.length, rows);
    if (best && units > enough) break;
    for (std::int64_t splits = 1; splits <= std::min(programs, shape.keys); splits *= 2) {
      if (splits > 1 && units * splits > enough) break;
      AttentionCandidate candidate(shape, rows, splits, programs, budget);
      if (!candidate.fits()) continue;
      if (!best || candidate.cost() < 0.98 * best->cost()) best = std::move(candidate);
    }
  }
  return best ? std::make_shared<const AttentionPlan>(best->take()) : nullptr;
}

}  // namespace kernbench::tile::library
