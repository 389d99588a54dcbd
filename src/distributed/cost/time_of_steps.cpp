// Of one algorithm, the time through its steps: the law of algorithm_cost.h.
#include <algorithm>
#include <cmath>
#include <vector>

#include "distributed/cost/algorithm_cost.h"

namespace kernbench::distributed {

/// What a step moves of so many bytes, and how long its parts take (ns).
struct AlgorithmCost::Load {
  /// `begun`: it is not the first step.
  Load(const AlgorithmCost& cost, const Step& step, std::int64_t bytes, bool begun);

  double share, of_pe, message;  // bytes of the step, of a PE in it, of a message
  double windows;                // of slots, that a PE fills
  double all;                    // on the links
  double own;                    // a message on the links
  double passage, hop;           // a message, through the step and to the next rank
  double moving;                 // in a PE's own port and slice
  double loading;                // a window, before the first message
  bool together;                 // a PE does all steps for one window before the next one
  double held;                   // a PE waits for slots
  double standing;               // its port stands between halves of windows

 private:
  /// `credits`: until a slot is free again, and what is added to its message is loaded.
  double held_for(double credits, bool loads_in_turn) const;
};

AlgorithmCost::Load::Load(const AlgorithmCost& cost, const Step& step, std::int64_t bytes, bool begun) {
  const CollectiveAlgorithm* const kind = cost.algorithm;
  share = step.share * static_cast<double>(bytes);
  of_pe = cost.of_a_pe(step, bytes);
  message = cost.message_of(of_pe);
  windows = of_pe / cost.queue;
  all = share * (share > step.room ? std::max(step.ns_per_byte, step.crowded_ns_per_byte) : step.ns_per_byte);
  const double per_byte = step.own_ns_per_byte > 0 ? step.own_ns_per_byte : step.ns_per_byte;
  own = per_byte > 0 ? message * std::max(cost.lanes_of(step) * per_byte, cost.slot_ns_per_byte) : 0;
  const auto hops = static_cast<double>(std::max<std::int64_t>(step.latencies, 1));
  passage = step.latency_ns + hops * (own + message * cost.folded_ns_per_byte);
  hop = passage / hops;
  moving = share * step.pe_ns_per_byte;
  const bool in_pieces = kind != nullptr && kind->in_pieces;
  loading = std::min(of_pe, in_pieces ? message * cost.queue / cost.slot : cost.queue) * cost.load_ns_per_byte;
  together = kind != nullptr && kind->in_parts && has_several_steps(cost.steps_of(bytes)) && step.latencies <= 1;
  held = held_for(step.credit_ns + message * cost.slot_ns_per_byte + step.added_ns, step.loads_in_turn);
  const bool stands = begun && kind != nullptr && kind->in_half_windows;
  standing = stands ? share * step.port_ns_per_byte + std::max(0.0, 2 * windows - 1) * step.latency_ns : 0;
}

double AlgorithmCost::Load::held_for(double credits, bool loads_in_turn) const {
  if (!together)
    return std::max(0.0, windows - 1) * credits + (loads_in_turn ? moving : moving / std::max(1.0, windows));
  const double whole = std::floor(windows), rest = windows - whole;
  return whole * std::max(passage, credits) + (rest > 0 || whole == 0 ? std::max(passage, rest * credits) : 0);
}

/// The first and the last PE, from step to step.
class AlgorithmCost::Walk {
 public:
  Walk(const AlgorithmCost& cost, std::int64_t bytes) : cost_(cost), bytes_(bytes) {}

  void take(const Step& step);
  double end() const { return last_ + through_; }
  /// A message's, in the last step.
  double hop() const { return hop_; }

 private:
  /// Since when the step's links are.
  double idle_before(const Step& step) const;
  void take_once(const Step& step, const Load& load, std::int64_t time);

  const AlgorithmCost& cost_;
  std::int64_t bytes_;
  double first_ = 0, last_ = 0;  // PE that is at its step's links
  double through_ = 0;           // of the step before: latency and own service
  double busy_ = 0;              // until when a PE is, whatever the links do
  double idle_ = 0;              // since when the links of the step are
  double hop_ = 0;
  bool begun_ = false;
  std::vector<double> left_;  // by step: when the last PE leaves its links
};

double AlgorithmCost::Walk::idle_before(const Step& step) const {
  double idle = 0;
  for (std::size_t other = 0; other < left_.size(); ++other) {
    if (std::ranges::find(step.apart, other) == step.apart.end()) idle = std::max(idle, left_[other]);
  }
  return idle;
}

void AlgorithmCost::Walk::take(const Step& step) {
  const Load load(cost_, step, bytes_, begun_);
  idle_ = idle_before(step);
  for (std::int64_t time = 0; time < step.times; ++time) take_once(step, load, time);
  left_.push_back(idle_);
}

void AlgorithmCost::Walk::take_once(const Step& step, const Load& load, std::int64_t time) {
  const bool is_all_reduce =
      cost_.algorithm != nullptr && cost_.algorithm->operation == CollectiveOperation::all_reduce;
  const bool goes_at_once = is_all_reduce && load.of_pe <= cost_.slot;
  const double all = load.all * (goes_at_once ? 1 : step.slowed(time)), service = step.fresh * all;
  idle_ += all - service;
  if (begun_) {
    through_ += step.memory_ns + (step.loads_before ? load.loading : 0);
  } else {
    first_ = last_ = load.loading;
  }
  first_ += through_;
  const double since = std::max(first_, busy_);
  // The first of the times are a PE's.
  const double turn = std::clamp(step.turns * static_cast<double>(step.times) - static_cast<double>(time), 0.0, 1.0);
  const double moved = load.moving * turn / step.turns;
  busy_ = since + std::max({moved, load.standing, turn * load.held}) +
          std::min(load.of_pe, cost_.queue) * step.lead_ns_per_byte;
  // A part ends when all of it is there.
  if (!begun_ && load.together && load.windows > 1) busy_ += load.of_pe * cost_.slot_ns_per_byte;
  last_ = std::max({begun_ ? last_ + through_ : last_, std::max(first_, idle_) + service - load.own,
                    busy_ - (load.together ? load.passage : load.own), since + moved - load.own});
  idle_ = last_ + load.own;
  through_ = load.passage;
  hop_ = load.hop;
  begun_ = true;
}

double AlgorithmCost::of(std::int64_t bytes) const {
  const double windows = of_blocks_in_parts ? most_of_a_pe(bytes) / queue : 0;
  if (windows > 1) return of_parts(bytes, windows);
  Walk walk(*this, bytes);
  for (const Step& step : steps_of(bytes)) walk.take(step);
  return std::max(walk.end() - one_by_one_ns, std::min(walk.end(), walk.hop())) + rounds_ns;
}

}  // namespace kernbench::distributed
