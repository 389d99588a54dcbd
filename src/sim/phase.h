// The order of events that happen at one time.
#pragma once

#include <compare>
#include <cstdint>

namespace kernbench::sim {

/// What an event does, in the order in which the kinds run within one instant: first everything arrives, then
/// arbiters choose among all that has arrived, then fibers resume, then samplers look.
enum class Phase : std::uint8_t { deliver = 0, arbitrate = 1, resume = 2, sample = 3 };

/// The structural identity of whoever acts: derived from the place in the machine (or the rank), never from the order
/// of creation. At most 2^26 - 1.
struct AgentId {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const AgentId&) const = default;
};

/// Ties at one time are broken by (phase, agent, operation): a pure function of what happens, never of insertion order.
/// `operation` is the agent's own operation number (36 bits kept).
struct EventKey {
  std::uint64_t time = 0;   // picoseconds
  std::uint64_t order = 0;  // phase(2) | agent(26) | operation(36)
  constexpr auto operator<=>(const EventKey&) const = default;
};

constexpr std::uint64_t make_order(Phase phase, AgentId agent, std::uint64_t operation) {
  return (static_cast<std::uint64_t>(phase) << 62) | (static_cast<std::uint64_t>(agent.value) << 36) |
         (operation & ((std::uint64_t{1} << 36) - 1));
}

}  // namespace kernbench::sim
