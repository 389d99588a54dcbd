// Ranges and the profiler of kernbench/profiler.h.
#include <fmt/format.h>

#include <string>

#include "kernbench/error.h"
#include "kernbench/profiler.h"
#include "runtime/context.h"
#include "runtime/observe/region_recorder.h"
#include "sim/fiber.h"

namespace kernbench::torch {

namespace {

/// The calling host worker, or null: a guard may end anywhere.
runtime::HostContext* host_context() {
  sim::Fiber* fiber = sim::this_fiber::current();
  if (fiber == nullptr || fiber->local(sim::Fiber::Slot::kernel) != nullptr) return nullptr;
  return static_cast<runtime::HostContext*>(fiber->local(sim::Fiber::Slot::host).get());
}

}  // namespace

namespace profiler {

RecordFunction::RecordFunction(std::string_view name) {
  auto& context = runtime::current_context("record_function");
  if (name.empty() || name.find('/') != std::string_view::npos) {
    throw ValueError(
        fmt::format("record_function: the name of a range must not be empty, nor have a \"/\" (which separates the "
                    "names of nested ranges); found \"{}\"",
                    name));
  }
  range_ = runtime::open_range(context, std::string(name));
  context.range = range_;
}

RecordFunction::~RecordFunction() {
  if (!range_->is_live()) return;
  const runtime::HostContext* context = host_context();
  range_->end(context == nullptr ? std::vector<runtime::CompletionRef>() : runtime::outstanding_work(*context));
}

}  // namespace profiler

namespace ahbm::profiler {

void start() {
  auto& context = runtime::current_context("profiler::start");
  if (!context.profiled) context.profiled = runtime::open_range(context, "");
}

void stop() {
  auto& context = runtime::current_context("profiler::stop");
  if (!context.profiled) {
    throw ProgramError("ProfilerError",
                       "torch::ahbm::profiler::stop() without a start() of this rank: call start() before what is to "
                       "be measured");
  }
  std::exchange(context.profiled, nullptr)->end(runtime::outstanding_work(context));
}

}  // namespace ahbm::profiler

}  // namespace kernbench::torch
