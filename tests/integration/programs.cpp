#include "programs.h"

#include <gtest/gtest.h>

namespace kernbench::testing {

std::string error_of(const std::function<void()>& program, SimulateOptions options) {
  const RunResult result = try_simulate(options, program);
  if (!result.error) return "no error";
  return result.error->message + (result.error->where.empty() ? "" : " | " + result.error->where);
}

std::string error_type_of(const std::function<void()>& program, SimulateOptions options) {
  const RunResult result = try_simulate(options, program);
  return result.error ? result.error->type : "none";
}

}  // namespace kernbench::testing
