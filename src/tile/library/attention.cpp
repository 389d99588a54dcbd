#include "tile/library/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <set>
#include <utility>

namespace kernbench::tile::library {

namespace {

/// Stands for the largest score where a row has seen none: so low that all others are larger, and finite, so that
/// differences are numbers.
constexpr float kNoScore = -1e30F;
constexpr std::int64_t kStepsHeld = 3;  // steps whose keys and values a program has, or has asked for, at most

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
        turns_scores_(plan.turns_scores),
        steps_(attention_steps(units, plan.keys)) {}

  /// Calls finish(unit, sums of weighed values, sums of weights, largest scores) for each unit.
  template <class Finish>
  void run(const Finish& finish) {
    if (steps_.empty()) return;
    tl::Tile scores = next_scores();
    for (const AttentionStep& step : steps_) {
      tl::Tile mine = std::exchange(scores, tl::Tile());
      // The products of the next step are made while the vector engine works on this one's.
      if (&step != &steps_.back()) scores = next_scores();
      if (turns_scores_) mine = tl::trans(mine);
      add(step, std::exchange(mine, tl::Tile()));
      if (step.last) finish(*step.unit, result_, sum_, largest_);
    }
  }

 private:
  View head(const View& of, const AttentionUnit& unit) const { return head_of(of, unit.batch, unit.head / group_); }

  /// Keys of the steps before `end`, with the queries of those that are first.
  void load_keys(std::size_t end) {
    for (; keys_loaded_ < std::min(end, steps_.size()); ++keys_loaded_) {
      const AttentionStep& step = steps_[keys_loaded_];
      const AttentionUnit& unit = *step.unit;
      if (step.first) {
        loading_queries_.push_back(
            load_async(q_, {unit.batch, unit.head, unit.row, 0}, {1, unit.heads, unit.rows, shape_.size}));
      }
      loading_keys_.push_back(
          turns_scores_ ? load_async(head(k_, unit), {step.key, 0}, {step.keys, shape_.size})
                        : load_async(transposed_head(head(k_, unit)), {0, step.key}, {shape_.size, step.keys}));
    }
  }
  void load_values(std::size_t end) {
    for (; values_loaded_ < std::min(end, steps_.size()); ++values_loaded_) {
      const AttentionStep& step = steps_[values_loaded_];
      loading_values_.push_back(load_async(head(v_, *step.unit), {step.key, 0}, {step.keys, shape_.value_size}));
    }
  }
  static tl::Tile next_of(std::deque<PendingLoad>& loading, const tl::Extents& shape) {
    PendingLoad load = std::move(loading.front());
    loading.pop_front();
    return fill_out(wait(std::move(load)), shape);
  }

