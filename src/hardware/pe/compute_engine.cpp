#include "hardware/pe/compute_engine.h"

#include <cassert>

#include "base/text.h"
#include "hardware/agents.h"
#include "kernbench/error.h"

namespace kernbench::hardware {

void ComputeEngine::begin(Command& command) {
  const Time end = law_ != nullptr ? law_(pe_, command, scheduler().now()) : own_end(command);
  assert(end > scheduler().now());
  scheduler().schedule(end, sim::Phase::deliver, command.agent, engine_key(command.number),
                       sim::call<&ComputeEngine::complete>(this));
}

Time ComputeEngine::own_end(const Command& command) const {
  const Time start = command.times.started, end = own_(command, start);
  if (end > start) return end;
  throw ProgramError("ModelError", "the model of " + wait_name() + " lets " + command.wait_name() + " end at " +
                                       to_text(end) + ", but it starts at " + to_text(start) +
                                       ": a command ends later than it starts");
}

void ComputeEngine::complete(std::uint64_t) {
  Command& command = active().front();
  effect(command);
  finish(command);
}

}  // namespace kernbench::hardware
