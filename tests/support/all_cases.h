// How many of its cases a test takes: a part in `make test`, fewer under sanitizers, all of them in the slow tests.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "support/sanitizers.h"

namespace kernbench {

/// Whether tests take all of their cases: in the slow tests, which set KERNBENCH_WHOLE_TABLE (all_cases_of in
/// cmake/KernBenchTargets.cmake).
inline bool takes_all_cases() {
  return std::getenv("KERNBENCH_WHOLE_TABLE") != nullptr;  // NOLINT(concurrency-mt-unsafe): nobody here sets it
}

/// How many random cases to run: `all`, the first `part`, or the first `sanitized` under sanitizers.
inline int number_of_cases(int all, int part, int sanitized) {
  if (takes_all_cases()) return all;
  return kSanitized ? sanitized : part;
}

/// Of cases that are counted off, one in so many is taken: each, one in `part`, or one in `sanitized` under sanitizers.
inline std::size_t one_case_in(std::size_t part, std::size_t sanitized) {
  if (takes_all_cases()) return 1;
  return kSanitized ? sanitized : part;
}

}  // namespace kernbench