  tl::Tile next_scores() {
    const std::size_t at = taken_++;
    const AttentionStep& step = steps_[at];
    load_keys(at + 1);
    if (step.first) {
      const std::int64_t heads = step.unit->heads, rows = step.unit->rows;
      queries_ = tl::reshape(next_of(loading_queries_, {1, heads, rows, shape_.size}), {heads * rows, shape_.size});
      if (turns_scores_) queries_ = tl::trans(queries_);
    }
    const tl::Tile keys = next_of(
        loading_keys_, turns_scores_ ? tl::Extents{step.keys, shape_.size} : tl::Extents{shape_.size, step.keys});
    tl::Tile scores = turns_scores_ ? tl::dot(keys, queries_) : tl::dot(queries_, keys);
    // Loads under way share the memory: none is asked for before those that are needed earlier.
    load_keys(at + 2);
    load_values(at + 1);
    return scores;
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

  void add(const AttentionStep& step, tl::Tile scores) {
    auto [weights, largest, sum, keep] = tl::fuse([&] {
      const tl::Tile seen = masked(step, scores);
      const tl::Tile most =
          tl::maximum(tl::max(seen, 1, true), step.first ? tl::Operand(kNoScore) : tl::Operand(largest_));
      const tl::Tile weighed = tl::exp(tl::fma(seen, scale_, most * -scale_));
      const tl::Tile all = tl::sum(weighed, 1, true);
      const tl::Tile narrow = tl::cast(weighed, v_.dtype());
      if (step.first) return std::array{narrow, most, all, all};
      const tl::Tile kept = tl::exp((largest_ - most) * scale_);  // of what came before
      return std::array{narrow, most, sum_ * kept + all, kept};
    });
    scores = tl::Tile();
    const tl::Tile values = next_of(loading_values_, {step.keys, shape_.value_size});
    result_ = step.first ? tl::dot(weights, values) : tl::dot(weights, values, result_ * keep);
    sum_ = std::move(sum);
    largest_ = std::move(largest);
  }

  const View &q_, &k_, &v_;
  float factor_;  // of scores before the largest is taken: where the scale is not positive it would be the smallest
  float scale_;   // of what remains
  const AttentionShape& shape_;
  std::int64_t group_;
  bool turns_scores_;  // [keys, rows] of a product, turned on the vector engine, instead of the keys
  std::vector<AttentionStep> steps_;
  std::size_t keys_loaded_ = 0, values_loaded_ = 0, taken_ = 0;
  std::deque<PendingLoad> loading_queries_, loading_keys_, loading_values_;
  tl::Tile queries_;                      // of the step whose scores were made last; [size, rows] if it turns scores
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
  return queries + kStepsHeld * operands + scores + results + 16 * rows * 4;
}

/// What one step of a unit asks of the engines, in operations of the vector engine: of itself, of the GEMM engine, of
/// the memory beside it. The last two by figures of the shipped machines (assumption: others are alike), which matter
/// where rows are few: an array of 64 x 64 takes 1 to 64 rows in the same time, and fills and drains for each product.
struct StepCost {
  double vector, gemm, load;
  double steady() const { return std::max({vector, gemm, load}); }
  /// Of the first step before the engines work side by side, and of the last one behind it.
  double ends() const { return load + gemm + vector - steady(); }
};

StepCost attention_step_cost(const AttentionShape& shape, std::int64_t rows, double keys) {
  constexpr double kEachScore = 8, kEachKey = 1, kEachRow = 64, kEachStep = 4096;
  constexpr std::int64_t kArray = 64;
  constexpr double kFill = 190, kEfficiency = 0.95, kLanes = 128, kBytesPerCycle = 138;
  const auto r = static_cast<double>(rows), columns = static_cast<double>(shape.value_size),
             size = static_cast<double>(shape.size);
  const auto blocks = [](double extent) { return std::ceil(extent / static_cast<double>(kArray)); };
  const double slower = shape.dtype == DType::f32 ? 4 : 1;
  const double products = blocks(r) * (blocks(keys) * size + blocks(columns) * keys) * slower;
  return {.vector = keys * (kEachScore * r + kEachKey * std::min(size, r)) + kEachStep + r * (kEachRow + columns),
          .gemm = kLanes * (products / kEfficiency + 2 * kFill),
          .load = kLanes * keys * (size + columns) * static_cast<double>(item_size(shape.dtype)) / kBytesPerCycle};
}

constexpr std::int64_t kEnoughUnits = 16;                  // for each program
constexpr std::int64_t kMostRows = 256;                    // of a unit; an assumption
constexpr std::int64_t kMostKeys = 1024, kLeastKeys = 64;  // of a step

/// Units of one choice, and what the busiest program has to do.
class AttentionCandidate {
 public:
  AttentionCandidate(const AttentionShape& shape, std::int64_t rows, std::int64_t splits, std::int64_t keys,
                     std::int64_t programs, std::int64_t budget)
      : shape_(shape), group_(shape.heads / shape.kv_heads) {
    plan_.shape = shape;
    plan_.rows = std::min(rows, shape.length);
    plan_.heads = std::clamp<std::int64_t>(rows / shape.length, 1, group_);
    plan_.keys = keys;
    while (plan_.keys > 1 && !fits(budget)) plan_.keys /= 2;
    fits_ = fits(budget);
    if (!fits_) return;
    part_ = parts_of_size(shape.keys, splits);
    plan_.splits = parts_of_size(shape.keys, part_);
    plan_.keys = std::min(plan_.keys, part_);
    plan_.turns_scores = plan_.rows * plan_.heads < shape.size;
    deal(programs);
    cost_ += attention_step_cost(shape, plan_.rows * plan_.heads, static_cast<double>(plan_.keys)).ends();
    if (plan_.splits > 1) cost_ += kFinish + kEachPartial * partials_of(programs);
  }
  bool fits() const { return fits_; }
  double cost() const { return cost_; }
  AttentionPlan take() { return std::move(plan_); }

