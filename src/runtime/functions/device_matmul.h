// Options of the plan of a matrix product, beyond what the tensors say.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tile/library/gemm_plan.h"

namespace kernbench::runtime {

struct MatmulPlanOptions {
  std::string name = "matmul";  // of the launch
  bool exact_order = true;      // what users get says tensor::MatmulOptions; a plan by hand keeps its bits
  std::int64_t split_k = 0;     // 0: chosen
  std::int64_t tile_m = 0, tile_n = 0, tile_k = 0;  // 0: chosen
  bool measured = true;                             // false: replays alone decide
  /// A plan of an earlier product of the same shapes and placements, to be used as it stands; none: planned anew.
  std::shared_ptr<const tile::library::GemmPlan> plan = nullptr;
};

}  // namespace kernbench::runtime
