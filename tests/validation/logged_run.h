// A run with the times of all its operations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench::testing {

struct LoggedOperation {
  std::string program, kind;
  Time issued, ready, started, finished;
};

/// Runs `program` on `tiny` with overrides and returns its operations, in the order in which they finished.
std::vector<LoggedOperation> operations_of(const std::vector<std::string>& overrides,
                                           const std::function<void()>& program);

/// A tensor whose elements all lie in the slice of PE 0.
torch::TensorOptions on_one_pe(DType dtype);

}  // namespace kernbench::testing
