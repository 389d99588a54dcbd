// What tests of all algorithms of collectives share: the table by operation, and a collectives file for each of them.
#pragma once

#include <string>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "kernbench/simulate.h"
#include "ranks.h"

namespace kernbench::testing {

/// All algorithms of an operation, in the order of the table.
std::vector<distributed::CollectiveAlgorithm> algorithms_of(distributed::CollectiveOperation operation);

/// The text of a collectives file whose groups use the algorithm; `keys` go to its defaults: "n_slots: 1".
std::string collectives_text(const distributed::CollectiveAlgorithm& algorithm, const std::string& keys = {});

/// "tiny" with so many SIPs and such a file, where races are looked for.
SimulateOptions machine_with(const distributed::CollectiveAlgorithm& algorithm, int sips, const std::string& keys = {});

/// Fails the test unless the run and all of its ranks ended well, without races.
void expect_ok(const RanksResult& outcome, const std::string& title);

}  // namespace kernbench::testing
