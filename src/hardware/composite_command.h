// One command of a program that stands for many commands to the engines.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hardware/command.h"
#include "sim/waitable.h"

namespace kernbench::hardware {

/// Carried out by the PE's scheduler. The commands bear names of the program that gave it, so to whoever looks at
/// them they are that program's.
struct CompositeCommand {
  sim::AgentId agent;                // the program that gives it
  std::uint64_t number = 0;          // in program order, the command's own
  std::vector<CommandRef> commands;  // in the order in which they enter their queues
  /// Set when all commands are in their queues, or have been dropped. A command that depends on one of them and
  /// would enter a queue before it could hold it up there for ever: programs wait for this first.
  std::shared_ptr<sim::Completion> placed = std::make_shared<sim::Completion>();
};
using CompositeRef = std::shared_ptr<CompositeCommand>;

}  // namespace kernbench::hardware
