// Schedules of learning rates: LRScheduler and StepLR as in libtorch, the others as in Python.
#pragma once

#include <functional>
#include <vector>

#include "kernbench/optim/optimizer.h"

namespace kernbench::torch::optim {

/// Sets the learning rates of an optimiser's groups, which must outlive it, each time step() is called.
class LRScheduler {
 public:
  explicit LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}
  LRScheduler(const LRScheduler&) = default;
  LRScheduler& operator=(const LRScheduler&) = delete;
  virtual ~LRScheduler() = default;

  /// ValueError when there are not as many rates as groups.
  void step();

 protected:
  /// One for each group; `step_count_` is how many calls of step() there were before this one.
  virtual std::vector<double> get_lrs() = 0;
  std::vector<double> get_current_lrs() const;

  unsigned step_count_ = 0;  // NOLINT(misc-non-private-member-variables-in-classes): as in libtorch

 private:
  Optimizer& optimizer_;
};

/// Times `gamma` each `step_size` steps. As in libtorch, the first step() changes nothing, so that the first change
/// comes with call step_size + 1; Python's constructor makes that first call.
class StepLR : public LRScheduler {
 public:
  /// ValueError for a step size of 0.
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;

  const unsigned step_size_;
  const double gamma_;
};

/// The first rates times lr_lambda(n) after n calls of step(): also at once, with n = 0.
class LambdaLR : public LRScheduler {
 public:
  LambdaLR(Optimizer& optimizer, std::function<double(unsigned)> lr_lambda);

 private:
  std::vector<double> get_lrs() override;

  const std::vector<double> first_;
  const std::function<double(unsigned)> lr_lambda_;
};

/// From the first rates r to eta_min in t_max calls of step(), and back in as many: after n calls
/// eta_min + (r - eta_min) (1 + cos(pi n / t_max)) / 2.
class CosineAnnealingLR : public LRScheduler {
 public:
  /// ValueError for a t_max of 0.
  CosineAnnealingLR(Optimizer& optimizer, unsigned t_max, double eta_min = 0);

 private:
  std::vector<double> get_lrs() override;

  const std::vector<double> first_;
  const unsigned half_period_;
  const double eta_min_;
};

}  // namespace kernbench::torch::optim
