// Names of operations that are over.
#pragma once

#include <compare>
#include <cstdint>

#include "sim/phase.h"

namespace kernbench::hardware {

/// Names an operation without keeping it alive: the agent of the program that issued it, and its number there.
struct OperationName {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  sim::AgentId agent;
  std::uint64_t number = kUnknown;

  constexpr bool known() const { return number != kUnknown; }
  constexpr auto operator<=>(const OperationName&) const = default;
};

}  // namespace kernbench::hardware
