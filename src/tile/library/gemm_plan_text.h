// Plans of matrix products as texts, to be kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tile/library/gemm_plan.h"

namespace kernbench::tile::library {

/// All of a plan, so that plan_from_text() yields an equal one.
std::string to_text(const GemmPlan& plan);

/// The plan of which `text` is to_text(); nothing for any other text.
std::optional<GemmPlan> plan_from_text(std::string_view text);

}  // namespace kernbench::tile::library
