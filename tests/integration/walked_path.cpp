#include "walked_path.h"

#include <array>

#include "base/text.h"
#include "hardware/dma/multicast.h"
#include "tile/explain/explainer.h"

namespace kernbench::testing {

namespace {

PartId server_of(const WalkedOperation& operation, Activity activity) {
  if (activity == Activity::link_buffer) return operation.buffer;
  if (activity == Activity::members) return operation.last_member;
  if (activity == Activity::data && operation.sends) return operation.busiest;
  return activity == Activity::contention ? operation.busiest : PartId();
}

/// What the program's own instruction stream did, in order of time: its steps, and the issuing of its operations.
struct StreamStep {
  Activity activity;
  Time start, end;
  hardware::CommandName cause;
  const WalkedOperation* operation;  // that was issued; may be null
  tl::Where where;
};

std::vector<StreamStep> instruction_stream(const WalkedProgram& trace) {
  std::vector<StreamStep> stream;
  for (const ProgramStep& step : trace.steps) {
    stream.push_back({step.activity, step.start, step.end, step.cause.name, nullptr, step.where});
  }
  for (const WalkedOperation& operation : trace.operations) {
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
  explicit Visited(const WalkedProgram& program) : trace(program), stream(instruction_stream(program)) {}
  const WalkedProgram& trace;
  std::vector<StreamStep> stream;
};

class Walk {
 public:
  Walk(const WalkedProgram& trace, const Walker* others)
      : begin_(trace.start), others_(others), at_(trace.end), here_(&visit(trace)) {}

  std::vector<WalkedSegment> run() {
    const WalkedOperation* operation = nullptr;
    while (at_ > begin_ && left_-- > 0) {
      operation = operation == nullptr ? through_program() : through_operation(*operation);
    }
    if (at_ > begin_) add(Activity::program, begin_, nullptr, {}, false);
    std::ranges::reverse(path_);
    return std::move(path_);
  }

 private:
  Visited& visit(const WalkedProgram& trace) {
    const auto [entry, is_new] = visited_.try_emplace(&trace, trace);
    // Each step goes back in time or along a dependency, so this many are enough; the bound is for damaged records.
    if (is_new) left_ += 4 * (trace.operations.size() + entry->second.stream.size()) + 4;
    return entry->second;
  }

  /// The path goes back to `start` by what this says.
  void add(Activity activity, Time start, const WalkedOperation* operation, const tl::Where& where, bool has_where) {
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
  void add(Activity activity, Time start, const WalkedOperation& operation) {
    add(activity, start, &operation, operation.where, true);
  }
  void add_on(Activity activity, Time duration, const WalkedOperation& operation, const PartId& server) {
    const std::size_t before = path_.size();
    add(activity, at_ - duration, operation);
    if (path_.size() > before) path_.back().on = server;
  }

  /// Back through the instruction stream, to the operation that the program waited for or null.
  const WalkedOperation* through_program() {
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
    const WalkedOperation* cause = here_->trace.find(step.cause);
    if (cause != nullptr && cause->finished > step.start && cause->finished <= at_) {
      add(step.activity, cause->finished, step.operation, step.where, true);
      return cause;
    }
    add(step.activity, step.start, step.operation, step.where, true);
    return nullptr;
  }

  /// Back along the way of the message that a receive waited for, to the send; null: in the program of the sender,
  /// before its record. False where the way is not known.
  bool through_message(const WalkedOperation*& operation) {
    const MessageWay* way = others_ == nullptr ? nullptr : here_->trace.message(operation->number);
    if (way == nullptr || way->arrived >= at_ || way->sent >= way->arrived) return false;
    const WalkedProgram* sender = others_->program(way->send.agent, way->sent);
    if (sender == nullptr) return false;
    add(Activity::data, way->arrived, *operation);
    here_ = &visit(*sender);
    const WalkedOperation* send = sender->find(way->send);
    const WalkedOperation& of = send == nullptr ? *operation : *send;
    add_on(Activity::link_buffer, way->starved, of, way->buffer);
    add_on(Activity::data, way->slowest_time, of, way->slowest);
    add(Activity::data, way->sent, of);
    operation = send;
    return true;
  }

  /// Back through the work of an operation and its waits, to what bounded its start; null: the program.
  const WalkedOperation* through_operation(const WalkedOperation& operation) {
    if (const WalkedOperation* next = &operation; through_message(next)) return next;
    std::array<Interval, 8> work{};
    std::size_t count = 0;
    for_each_work(operation, [&](const Interval& interval) { work[count++] = interval; });
    while (count-- > 0) {
      if (work[count].start < at_) add(work[count].activity, work[count].start, operation);
    }
    if (operation.started > operation.ready) {
      const WalkedOperation* before = here_->trace.find(operation.started_by);
      if (before != nullptr && before->finished >= at_ && before->started < at_) return before;
      add(Activity::engine, operation.ready, operation);
    }
    if (operation.ready > operation.issued) {
      const WalkedOperation* last = here_->trace.find(operation.ready_by);
      if (last != nullptr && last->finished == at_) return last;
      add(operation.ready_in_order ? Activity::order : Activity::operand, operation.issued, operation);
    }
    return nullptr;
  }

  std::map<const WalkedProgram*, Visited> visited_;  // only looked up
  std::size_t left_ = 0;
  Time begin_;  // of the program that the path is of
  const Walker* others_;
  Time at_;
  const Visited* here_;
  std::vector<WalkedSegment> path_;
};

WalkedOperation record_of(const tile::KernelCommand& command, hardware::Machine& machine) {
  const hardware::Timeline& times = command.times;
  WalkedOperation record;
  record.kind = command.kind;
  record.where = command.where;
  record.number = command.number;
  record.engine = command.engine();
  record.sends = command.sends();
  record.waited = times.waited;
  record.ready_in_order = times.ready_in_order;
  record.requested = times.requested;
  record.granted = times.granted;
  record.placed = times.placed;
  record.issued = times.issued;
  record.ready = times.ready;
  record.started = times.started;
  record.finished = times.finished;
  record.translation = times.translation;
  record.granted_by = times.granted_by.name;
  record.placed_by = times.placed_by.name;
  record.ready_by = times.ready_by.name;
  record.started_by = times.started_by.name;
  if (command.held_up.time > Time::zero()) record.busiest = machine.fabric().spec(command.held_up.server).part;
  if (record.engine != hardware::EngineKind::dma) return record;
  record.bound = command.explained.bound;
  const auto& dma = command.dma();
  if (dma.multicast != nullptr) record.last_member = dma.multicast->slowest();
  const Time work = times.finished - times.started;
  const Time least = record.bound.total() + times.translation + times.waited;
  if (least >= work) return record;
  record.starved = std::min(command.starved.time, work - least);
  if (record.starved > Time::zero()) record.buffer = machine.fabric().spec(command.starved.server).part;
  if (record.starved == work - least) return record;
  Time most;
  for (const auto& [server, before] : command.explained.on_its_way) {
    const Time busy = machine.fabric().counters(server).busy - before;
    if (busy <= most) continue;
    most = busy;
    record.busiest = machine.fabric().spec(server).part;
  }
  return record;
}

}  // namespace

void WalkedProgram::sort() {
  std::ranges::sort(operations, {}, &WalkedOperation::number);
  std::ranges::sort(messages, {}, &MessageWay::number);
}

const MessageWay* WalkedProgram::message(std::uint64_t receive) const {
  const auto found = std::ranges::lower_bound(messages, receive, {}, &MessageWay::number);
  return found != messages.end() && found->number == receive ? &*found : nullptr;
}

const WalkedOperation* WalkedProgram::find(const hardware::CommandName& name) const {
  if (!name.known() || name.agent != agent) return nullptr;
  const auto found = std::ranges::lower_bound(operations, name.number, {}, &WalkedOperation::number);
  return found != operations.end() && found->number == name.number ? &*found : nullptr;
}

// Before the explanation, which lets go of what is looked at here.
void Walker::subscribe_to(tile::OperationStream& stream) {
  using enum tile::Topic;
  stream.subscribe(*this, {operations, programs, steps});
}

void Walker::on_program_begin(tile::Program& program) {
  auto walked = std::make_shared<WalkedProgram>();
  walked->agent = program.agent();
  walked->start = program.started();
  running_[program.agent().value] = walked;
  all_.push_back(std::move(walked));
}

void Walker::on_program_end(tile::Program& program, bool stands) {
  const auto walked = running_[program.agent().value];
  walked->end = program.ended();
  walked->sort();
  if (stands) stands_[program.launch().name] = walked;
}

void Walker::on_step(tile::Program& program, const ProgramStep& step, const hardware::Command* /*cause*/) {
  if (step.start == step.end) return;
  std::vector<ProgramStep>& steps = running_[program.agent().value]->steps;
  if (!steps.empty() && !step.cause.known()) {
    ProgramStep& last = steps.back();
    if (last.activity == step.activity && last.end == step.start && !last.cause.known() &&
        last.where.line() == step.where.line() && last.where.file_name() == step.where.file_name()) {
      last.end = step.end;
      ++last.count;
      return;
    }
  }
  steps.push_back(step);
}

void Walker::on_operation(const tile::OperationRecord& operation) {
  const tile::KernelCommand& command = operation.command();
  hardware::Machine& machine = command.program->environment().machine;
  WalkedProgram& program = *running_[command.agent.value];
  program.operations.push_back(record_of(command, machine));
  if (!command.explained.arrival) return;
  const hardware::MessageArrival& arrival = *command.explained.arrival;
  MessageWay way{command.number,       command.explained.send_name,
                 arrival.sent,         arrival.at,
                 arrival.slowest.time, {},
                 arrival.starved.time, {}};
  if (way.slowest_time > Time::zero()) way.slowest = machine.fabric().spec(arrival.slowest.server).part;
  if (way.starved > Time::zero()) way.buffer = machine.fabric().spec(arrival.starved.server).part;
  program.messages.push_back(way);
}

const WalkedProgram* Walker::program(sim::AgentId agent, Time at) const {
  for (const auto& each : all_) {
    if (each->agent == agent && each->start <= at && at <= each->end) return each.get();
  }
  return nullptr;
}

Walker::Path Walker::path(const std::string& launch) const {
  Path path;
  path.segments = Walk(*stands_.at(launch), this).run();
  std::map<std::tuple<std::string, std::string, std::string, std::string>, PathPart> by_text;
  for (const WalkedSegment& segment : path.segments) {
    const std::string activity(name(segment.activity, segment.engine)),
        on = to_text(segment.on.kind), where = segment.has_where ? tile::place(segment.where) : "";
    PathPart& part = by_text[{activity, segment.kind, where, on}];
    part.activity = activity;
    part.operation = segment.kind;
    part.where = where;
    part.on = on;
    part.time += segment.end - segment.start;
    ++part.count;
  }
  for (auto& [texts, part] : by_text) path.parts.push_back(std::move(part));
  return path;
}

}  // namespace kernbench::testing
