#include "runtime/observe/region_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "kernbench/error.h"
#include "runtime/context.h"
#include "runtime/simulation.h"
#include "sim/fiber.h"

namespace kernbench::runtime {

void RegionRecorder::open() {
  if (holds_++ == 0) begin_window();
}

void RegionRecorder::close() {
  if (--holds_ == 0) end_window();
}

void RegionRecorder::begin_window() {
  window_start_ = machine_.scheduler().now();
  before_ = machine_.counters_now();
  for (const Observer& observer : observers_) observer(true, window_start_);
}

void RegionRecorder::end_window() {
  const Time now = machine_.scheduler().now();
  const auto after = machine_.counters_now();
  assert(after.size() == before_.size());
  total_.resize(after.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    total_[i].busy += after[i].busy - before_[i].busy;
    total_[i].bytes += after[i].bytes - before_[i].bytes;
  }
  // Windows that touch are one.
  const bool touches = region_.windows > 0 && region_.end == window_start_;
  if (region_.windows == 0) region_.start = window_start_;
  if (!touches) ++region_.windows;
  region_.time += now - window_start_;
  region_.end = now;
  for (const Observer& observer : observers_) observer(false, now);
}

void RegionRecorder::add_range(const RangeResult& one) {
  RangeResult& range = ranges_[one.name];
  range.name = one.name;
  range.begun = range.count == 0 ? one.begun : std::min(range.begun, one.begun);
  ++range.count;
  range.host += one.host;
  range.complete += one.complete;
  range.computing += one.computing;
  range.communicating += one.communicating;
  range.overlapping += one.overlapping;
  range.flops += one.flops;
  range.hbm_bytes += one.hbm_bytes;
}

void RegionRecorder::add_launch(const std::string& range, Time duration) {
  RangeResult& all = ranges_[range];
  all.name = range;
  ++all.launches;
  all.launch_time += duration;
}

void RegionRecorder::collect(RunResult& result, const std::vector<hardware::ResourceUsage>& names) {
  if (is_open()) {
    holds_ = 0;
    end_window();
  }
  result.region = region_;
  const double seconds = region_.time.in_seconds();
  for (const auto& usage : names) {
    const hardware::ResourceCounters& counted = total_[usage.place];
    const Time busy = std::min(counted.busy, region_.time);  // a processor's message may have begun before
    if (busy <= Time::zero()) continue;
    result.resources.push_back({usage.name, busy, counted.bytes, busy.in_seconds() / seconds, to_text(usage.kind)});
  }
}

std::shared_ptr<OpenRange> RegionRecorder::release(const OpenRange& range) {
  const auto found = closing_.extract(&range);
  return found ? std::move(found.mapped()) : nullptr;
}

// ---- what is under way -------------------------------------------------------------------------------------------

void RangeActivity::open(Time now) {
  open_ = true;
  since_ = now;
}

void RangeActivity::pass(Time now) {
  if (!open_) return;
  const std::size_t state = (computing_ > 0 ? 1U : 0U) + (communicating_ > 0 ? 2U : 0U);
  spent_[state] += now - since_;
  since_ = now;
}

void RangeActivity::begin(bool communicates, Time now) {
  pass(now);
  ++(communicates ? communicating_ : computing_);
}

void RangeActivity::end(bool communicates, Time now) {
  pass(now);
  --(communicates ? communicating_ : computing_);
}

const std::array<Time, 4>& RangeActivity::until(Time now) {
  pass(now);
  return spent_;
}

// ---- ranges ------------------------------------------------------------------------------------------------------

bool OpenRange::is_live() const {
  const auto to = recorder.lock();
  return to != nullptr && !to->is_finished();
}

void OpenRange::begin(const std::vector<CompletionRef>& last) {
  start = simulation->scheduler().now();
  recorder.lock()->keep(shared_from_this());
  before_ = static_cast<std::int64_t>(last.size());
  if (before_ == 0) return open();
  for (const CompletionRef& each : last) each->on_set(sim::call<&OpenRange::before_completed>(this));
}

void OpenRange::before_completed(std::uint64_t) {
  if (--before_ > 0) return;
  if (!complete_) return open();
  if (const auto to = recorder.lock()) to->release(*this);
}

void OpenRange::open() {
  begun = simulation->scheduler().now();
  open_ = true;
  activity_.open(begun);
  if (const auto to = recorder.lock()) to->open();
}

void OpenRange::end(const std::vector<CompletionRef>& last) {
  ended = true;
  host_end = simulation->scheduler().now();
  if (auto* trace = simulation->trace(); trace != nullptr && !name.empty()) {
    trace->host_range(worker, depth, name, start, host_end);
  }
  outstanding_ = static_cast<std::int64_t>(last.size());
  if (outstanding_ == 0) return complete();
  for (const CompletionRef& each : last) each->on_set(sim::call<&OpenRange::completed>(this));
}

void OpenRange::completed(std::uint64_t) {
  if (--outstanding_ == 0) complete();
}

/// One that has changed its device may be complete there before it has begun: it was open for no time.
void OpenRange::complete() {
  complete_ = true;
  const auto to = recorder.lock();
  if (to == nullptr || to->is_finished()) return;
  const Time now = simulation->scheduler().now();
  if (!name.empty()) {
    RangeResult one;
    one.name = name;
    one.host = host_end - start;
    one.begun = open_ ? begun : now;
    one.complete = now - one.begun;
    const auto& spent = activity_.until(now);
    one.computing = spent[1];
    one.communicating = spent[2];
    one.overlapping = spent[3];
    one.flops = flops_;
    one.hbm_bytes = hbm_bytes_;
    to->add_range(one);
  }
  if (open_) to->close();
  if (before_ == 0) to->release(*this);
}

void OpenRange::launch_begins(bool communicates) {
  const Time now = simulation->scheduler().now();
  for (OpenRange* range = this; range != nullptr; range = range->around.get())
    range->activity_.begin(communicates, now);
}

void OpenRange::launch_ends(bool communicates, double flops, Bytes hbm_bytes) {
  const Time now = simulation->scheduler().now();
  for (OpenRange* range = this; range != nullptr; range = range->around.get()) {
    range->activity_.end(communicates, now);
    range->flops_ += flops;
    range->hbm_bytes_ += hbm_bytes;
  }
}

namespace {

// A name has all ranges around its own, and a launch counts in each of them.
constexpr int kMostNestedRanges = 1'000;

/// Ranges may end in any order.
const std::shared_ptr<OpenRange>& innermost(HostContext& context) {
  while (context.range && context.range->ended) context.range = context.range->around;
  return context.range;
}

}  // namespace

std::shared_ptr<OpenRange> open_range(HostContext& context, const std::string& name) {
  Simulation& simulation = context.simulation;
  auto range = std::make_shared<OpenRange>();
  range->around = innermost(context);
  if (range->around && range->around->depth + 1 >= kMostNestedRanges) {
    throw ProgramError("NestingError",
                       fmt::format("record_function: range \"{}\" would lie within {} others, and {} is the limit: is "
                                   "each opened before the one before it has ended (r.reset() before r = "
                                   "std::make_unique<record_function>(...)), or never ended?",
                                   name, range->around->depth + 1, kMostNestedRanges - 1));
  }
  range->name = range->around && !name.empty() ? range->around->name + "/" + name : name;
  range->recorder = simulation.region();
  range->simulation = &simulation;
  range->worker = sim::this_fiber::current()->name();
  range->depth = range->around ? range->around->depth + 1 : 0;
  range->begin(outstanding_work(context));
  return range;
}

std::vector<CompletionRef> outstanding_work(const HostContext& context) {
  std::vector<CompletionRef> work;
  const auto add = [&](int device) {
    for (auto index = stream_to_synchronize(context, device, 0); index;
         index = stream_to_synchronize(context, device, *index + 1)) {
      work.push_back(context.simulation.stream(device, *index).last());
    }
  };
  if (context.worker.group) {
    add(context.device);
  } else {
    for (int device = 0; device < context.simulation.topology().system.sips; ++device) add(device);
  }
  return work;
}

std::shared_ptr<OpenRange> current_range(HostContext& context) {
  return innermost(context);
}

}  // namespace kernbench::runtime
