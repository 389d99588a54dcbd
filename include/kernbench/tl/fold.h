// How a product is cut for the array of the GEMM engine.
#pragma once

#include <cstdint>

namespace kernbench::tl {

/// How much of the array a block of a product takes at most; 0: as much as there is. Of smaller blocks there are more,
/// and the array is filled with the first and drained of the last one sooner.
struct Fold {
  std::int64_t rows = 0, columns = 0;
};

}  // namespace kernbench::tl
