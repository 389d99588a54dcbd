// Measurements of the plans of one product, and what they may cost.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "tile/library/gemm_plan.h"

namespace kernbench::tile::library {

/// The time of a plan that was not measured to its end.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct TimedPlan {
  GemmPlan plan;
  double ns = kNever;
};

/// Which of the others were measured to their end is no matter of the product, but of the host's threads: a plan that
/// takes as long as one before it, or longer, has no time (infinity).
class PlanMeasurements {
 public:
  /// A plan gives way to another one when that is so much shorter. Where measurements are cheap their times need no
  /// margin: several of them, one after the other, would add up to more than any of them. Dear ones are long, and some
  /// end early with an estimate.
  static constexpr double kMargin = 0.98;

  /// `timer` may be empty while nothing is measured, and must outlive this.
  explicit PlanMeasurements(const PlanTimer& timer) : timer_(timer) {}

  /// Nanoseconds of a plan, and of the same with programs that load together, if it is there: both at one time, since
  /// of a product whose measurements cost much they are the only ones.
  std::vector<double> first(const GemmPlan& alone, const GemmPlan* mates);
  /// What is left is for plans that cost about what that with mates has cost, which took less time; before that, for
  /// such as cost what the one alone did.
  void expect_cost_of_mates() { expect_cost_of(1); }

  /// So many plans more may be measured.
  void allow(std::size_t more) { left_ += static_cast<double>(more) * cost_; }

  bool are_cheap() const;
  /// Only two more may be made, unless more are allowed.
  bool are_dear() const;
  double margin() const { return are_cheap() ? 1 : kMargin; }

  /// Measures the first of `plans`, as many as may be: the times of those that are shorter than `ns` and than those
  /// before them.
  std::vector<double> shorter_than(double ns, std::span<const GemmPlan> plans);
  /// Likewise; the shortest replaces `best` when it is shorter by the margin.
  void take_shorter(std::vector<GemmPlan> plans, TimedPlan& best, double margin);
  void take_shorter(std::vector<GemmPlan> plans, TimedPlan& best) { take_shorter(std::move(plans), best, margin()); }

 private:
  void expect_cost_of(std::size_t of_the_first);
  std::size_t affordable(std::size_t wanted);

  const PlanTimer& timer_;
  std::vector<double> costs_;   // of the first measurements
  double cost_ = 0, left_ = 1;  // of one more, and what they may all cost from now on
};

}  // namespace kernbench::tile::library
