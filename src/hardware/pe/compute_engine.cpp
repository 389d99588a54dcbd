#include "hardware/pe/compute_engine.h"

#include <cassert>

#include "hardware/agents.h"

namespace kernbench::hardware {

void ComputeEngine::begin(Operation& operation) {
  const Time end = law_(pe_, operation, scheduler().now());
  assert(end > scheduler().now());
  scheduler().schedule(end, event::Phase::deliver, operation.agent, engine_key(operation.number),
                       event::call<&ComputeEngine::complete>(this));
}

void ComputeEngine::complete(std::uint64_t) {
  Operation& operation = *active().front();
  effect(operation);
  finish(operation);
}

}  // namespace kernbench::hardware
