#include "runtime/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernbench/error.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/streams/capture.h"
#include "sim/fiber.h"

namespace kernbench::runtime {

void enter_host_context(Simulation& simulation) {
  Worker main;
  main.agent = simulation.machine().host_agent(-1);
  enter_host_context(simulation, std::move(main));
}

void enter_host_context(Simulation& simulation, Worker worker) {
  auto& slot = sim::this_fiber::current()->local(sim::Fiber::Slot::host);
  HostContext context{simulation, 0, tensor::Generator(simulation.options().seed)};
  context.worker = std::move(worker);
  slot = std::make_shared<HostContext>(std::move(context));
}

void end_host_context() {
  auto& context = current_context("the end of a worker");
  for (const auto& child : std::exchange(context.children, {})) child->join_at_end();
  if (context.capture) warn_of_unended_capture(context);
}

GroupWorkRef current_work() {
  sim::Fiber* fiber = sim::this_fiber::current();
  if (fiber == nullptr) return nullptr;
  const auto* context = static_cast<const HostContext*>(fiber->local(sim::Fiber::Slot::host).get());
  if (context == nullptr || (!context->worker.group && !context->scope)) return nullptr;
  return std::make_shared<GroupWork>(context->worker.group, context->scope);
}

HostContext& current_context(const char* call) {
  sim::Fiber* fiber = sim::this_fiber::current();
  if (fiber == nullptr) {
    throw ProgramError("ContextError", fmt::format("{} was called outside of a simulation; call it in a function that "
                                                   "kernbench::simulate runs",
                                                   call));
  }
  if (fiber->local(sim::Fiber::Slot::kernel) != nullptr) {
    throw ProgramError("ContextError", fmt::format("{} was called inside a kernel; a kernel uses the tile language "
                                                   "(tl::), the host program uses tensors",
                                                   call));
  }
  const auto& state = fiber->local(sim::Fiber::Slot::host);
  if (state == nullptr) {
    throw ProgramError("ContextError",
                       fmt::format("{} was called on a fiber that is not a worker of a simulation", call));
  }
  return *static_cast<HostContext*>(state.get());
}

void move_to_pe(HostContext& context, PeCoordinate pe) {
  context.pe = pe;
  context.device = pe.sip.value;
  if (!context.default_streams.empty()) return;
  // Who has returned to the shared default stream, from a guard or a collective, means the default one.
  std::erase_if(context.streams, [](const auto& current) { return current.second == 0; });
  for (int device = 0; device < context.simulation.topology().system.sips; ++device) {
    const std::size_t own = add_stream(context, device);
    context.default_streams[device] = own;
    if (const auto before = context.simulation.stream(device, 0).last()) {
      context.simulation.stream(device, own).enqueue_wait(before);
    }
  }
}

std::size_t add_stream(HostContext& context, int device) {
  const std::size_t index = context.simulation.add_stream(device);
  context.made_streams[device].push_back(index);
  return index;
}

std::optional<std::size_t> stream_to_synchronize(const HostContext& context, int device, std::size_t from) {
  auto busy = context.simulation.busy_stream(device, from);
  if (context.default_streams.empty() || !busy) return busy;
  const auto made = context.made_streams.find(device);
  if (made == context.made_streams.end()) return std::nullopt;
  // Both lists are in order, and either may be the long one.
  auto own = made->second.begin();
  while (busy) {
    own = std::lower_bound(own, made->second.end(), *busy);
    if (own == made->second.end()) return std::nullopt;
    if (*own == *busy) return busy;
    busy = context.simulation.busy_stream(device, *own);
  }
  return std::nullopt;
}

std::size_t default_stream_index(HostContext& context, int device) {
  const auto own = context.default_streams.find(device);
  return own == context.default_streams.end() ? 0 : own->second;
}

std::size_t current_stream_index(HostContext& context, int device) {
  const auto found = context.streams.find(device);
  return found == context.streams.end() ? default_stream_index(context, device) : found->second;
}

Stream& current_stream(const char* call, int device) {
  HostContext& context = current_context(call);
  return context.simulation.stream(device, current_stream_index(context, device));
}

}  // namespace kernbench::runtime

namespace kernbench::tensor {

void require_host_context(const char* call) {
  runtime::current_context(call);
}

DeviceBackend& current_backend(const char* call) {
  return runtime::current_context(call).simulation.devices();
}

Generator& current_generator() {
  return runtime::current_context("the random-number generator").generator;
}

}  // namespace kernbench::tensor
