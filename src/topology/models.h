// The component models that a topology file can choose by name: one explicit list for each kind of component.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace kernbench::topology {

/// The names of the known models. The hardware layer has one factory for each name here.
struct ModelRegistry {
  static constexpr std::array<std::string_view, 1> hbm{"hbm"};
  static constexpr std::array<std::string_view, 2> gemm{"systolic", "scale_sim_os"};
  static constexpr std::array<std::string_view, 1> vector{"simd"};
  static constexpr std::array<std::string_view, 1> dma{"dma"};
};

}  // namespace kernbench::topology