 private:
  using Costed = std::pair<double, AttentionUnit>;
  // Assumptions, in the units of a step's cost: of a second launch, about 2 us; and of what each program writes for it
  // and reads in it. Chosen by trying 19 shapes on ahbm-1sip.
  static constexpr double kFinish = 190'000, kEachPartial = 8;

  double partials_of(std::int64_t programs) const {
    const std::int64_t rows = plan_.splits * shape_.batch * shape_.heads * shape_.length;
    return static_cast<double>(parts_of_size(rows, programs) * shape_.value_size);
  }

  bool fits(std::int64_t budget) const {
    return attention_tcm_bytes(shape_, plan_.rows * plan_.heads, plan_.keys) <= budget;
  }

  /// Of a unit, within a program that has others.
  double cost_of(std::int64_t rows, std::int64_t keys) const {
    const auto steps = static_cast<double>(parts_of_size(keys, plan_.keys));
    return steps * attention_step_cost(shape_, rows, static_cast<double>(keys) / steps).steady();
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
          units.push_back({cost_of(rows * heads, end - key),
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

/// Rows of a unit, the most first: powers of two, about as many that divide a length evenly, so that one row more than
/// these is no unit of its own, and as many as give each program one unit, or two.
std::vector<std::int64_t> row_choices(const AttentionShape& shape, std::int64_t programs) {
  std::set<std::int64_t, std::greater<>> choices;
  for (std::int64_t rows = kMostRows; rows >= 1; rows /= 2) {
    choices.insert(rows);
    if (rows < shape.length) choices.insert(parts_of_size(shape.length, shape.length / rows));
  }
  for (const std::int64_t units : {programs, 2 * programs}) {
    const std::int64_t parts = units / (shape.batch * shape.heads);  // of a head's rows
    if (parts > 0 && parts < shape.length && shape.length <= parts * kMostRows) {
      choices.insert(parts_of_size(shape.length, parts));
    }
  }
  return {choices.begin(), choices.end()};
}

}  // namespace

std::shared_ptr<const AttentionPlan> plan_attention(const AttentionShape& shape, std::int64_t programs,
                                                    std::int64_t budget) {
  // Units beyond these only make steps shorter.
  const std::int64_t enough = kEnoughUnits * programs;
  std::optional<AttentionCandidate> best;
  for (const std::int64_t rows : row_choices(shape, programs)) {
    const std::int64_t units = parts_of_size(shape.batch * shape.heads * shape.length, rows);
    if (best && units > enough) break;
    for (std::int64_t splits = 1; splits <= std::min(programs, shape.keys); splits *= 2) {
      if (splits > 1 && units * splits > enough) break;
      // Shorter steps let the engines work side by side where a program has few of them.
      const bool has_few = units * splits <= 2 * programs && parts_of_size(shape.keys, splits) <= 8 * kMostKeys;
      for (std::int64_t keys = kMostKeys; keys >= (has_few ? kLeastKeys : kMostKeys); keys /= 2) {
        AttentionCandidate candidate(shape, rows, splits, keys, programs, budget);
        if (!candidate.fits()) continue;
        if (!best || candidate.cost() < 0.98 * best->cost()) best = std::move(candidate);
      }
    }
  }
  return best ? std::make_shared<const AttentionPlan>(best->take()) : nullptr;
}

}  // namespace kernbench::tile::library
