#include "hardware/pe/scheduler.h"

#include <algorithm>
#include <utility>

#include "hardware/agents.h"
#include "hardware/pe/command_queue.h"

namespace kernbench::hardware {

PeScheduler::PeScheduler(sim::Scheduler& scheduler, sim::AgentId agent, const topology::SchedulerSpec& spec,
                         PeCoordinate pe, QueueFor queue_for)
    : Reservations(spec.queue),
      scheduler_(scheduler),
      agent_(agent),
      spec_(spec),
      pe_(pe),
      queue_for_(std::move(queue_for)) {}

void PeScheduler::submit(const CompositeRef& command, Time issue) {
  if (sim::this_fiber::unwinding()) return;
  take(1);
  if (sim::this_fiber::unwinding()) return give_back(1);
  command->placed->describe_as([this] { return "a composite command of " + wait_name(); });
  command->placed->provided_by([this](std::vector<sim::WaitEdge>& edges) { edges.push_back({this, "its turn"}); });
  issuing_.push_back(command);
  scheduler_.schedule(scheduler_.now() + issue, sim::Phase::deliver, command->agent, arrival_key(command->number),
                      sim::call<&PeScheduler::arrive>(this, reinterpret_cast<std::uintptr_t>(command.get())));
  sim::this_fiber::sleep(issue);
}

void PeScheduler::arrive(std::uint64_t command) {
  const auto entry = std::ranges::find_if(issuing_, [&](const CompositeRef& candidate) {
    return reinterpret_cast<std::uintptr_t>(candidate.get()) == command;
  });
  queue_.push_back(std::move(*entry));
  issuing_.erase(entry);
  if (std::exchange(running_, true)) return;
  sim::FiberOptions options;
  options.agent = agent_;
  options.name = wait_name();
  fiber_ = scheduler_.spawn(std::move(options), [this] { run(); });
}

std::size_t PeScheduler::cancel(sim::AgentId program, sim::Callback over) {
  std::size_t unfinished = 0;
  const auto mine = [program](const CompositeRef& command) { return command->agent == program; };
  if (running_ && mine(queue_.front())) {
    // The fiber may be on its way with one of the commands.
    const CompositeRef& command = queue_.front();
    for (const CommandRef& each : command->commands) each->cancelled = true;
    command->placed->on_set(over);
    ++unfinished;
  }
  const auto first = queue_.begin() + (running_ ? 1 : 0);
  const auto kept = std::remove_if(first, queue_.end(), mine);
  const auto dropped = queue_.end() - kept;
  queue_.erase(kept, queue_.end());
  if (dropped > 0) give_back(dropped);
  return unfinished;
}

void PeScheduler::run() {
  while (!queue_.empty()) {
    const CompositeRef command = queue_.front();
    for (const CommandRef& each : command->commands) {
      if (each->cancelled) continue;
      each->times.requested = each->times.granted = scheduler_.now();
      queue_for_(*each).submit(each, spec_.issue);
    }
    command->commands.clear();
    command->placed->set();
    queue_.erase(queue_.begin());
    give_back(1);
  }
  running_ = false;
}

void PeScheduler::waits_for(std::vector<sim::WaitEdge>& edges) const {
  if (running_) edges.push_back({fiber_.get(), "the command that it carries out"});
}

}  // namespace kernbench::hardware
