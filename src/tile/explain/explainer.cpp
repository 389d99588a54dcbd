#include "tile/explain/explainer.h"

#include <algorithm>
#include <utility>

#include "sim/scheduler.h"
#include "tile/program/program.h"

namespace kernbench::tile {

std::uint64_t Explainer::begin_launch(LaunchRecord& record) {
  record.explanation = std::make_shared<LaunchExplanation>();
  return record.queues != nullptr ? traces_.begin_launch(machine_.scheduler().now()) : 0;
}

void Explainer::end_launch(std::uint64_t launch) {
  if (launch != 0) traces_.end_launch(launch);
}

void Explainer::on_program_begin(Program& program) {
  program.explanation = std::make_shared<ProgramExplanation>();
  program.explanation->trace->agent = program.agent();
  program.explanation->trace->start = machine_.scheduler().now();
  if (program.launch().queues) traces_.begin(program.explanation->trace);
}

void Explainer::on_program_end(Program& program, bool stands) {
  ProgramExplanation& mine = *program.explanation;
  ProgramTrace& trace = *mine.trace;
  trace.end = machine_.scheduler().now();
  trace.sort();
  LaunchExplanation& launch = *program.launch().explanation;
  launch.account.add(trace);
  if (program.launch().queues) traces_.end(mine.trace);
  if (stands) {
    launch.breakdown = mine.intervals.tile(trace.start, trace.end);
    launch.trace = mine.trace;
  }
  program.explanation.reset();
}

void Explainer::on_program_abandoned(Program& program) {
  traces_.forget(*program.explanation->trace);
  program.explanation = std::make_shared<ProgramExplanation>();
}

// A loop that polls makes millions of steps: those that follow each other without a gap are one.
void Explainer::on_step(Program& program, const ProgramStep& step, const hardware::Command* /*cause*/) {
  if (step.start == step.end) return;
  std::vector<ProgramStep>& steps = program.explanation->trace->steps;
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

void Explainer::on_start(KernelCommand& command, KernelCommand* /*before*/) {
  const auto* dma = std::get_if<hardware::DmaWork>(&command.work);
  if (dma == nullptr) return;
  CommandExplanation& mine = command.explained;
  mine.bound = machine_.least(command.program->coordinate(), command);
  if (dma->legs.empty()) return;
  for (const auto server : machine_.servers_of(command.program->coordinate(), *dma, mine.bound.leg)) {
    mine.on_its_way.push_back({server, machine_.fabric().counters(server).busy});
  }
}

void Explainer::on_arrival(KernelCommand& receive, KernelCommand& send, const hardware::MessageArrival& arrival) {
  receive.explained.arrival = arrival;
  receive.explained.send = send.command_name();
}

ExplainedOperation Explainer::explained(const KernelCommand& command) const {
  const bool dma = command.engine() == hardware::EngineKind::dma;
  const CommandExplanation& known = command.explained;
  auto record = record_of(command, dma ? known.bound : machine_.least(command.program->coordinate(), command));
  const Time work = record.finished - record.started, least = record.bound.total() + record.translation;
  if (!dma || least >= work) return record;
  const Time beyond = work - least;
  record.starved = std::min(command.starved.time, beyond);
  if (record.starved > Time::zero()) record.buffer = machine_.fabric().spec(command.starved.server).part;
  if (record.starved == beyond) return record;
  // The first of equals: the servers come in the order of the way.
  Time most;
  for (const auto& [server, before] : known.on_its_way) {
    const Time busy = machine_.fabric().counters(server).busy - before;
    if (busy <= most) continue;
    most = busy;
    record.busiest = machine_.fabric().spec(server).part;
  }
  return record;
}

MessageWay Explainer::way_of(const KernelCommand& receive) const {
  const hardware::MessageArrival& arrival = *receive.explained.arrival;
  const auto& fabric = machine_.fabric();
  MessageWay way{receive.number,       receive.explained.send,
                 arrival.sent,         arrival.at,
                 arrival.slowest.time, {},
                 arrival.starved.time, {}};
  if (way.slowest_time > Time::zero()) way.slowest = fabric.spec(arrival.slowest.server).part;
  if (way.starved > Time::zero()) way.buffer = fabric.spec(arrival.starved.server).part;
  return way;
}

void Explainer::on_operation(const OperationRecord& operation) {
  const KernelCommand& command = operation.command();
  ProgramExplanation& mine = *command.program->explanation;
  mine.intervals.add(operation.engine(), operation.times().started + operation.times().waited,
                     operation.times().finished);
  mine.trace->operations.push_back(explained(command));
  if (command.explained.arrival) mine.trace->messages.push_back(way_of(command));
}

}  // namespace kernbench::tile
