// A range of a one-dimensional tensor.
#pragma once

#include <cstdint>

namespace kernbench::distributed {

struct Range {
  std::int64_t begin = 0, end = 0;
};

}  // namespace kernbench::distributed
