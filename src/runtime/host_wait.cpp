#include "runtime/host_wait.h"

#include <algorithm>

namespace kernbench::runtime {

void tell_failures(HostContext& context) {
  if (context.failures.empty() || std::uncaught_exceptions() > 0) return;
  const FailureRef failure = context.failures.front();
  context.failures.erase(context.failures.begin());
  failure->told = true;
  std::rethrow_exception(failure->error);
}

void tell(sim::Fiber& worker, const FailureRef& failure) {
  auto* const context = static_cast<HostContext*>(worker.local(sim::Fiber::Slot::host).get());
  if (context == nullptr || worker.cancelled()) return;
  // Of several failures the wait throws the first.
  if (std::exchange(context->waits_for_devices, false)) {
    failure->told = worker.raise(failure->error);
  } else {
    context->failures.push_back(failure);
  }
}

bool withdraw(HostContext& context, const FailureRef& failure) {
  const auto found = std::ranges::find(context.failures, failure);
  if (found == context.failures.end()) return false;
  context.failures.erase(found);
  failure->told = true;
  return true;
}

}  // namespace kernbench::runtime
