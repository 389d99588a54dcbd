// How far the simulation of a plan has got, so that a long one need not come to its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernbench/units.h"
#include "tile/library/gemm_plan.h"
#include "tile/stream/operation_consumer.h"

namespace kernbench::runtime {

class Simulation;

/// Watches the GEMM commands of one product. Once the simulation has served as many bursts as one may cost, it sets
/// `over` and knows an estimate of the time: programs repeat the same steps, and the rest is taken to go on as the
/// later half of the rounds that were seen, one step of each program a round.
class TrialMeter final : public tile::OperationConsumer {
 public:
  /// The references must outlive it. The product begins now.
  TrialMeter(Simulation& simulation, const tile::library::GemmPlan& plan, std::atomic<bool>& over);

  void on_operation(const tile::OperationRecord& operation) override;
  /// From the begin to the completion in nanoseconds; none: the simulation was short enough to end by itself.
  std::optional<double> estimate() const { return estimate_; }
  /// What the simulation has cost by now, as a part of what those of a product may cost.
  double cost() const;

 private:
  struct Round {
    Time at;          // its end
    double done = 0;  // multiplications
  };

  std::uint64_t bursts() const;
  /// The number of rounds before the first one that says how long a round takes.
  std::size_t first_round() const;
  double estimated_ns() const;

  Simulation& simulation_;
  const tile::library::GemmPlan& plan_;
  std::atomic<bool>& over_;
  Time begin_;
  std::int64_t programs_ = 1, commands_ = 0;
  double total_ = 0, done_ = 0;  // multiplications of the GEMM engines
  std::vector<Round> rounds_;
  std::optional<double> estimate_;
};

}  // namespace kernbench::runtime
