#include "cli/ccl/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/ccl/algorithms.h"
#include "distributed/algorithm_choice.h"
#include "distributed/tuning.h"
#include "runtime/context.h"
#include "runtime/simulation.h"

namespace kernbench::cli::ccl {
std::string to_tuning(const Test& test, const Sweep& sweep, const SimulateOptions& options, const std::string& before,
                      const std::string& path, const Simulate& simulate) {
  const auto operation = operation_to_choose_for(test);
  std::map<std::int64_t, std::map<std::string, double>> times;  // by size and algorithm
  std::vector<std::string> order;
  for (const Row& row : sweep.rows) {
    if (row.algorithm == "auto") continue;  // it stands for one of the others
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
