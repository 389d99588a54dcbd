#include "hardware/pe/command_queue.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "hardware/agents.h"
#include "sim/fiber.h"

namespace kernbench::hardware {

void CommandQueue::submit(const CommandRef& command, Time issue) {
  if (sim::this_fiber::unwinding()) return drop(*command);
  const CommandRef by = take(1);
  if (command->cancelled || sim::this_fiber::unwinding()) {
    give_back(1);
    return drop(*command);
  }
  command->times.placed = scheduler_.now();
  if (by) command->times.placed_by = by->as_cause();
  if (command->watched) command->observer->on_placed(*command, by.get());
  command->origin = scheduler_.origin();
  issuing_.push_back(command);
  scheduler_.schedule(scheduler_.now() + issue, sim::Phase::deliver, command->agent, arrival_key(command->number),
                      sim::call<&CommandQueue::arrive>(this, reinterpret_cast<std::uintptr_t>(command.get())));
  sim::this_fiber::sleep(issue);
}

void CommandQueue::drop(Command& command) {
  if (command.observer != nullptr) command.observer->on_dropped(command);
}

void CommandQueue::arrive(std::uint64_t command) {
  // An event carries one word; submit() put this pointer into it. NOLINTNEXTLINE(performance-no-int-to-ptr)
  CommandRef entry = issuing_.take(*reinterpret_cast<Command*>(command));
  Command& arrived = *entry;
  if (arrived.cancelled) {
    arrived.done.set();
    drop(arrived);
    return give_back(1);
  }
  const Command* const before = last();
  waiting_.push_back(std::move(entry));

  arrived.queue = this;
  arrived.times.issued = scheduler_.now();
  if (arrived.watched) arrived.observer->on_issued(arrived);
  for (const CommandRef& dependency : arrived.dependencies) {
    if (dependency->done.is_set()) continue;
    if (dependency.get() == arrived.adds_to && before == arrived.adds_to) {
      arrived.continues = true;
      continue;
    }
    dependency->dependents.push_back(&arrived);
    ++arrived.unfinished_dependencies;
  }
  if (arrived.unfinished_dependencies > 0) return;
  arrived.times.ready = scheduler_.now();
  arrived.dependencies.clear();
  start_ready();
}

const Command* CommandQueue::last() const {
  if (!waiting_.empty()) return &waiting_.back();
  return active_.empty() ? nullptr : &active_.back();
}

std::size_t CommandQueue::cancel(sim::AgentId program, sim::Callback over) {
  std::vector<Command*> mine, open;
  const auto append = [&](const CommandList& commands, std::vector<Command*>& to) {
    for (Command& command : commands) {
      if (command.agent == program) to.push_back(&command);
    }
  };
  append(waiting_, mine);
  append(issuing_, open);
  append(active_, open);
  for (Command* command : mine) drop(*waiting_.take(*command));
  std::size_t unfinished = 0;
  for (Command* command : open) {
    command->cancelled = true;
    command->dependents.clear();  // they are the program's own, and are dropped
    if (command->under_way && abort(*command)) continue;
    command->done.on_set(over);
    ++unfinished;
  }
  if (!mine.empty()) give_back(static_cast<std::int64_t>(mine.size()));
  start_ready();
  return unfinished;
}

void CommandQueue::start_next(Command& cause) {
  before_ = CommandRef(&cause);
  start_ready();
}

void CommandQueue::start_ready() {
  while (!waiting_.empty() && waiting_.front().unfinished_dependencies == 0 && takes(waiting_.front())) {
    const CommandRef next = waiting_.take_front();
    if (active_.empty()) busy_since_ = scheduler_.now();
    active_.push_back(next);
    next->under_way = true;
    next->times.started = scheduler_.now();
    const bool waited = next->times.ready < next->times.started && before_;
    if (waited) next->times.started_by = before_->as_cause();
    const sim::Scheduler::ActsFor issuer(scheduler_, next->origin);
    if (next->watched) next->observer->on_start(*next, waited ? before_.get() : nullptr);
    begin(*next);
  }
}

void CommandQueue::effect(Command& command) {
  command.times.effect = scheduler_.now();
  if (command.observer != nullptr) command.observer->on_effect(command);
}

void CommandQueue::finish(Command& finished) {
  const CommandRef command = active_.take(finished);
  before_ = command;
  command->times.finished = scheduler_.now();
  command->times.own = command->times.finished - busy_since_;
  busy_ += command->times.own;
  busy_since_ = command->times.finished;
  if (command->observer != nullptr) command->observer->on_finish(*command);
  command->done.set();
  release_dependents(*command);
  give_back(1, command.get());
  start_ready();
}

void CommandQueue::release_dependents(Command& command) {
  // A dependent that starts may finish at once, but no new one can come: the command is done.
  for (Command* dependent : command.dependents) {
    if (--dependent->unfinished_dependencies > 0) continue;
    dependent->times.ready = scheduler_.now();
    dependent->times.ready_by = command.as_cause();
    const auto operands = std::span<const CommandRef>(dependent->dependencies).first(dependent->operands);
    dependent->times.ready_in_order = std::ranges::find(operands, &command, &CommandRef::get) == operands.end();
    if (dependent->watched) dependent->observer->on_ready(*dependent, command);
    dependent->dependencies.clear();
    dependent->queue->start_ready();
  }
  command.dependents.clear();
}

// Running commands finish on their own; only where none runs does the first command of all hold the queue up.
void CommandQueue::waits_for(std::vector<sim::WaitEdge>& edges) const {
  for (const Command& command : active_) edges.push_back({&command, "a command under way"});
  if (active_.empty() && !waiting_.empty()) edges.push_back({&waiting_.front(), "the command at the head"});
}

}  // namespace kernbench::hardware
