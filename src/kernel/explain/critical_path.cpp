#include "kernel/explain/critical_path.h"

#include <algorithm>
#include <array>

namespace kernbench::kernel {
namespace {

/// What the program's own instruction stream did, in order of time: its steps, and the issuing of its operations.
struct StreamStep {
  Activity activity;
  Time start, end;
  hardware::OperationName cause;
  const OperationRecord* operation;  // that was issued; may be null
  tl::Where where;
};

std::vector<StreamStep> instruction_stream(const ProgramTrace& trace) {
  std::vector<StreamStep> stream;
  for (const ProgramStep& step : trace.steps) {
    stream.push_back({step.activity, step.start, step.end, step.cause, nullptr, step.where});
  }
  for (const OperationRecord& operation : trace.operations) {
    for_each_wait(operation, [&](const Interval& wait) {
      if (wait.activity > Activity::issue) return;
      stream.push_back({wait.activity, wait.start, wait.end, wait.cause, &operation, operation.where});
    });
  }
  std::ranges::stable_sort(stream, {}, &StreamStep::start);
  // A program does one thing at a time; what it does not do itself (a command that issues others) may overlap.
  Time at = trace.start;
  std::erase_if(stream, [&](StreamStep& step) {
    step.start = std::max(step.start, at);
    step.end = std::min(step.end, trace.end);
    if (step.start >= step.end) return true;
    at = step.end;
    return false;
  });
  return stream;
}

class Walk {
 public:
  explicit Walk(const ProgramTrace& trace) : trace_(trace), stream_(instruction_stream(trace)), at_(trace.end) {}

  std::vector<PathSegment> run() {
    // Each step goes back in time or along a dependency, so this many are enough; the bound is for damaged records.
    std::size_t left = 4 * (trace_.operations.size() + stream_.size()) + 4;
    const OperationRecord* operation = nullptr;
    while (at_ > trace_.start && left-- > 0) {
      operation = operation == nullptr ? through_program() : through_operation(*operation);
    }
    if (at_ > trace_.start) add(Activity::program, trace_.start, nullptr, {}, false);
    std::ranges::reverse(path_);
    return std::move(path_);
  }

 private:
  /// The path goes back to `start` by what this says.
  void add(Activity activity, Time start, const OperationRecord* operation, const tl::Where& where, bool has_where) {
    start = std::max(start, trace_.start);
    if (start >= at_) return;
    path_.push_back({activity, start, at_, "", hardware::EngineKind::dma, where, has_where, nullptr});
    if (operation != nullptr) {
      path_.back().kind = operation->kind;
      path_.back().engine = operation->engine;
      if (activity == Activity::contention) path_.back().busiest = operation->busiest;
    }
    at_ = start;
  }
  void add(Activity activity, Time start, const OperationRecord& operation) {
    add(activity, start, &operation, operation.where, true);
  }

  /// Back through the instruction stream, to the operation that the program waited for or null.
  const OperationRecord* through_program() {
    const auto after = std::ranges::lower_bound(stream_, at_, {}, &StreamStep::start);
    if (after == stream_.begin()) {
      add(Activity::program, trace_.start, nullptr, {}, false);
      return nullptr;
    }
    const StreamStep& step = *(after - 1);
    if (step.end < at_) {
      add(Activity::program, step.end, nullptr, {}, false);
      return nullptr;
    }
    const OperationRecord* cause = trace_.find(step.cause);
    if (cause != nullptr && cause->finished > step.start && cause->finished <= at_) {
      add(step.activity, cause->finished, step.operation, step.where, true);
      return cause;
    }
    add(step.activity, step.start, step.operation, step.where, true);
    return nullptr;
  }

  /// Back through the work of an operation and its waits, to what bounded its start; null: the program.
  const OperationRecord* through_operation(const OperationRecord& operation) {
    std::array<Interval, 5> work{};
    std::size_t count = 0;
    for_each_work(operation, [&](const Interval& interval) { work[count++] = interval; });
    while (count-- > 0) {
      if (work[count].start < at_) add(work[count].activity, work[count].start, operation);
    }
    if (operation.started > operation.ready) {
      const OperationRecord* before = trace_.find(operation.started_by);
      if (before != nullptr && before->finished >= at_ && before->started < at_) return before;
      add(Activity::engine, operation.ready, operation);
    }
    if (operation.ready > operation.issued) {
      const OperationRecord* last = trace_.find(operation.ready_by);
      if (last != nullptr && last->finished == at_) return last;
      add(operation.ready_in_order ? Activity::order : Activity::operand, operation.issued, operation);
    }
    return nullptr;
  }

  const ProgramTrace& trace_;
  std::vector<StreamStep> stream_;
  Time at_;
  std::vector<PathSegment> path_;
};

}  // namespace

std::vector<PathSegment> critical_path(const ProgramTrace& trace) {
  return Walk(trace).run();
}

}  // namespace kernbench::kernel
