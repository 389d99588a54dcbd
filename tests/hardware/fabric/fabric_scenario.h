// Scenarios for the tests of the fabric: servers, transfers with their start times, and what came of them.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <random>
#include <vector>

#include "hardware/fabric/fabric.h"
#include "hardware/fabric/tree.h"

namespace kernbench::hardware::testing {

inline Time ps(std::int64_t count) {
  return Time::picoseconds(count);
}
/// A bandwidth at which each byte takes `picoseconds`, exactly if that divides 10^12.
inline Bandwidth per_byte(std::int64_t picoseconds) {
  return Bandwidth::bytes_per_second(1'000'000'000'000 / picoseconds);
}
inline Stage stage(std::uint32_t server, std::uint16_t group = 1, TrafficClass traffic = {}) {
  return {ServerId{server}, group, traffic};
}
inline ServerSpec server_spec(Bandwidth bandwidth, Time latency, std::int64_t buffer = 160, Bytes minimum = Bytes(0)) {
  return {"server", bandwidth, latency, Bytes(buffer), minimum, {}};
}

/// A TransferRequest that keeps what it refers to, without callbacks; agent and operation must be unique.
struct PlannedRequest {
  sim::AgentId agent;
  std::uint64_t operation = 0;
  std::vector<Stage> route;
  std::vector<std::vector<Stage>> paths;  // of a multicast, in place of the route
  std::vector<StridedRange> ranges, landing;
  Bytes burst{1024}, granule{1024};
  TransferRequest view() const;
};

Tree tree_of_paths(const std::vector<std::vector<Stage>>& paths);

struct PlannedTransfer {
  PlannedRequest request;
  Time start;  // absolute, or after the delivery of `after`
  std::optional<std::size_t> after;
};

struct Scenario {
  std::vector<ServerSpec> servers;
  std::vector<PlannedTransfer> transfers;

  /// Adds a server, with its index as structural id.
  std::uint32_t add(ServerSpec spec);
  /// Adds a contiguous transfer that starts at `start`, in bursts of one granule.
  std::size_t send(std::vector<Stage> route, std::int64_t bytes, std::int64_t burst, Time start = {});
  /// The same to the ends of several paths from one place, which share what they have in common.
  std::size_t multicast(std::vector<std::vector<Stage>> paths, std::int64_t bytes, std::int64_t burst, Time start = {});
};

struct Outcome {
  std::vector<TransferTimes> times;         // by transfer; of a multicast when the last receiver has all
  std::vector<std::vector<Time>> received;  // of multicasts, by receiver
  std::vector<TransferLog> logs;            // likewise
  std::vector<ServerCounters> counters;     // by server, at the end
  std::vector<std::vector<ServerCounters>> samples;
  std::uint64_t events = 0;
  std::size_t in_flight = 0;
  bool idle = false;
};

struct RunOptions {
  bool exact = false;
  bool reversed_order = false;       // hand the transfers to the scheduler in the opposite order
  std::vector<Time> sample_at = {};  // counters are taken at these times
};

Outcome simulate(const Scenario& scenario, const RunOptions& options = {});

/// A random scenario without cycles: routes visit servers in ascending order; the first two groups of servers are
/// memories that can begin a route, the last one can end it. Some go from memory to memory. Small numbers, so that many
/// things happen at one time.
Scenario random_scenario(std::mt19937_64& random, std::size_t transfers);

/// Random places for the bytes of `ranges`, as many in other rows.
std::vector<StridedRange> landing_of(const std::vector<StridedRange>& ranges, std::mt19937_64& random);

/// Forty transfers of 1 to 64 KiB between random ends of a row of links, as on one dimension of a mesh, within
/// `spread`.
Scenario random_traffic(std::mt19937_64& random, Time spread = Time::microseconds(2));

/// Uniform in [low, high], the same on every platform.
inline std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

}  // namespace kernbench::hardware::testing

namespace kernbench {
void PrintTo(Time time, std::ostream* out);
}

namespace kernbench::hardware {
bool operator==(const TransferTimes& a, const TransferTimes& b);
void PrintTo(const TransferTimes& times, std::ostream* out);
bool operator==(const ServerCounters& a, const ServerCounters& b);
void PrintTo(const ServerCounters& counters, std::ostream* out);
}  // namespace kernbench::hardware
