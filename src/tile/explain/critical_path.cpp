#include "tile/explain/critical_path.h"

#include <algorithm>
#include <array>
#include <map>

#include "tile/explain/trace_store.h"

namespace kernbench::tile {
namespace {

/// What the program's own instruction stream did, in order of time: its steps, and the issuing of its operations.
struct StreamStep {
  Activity activity;
  Time start, end;
  hardware::CommandName cause;
  const ExplainedOperation* operation;  // that was issued; may be null
  tl::Where where;
};

std::vector<StreamStep> instruction_stream(const ProgramTrace& trace) {
  std::vector<StreamStep> stream;
  for (const ProgramStep& step : trace.steps) {
    stream.push_back({step.activity, step.start, step.end, step.cause.name, nullptr, step.where});
  }
  for (const ExplainedOperation& operation : trace.operations) {
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

/// One program on the way, with its instruction stream.
struct Visited {
  explicit Visited(const ProgramTrace& program) : trace(program), stream(instruction_stream(program)) {}
  const ProgramTrace& trace;
  std::vector<StreamStep> stream;
};

class Walk {
 public:
  Walk(const ProgramTrace& trace, const TraceStore* others)
      : begin_(trace.start), others_(others), at_(trace.end), here_(&visit(trace)) {}

  std::vector<PathSegment> run() {
    const ExplainedOperation* operation = nullptr;
    while (at_ > begin_ && left_-- > 0) {
      operation = operation == nullptr ? through_program() : through_operation(*operation);
    }
    if (at_ > begin_) add(Activity::program, begin_, nullptr, {}, false);
    std::ranges::reverse(path_);
    return std::move(path_);
  }

 private:
  Visited& visit(const ProgramTrace& trace) {
    const auto [entry, is_new] = visited_.try_emplace(&trace, trace);
    // Each step goes back in time or along a dependency, so this many are enough; the bound is for damaged records.
    if (is_new) left_ += 4 * (trace.operations.size() + entry->second.stream.size()) + 4;
    return entry->second;
  }

  /// The path goes back to `start` by what this says.
  void add(Activity activity, Time start, const ExplainedOperation* operation, const tl::Where& where, bool has_where) {
    start = std::max(start, begin_);
    if (start >= at_) return;
    path_.push_back({activity, start, at_, "", hardware::EngineKind::dma, where, has_where, {}});
    if (operation != nullptr) {
      path_.back().kind = operation->kind;
      path_.back().engine = operation->engine;
      path_.back().on = server_of(*operation, activity);
    }
    at_ = start;
  }
  void add(Activity activity, Time start, const ExplainedOperation& operation) {
    add(activity, start, &operation, operation.where, true);
  }
  void add_on(Activity activity, Time duration, const ExplainedOperation& operation, const PartId& server) {
    const std::size_t before = path_.size();
    add(activity, at_ - duration, operation);
    if (path_.size() > before) path_.back().on = server;
  }

  /// Back through the instruction stream, to the operation that the program waited for or null.
  const ExplainedOperation* through_program() {
    const auto after = std::ranges::lower_bound(here_->stream, at_, {}, &StreamStep::start);
    if (after == here_->stream.begin()) {
      add(Activity::program, here_->trace.start, nullptr, {}, false);
      add(Activity::sender, begin_, nullptr, {}, false);  // nothing is left of it where the path began here
      return nullptr;
    }
    const StreamStep& step = *(after - 1);
    if (step.end < at_) {
      add(Activity::program, step.end, nullptr, {}, false);
      return nullptr;
    }
    const ExplainedOperation* cause = here_->trace.find(step.cause);
    if (cause != nullptr && cause->finished > step.start && cause->finished <= at_) {
      add(step.activity, cause->finished, step.operation, step.where, true);
      return cause;
    }
    add(step.activity, step.start, step.operation, step.where, true);
    return nullptr;
  }

  /// Back along the way of the message that a receive waited for, to the send; null: in the program of the sender,
  /// before its record. False where the way is not known.
  bool through_message(const ExplainedOperation*& operation) {
    const MessageWay* way = others_ == nullptr ? nullptr : here_->trace.message(operation->number);
    if (way == nullptr || way->arrived >= at_ || way->sent >= way->arrived) return false;
    const ProgramTrace* sender = others_->find(way->send.agent, way->sent);
    if (sender == nullptr) return false;
    add(Activity::data, way->arrived, *operation);
    here_ = &visit(*sender);
    const ExplainedOperation* send = sender->find(way->send);
    const ExplainedOperation& of = send == nullptr ? *operation : *send;
    add_on(Activity::link_buffer, way->starved, of, way->buffer);
    add_on(Activity::data, way->slowest_time, of, way->slowest);
    add(Activity::data, way->sent, of);
    operation = send;
    return true;
  }

  /// Back through the work of an operation and its waits, to what bounded its start; null: the program.
  const ExplainedOperation* through_operation(const ExplainedOperation& operation) {
    if (const ExplainedOperation* next = &operation; through_message(next)) return next;
    std::array<Interval, 6> work{};
    std::size_t count = 0;
    for_each_work(operation, [&](const Interval& interval) { work[count++] = interval; });
    while (count-- > 0) {
      if (work[count].start < at_) add(work[count].activity, work[count].start, operation);
    }
    if (operation.started > operation.ready) {
      const ExplainedOperation* before = here_->trace.find(operation.started_by);
      if (before != nullptr && before->finished >= at_ && before->started < at_) return before;
      add(Activity::engine, operation.ready, operation);
    }
    if (operation.ready > operation.issued) {
      const ExplainedOperation* last = here_->trace.find(operation.ready_by);
      if (last != nullptr && last->finished == at_) return last;
      add(operation.ready_in_order ? Activity::order : Activity::operand, operation.issued, operation);
    }
    return nullptr;
  }

  std::map<const ProgramTrace*, Visited> visited_;  // only looked up
  std::size_t left_ = 0;
  Time begin_;  // of the program that the path is of
  const TraceStore* others_;
  Time at_;
  const Visited* here_;
  std::vector<PathSegment> path_;
};

}  // namespace

std::vector<PathSegment> critical_path(const ProgramTrace& trace, const TraceStore* others) {
  return Walk(trace, others).run();
}

}  // namespace kernbench::tile
