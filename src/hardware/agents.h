// Structural agent ids: who acts, derived from the place in the machine, so that ties never depend on creation order.
#pragma once

#include <cstdint>

#include "sim/phase.h"

namespace kernbench::hardware {

/// The kinds of agents of a machine, in the order in which their ties are broken.
enum class AgentKind : std::uint8_t {
  server,   // links, HBM channels, TCM ports: the index is the ServerId
  program,  // PE index * contexts + context; also the agent of the operations that the program issues
  cpu,      // IO_CPUs and copy engines, then M_CPUs, then the PEs' control processors, then their schedulers
  host,     // host workers by rank, then the host's ends of the PCIe links
  ipcq,     // of each PE: its queues to send by entry, then those to receive, then its one-sided commands
};

/// Bits of an agent id: kind (3) | index (23).
constexpr std::uint32_t kAgentIndexBits = 23;
constexpr std::int64_t kAgentIndexLimit = std::int64_t{1} << kAgentIndexBits;

constexpr sim::AgentId make_agent(AgentKind kind, std::int64_t index) {
  return {(static_cast<std::uint32_t>(kind) << kAgentIndexBits) | static_cast<std::uint32_t>(index)};
}

/// Event keys of an agent's operations: number (22 bits) | leg (12 bits) | what happens (2 bits), so that no two
/// pending events of one agent have one key (the number wraps, long after an operation with the same one has finished).
/// The fabric doubles the key of a transfer for its two callbacks, hence the shifts.
constexpr std::uint32_t kLegBits = 12;
constexpr std::size_t kMaximumLegs = std::size_t{1} << kLegBits;

/// The key of the transfers of one leg; the fabric makes `number | leg | 0` (departed) and `… | 1` (delivered) of it.
constexpr std::uint64_t leg_key(std::uint64_t number, std::uint64_t leg) {
  return (number << (kLegBits + 1)) | (leg << 1);
}
/// The operation enters its engine's queue.
constexpr std::uint64_t arrival_key(std::uint64_t number) {
  return (number << (kLegBits + 2)) | 2;
}
/// The memory has done an atomic leg, and its answer sets out. Long after the arrival, whose key this is for leg 0.
constexpr std::uint64_t response_key(std::uint64_t number, std::uint64_t leg) {
  return (number << (kLegBits + 2)) | (leg << 2) | 2;
}
/// The engine goes on with the operation: its set-up is over, or it has finished.
constexpr std::uint64_t engine_key(std::uint64_t number) {
  return (number << (kLegBits + 2)) | 3;
}

/// Event keys of agents that send messages one after the other (processors, queues, the host's ends of the links):
/// the key of the n-th message's transfer, and of what the agent itself does in between.
constexpr std::uint64_t message_key(std::uint64_t n) {
  return n << 1;
}
constexpr std::uint64_t step_key(std::uint64_t n) {
  return (n << 2) | 2;
}
/// The completion counters beside a processor have counted a write.
constexpr std::uint64_t count_key(std::uint64_t n) {
  return (n << 2) | 3;
}

}  // namespace kernbench::hardware
