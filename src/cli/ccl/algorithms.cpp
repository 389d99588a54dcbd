#include "cli/ccl/algorithms.h"

#include <fmt/format.h>

#include "distributed/algorithm_choice.h"
#include "kernbench/error.h"
#include "runtime/context.h"
#include "runtime/simulation.h"

namespace kernbench::cli::ccl {
namespace {

using distributed::CollectiveOperation;

/// So many ranks, or one on each SIP; refers to both arguments.
distributed::GroupDescription group_of(const runtime::HostContext& context, int ranks,
                                       const distributed::AlgorithmSpec& algorithm) {
  const auto& machine = context.simulation.topology();
  const int members = ranks > 0 ? ranks : machine.system.sips;
  return {members, members > machine.system.sips, algorithm, machine};
}

}  // namespace

void look(const SimulateOptions& options, const Simulate& simulate,
          const std::function<void(runtime::HostContext&)>& body) {
  SimulateOptions plain = options;
  plain.data = false;
  simulate(plain, [&] { body(runtime::current_context("ccl")); });
}

CollectiveOperation operation_to_choose_for(const Test& test) {
  for (const CollectiveOperation operation : distributed::kCollectiveOperations) {
    if (!distributed::can_be_automatic(operation)) continue;
    if (find_test(distributed::name(operation)).name == test.name) return operation;
  }
  throw ConfigurationError(fmt::format(
      "{}: there is one algorithm, and nothing to choose from; leave out --compare, --tune and --algo all", test.name));
}

AlgorithmsOfTest algorithms_of_test(const Test& test, int ranks, const SimulateOptions& options,
                                    const Simulate& simulate) {
  const CollectiveOperation operation = operation_to_choose_for(test);
  AlgorithmsOfTest all;
  look(options, simulate, [&](runtime::HostContext& context) {
    const auto spec = distributed::algorithm_of(context, {});
    const auto group = group_of(context, ranks, spec);
    for (const auto& algorithm : spec.table->all()) {
      if (algorithm.operation != operation) continue;
      const std::string reason = group.ranks < 2 ? std::string() : algorithm.refusal(group);
      if (reason.empty()) {
        all.run.emplace_back(algorithm.name);
      } else {
        all.refused.push_back(fmt::format("{}: {}", algorithm.name, reason));
      }
    }
  });
  return all;
}

void check_algorithms(const std::vector<std::string>& names, int ranks, const SimulateOptions& options,
                      const Simulate& simulate) {
  look(options, simulate, [&](runtime::HostContext& context) {
    for (const std::string& name : names) {
      const auto spec = distributed::algorithm_of(context, name);
      distributed::check_can_run(group_of(context, ranks, spec), "init_process_group");
    }
  });
}

}  // namespace kernbench::cli::ccl
