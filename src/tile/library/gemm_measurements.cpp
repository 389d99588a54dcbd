#include "tile/library/gemm_measurements.h"

#include <algorithm>
#include <utility>

namespace kernbench::tile::library {

namespace {

/// A measurement that costs more than this part of what a product may cost was not made to the end of the product: two
/// more are made then, since each takes seconds and says less. assumption: some seconds for a shape are worth a better
/// plan.
constexpr double kDear = 0.06;
constexpr double kMoreOfDear = 2;

std::vector<double> only_shorter(double least, std::vector<double> times) {
  for (double& time : times) {
    if (time >= least) time = kNever;
    least = std::min(least, time);
  }
  return times;
}

}  // namespace

std::vector<double> PlanMeasurements::first(const GemmPlan& alone, const GemmPlan* mates) {
  std::vector<GemmPlan> plans{alone};
  if (mates != nullptr) plans.push_back(*mates);
  PlanTimes times = timer_(plans, kNever);
  costs_ = std::move(times.costs);
  costs_.resize(plans.size());
  expect_cost_of(0);
  return only_shorter(kNever, std::move(times.ns));
}

void PlanMeasurements::expect_cost_of(std::size_t of_the_first) {
  cost_ = costs_[of_the_first];
  left_ = 1 - costs_.front() - (costs_.size() > 1 ? cost_ : 0);
  if (are_dear()) left_ = std::min(left_, kMoreOfDear * cost_);
}

bool PlanMeasurements::are_cheap() const {
  return cost_ <= kCheapMeasurement;
}

bool PlanMeasurements::are_dear() const {
  return cost_ > kDear;
}

std::size_t PlanMeasurements::affordable(std::size_t wanted) {
  constexpr double kRounding = 1e-6;  // a product is divided by its factor again
  if (cost_ > 0) wanted = std::min(wanted, static_cast<std::size_t>(std::max(left_ / cost_ + kRounding, 0.0)));
  left_ -= static_cast<double>(wanted) * cost_;
  return wanted;
}

std::vector<double> PlanMeasurements::shorter_than(double ns, std::span<const GemmPlan> plans) {
  plans = plans.first(affordable(plans.size()));
  if (plans.empty()) return {};
  return only_shorter(ns, timer_(plans, ns).ns);
}

void PlanMeasurements::take_shorter(std::vector<GemmPlan> plans, TimedPlan& best, double margin) {
  const std::vector<double> times = shorter_than(margin * best.ns, plans);
  const auto least = std::ranges::min_element(times);
  if (least == times.end() || *least == kNever) return;
  best = {std::move(plans[static_cast<std::size_t>(least - times.begin())]), *least};
}

}  // namespace kernbench::tile::library
