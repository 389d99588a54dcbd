#include "tensor/host_call.h"

#include <exception>

#include "runtime/context.h"
#include "runtime/simulation.h"
#include "sim/fiber.h"

namespace kernbench::tensor {
namespace {

using runtime::HostContext;

HostContext* context_of(sim::Fiber& fiber) {
  return static_cast<HostContext*>(fiber.local(sim::Fiber::Slot::host).get());
}

}  // namespace

HostCall::HostCall(const char* name, const Where& where) {
  sim::Fiber* fiber = sim::this_fiber::current();
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
    runtime::Simulation& simulation = context->simulation;
    const sim::ProgramCall& call = fiber_->call();
    simulation.trace()->host_call(fiber_->name(), call.name, {}, sim::place_text(call.where), start_,
                                  simulation.scheduler().now());
  }
  fiber_->leave_call(std::uncaught_exceptions() > exceptions_);
}

}  // namespace kernbench::tensor
