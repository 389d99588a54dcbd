// The lines of a tensor that a function takes as a whole: along which dimensions they run, and how long they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernbench/torch/tensor.h"

namespace kernbench::runtime {

/// Lines of at most so many elements are not worth further launches, even where there are fewer of them than PEs.
/// Measured on ahbm-1sip: softmax of [2, 65536] takes 15.0 us in one launch, 19.3 in several.
inline constexpr std::int64_t kShortLine = 64 * 1024;

/// Results of reductions of fewer elements stay with the PEs that hold them.
inline constexpr std::int64_t kWorthSpreading = 1024;

/// For each dimension whether it is one of these.
inline std::vector<bool> flags_of(std::span<const std::int64_t> dimensions, std::int64_t rank) {
  std::vector<bool> flags(static_cast<std::size_t>(rank), false);
  for (const std::int64_t dimension : dimensions) flags[static_cast<std::size_t>(dimension)] = true;
  return flags;
}
inline std::vector<bool> flags_of(std::int64_t dimension, std::int64_t rank) {
  return flags_of(std::span(&dimension, 1), rank);
}

/// The elements of one line.
inline std::int64_t count_along(const torch::Tensor& x, const std::vector<bool>& along) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d]) count *= x.size(static_cast<std::int64_t>(d));
  return count;
}

}  // namespace kernbench::runtime
