// How a matrix product is planned, beyond what the tensors say.
#pragma once

#include <cstdint>
#include <string>

namespace kernbench::runtime {

struct MatmulPlanOptions {
  std::string name = "matmul";  // of the launch
  bool exact_order = true;
  std::int64_t split_k = 0;                         // 0: chosen
  std::int64_t tile_m = 0, tile_n = 0, tile_k = 0;  // 0: chosen
};

}  // namespace kernbench::runtime
