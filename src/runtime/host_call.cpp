#include "runtime/host_call.h"

#include <exception>

#include "event/fiber.h"
#include "runtime/context.h"
#include "runtime/simulation.h"

namespace kernbench::runtime {
namespace {

HostContext* context_of(event::Fiber& fiber) {
  return static_cast<HostContext*>(fiber.local(event::Fiber::Slot::host).get());
}

}  // namespace

HostCall::HostCall(const char* name, const Where& where) {
  event::Fiber* fiber = event::this_fiber::current();
  if (fiber == nullptr || fiber->call().name != nullptr) return;
  fiber_ = fiber;
  exceptions_ = std::uncaught_exceptions();
  fiber->enter({name, where});
  if (HostContext* context = context_of(*fiber)) start_ = context->simulation.scheduler().now();
}

HostCall::~HostCall() {
  if (fiber_ == nullptr) return;
  HostContext* context = context_of(*fiber_);
  if (context != nullptr && context->simulation.trace() != nullptr) {
    Simulation& simulation = context->simulation;
    const event::ProgramCall& call = fiber_->call();
    simulation.trace()->host_call(fiber_->name(), call.name, {}, event::place_text(call.where), start_,
                                  simulation.scheduler().now());
  }
  fiber_->leave_call(std::uncaught_exceptions() > exceptions_);
}

}  // namespace kernbench::runtime
