#include "support.h"

#include <fmt/format.h>

#include <regex>

#include "support/source_tree.h"

namespace kernbench::deadlocks_test {

SimulateOptions machine(int sips, int pes, std::vector<std::string> overrides) {
  SimulateOptions options;
  options.topology = "tiny";
  options.threads = 1;
  options.max_polls = 20'000;  // the default takes some seconds
  options.collectives = source_tree::path("collectives/ccl.yaml");
  options.overrides = {fmt::format("system.sips.count={}", sips), fmt::format("cube.pes.mesh=[{}, 1]", pes),
                       fmt::format("cube.hbm.channels={}", 4 * pes), fmt::format("cube.hbm.capacity={}MiB", 64 * pes)};
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  return options;
}

torch::LaunchOptions channels(int pes, QueueTopology topology, std::int32_t slots, std::int64_t slot_bytes) {
  torch::LaunchOptions options;
  for (int pe = 0; pe < pes; ++pe) options.pes.emplace_back(CubeId{0}, PeId{pe});
  options.queues.topology = topology;
  options.queues.parameters.n_slots = slots;
  options.queues.parameters.slot_size = Bytes(slot_bytes);
  return options;
}

std::set<int> waiting(const ErrorResult& error, const std::string& before, const std::string& after) {
  const std::regex name("^" + before + "([0-9]+)" + after + "$");
  std::set<int> found;
  for (const WaitEdgeResult& wait : error.waits) {
    std::smatch match;
    if (std::regex_match(wait.who, match, name)) found.insert(std::stoi(match[1]));
  }
  return found;
}

std::string outcome(const RunResult& result) {
  return result.error ? result.error->type + ": " + result.error->message : "ok";
}

}  // namespace kernbench::deadlocks_test
