// Runs one workload, to count what it costs: costs WORKLOAD SIPS COUNT [exact | alike]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/kernbench.h"
#include "perf/costs/workloads.h"

namespace kernbench::costs {

namespace {

int usage() {
  fmt::print(stderr, "usage: costs WORKLOAD SIPS COUNT [exact | alike]    workloads:\n");
  for (const Workload& workload : workloads()) fmt::print(stderr, "  {:<16} {}\n", workload.name, workload.what);
  return 2;
}

int run(const Workload& workload, int sips, std::int64_t count, std::string_view how) {
  const std::string folder = COSTS_FOLDER;
  SimulateOptions options;
  const bool own = workload.topology == "onepe";
  options.topology = own ? folder + "/onepe.yaml" : std::string(workload.topology);
  options.overrides = workload.overrides;
  if (sips > 0) options.overrides.push_back(fmt::format("system.sips.count={}", sips));
  options.collectives = folder + "/slots_64k.yaml";
  options.data = workload.data;
  options.exact_events = how == "exact";
  options.alike_devices = how == "alike";
  const RunResult result = simulate(options, [&] { workload.run(sips, count); });
  fmt::print("{} events, {} ps\n", result.events, result.simulated_time.count());
  return 0;
}

}  // namespace

}  // namespace kernbench::costs

int main(int argc, char** argv) {
  using namespace kernbench::costs;
  if (argc < 4 || argc > 5 ||
      (argc == 5 && std::string_view(argv[4]) != "exact" && std::string_view(argv[4]) != "alike"))
    return usage();
  const auto found = std::ranges::find(workloads(), std::string_view(argv[1]), &Workload::name);
  if (found == workloads().end()) return usage();
  try {
    return run(*found, std::atoi(argv[2]), std::atoll(argv[3]), argc == 5 ? argv[4] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "costs: {}\n", error.what());
    return 1;
  }
}
