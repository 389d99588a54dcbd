// Devices, streams and events of kernbench/streams.h.
#include <fmt/format.h>

#include <optional>
#include <source_location>
#include <string>
#include <utility>

#include "kernbench/error.h"
#include "kernbench/streams.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/host_wait.h"
#include "runtime/streams/capture.h"
#include "runtime/streams/polling.h"
#include "sim/fiber.h"
#include "sim/program_call.h"
#include "tensor/host_call.h"

namespace kernbench::torch::ahbm {

using runtime::current_context;
using runtime::HostContext;

namespace {

void wait_for(const runtime::CompletionRef& reached) {
  if (reached) reached->wait();
}

/// `device`, or the current one when negative.
int checked_device(const HostContext& context, int device) {
  if (device < 0) return context.device;
  runtime::check_device(context.simulation, device);
  return device;
}

constexpr const char* kNoWait = "nothing runs before the replay, so a wait would not end; wait after the replay";

Stream handle(const HostContext& context, int device, std::size_t index) {
  return {device, static_cast<std::int64_t>(index), context.simulation.stream_handle(device, index)};
}

}  // namespace

int device_count() {
  return current_context("device_count").simulation.topology().system.sips;
}
// Never throws, as PyTorch's: it is a question, also where the answer is no.
bool is_available() {
  sim::Fiber* fiber = sim::this_fiber::current();
  return fiber != nullptr && fiber->local(sim::Fiber::Slot::host) != nullptr &&
         fiber->local(sim::Fiber::Slot::kernel) == nullptr;
}
int current_device() {
  return current_context("current_device").device;
}

void set_device(int device, Where where) {
  const tensor::HostCall here("set_device", where);
  auto& context = current_context("set_device");
  if (device < 0) return;
  runtime::check_device(context.simulation, device);
  context.device = device;
}

void synchronize(int device, Where where) {
  const tensor::HostCall here("synchronize", where);
  auto& context = current_context("synchronize");
  device = checked_device(context, device);
  runtime::refuse_while_capturing(context, "synchronize", kNoWait);
  runtime::tell_failures(context);
  // Streams that are made during the waits are not waited for.
  const std::size_t end = context.simulation.stream_count(device);
  for (auto index = runtime::stream_to_synchronize(context, device, 0); index && *index < end;
       index = runtime::stream_to_synchronize(context, device, *index + 1)) {
    const auto last = context.simulation.stream(device, *index).last();
    runtime::host_wait(context, runtime::WaitFor::device, [&] { wait_for(last); });
  }
}

// ---- events ------------------------------------------------------------------------------------------------------

struct Event::State {
  runtime::CompletionRef reached;
  std::source_location recorded;  // of the program's call
  std::optional<Time> at;         // none, though it has been reached: it was dropped behind a failed launch
  // Of an event that was recorded on a captured stream, which is a place in the graph and has no time.
  bool captured = false;
  std::weak_ptr<runtime::Capture> capture;
  runtime::Capture::Frontier after;
};

namespace {

[[noreturn]] void refuse_captured(const char* call) {
  throw ProgramError("CaptureError", fmt::format("{}: operation not permitted on an event last recorded in a capturing "
                                                 "stream: it is a place in the graph, without a time; record an event "
                                                 "before and after the replay",
                                                 call));
}

/// What comes next on the stream comes after the captured event: the stream takes part in the capture.
void fork(HostContext& context, const Stream& stream, const runtime::Stream& target, const runtime::Capture* capture,
          const runtime::Capture::Frontier& after) {
  if (capture == nullptr || context.capture.get() != capture) {
    throw ProgramError(
        "CaptureError",
        "Event::block: the event was recorded in a capture that is over or another worker's; a stream can "
        "wait for it during that capture only: record an event after the replay");
  }
  if (stream.device_index() != capture->device()) {
    runtime::refuse_while_capturing(context, "Event::block",
                                    "a graph has streams of one device; let the other device wait after the replay");
  }
  if (&target == &context.simulation.stream(capture->device(), default_stream_index(context, capture->device()))) {
    runtime::refuse_while_capturing(context, "Event::block",
                                    "the default stream cannot be captured; fork to another stream");
  }
  context.capture->join(target, after);
}

}  // namespace

Event::Event() : state_(std::make_shared<State>()) {}

void Event::record(Where where) {
  const tensor::HostCall here("Event::record", where);
  current_context("Event::record");
  record(current_stream(), where);
}

void Event::record(const Stream& stream, Where where) {
  const tensor::HostCall here("Event::record", where);
  auto& context = current_context("Event::record");
  auto& simulation = context.simulation;
  auto state = std::make_shared<State>();
  const auto target = stream.state("Event::record");
  if (context.capture && context.capture->holds(*target)) {
    state->captured = true;
    state->capture = context.capture;
    state->after = context.capture->frontier(*target);
    state_ = std::move(state);
    return;
  }
  state->recorded = sim::this_fiber::current()->call().where;
  state->reached = target->enqueue_marker("event", [&simulation, state] { state->at = simulation.scheduler().now(); });
  state_ = std::move(state);
}

void Event::block(const Stream& stream, Where where) const {
  const tensor::HostCall here("Event::block", where);
  auto& context = current_context("Event::block");
  const auto target = stream.state("Event::block");
  context.simulation.event_waits.add(where, state_->captured || state_->reached);
  if (state_->captured) return fork(context, stream, *target, state_->capture.lock().get(), state_->after);
  if (!state_->reached) return;
  runtime::refuse_on_captured(
      context, *target, "Event::block",
      "a dependency on uncaptured work in another stream cannot be replayed; let the stream wait "
      "for it before the capture");
  if (state_->reached->is_set()) return;
  target->enqueue_wait(state_->reached, state_->recorded);
}

void Event::wait(Where where) const {
  const tensor::HostCall here("Event::wait", where);
  block(current_stream(), where);
}

bool Event::query(Where where) const {
  const tensor::HostCall here("Event::query", where);
  if (state_->captured) refuse_captured("Event::query");
  return ask(current_context("Event::query"), !state_->reached || state_->reached->is_set(), "Event::query");
}

void Event::synchronize(Where where) const {
  const tensor::HostCall here("Event::synchronize", where);
  auto& context = current_context("Event::synchronize");
  if (state_->captured) refuse_captured("Event::synchronize");
  runtime::host_wait(context, runtime::WaitFor::device, [&] { wait_for(state_->reached); });
}

double Event::elapsed_time(const Event& end, Where where) const {
  const tensor::HostCall here("Event::elapsed_time", where);
  if (state_->captured || end.state_->captured) refuse_captured("Event::elapsed_time");
  if (!state_->reached || !end.state_->reached) {
    throw ValueError("Both events must be recorded before calculating elapsed time.");
  }
  if (!state_->reached->is_set() || !end.state_->reached->is_set()) {
    throw ValueError("Both events must be completed before calculating elapsed time; synchronize the later one first.");
  }
  if (!state_->at || !end.state_->at) {
    throw ValueError(
        "Event::elapsed_time: an event has no time: it stood behind a launch that failed, and was dropped with it; "
        "record it again");
  }
  return static_cast<double>((*end.state_->at - *state_->at).count()) * 1e-9;
}

// ---- streams -------------------------------------------------------------------------------------------------------

Stream::Stream(int device, std::int64_t id, std::weak_ptr<runtime::Stream> stream)
    : device_(device), id_(id), stream_(std::move(stream)) {}

Stream::Stream(int device, Where where) : device_(0), id_(0) {
  const tensor::HostCall here("Stream", where);
  auto& context = current_context("Stream");
  device = checked_device(context, device);
  *this = handle(context, device, runtime::add_stream(context, device));
}

std::shared_ptr<runtime::Stream> Stream::state(const char* call) const {
  auto stream = stream_.lock();
  if (!stream) {
    throw ValueError(fmt::format("{}: stream {} of ahbm:{} belongs to a simulation that has ended; make a new one",
                                 call, id_, device_));
  }
  return stream;
}

void Stream::synchronize(Where where) const {
  const tensor::HostCall here("Stream::synchronize", where);
  auto& context = current_context("Stream::synchronize");
  const auto mine = state("Stream::synchronize");
  runtime::refuse_on_captured(context, *mine, "Stream::synchronize", kNoWait);
  const auto last = mine->last();
  runtime::host_wait(context, runtime::WaitFor::device, [&] { wait_for(last); });
}

bool Stream::query(Where where) const {
  const tensor::HostCall here("Stream::query", where);
  auto& context = current_context("Stream::query");
  const auto mine = state("Stream::query");
  runtime::refuse_on_captured(context, *mine, "Stream::query", kNoWait);
  return ask(context, !mine->last(), "Stream::query");
}

void Stream::wait_event(const Event& event, Where where) const {
  const tensor::HostCall here("Stream::wait_event", where);
  event.block(*this, where);
}

void Stream::wait_stream(const Stream& other, Where where) const {
  const tensor::HostCall here("Stream::wait_stream", where);
  if (!(*this == other)) other.record_event(where).block(*this, where);
}

Event Stream::record_event(Where where) const {
  const tensor::HostCall here("Stream::record_event", where);
  Event event;
  event.record(*this, where);
  return event;
}

Stream current_stream(int device) {
  auto& context = current_context("current_stream");
  device = checked_device(context, device);
  return handle(context, device, runtime::current_stream_index(context, device));
}

Stream default_stream(int device) {
  auto& context = current_context("default_stream");
  device = checked_device(context, device);
  return handle(context, device, runtime::default_stream_index(context, device));
}

void set_stream(const Stream& stream, Where where) {
  const tensor::HostCall here("set_stream", where);
  auto& context = current_context("set_stream");
  stream.state("set_stream");
  context.streams[stream.device_index()] = static_cast<std::size_t>(stream.id());
  context.device = stream.device_index();
}

// ---- guards

DeviceGuard::DeviceGuard(int device, Where where) : before_(current_device()) {
  set_device(device, where);
}
DeviceGuard::~DeviceGuard() {
  current_context("DeviceGuard").device = before_;
}

StreamGuard::StreamGuard(const Stream& stream, Where where)
    : device_before_(current_device()), before_(current_stream(stream.device_index())) {
  set_stream(stream, where);
}
StreamGuard::~StreamGuard() {
  auto& context = current_context("StreamGuard");
  context.streams[before_.device_index()] = static_cast<std::size_t>(before_.id());
  context.device = device_before_;
}

}  // namespace kernbench::torch::ahbm
