// How far the simulation of a plan has got, so that a long one need not come to its end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernbench/units.h"
#include "tile/library/gemm_plan.h"
#include "tile/stream/operation_consumer.h"

namespace kernbench::runtime {

class Simulation;

/// One step of each program: its end, and the multiplications of the GEMM engines by then.
struct TrialRound {
  Time at;
  double done = 0;
};

/// The nanoseconds that are left of `total` multiplications when the later half of the rounds says how fast they go.
/// The first `at_begin` rounds say nothing of it: their loads were all asked for at the begin.
/// REQUIRES: 0 < at_begin < rounds.size().
double rest_ns(std::span<const TrialRound> rounds, std::size_t at_begin, double total);

/// Watches the GEMM commands of one product. Once the simulation has served as many bursts as one may cost, it sets
/// `over` and knows an estimate of the time: programs repeat the same steps, and the rest is taken to go on as the
/// later half of the rounds that were seen, one step of each program a round. It sets it, too, when the estimate leaves
/// no hope that the product is done within `limit` nanoseconds; the estimate is infinite then.
class TrialMeter final : public tile::OperationConsumer {
 public:
  /// The references must outlive it. The product begins now.
  TrialMeter(Simulation& simulation, const tile::library::GemmPlan& plan, double limit, std::atomic<bool>& over);

  void on_operation(const tile::OperationRecord& operation) override;
  /// From the begin to the completion in nanoseconds; none: the simulation was short enough to end by itself.
  std::optional<double> estimate() const { return estimate_; }
  /// What the simulation has cost by now, as a part of what those of a product may cost.
  double cost() const;

 private:
  std::uint64_t bursts() const;
  /// The number of rounds before the first one that says how long a round takes.
  std::size_t first_round() const;
  double estimated_ns() const;
  bool is_hopeless() const;

  Simulation& simulation_;
  const tile::library::GemmPlan& plan_;
  double limit_;
  std::atomic<bool>& over_;
  Time begin_;
  std::int64_t programs_ = 1, commands_ = 0;
  double total_ = 0, done_ = 0;  // multiplications of the GEMM engines
  std::vector<TrialRound> rounds_;
  std::optional<double> estimate_;
};

}  // namespace kernbench::runtime
