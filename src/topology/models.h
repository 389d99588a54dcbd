// The component models that a topology file can choose by name: one explicit list for each kind of component.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench::topology {

/// The names of the built-in models. The hardware layer has one factory for each name here.
struct BuiltInModels {
  static constexpr std::array<std::string_view, 1> hbm{"hbm"};
  static constexpr std::array<std::string_view, 2> gemm{"systolic", "scale_sim_os"};
  static constexpr std::array<std::string_view, 1> vector{"simd"};
  static constexpr std::array<std::string_view, 1> dma{"dma"};
};

/// The models of GEMM engines: the built-in ones, in the order of their names, and those that the caller brings along.
enum class GemmModel : std::uint8_t { systolic, scale_sim_os, others };

constexpr GemmModel gemm_model(std::string_view name) {
  std::size_t model = 0;
  while (model < BuiltInModels::gemm.size() && BuiltInModels::gemm[model] != name) ++model;
  return static_cast<GemmModel>(model);
}

/// Kinds of components whose model a file can choose.
enum class ModelKind : std::uint8_t { none, hbm, gemm, vector, dma };

constexpr std::span<const std::string_view> built_in_models(ModelKind kind) {
  switch (kind) {
    case ModelKind::hbm:
      return BuiltInModels::hbm;
    case ModelKind::gemm:
      return BuiltInModels::gemm;
    case ModelKind::vector:
      return BuiltInModels::vector;
    case ModelKind::dma:
      return BuiltInModels::dma;
    case ModelKind::none:
      break;
  }
  return {};
}

/// The names of models that are not built in: those that the caller brings along.
struct ModelNames {
  std::vector<std::string> hbm = {}, gemm = {}, vector = {}, dma = {};
  bool any = false;  // a file may name others, too: it is looked at and not simulated

  const std::vector<std::string>& of(ModelKind kind) const {
    switch (kind) {
      case ModelKind::gemm:
        return gemm;
      case ModelKind::vector:
        return vector;
      case ModelKind::dma:
        return dma;
      default:
        return hbm;
    }
  }
};

}  // namespace kernbench::topology
