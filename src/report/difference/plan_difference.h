// Differences between the plans of library kernels of two results.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/result.h"

namespace kernbench::report {

/// What the plan says of a choice; empty when it has none of that name.
std::string value_of(const PlanResult& plan, std::string_view choice);

/// A choice that differs in launches of one name which both results have. A side that lacks it has an empty text.
struct PlanChange {
  std::string launch;  // the name without its number: "gemm"
  std::string choice;  // "tile_k"
  std::string a, b;
  std::int64_t count = 0;  // launches in which it differs so
};

/// In the order of the launches' names, and of the choices in a plan.
std::vector<PlanChange> plan_changes(const RunResult& a, const RunResult& b);

}  // namespace kernbench::report
