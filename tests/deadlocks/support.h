// What the tests of deadlocks share.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench::deadlocks_test {

using Random = std::mt19937_64;

/// A number from `low` to `high`, the same everywhere.
inline std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// "tiny" with so many SIPs, each of one cube with so many PEs in a row.
SimulateOptions machine(int sips, int pes, std::vector<std::string> overrides = {});

/// A launch on the first PEs of the current device, with channels.
torch::LaunchOptions channels(int pes, QueueTopology topology, std::int32_t slots, std::int64_t slot_bytes);

/// The numbers that follow `before` and precede `after` in the names of those who wait in a deadlock.
std::set<int> waiting(const ErrorResult& error, const std::string& before, const std::string& after);

/// "Type: message", or "ok".
std::string outcome(const RunResult& result);

}  // namespace kernbench::deadlocks_test
