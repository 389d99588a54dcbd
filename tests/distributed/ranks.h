// Runs a program of several ranks, each on a fiber of its own, and keeps what went wrong on each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernbench/simulate.h"

namespace kernbench::testing {

/// "tiny" with so many SIPs.
SimulateOptions machine_of(int sips);
/// So many SIPs of a shipped machine, wired like that, without values.
SimulateOptions shipped(int sips, const std::string& wiring);

struct RanksResult {
  RunResult run;
  ErrorResult error;                // of the run; empty when there is none
  std::vector<std::string> errors;  // by rank: "" or "Type: message"
};

/// Starts a worker for each rank, in the order `order` if there is one, and waits for all. A rank's error is kept, and
/// the others go on.
RanksResult run_ranks(const SimulateOptions& options, int ranks, const std::function<void(int rank)>& body,
                      const std::vector<int>& order = {});

}  // namespace kernbench::testing
