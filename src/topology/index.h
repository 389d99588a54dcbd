// Numbers of parts as indices of arrays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernbench::topology {

/// Numbers of parts have signs, indices have none.
inline std::size_t index(std::int32_t number) {
  return static_cast<std::size_t>(number);
}

}  // namespace kernbench::topology
