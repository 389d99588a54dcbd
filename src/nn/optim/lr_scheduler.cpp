#include "kernbench/optim/lr_scheduler.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <utility>

namespace kernbench::torch::optim {

void LRScheduler::step() {
  const std::vector<double> rates = get_lrs();
  auto& groups = optimizer_.param_groups();
  if (rates.size() != groups.size()) {
    throw ValueError(fmt::format(
        "Number of learning rates not equal to number of param groups\nNumber of learning rates given: {}\nNumber of "
        "param groups: {}",
        rates.size(), groups.size()));
  }
  for (std::size_t i = 0; i < rates.size(); ++i) groups[i].options().set_lr(rates[i]);
  ++step_count_;
}

std::vector<double> LRScheduler::get_current_lrs() const {
  std::vector<double> rates;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
  return rates;
}

StepLR::StepLR(Optimizer& optimizer, unsigned step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  if (step_size == 0) throw ValueError("StepLR: the step size must be at least 1");
}

std::vector<double> StepLR::get_lrs() {
  std::vector<double> rates = get_current_lrs();
  if (step_count_ == 0 || step_count_ % step_size_ != 0) return rates;
  for (double& rate : rates) rate *= gamma_;
  return rates;
}

LambdaLR::LambdaLR(Optimizer& optimizer, std::function<double(unsigned)> lr_lambda)
    : LRScheduler(optimizer), first_(get_current_lrs()), lr_lambda_(std::move(lr_lambda)) {
  LRScheduler::step();
}

std::vector<double> LambdaLR::get_lrs() {
  std::vector<double> rates = first_;
  const double factor = lr_lambda_(step_count_);
  for (double& rate : rates) rate *= factor;
  return rates;
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, unsigned t_max, double eta_min)
    : LRScheduler(optimizer), first_(get_current_lrs()), half_period_(t_max), eta_min_(eta_min) {
  if (t_max == 0) throw ValueError("CosineAnnealingLR: t_max must be at least 1");
  LRScheduler::step();
}

std::vector<double> CosineAnnealingLR::get_lrs() {
  std::vector<double> rates = first_;
  const double angle = std::numbers::pi * step_count_ / half_period_;
  for (double& rate : rates) rate = eta_min_ + (rate - eta_min_) * (1 + std::cos(angle)) / 2;
  return rates;
}

}  // namespace kernbench::torch::optim
