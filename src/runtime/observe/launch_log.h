// The launches of a run that have completed: the first ones one by one, the others added up.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "hardware/launch/launch.h"
#include "hardware/machine.h"
#include "kernbench/result.h"
#include "tile/explain/explainer.h"
#include "tile/explain/text_store.h"

namespace kernbench::runtime {

struct HeldUp;
struct LaunchPlan;

/// A launch that has completed, while its record lives.
struct CompletedLaunch {
  const LaunchPlan& plan;
  const hardware::LaunchTimes& times;
  const tile::LaunchRecord& record;
  std::source_location where;  // of the program's call
  bool in_region;
  const HeldUp& held_up;  // before it began
};

/// Memory grows with the kernels of a program and the lines that launch them, not with the launches.
class LaunchLog {
 public:
  /// The first `detailed` launches are kept one by one.
  explicit LaunchLog(std::size_t detailed);
  ~LaunchLog();
  LaunchLog(const LaunchLog&) = delete;
  LaunchLog& operator=(const LaunchLog&) = delete;

  /// Without an explainer, what only explains is left out.
  void add(const CompletedLaunch& launch, const hardware::Machine& machine, const tile::Explainer* explainer);
  std::size_t count() const { return count_; }
  /// Moves what there is into the result; launches by their start.
  void hand_over(RunResult& result);

 private:
  struct Key;
  struct Sum;
  Sum& sum_of(const CompletedLaunch& launch);

  std::size_t detailed_, count_ = 0;
  tile::TextStore texts_;
  std::vector<LaunchResult> launches_;
  std::map<Key, std::unique_ptr<Sum>> sums_;
};

}  // namespace kernbench::runtime
