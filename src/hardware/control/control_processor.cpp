#include "hardware/control/control_processor.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace kernbench::hardware {
namespace {

// Operation numbers of a program's agent that no operation has: its start and its end.
constexpr std::uint64_t kStart = ~std::uint64_t{0} - 1;
constexpr std::uint64_t kEnd = ~std::uint64_t{0};

}  // namespace

ControlProcessor::ControlProcessor(sim::Scheduler& scheduler, const Layout& layout, const topology::PeSpec& spec,
                                   PeCoordinate pe, DropCommands drop_commands)
    : scheduler_(scheduler),
      layout_(layout),
      spec_(spec),
      pe_(pe),
      drop_commands_(std::move(drop_commands)),
      contexts_(static_cast<std::size_t>(spec.contexts)) {}

sim::AgentId ControlProcessor::agent(std::uint64_t context) const {
  return layout_.program_agent(pe_, static_cast<std::int32_t>(context));
}

void ControlProcessor::arrive(Program& program) {
  if (program.cancelled) return pass_by(program);
  program.arrived = true;
  queue_.push_back(&program);
  start_next();
}

void ControlProcessor::cancel(Program& program) {
  if (program.over || program.cancelled) return;
  program.cancelled = true;
  if (!program.arrived) return;
  if (std::erase(queue_, &program) > 0) return pass_by(program);
  const auto context = std::ranges::find(contexts_, &program, &Context::program);
  if (context->fiber != nullptr) context->fiber->cancel();
}

// It never had a context.
void ControlProcessor::pass_by(Program& program) {
  program.over = true;
  program.owner->program_over(program);
}

void ControlProcessor::start_next() {
  if (queue_.empty()) return;
  const auto vacant = std::ranges::find(contexts_, nullptr, &Context::program);
  if (vacant == contexts_.end()) return;
  vacant->program = queue_.front();
  vacant->dma_operations = 0;
  vacant->failed = false;
  queue_.erase(queue_.begin());
  const auto context = static_cast<std::uint64_t>(vacant - contexts_.begin());
  if (spec_.control.start_latency == Time::zero()) return spawn(context);
  scheduler_.schedule(scheduler_.now() + spec_.control.start_latency, sim::Phase::deliver, agent(context), kStart,
                      sim::call<&ControlProcessor::spawn>(this, context));
}

void ControlProcessor::spawn(std::uint64_t context) {
  if (contexts_[context].program->cancelled) return free(context);
  sim::FiberOptions options;
  options.agent = agent(context);
  options.name = std::move(contexts_[context].program->request.name);
  contexts_[context].fiber = scheduler_.spawn(std::move(options), [this, context] { run(context); });
}

void ControlProcessor::run(std::uint64_t context) {
  Program& program = *contexts_[context].program;
  program.first = scheduler_.now();
  try {
    program.request.body(agent(context));
  } catch (...) {
    contexts_[context].failed = true;
    end(context);
    // What a cancelled program throws is a consequence.
    const bool cause = !contexts_[context].fiber->was_told();
    if (!cause || !program.owner->program_failed(program, std::current_exception())) throw;
    return;
  }
  end(context);
}

void ControlProcessor::end(std::uint64_t context) {
  contexts_[context].program->last = scheduler_.now();
  scheduler_.schedule(scheduler_.now() + spec_.control.issue, sim::Phase::deliver, agent(context), kEnd,
                      sim::call<&ControlProcessor::release>(this, context));
}

void ControlProcessor::release(std::uint64_t context) {
  Context& mine = contexts_[context];
  if (mine.failed) {
    mine.unfinished = drop_commands_(agent(context), sim::call<&ControlProcessor::command_over>(this, context));
    if (mine.unfinished > 0) return;
  }
  free(context);
}

void ControlProcessor::command_over(std::uint64_t context) {
  if (--contexts_[context].unfinished == 0) free(context);
}

void ControlProcessor::free(std::uint64_t context) {
  Program& program = *std::exchange(contexts_[context].program, nullptr);
  contexts_[context].fiber.reset();
  program.over = true;
  start_next();
  program.owner->program_over(program);
}

bool ControlProcessor::operation_failed(sim::AgentId program, const std::exception_ptr& error) {
  const Context& context = contexts_[program.value - agent(0).value];
  if (context.failed || context.program->cancelled) return true;
  return context.program->owner->program_failed(*context.program, error);
}

std::size_t ControlProcessor::next_dma_queue(sim::AgentId program, std::size_t queues) {
  const std::uint32_t context = program.value - agent(0).value;
  assert(context < contexts_.size());
  return contexts_[context].dma_operations++ % queues;
}

const sim::WaitNode* ControlProcessor::runner(const Program& program) const {
  const auto found = std::ranges::find(contexts_, &program, [](const Context& c) { return c.program; });
  if (found == contexts_.end() || found->fiber == nullptr) return this;
  return found->fiber.get();
}

std::vector<const sim::Fiber*> ControlProcessor::running() const {
  std::vector<const sim::Fiber*> fibers;
  for (const Context& context : contexts_) {
    if (context.fiber != nullptr) fibers.push_back(context.fiber.get());
  }
  return fibers;
}

void ControlProcessor::waits_for(std::vector<sim::WaitEdge>& edges) const {
  if (queue_.empty()) return;
  for (const sim::Fiber* fiber : running()) edges.push_back({fiber, "a free context"});
}

}  // namespace kernbench::hardware
