#include "hardware/pe/command_queue.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "hardware/agents.h"
#include "sim/fiber.h"

namespace kernbench::hardware {

void CommandQueue::submit(const OperationRef& operation, Time issue) {
  if (sim::this_fiber::unwinding()) return;
  operation->placed_by = take(1);
  if (operation->cancelled || sim::this_fiber::unwinding()) return give_back(1);
  operation->placed = scheduler_.now();
  operation->origin = scheduler_.origin();
  issuing_.push_back(operation);
  scheduler_.schedule(scheduler_.now() + issue, sim::Phase::deliver, operation->agent, arrival_key(operation->number),
                      sim::call<&CommandQueue::arrive>(this, reinterpret_cast<std::uintptr_t>(operation.get())));
  sim::this_fiber::sleep(issue);
}

void CommandQueue::arrive(std::uint64_t operation) {
  const auto entry = std::find_if(issuing_.begin(), issuing_.end(), [&](const OperationRef& candidate) {
    return reinterpret_cast<std::uintptr_t>(candidate.get()) == operation;
  });
  if ((*entry)->cancelled) {
    const OperationRef dropped = std::move(*entry);
    issuing_.erase(entry);
    dropped->done.set();
    give_back(1);
    return;
  }
  Operation& arrived = **entry;
  waiting_.push_back(std::move(*entry));
  issuing_.erase(entry);

  arrived.queue = this;
  arrived.issued = scheduler_.now();
  for (const OperationRef& dependency : arrived.dependencies) {
    if (dependency->done.is_set()) continue;
    dependency->dependents.push_back(&arrived);
    ++arrived.unfinished_dependencies;
  }
  if (arrived.unfinished_dependencies > 0) return;
  arrived.ready = scheduler_.now();
  arrived.dependencies.clear();
  start_ready();
}

std::size_t CommandQueue::cancel(sim::AgentId program, sim::Callback over) {
  const auto mine = [program](const OperationRef& operation) { return operation->agent == program; };
  const auto dropped = std::erase_if(waiting_, mine);
  std::vector<OperationRef> open;
  std::ranges::copy_if(issuing_, std::back_inserter(open), mine);
  std::ranges::copy_if(active_, std::back_inserter(open), mine);
  std::size_t unfinished = 0;
  for (const OperationRef& operation : open) {
    operation->cancelled = true;
    operation->dependents.clear();  // they are the program's own, and are dropped
    if (operation->under_way && abort(*operation)) continue;
    operation->done.on_set(over);
    ++unfinished;
  }
  if (dropped > 0) give_back(static_cast<std::int64_t>(dropped));
  start_ready();
  return unfinished;
}

void CommandQueue::start_next(OperationName cause) {
  before_ = cause;
  start_ready();
}

void CommandQueue::start_ready() {
  while (!waiting_.empty() && waiting_.front()->unfinished_dependencies == 0 && can_begin()) {
    const OperationRef next = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    if (active_.empty()) busy_since_ = scheduler_.now();
    active_.push_back(next);
    next->under_way = true;
    next->started = scheduler_.now();
    if (next->ready < next->started) next->started_by = before_;
    const sim::Scheduler::ActsFor issuer(scheduler_, next->origin);
    if (next->engine == EngineKind::dma && next->observer != nullptr) next->observer->on_start(*next);
    begin(*next);
  }
}

void CommandQueue::effect(Operation& operation) {
  operation.effect = scheduler_.now();
  if (operation.observer != nullptr) operation.observer->on_effect(operation);
}

void CommandQueue::finish(Operation& finished) {
  const auto entry = std::ranges::find(active_, &finished, &OperationRef::get);
  const OperationRef operation = std::move(*entry);
  active_.erase(entry);
  before_ = operation->operation_name();
  operation->finished = scheduler_.now();
  busy_ += operation->finished - busy_since_;
  busy_since_ = operation->finished;
  if (operation->observer != nullptr) operation->observer->on_finish(*operation);
  operation->done.set();
  release_dependents(*operation);
  give_back(1, operation->operation_name());
  start_ready();
}

void CommandQueue::release_dependents(Operation& operation) {
  for (Operation* dependent : std::exchange(operation.dependents, {})) {
    if (--dependent->unfinished_dependencies > 0) continue;
    dependent->ready = scheduler_.now();
    dependent->ready_by = operation.operation_name();
    const auto operands = std::span(dependent->dependencies).first(dependent->operands);
    dependent->ready_in_order = std::ranges::find(operands, &operation, &OperationRef::get) == operands.end();
    dependent->dependencies.clear();
    dependent->queue->start_ready();
  }
}

// Running commands finish on their own; only where none runs does the first command of all hold the queue up.
void CommandQueue::waits_for(std::vector<sim::WaitEdge>& edges) const {
  for (const OperationRef& operation : active_) edges.push_back({operation.get(), "a command under way"});
  if (active_.empty() && !waiting_.empty()) edges.push_back({waiting_.front().get(), "the command at the head"});
}

}  // namespace kernbench::hardware
