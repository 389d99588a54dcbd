// Waits of a host worker for devices and other ranks, and the failures that end them.
#pragma once

#include <concepts>
#include <exception>
#include <utility>

#include "runtime/context.h"
#include "sim/fiber.h"

namespace kernbench::runtime {

/// Throws the first failure of which the worker has not been told; does nothing while an exception unwinds.
void tell_failures(HostContext& context);

/// Calls `wait`, which suspends the calling worker until a device or other ranks have come to something. A failure of
/// what the worker has given to devices is thrown: at once if there is one, and at its time while the worker waits.
template <std::invocable Wait>
void host_wait(HostContext& context, WaitFor whom, Wait wait) {
  tell_failures(context);
  struct Waiting {
    bool& flag;
    bool before;
    ~Waiting() { flag = before; }
  };
  // A destructor that waits while an exception unwinds must not throw.
  const Waiting waiting{context.waits_for_devices,
                        std::exchange(context.waits_for_devices, std::uncaught_exceptions() == 0)};
  const Time begun = context.simulation.scheduler().now();
  wait();
  const Time ended = context.simulation.scheduler().now();
  if (ended > begun) context.last_wait = {sim::this_fiber::current()->call(), ended, whom};
}

/// Ends the host wait in which the worker is, or is thrown by its next one.
void tell(sim::Fiber& worker, const FailureRef& failure);

/// The worker is told of a failure in another way. False: it knew.
bool withdraw(HostContext& context, const FailureRef& failure);

}  // namespace kernbench::runtime
