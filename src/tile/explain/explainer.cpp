#include "tile/explain/explainer.h"

#include <algorithm>
#include <utility>

#include "hardware/dma/multicast.h"
#include "sim/scheduler.h"
#include "tile/program/program.h"

namespace kernbench::tile {

namespace {

/// What is known of a command that ended a wait of `of`: nothing of another program's.
EndedPath ended(const KernelCommand* by, sim::AgentId of) {
  if (by == nullptr || by->agent != of) return {};
  return {by->explained.path, by->times.finished, true};
}

}  // namespace

std::uint32_t Explainer::key_of(Activity activity, const KernelCommand& command, PartKind on) {
  return paths_->key(
      {activity, command.engine(), on, command.kind, command.where.file_name(), command.where.line(), true});
}

std::uint32_t Explainer::key_of(const ProgramStep& step) {
  return paths_->key({step.activity, hardware::EngineKind::dma, PartKind::none, "", step.where.file_name(),
                      step.where.line(), step.where.line() != 0});
}

/// The program does something that has no step.
void Explainer::fill(Path& path, Time from, Time to) {
  if (from < to) paths_->append(path, {paths_->key({.activity = Activity::program}), from, to, kAnywhere});
}

void Explainer::append(Path& path, const KernelCommand& command, const Interval& interval, Time until) {
  PartId on = interval.on;
  if (!on.known()) on = command.program ? PartId(PartKind::none, command.program->coordinate()) : kAnywhere;
  paths_->append(
      path, {key_of(interval.activity, command, interval.on.kind), interval.start, std::min(interval.end, until), on});
}

// A program does one thing at a time; what it does not do itself (a command that issues others) may overlap.
void Explainer::go_on(ProgramExplanation& program, std::uint32_t key, Time start, Time end, const EndedPath& cause) {
  start = std::max(start, program.at);
  if (start >= end) return;
  if (cause.known && cause.finished > start && cause.finished <= end) {
    program.path = cause.path;
    start = cause.finished;
  } else {
    fill(program.path, program.at, start);
  }
  paths_->append(program.path, {key, start, end, program.pe});
  program.at = end;
  program.may_extend = false;
}

void Explainer::on_program_begin(Program& program) {
  const Time now = machine_.scheduler().now();
  program.explanation = std::make_shared<ProgramExplanation>(now, program.coordinate());
  if (!program.launch().queues) return;
  LaunchExplanation& launch = *program.launch().explanation;
  if (!std::exchange(launch.begun, true)) launch.before = last_of_stream(program);
  const PartId at{PartKind::control, program.coordinate()};
  program.explanation->path = paths_->begin(
      now, std::make_shared<const PathOrigin>(at, program.launch().shared_name, launch.before.name, launch.before.end));
  program.explanation->cut = PathTree::Cut(*paths_, now);
}

EndedLaunch& Explainer::last_of_stream(const Program& program) {
  return last_[{program.coordinate().sip, program.launch().stream}];
}

void Explainer::on_program_end(Program& program, bool stands) {
  const std::shared_ptr<ProgramExplanation> mine = std::exchange(program.explanation, nullptr);
  if (!stands) return;
  const Time now = machine_.scheduler().now();
  fill(mine->path, mine->at, now);
  LaunchExplanation& launch = *program.launch().explanation;
  launch.breakdown = mine->busy.until(now);
  launch.path = std::move(mine->path);
  launch.start = mine->start;
  launch.end = now;
  launch.cut = std::move(mine->cut);
  last_of_stream(program) = {program.launch().shared_name, now};
}

void Explainer::on_program_abandoned(Program& program) {
  program.explanation = std::make_shared<ProgramExplanation>(machine_.scheduler().now(), program.coordinate());
}

void Explainer::on_step_begun(Program& program, const ProgramStep& step) {
  program.explanation->doing = {true, key_of(step), step.start};
}

// A loop that polls makes millions of steps: those that follow each other without a gap are one part of the path.
void Explainer::on_step(Program& program, const ProgramStep& step, const hardware::Command* cause) {
  ProgramExplanation& mine = *program.explanation;
  const std::uint32_t key = mine.doing.key;
  mine.doing.open = false;
  if (step.start == step.end) return;
  program.launch().explanation->account.add(step, program.agent());
  const PathSegment* last = PathTree::last(mine.path);
  if (cause == nullptr && mine.may_extend && last != nullptr && last->key == key && mine.at == step.start) {
    paths_->extend(mine.path, step.end);
    mine.at = step.end;
    return;
  }
  const Time before = mine.at;
  go_on(mine, key, step.start, step.end, ended(command_of(cause), program.agent()));
  mine.may_extend = cause == nullptr && mine.at > before;
}

void Explainer::on_made(KernelCommand& command, KernelCommand* granted_by) {
  command.explained.granted_by = ended(granted_by, command.agent);
}

void Explainer::on_placed(KernelCommand& command, KernelCommand* by) {
  command.explained.placed_by = ended(by, command.agent);
}

void Explainer::on_issued(KernelCommand& command) {
  ProgramExplanation& program = *command.program->explanation;
  const hardware::Timeline& times = command.times;
  CommandExplanation& mine = command.explained;
  if (command.engine() == hardware::EngineKind::ipcq) program.busy.begin(command.engine(), times.issued);
  const bool by_scheduler = command.all_placed != nullptr;
  if (by_scheduler && program.doing.open && program.doing.start <= times.granted) {
    // The program is where it was: what the scheduler does is no part of its stream.
    mine.path = program.path;
    const Time since = std::max(program.at, program.doing.start);
    fill(mine.path, program.at, since);
    paths_->append(mine.path, {program.doing.key, since, times.issued, program.pe});
  } else {
    go_on(program, key_of(Activity::tcm, command), times.requested, times.granted, mine.granted_by);
    go_on(program, key_of(Activity::queue, command), times.granted, times.placed, mine.placed_by);
    go_on(program, key_of(Activity::issue, command), times.placed, times.issued, {});
    mine.path = program.path;
    fill(mine.path, program.at, times.issued);
  }
  mine.granted_by = mine.placed_by = {};
}

void Explainer::on_ready(KernelCommand& command, KernelCommand& last) {
  const hardware::Timeline& times = command.times;
  if (times.ready == times.issued) return;
  if (last.agent == command.agent) {
    command.explained.path = last.explained.path;
    return;
  }
  const Activity activity = times.ready_in_order ? Activity::order : Activity::operand;
  append(command.explained.path, command, {activity, times.issued, times.ready}, times.ready);
}

void Explainer::on_start(KernelCommand& command, KernelCommand* before) {
  CommandExplanation& mine = command.explained;
  const hardware::Timeline& times = command.times;
  if (times.ready < times.started) {
    const bool known = before != nullptr && before->agent == command.agent && before->times.started < times.started;
    if (known && before->under_way && before->times.finished == Time()) {
      mine.path = path_within(*before, times.started);
    } else if (known && before->times.finished == times.started) {
      mine.path = before->explained.path;
    } else {
      append(mine.path, command, {Activity::engine, times.ready, times.started}, times.started);
    }
  }
  const hardware::EngineKind engine = command.engine();
  if (engine != hardware::EngineKind::ipcq) command.program->explanation->busy.begin(engine, times.started);
  const auto* dma = std::get_if<hardware::DmaWork>(&command.work);
  if (dma == nullptr) return;
  mine.bound = machine_.least(command.program->coordinate(), command);
  if (dma->legs.empty()) return;
  for (const auto server : machine_.servers_of(command.program->coordinate(), *dma, mine.bound.leg)) {
    mine.on_its_way.push_back({server, machine_.fabric().counters(server).busy});
  }
}

void Explainer::on_arrival(KernelCommand& receive, KernelCommand& send, const hardware::MessageArrival& arrival) {
  receive.explained.arrival = arrival;
  receive.explained.send = hardware::CommandRef(&send);
  receive.explained.send_name = send.command_name();
}

WorkSplit Explainer::split_of(const KernelCommand& command) const {
  const CommandExplanation& known = command.explained;
  const bool dma = command.engine() == hardware::EngineKind::dma;
  WorkSplit split{command.times.finished,
                  dma ? known.bound : machine_.least(command.program->coordinate(), command),
                  {},
                  {},
                  {},
                  {}};
  const Time work = split.finished - command.times.started;
  Time least = split.bound.total() + command.times.translation;
  if (dma) least += command.times.waited;
  if (command.held_up.time > Time::zero()) split.busiest = machine_.fabric().spec(command.held_up.server).part;
  if (dma && command.dma().multicast != nullptr) split.slowest = command.dma().multicast->slowest();
  if (!dma || least >= work) return split;
  const Time beyond = work - least;
  split.starved = std::min(command.starved.time, beyond);
  if (split.starved > Time::zero()) split.buffer = machine_.fabric().spec(command.starved.server).part;
  if (split.starved == beyond) return split;
  // The first of equals: the servers come in the order of the way.
  Time most;
  for (const auto& [server, before] : known.on_its_way) {
    const Time busy = machine_.fabric().counters(server).busy - before;
    if (busy <= most) continue;
    most = busy;
    split.busiest = machine_.fabric().spec(server).part;
  }
  return split;
}

void Explainer::append_work(Path& path, const KernelCommand& command, const WorkSplit& split) {
  for_each_work(command, split, [&](const Interval& interval) { append(path, command, interval, split.finished); });
}

// The way of the message: to the send, in the program of the sender, and from there on what held it up.
bool Explainer::through_message(Path& path, const KernelCommand& receive, Time until) {
  if (!receive.explained.arrival) return false;
  const hardware::MessageArrival& way = *receive.explained.arrival;
  if (way.at >= until || way.sent >= way.at) return false;
  const auto& send = command_of(*receive.explained.send);
  const auto& fabric = machine_.fabric();
  const auto part_of = [&](const hardware::ServerTime& due) {
    return due.time > Time::zero() ? fabric.spec(due.server).part : PartId();
  };
  path = send.explained.started;
  // The segments before the last one went the same way, and were held up there.
  append_work(path, send, {way.sent, {}, {}, part_of(way.slowest), {}, {}});
  const Time starved = way.at - way.starved.time, slowest = starved - way.slowest.time;
  const Time latency = slowest - way.latency.time;
  append(path, send, {Activity::data, way.sent, latency}, until);
  append(path, send, {Activity::latency, latency, slowest, nullptr, part_of(way.latency)}, until);
  append(path, send, {Activity::data, slowest, starved, nullptr, part_of(way.slowest)}, until);
  append(path, send, {Activity::link_buffer, starved, way.at, nullptr, part_of(way.starved)}, until);
  append(path, receive, {Activity::data, way.at, until}, until);
  return true;
}

/// The path up to a time at which the command is being worked on.
Path Explainer::path_within(const KernelCommand& command, Time until) {
  Path path = command.explained.path;
  if (through_message(path, command, until)) return path;
  WorkSplit split;
  split.finished = until;
  split.bound = command.explained.bound;
  append_work(path, command, split);
  return path;
}

void Explainer::on_operation(const OperationRecord& operation) {
  const KernelCommand& command = operation.command();
  const hardware::Timeline& times = command.times;
  ProgramExplanation& program = *command.program->explanation;
  program.busy.end(command.engine(), times.finished);
  const WorkSplit split = split_of(command);
  command.program->launch().explanation->account.add(command, split);
  CommandExplanation& mine = command.explained;
  const auto* message = std::get_if<hardware::MessageWork>(&command.work);
  if (message != nullptr && message->sends) mine.started = mine.path;
  if (!through_message(mine.path, command, times.finished)) append_work(mine.path, command, split);
  mine.send.reset();
}

}  // namespace kernbench::tile
