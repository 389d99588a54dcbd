// Random kernels that load and store in every form, next to a plain model of what they must see.
#pragma once

#include <cstdint>

#include "kernbench/kernbench.h"

namespace kernbench::testing {

struct MemoryMode {
  bool exact = false;
  bool data = true;
  bool known_only = false;  // offsets and masks of pointer tiles are known before the run
  int cubes = 1;
};

/// Runs one random kernel; with data every lane that it loads is held to the model, and so is the tensor at its end.
RunResult run_random_accesses(std::uint32_t seed, const MemoryMode& mode);

}  // namespace kernbench::testing
