#include "hardware/pe/compute_engine.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"
#include "hardware/agents.h"
#include "kernbench/error.h"
#include "sim/errors.h"

namespace kernbench::hardware {

void ComputeEngine::begin(Command& command) {
  const Time end = law_.end != nullptr ? law_.end(pe_, command, scheduler().now()) : own_end(command);
  assert(end > scheduler().now());
  if (end >= Time::limit()) sim::raise_too_long(command.wait_name() + " would end then");
  end_ = std::max(end, end_);  // results leave in order
  scheduler().schedule(end_, sim::Phase::deliver, command.agent, engine_key(command.number),
                       sim::call<&ComputeEngine::complete>(this, reinterpret_cast<std::uintptr_t>(&command)));
}

bool ComputeEngine::takes(const Command& next) {
  if (active().empty()) return true;
  if (law_.follow == nullptr) return false;
  const Time from = law_.follow(pe_, active().back(), next);
  if (from <= scheduler().now()) return true;
  if (from < end_ && from != wake_) {
    wake_ = from;
    scheduler().schedule(from, sim::Phase::deliver, next.agent, engine_key(next.number),
                         sim::call<&ComputeEngine::let_next_start>(this));
  }
  return false;
}

void ComputeEngine::let_next_start(std::uint64_t) {
  if (!active().empty()) start_next(active().back());
}

Time ComputeEngine::own_end(const Command& command) const {
  const Time start = command.times.started, end = own_(command, start);
  if (end > start) return end;
  const auto [ends, starts] = told_apart(end, start);
  const std::string& model = id().kind == PartKind::gemm ? pe_.gemm.model : pe_.vector.model;
  throw ProgramError("ModelError", own_model_text(model, id()) + " lets " + command.wait_name() + " end at " + ends +
                                       ", but it starts at " + starts + ": a command ends later than it starts");
}

void ComputeEngine::complete(std::uint64_t command) {
  // An event carries one word; begin() put this pointer into it. NOLINTNEXTLINE(performance-no-int-to-ptr)
  Command& ended = *reinterpret_cast<Command*>(command);
  effect(ended);
  finish(ended);
}

}  // namespace kernbench::hardware
