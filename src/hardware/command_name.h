// Names of commands that are over, and what is known of one that ended a wait.
#pragma once

#include <compare>
#include <cstdint>
#include <source_location>

#include "sim/phase.h"

namespace kernbench::hardware {

/// Names a command without keeping it alive: the agent of the program that issued it, and its number there.
struct CommandName {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  sim::AgentId agent;
  std::uint64_t number = kUnknown;

  constexpr bool known() const { return number != kUnknown; }
  constexpr auto operator<=>(const CommandName&) const = default;
};

/// The command that ended a wait, in plain values; unknown where none did.
struct Cause {
  CommandName name;
  const char* kind = "";
  std::source_location where;  // line 0: none
  bool known() const { return name.known(); }
};

}  // namespace kernbench::hardware
