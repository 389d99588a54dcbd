#include "runtime/streams/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernbench/error.h"
#include "runtime/context.h"
#include "sim/fiber.h"

namespace kernbench::runtime {

Capture::Capture(Name name, int device, const std::shared_ptr<Stream>& origin, const std::source_location& where)
    : graph_(std::make_shared<CapturedGraph>()), origin_(origin), where_(where) {
  graph_->name = std::move(name);
  graph_->device = device;
  graph_->stream = origin;
  frontiers_[origin.get()];
}

void Capture::join(const Stream& stream, const Frontier& launches) {
  frontiers_[&stream].insert(launches.begin(), launches.end());
}

void Capture::add(const Stream& stream, LaunchPlan plan, const std::source_location& where) {
  Frontier& frontier = frontiers_.at(&stream);
  const std::size_t index = graph_->launches.size();
  graph_->launches.push_back({std::move(plan), where, {frontier.begin(), frontier.end()}});
  frontier = {index};
}

std::string Capture::text() const {
  const std::string place = sim::place_text(where_);
  return fmt::format("{}, captured by the capture_begin{}", std::string(origin_->name()),
                     place.empty() ? "" : " at " + place);
}

std::string Capture::unjoined() const {
  std::vector<bool> joined(graph_->launches.size());
  for (const GraphLaunch& launch : graph_->launches) {
    for (const std::size_t earlier : launch.after) joined[earlier] = true;
  }
  for (const std::size_t last : frontier(*origin_)) joined[last] = true;
  const auto left = std::ranges::find(joined, false);
  if (left == joined.end()) return {};
  const GraphLaunch& launch = graph_->launches[static_cast<std::size_t>(left - joined.begin())];
  const std::string place = sim::place_text(launch.where);
  return place.empty() ? launch.plan.name : launch.plan.name + " at " + place;
}

void warn_of_unended_capture(HostContext& context) {
  context.simulation.own_warnings.insert(fmt::format(
      "a graph's capture has not ended ({}): its {} launches have not run, and nobody can replay them; call "
      "capture_end(), and replay()",
      context.capture->text(), context.capture->graph()->launches.size()));
}

Capture* capture_on_current_stream(HostContext& context, int device) {
  Capture* const capture = context.capture.get();
  if (capture == nullptr || capture->device() != device) return nullptr;
  const Stream& stream = context.simulation.stream(device, current_stream_index(context, device));
  return capture->holds(stream) ? capture : nullptr;
}

namespace {

[[noreturn]] void refuse(Capture& capture, const std::string& call, const char* instead) {
  capture.invalidate();
  const sim::ProgramCall& outer = sim::this_fiber::current()->call();  // of the program; it may have made `call`
  const bool named = outer.name == nullptr || call.starts_with(outer.name);
  const std::string by = named ? "" : sim::to_text(outer) + ": ";
  throw ProgramError("CaptureError", fmt::format("{}{}: operation not permitted when stream is capturing ({}): {}", by,
                                                 call, capture.text(), instead));
}

}  // namespace

void refuse_while_capturing(HostContext& context, const std::string& call, const char* instead) {
  if (context.capture) refuse(*context.capture, call, instead);
}

void refuse_on_captured(HostContext& context, const Stream& stream, const std::string& call, const char* instead) {
  if (context.capture && context.capture->holds(stream)) refuse(*context.capture, call, instead);
}

}  // namespace kernbench::runtime
