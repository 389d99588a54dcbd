// An algorithm of the tests' own for each operation of blocks and roots.
#pragma once

#include <vector>

#include "kernbench/collectives.h"

namespace kernbench::testing {

/// Straight from rank to rank, one for each operation but all_reduce; named relay_OPERATION.
std::vector<collectives::Algorithm> relays_of_all_operations();

/// Calls each operation by its relay in a group of its own, and compares with what it must give.
void check_relays(int rank, int ranks);

}  // namespace kernbench::testing
