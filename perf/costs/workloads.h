// Programs whose cost to the simulator is counted: so many of one thing, and nothing beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench::costs {

/// One thing that a program does `count` times, on a machine of `sips` devices.
struct Workload {
  std::string_view name;      // "ring"
  std::string_view what;      // of which `count` says how many: "messages of 64 KiB of an all-reduce ring"
  std::string_view topology;  // a shipped machine, or a file beside this folder
  std::vector<std::string> overrides;
  /// The program; runs inside a simulation.
  std::function<void(int sips, std::int64_t count)> run;
  bool data = false;  // with values
};

const std::vector<Workload>& workloads();

}  // namespace kernbench::costs
