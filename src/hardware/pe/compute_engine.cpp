#include "hardware/pe/compute_engine.h"

#include <cassert>

#include "base/text.h"
#include "hardware/agents.h"
#include "kernbench/error.h"

namespace kernbench::hardware {

void ComputeEngine::begin(Operation& operation) {
  const Time end = law_ != nullptr ? law_(pe_, operation, scheduler().now()) : own_end(operation);
  assert(end > scheduler().now());
  scheduler().schedule(end, sim::Phase::deliver, operation.agent, engine_key(operation.number),
                       sim::call<&ComputeEngine::complete>(this));
}

Time ComputeEngine::own_end(const Operation& operation) const {
  const Time start = operation.started, end = own_(operation, start);
  if (end > start) return end;
  throw ProgramError("ModelError", "the model of " + wait_name() + " lets " + operation.wait_name() + " end at " +
                                       to_text(end) + ", but it starts at " + to_text(start) +
                                       ": a command ends later than it starts");
}

void ComputeEngine::complete(std::uint64_t) {
  Operation& operation = *active().front();
  effect(operation);
  finish(operation);
}

}  // namespace kernbench::hardware
