// Which algorithms a test can be done by on a machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/ccl/sweep.h"
#include "cli/ccl/tests.h"
#include "distributed/algorithms/algorithm.h"
#include "kernbench/simulate.h"

namespace kernbench::runtime {
struct HostContext;
}

namespace kernbench::cli::ccl {

/// Runs `body` in a simulation of its own, with its context.
void look(const SimulateOptions& options, const Simulate& simulate,
          const std::function<void(runtime::HostContext&)>& body);

/// The operation of a test. ConfigurationError for one whose algorithm is not chosen automatically.
distributed::CollectiveOperation operation_to_choose_for(const Test& test);

/// Algorithms of one operation.
struct AlgorithmsOfTest {
  std::vector<std::string> run;
  std::vector<std::string> refused;  // with the reason: "direct_allreduce: a PE needs 15 channels ..."
};
/// The algorithms of a test's operation that can run on as many ranks (0: one on each SIP) and those that cannot, those
/// of `options` too. ConfigurationError for an operation whose algorithm is not chosen automatically.
AlgorithmsOfTest algorithms_of_test(const Test& test, int ranks, const SimulateOptions& options,
                                    const Simulate& simulate);

/// ConfigurationError for the first of these algorithms, or entries of the collectives file, that is not there or
/// cannot run on as many ranks: before any of them is measured.
void check_algorithms(const std::vector<std::string>& names, int ranks, const SimulateOptions& options,
                      const Simulate& simulate);

}  // namespace kernbench::cli::ccl
