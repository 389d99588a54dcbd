#include "cli/ccl/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "distributed/algorithm_choice.h"
#include "distributed/tuning.h"
#include "kernbench/error.h"
#include "runtime/context.h"
#include "runtime/simulation.h"

namespace kernbench::cli::ccl {
namespace {

using distributed::CollectiveOperation;

CollectiveOperation operation_of(const Test& test) {
  for (const CollectiveOperation operation : distributed::kCollectiveOperations) {
    if (!distributed::can_be_automatic(operation)) continue;
    if (find_test(distributed::name(operation)).name == test.name) return operation;
  }
  throw ConfigurationError(fmt::format("--tune: there is one algorithm for {}, and nothing to choose from", test.name));
}

/// Runs `body` in a simulation of its own, with its context.
void look(const SimulateOptions& options, const Simulate& simulate,
          const std::function<void(runtime::HostContext&)>& body) {
  SimulateOptions plain = options;
  plain.data = false;
  simulate(plain, [&] { body(runtime::current_context("ccl")); });
}

}  // namespace

std::vector<std::string> algorithms_that_run(const Test& test, int ranks, const SimulateOptions& options,
                                             const Simulate& simulate) {
  const CollectiveOperation operation = operation_of(test);
  std::vector<std::string> names;
  look(options, simulate, [&](runtime::HostContext& context) {
    const auto& machine = context.simulation.topology();
    const auto spec = distributed::algorithm_of(context, {});
    const int members = ranks > 0 ? ranks : machine.system.sips;
    const distributed::GroupDescription group{members, members > machine.system.sips, spec, machine};
    for (const auto& algorithm : spec.table->all()) {
      const bool runs = algorithm.operation == operation && (members < 2 || algorithm.refusal(group).empty());
      if (runs) names.emplace_back(algorithm.name);
    }
  });
  return names;
}

std::string to_tuning(const Test& test, const Sweep& sweep, const SimulateOptions& options, const std::string& before,
                      const std::string& path, const Simulate& simulate) {
  const CollectiveOperation operation = operation_of(test);
  std::map<std::int64_t, std::map<std::string, double>> times;  // by size and algorithm
  std::vector<std::string> order;
  for (const Row& row : sweep.rows) {
    times[row.size.count()][row.algorithm] += row.slowest_us;
    if (std::ranges::find(order, row.algorithm) == order.end()) order.push_back(row.algorithm);
  }
  distributed::Tuning::Sizes sizes;
  std::int64_t last = 0;
  const std::string* chosen = nullptr;
  for (const auto& [size, by_algorithm] : times) {
    const std::string* best = &order.front();  // of equal ones the first of the table
    for (const std::string& each : order)
      if (by_algorithm.at(each) < by_algorithm.at(*best)) best = &each;
    const double middle = std::sqrt(static_cast<double>(last) * static_cast<double>(size));
    if (chosen == nullptr || *chosen != *best) sizes[chosen == nullptr ? 0 : std::llround(middle)] = *best;
    chosen = best;
    last = size;
  }
  std::string text;
  look(options, simulate, [&](runtime::HostContext& context) {
    const auto spec = distributed::algorithm_of(context, {});
    distributed::Tuning tuning;
    if (!before.empty()) tuning = distributed::Tuning(before, path, *spec.table);
    tuning.set(operation, sweep.ranks, sweep.ranks > context.simulation.topology().system.sips, std::move(sizes));
    text = tuning.yaml();
  });
  return text;
}

}  // namespace kernbench::cli::ccl
