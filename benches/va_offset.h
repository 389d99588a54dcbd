// What the bench va_offset_verify checks of one tensor.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "benches/measure.h"
#include "kernbench/kernbench.h"

namespace kernbench::benches {

inline constexpr std::array<std::pair<Placement, const char*>, 5> kPlacements{
    {{Placement::replicate, "replicate"},
     {Placement::row_wise, "row_wise"},
     {Placement::column_wise, "column_wise"},
     {Placement::tiled_row_major, "tiled_row_major"},
     {Placement::tiled_column_major, "tiled_column_major"}}};

/// Every PE reads its own slice of `x` (i32, 2-D) through pointer + offset; checks, under `name`, that they see what
/// `policy` gives them of `host`, the values that were written to `x`.
bool verify_own_slices(const std::string& name, const torch::Tensor& x, const torch::Tensor& host,
                       const DPPolicy& policy, const Machine& machine);

}  // namespace kernbench::benches
