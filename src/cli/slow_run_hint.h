// Tells the user of a long run what would make it sooner.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "kernbench/result.h"
#include "kernbench/simulate.h"
#include "topology/spec.h"

namespace kernbench::cli {

/// Calls `say` once, with what is known then, when simulations with `options` have taken `after` on the host. The
/// simulation itself does it, between two instants: a thread only keeps the time. Made behind a ProgressDisplay of the
/// same options.
class SlowRunHint {
 public:
  using Say = std::function<void(const RunProgress& progress)>;
  SlowRunHint(SimulateOptions& options, std::chrono::milliseconds after, Say say);
  ~SlowRunHint();
  SlowRunHint(const SlowRunHint&) = delete;
  SlowRunHint& operator=(const SlowRunHint&) = delete;

 private:
  void keep_time(std::atomic<bool>& due);
  void say_if_slow();

  std::chrono::steady_clock::time_point slow_at_;
  Say say_;
  RunProgress progress_;
  bool said_ = false;
  std::atomic<bool> due_ = false;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

/// "--alike-devices simulates one of the 16 SIPs, where all do the same". Empty where it is given, there is one SIP,
/// they do not stand alike, or the machine does not `suit`; and where a topology takes component models of the user's
/// own, which nothing reads here.
std::string alike_devices_hint(const SimulateOptions& options,
                               const std::function<bool(const topology::Topology& machine)>& suits = {});

}  // namespace kernbench::cli
