// Graphs of kernbench/graphs.h.
#include <fmt/format.h>

#include <exception>
#include <utility>

#include "kernbench/error.h"
#include "kernbench/graphs.h"
#include "runtime/context.h"
#include "runtime/streams/capture.h"
#include "sim/fiber.h"
#include "tensor/host_call.h"

namespace kernbench::torch::ahbm {

using runtime::current_context;
using runtime::HostContext;

struct Graph::State {
  std::shared_ptr<runtime::Capture> capture;  // under way
  runtime::CapturedGraphRef graph;
  runtime::Replay last;
};

namespace {

/// The calling worker, if it is the one that captures; else null.
HostContext* worker_of(const std::shared_ptr<runtime::Capture>& capture) {
  sim::Fiber* const fiber = sim::this_fiber::current();
  if (!capture || fiber == nullptr || fiber->local(sim::Fiber::Slot::kernel) != nullptr) return nullptr;
  auto* const context = static_cast<HostContext*>(fiber->local(sim::Fiber::Slot::host).get());
  return context != nullptr && context->capture == capture ? context : nullptr;
}

}  // namespace

Graph::Graph() : state_(std::make_unique<State>()) {}
Graph::~Graph() {
  HostContext* const worker = worker_of(state_->capture);
  if (worker != nullptr && std::uncaught_exceptions() == 0) runtime::warn_of_unended_capture(*worker);
  abandon();
}
// What is moved from is a graph without a capture, as a new one.
Graph::Graph(Graph&& other) noexcept : state_(std::exchange(other.state_, std::make_unique<State>())) {}
Graph& Graph::operator=(Graph&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  state_ = std::exchange(other.state_, std::make_unique<State>());
  return *this;
}

/// Ends a capture that is under way, without a graph.
void Graph::abandon() {
  const auto capture = std::exchange(state_->capture, nullptr);
  if (HostContext* const worker = worker_of(capture)) worker->capture.reset();
}

void Graph::capture_begin(Where where) {
  const tensor::HostCall here("Graph::capture_begin", where);
  HostContext& context = current_context("Graph::capture_begin");
  if (state_->graph) {
    throw ValueError(
        "Graph::capture_begin: this Graph instance already owns a captured graph. To capture a new graph, create a new "
        "instance, or reset() this one.");
  }
  runtime::refuse_while_capturing(context, "Graph::capture_begin", "a worker captures one graph at a time");
  const int device = context.device;
  const std::size_t index = runtime::current_stream_index(context, device);
  if (index == runtime::default_stream_index(context, device)) {
    throw ProgramError("CaptureError",
                       "Graph::capture_begin: graphs must be captured on a non-default stream; make one current with a "
                       "StreamGuard, or use torch::ahbm::graph. (After capture, it's ok to replay them on the default "
                       "stream.)");
  }
  const auto stream = context.simulation.stream_handle(device, index).lock();
  state_->capture = std::make_shared<runtime::Capture>(context.simulation.unique_name("graph", context.worker.path),
                                                       device, stream, sim::this_fiber::current()->call().where);
  context.capture = state_->capture;
}

void Graph::capture_end(Where where) {
  const tensor::HostCall here("Graph::capture_end", where);
  HostContext& context = current_context("Graph::capture_end");
  if (!state_->capture || context.capture != state_->capture) {
    throw ProgramError("CaptureError",
                       "Graph::capture_end: this graph is not being captured; call capture_begin first");
  }
  const auto capture = state_->capture;
  const int device = capture->device();
  if (&context.simulation.stream(device, runtime::current_stream_index(context, device)) != &capture->origin()) {
    throw ProgramError("CaptureError", "Graph::capture_end: capture must end on the same stream it began on (" +
                                           capture->text() + "); make that stream current");
  }
  abandon();
  if (!capture->valid()) {
    throw ProgramError("CaptureError", "Graph::capture_end: operation failed due to a previous error during capture (" +
                                           capture->text() + "); capture again without what was refused");
  }
  if (const std::string left = capture->unjoined(); !left.empty()) {
    throw ProgramError("CaptureError",
                       "Graph::capture_end: capturing stream has unjoined work: launch " + left +
                           " is on another stream, and nothing on " + capture->text() +
                           " waits for it; let that stream wait for the other one (wait_stream) before the end");
  }
  state_->graph = capture->graph();
  if (state_->graph->launches.empty()) {
    context.simulation.own_warnings.insert(fmt::format(
        "a graph is empty ({}): nothing was launched on that stream of that device, and a replay does nothing",
        capture->text()));
  }
}

void Graph::replay(Where where) {
  const tensor::HostCall here("Graph::replay", where);
  HostContext& context = current_context("Graph::replay");
  if (!state_->graph) throw ValueError("Graph::replay: called without a preceding successful capture");
  if (state_->graph->stream.expired()) {
    throw ValueError("Graph::replay: the graph belongs to a simulation that has ended; capture a new one");
  }
  runtime::refuse_while_capturing(context, "Graph::replay",
                                  "a graph within a graph is not supported; replay it before");
  state_->last = runtime::enqueue_replay(context.simulation, state_->graph, state_->last);
}

void Graph::reset(Where where) {
  const tensor::HostCall here("Graph::reset", where);
  abandon();
  state_->graph.reset();
  state_->last = {};
}

namespace {

/// The stream on which the worker captures on its current device where it names none.
Stream capture_stream(Where where) {
  HostContext& context = current_context("graph");
  const auto found = context.capture_streams.find(context.device);
  if (found != context.capture_streams.end()) {
    return {context.device, static_cast<std::int64_t>(found->second),
            context.simulation.stream_handle(context.device, found->second)};
  }
  Stream stream(-1, where);
  context.capture_streams[context.device] = static_cast<std::size_t>(stream.id());
  return stream;
}

}  // namespace

GraphScope::GraphScope(Graph& graph, const std::optional<Stream>& stream, Where where)
    : graph_(graph),
      stream_(stream ? *stream : capture_stream(where), where),
      where_(where),
      exceptions_(std::uncaught_exceptions()) {
  runtime::refuse_while_capturing(current_context("graph"), "graph", "a worker captures one graph at a time");
  synchronize(-1, where);
  graph_.capture_begin(where);
}

GraphScope::~GraphScope() noexcept(false) {
  if (std::uncaught_exceptions() > exceptions_) {
    graph_.abandon();
    return;
  }
  try {
    graph_.capture_end(where_);
  } catch (...) {
    graph_.abandon();
    throw;
  }
}

GraphScope graph(Graph& graph, Where where) {
  return {graph, std::nullopt, where};
}
GraphScope graph(Graph& graph, const Stream& stream, Where where) {
  return {graph, stream, where};
}

bool is_current_stream_capturing() {
  HostContext& context = current_context("is_current_stream_capturing");
  return runtime::capture_on_current_stream(context, context.device) != nullptr;
}

}  // namespace kernbench::torch::ahbm
