#include "ranks.h"

#include <memory>
#include <numeric>
#include <utility>

#include "kernbench/error.h"
#include "kernbench/streams.h"
#include "runtime/context.h"
#include "sim/fiber.h"
#include "sim/waitable.h"
#include "support/source_tree.h"

namespace kernbench::testing {

SimulateOptions machine_of(int sips) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"system.sips.count=" + std::to_string(sips)};
  options.collectives = source_tree::path("collectives/ccl.yaml");
  return options;
}

SimulateOptions shipped(int sips, const std::string& wiring) {
  SimulateOptions options;
  options.topology = "ahbm-2sip";
  options.overrides = {"system.sips.count=" + std::to_string(sips), "system.sips.topology=" + wiring};
  options.data = false;
  return options;
}

RanksResult run_ranks(const SimulateOptions& options, int ranks, const std::function<void(int rank)>& body,
                      const std::vector<int>& order) {
  RanksResult result;
  result.errors.resize(static_cast<std::size_t>(ranks));
  std::vector<int> starts = order;
  if (starts.empty()) {
    starts.resize(static_cast<std::size_t>(ranks));
    std::iota(starts.begin(), starts.end(), 0);
  }
  result.run = try_simulate(options, [&] {
    auto& simulation = runtime::current_context("run_ranks").simulation;
    std::vector<std::shared_ptr<sim::Fiber>> workers;
    for (const int rank : starts) {
      workers.push_back(simulation.scheduler().spawn(
          {.agent = simulation.machine().host_agent(rank), .name = Name::rank(rank)}, [&, rank] {
            runtime::Worker worker;
            worker.rank = rank;
            worker.agent = simulation.machine().host_agent(rank);
            worker.path = std::to_string(rank);
            runtime::enter_host_context(simulation, std::move(worker));
            try {
              if (rank < torch::ahbm::device_count()) torch::ahbm::set_device(rank);
              body(rank);
            } catch (const Error& error) {
              result.errors[static_cast<std::size_t>(rank)] = error.type() + ": " + error.what();
            }
          }));
    }
    for (const auto& worker : workers) worker->done().wait();
  });
  if (result.run.error) result.error = *result.run.error;
  return result;
}

}  // namespace kernbench::testing
