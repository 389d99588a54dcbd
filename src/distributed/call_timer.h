// The time that a call may take, and what happens when it takes longer.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernbench/units.h"
#include "runtime/context.h"
#include "sim/fiber.h"

namespace kernbench::distributed {

/// Calls `late` when simulated time has passed, unless it has been stopped by then. It needs nobody who waits, and
/// lives as long as it has to.
class CallTimer {
 public:
  CallTimer(Time timeout, std::function<void()> late);
  void stop() const { sleeper_->cancel(); }
  /// Stops it when that is set.
  void stop_at(const runtime::CompletionRef& finished) const;

 private:
  std::shared_ptr<sim::Fiber> sleeper_;
};

/// Holds up the caller until `finished` is set, or simulated time has passed: false. `what` names the wait in reports.
bool wait_at_most(runtime::HostContext& context, const runtime::CompletionRef& finished, Time timeout,
                  const std::string& what);

}  // namespace kernbench::distributed
