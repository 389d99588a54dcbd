// Machines around the shipped ones.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace kernbench::credibility {

struct Machine {
  std::string topology;
  std::vector<std::string> overrides;  // of the shipped file
};

/// A shipped machine with at most 32 PEs, a few values of which are halved or doubled. `sips`: how many.
Machine random_machine(std::mt19937_64& random, int sips);

/// Those of the full product, with at most 32 PEs each.
const std::vector<Machine>& fixed_machines();

/// With as many SIPs as the program wants.
Machine with_sips(Machine machine, int sips);

}  // namespace kernbench::credibility
