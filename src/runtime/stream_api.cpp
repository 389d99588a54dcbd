// Devices, streams and events of kernbench/streams.h.
#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "event/fiber.h"
#include "kernbench/streams.h"
#include "runtime/context.h"
#include "runtime/polling.h"
#include "runtime/simulated_devices.h"

namespace kernbench::torch::ahbm {

using runtime::current_context;
using runtime::HostContext;

namespace {

/// `device`, or the current one when negative.
int checked_device(const HostContext& context, int device) {
  if (device < 0) return context.device;
  runtime::check_device(context.simulation, device);
  return device;
}

Stream handle(const HostContext& context, int device, std::size_t index) {
  return {device, static_cast<std::int64_t>(index), context.simulation.stream_handle(device, index)};
}

}  // namespace

int device_count() {
  return current_context("device_count").simulation.topology().system.sips;
}
// Never throws, as PyTorch's: it is a question, also where the answer is no.
bool is_available() {
  event::Fiber* fiber = event::this_fiber::current();
  return fiber != nullptr && fiber->local(event::Fiber::Slot::host) != nullptr &&
         fiber->local(event::Fiber::Slot::kernel) == nullptr;
}
int current_device() {
  return current_context("current_device").device;
}

void set_device(int device) {
  auto& context = current_context("set_device");
  if (device < 0) return;
  runtime::check_device(context.simulation, device);
  context.device = device;
}

void synchronize(int device) {
  auto& context = current_context("synchronize");
  device = checked_device(context, device);
  for (const std::size_t index : runtime::streams_to_synchronize(context, device)) {
    if (const auto last = context.simulation.stream(device, index).last()) last->wait();
  }
}

// ---- events ------------------------------------------------------------------------------------------------------

struct Event::State {
  runtime::CompletionRef reached;
  Time at;
};

Event::Event() : state_(std::make_shared<State>()) {}

void Event::record() {
  record(current_stream());
}

void Event::record(const Stream& stream) {
  auto& simulation = current_context("Event::record").simulation;
  auto state = std::make_shared<State>();
  state->reached = stream.state("Event::record")->enqueue("event", [&simulation, state](const auto& done) {
    state->at = simulation.scheduler().now();
    done();
    return nullptr;
  });
  state_ = std::move(state);
}

void Event::block(const Stream& stream) const {
  current_context("Event::block");
  const auto target = stream.state("Event::block");
  if (!state_->reached || state_->reached->is_set()) return;
  target->enqueue_wait(state_->reached);
}

void Event::wait() const {
  block(current_stream());
}

bool Event::query() const {
  return ask(current_context("Event::query"), !state_->reached || state_->reached->is_set(), "Event::query");
}

void Event::synchronize() const {
  current_context("Event::synchronize");
  if (state_->reached) state_->reached->wait();
}

double Event::elapsed_time(const Event& end) const {
  if (!state_->reached || !end.state_->reached) {
    throw ValueError("Both events must be recorded before calculating elapsed time.");
  }
  if (!state_->reached->is_set() || !end.state_->reached->is_set()) {
    throw ValueError("Both events must be completed before calculating elapsed time; synchronize the later one first.");
  }
  return static_cast<double>((end.state_->at - state_->at).count()) * 1e-9;
}

// ---- streams -------------------------------------------------------------------------------------------------------

Stream::Stream(int device, std::int64_t id, std::weak_ptr<runtime::Stream> stream)
    : device_(device), id_(id), stream_(std::move(stream)) {}

Stream::Stream(int device) : device_(0), id_(0) {
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

void Stream::synchronize() const {
  current_context("Stream::synchronize");
  if (const auto last = state("Stream::synchronize")->last()) last->wait();
}

bool Stream::query() const {
  const auto& context = current_context("Stream::query");
  return ask(context, !state("Stream::query")->last(), "Stream::query");
}

void Stream::wait_event(const Event& event) const {
  event.block(*this);
}

void Stream::wait_stream(const Stream& other) const {
  if (!(*this == other)) other.record_event().block(*this);
}

Event Stream::record_event() const {
  Event event;
  event.record(*this);
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

void set_stream(const Stream& stream) {
  auto& context = current_context("set_stream");
  stream.state("set_stream");
  context.streams[stream.device_index()] = static_cast<std::size_t>(stream.id());
  context.device = stream.device_index();
}

// ---- guards
// ----------------------------------------------------------------------------------------------------------

DeviceGuard::DeviceGuard(int device) : before_(current_device()) {
  set_device(device);
}
DeviceGuard::~DeviceGuard() {
  current_context("DeviceGuard").device = before_;
}

StreamGuard::StreamGuard(const Stream& stream)
    : device_before_(current_device()), before_(current_stream(stream.device_index())) {
  set_stream(stream);
}
StreamGuard::~StreamGuard() {
  auto& context = current_context("StreamGuard");
  context.streams[before_.device_index()] = static_cast<std::size_t>(before_.id());
  context.device = device_before_;
}

}  // namespace kernbench::torch::ahbm
