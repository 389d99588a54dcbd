#include "hardware/models.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "hardware/gemm/systolic.h"
#include "hardware/vector/simd.h"
#include "topology/models.h"

namespace kernbench::hardware {
namespace {

using topology::ModelRegistry;

constexpr std::array kGemmModels{ComputeModel{"systolic", systolic_end}, ComputeModel{"scale_sim_os", scale_sim_end}};
constexpr std::array kVectorModels{ComputeModel{"simd", simd_end}};

constexpr bool same_names(std::span<const ComputeModel> models, std::span<const std::string_view> names) {
  return std::ranges::equal(models, names, {}, &ComputeModel::name);
}
static_assert(same_names(kGemmModels, ModelRegistry::gemm));
static_assert(same_names(kVectorModels, ModelRegistry::vector));
static_assert(ModelRegistry::hbm.size() == 1 && ModelRegistry::dma.size() == 1);

[[noreturn]] void throw_unknown(const char* key, const std::string& model, std::span<const std::string_view> known) {
  std::string message = std::string(key) + " is \"" + model + "\", but there is no such model";
  const std::string_view suggestion = nearest(model, known);
  if (!suggestion.empty()) message += ", did you mean \"" + std::string(suggestion) + "\"?";
  message += "; models:";
  for (const std::string_view name : known) message += " " + std::string(name);
  throw ConfigurationError(message);
}

ComputeLaw find(const char* key, const std::string& model, std::span<const ComputeModel> models,
                std::span<const std::string_view> names) {
  const auto found = std::ranges::find(models, model, &ComputeModel::name);
  if (found == models.end()) throw_unknown(key, model, names);
  return found->law;
}

void require(const char* key, const std::string& model, std::span<const std::string_view> names) {
  if (std::ranges::find(names, model) == names.end()) throw_unknown(key, model, names);
}

}  // namespace

ComputeLaw gemm_law(const std::string& model) {
  return find("pe.gemm.model", model, kGemmModels, ModelRegistry::gemm);
}
ComputeLaw vector_law(const std::string& model) {
  return find("pe.vector.model", model, kVectorModels, ModelRegistry::vector);
}

void require_known_models(const topology::Topology& topology) {
  gemm_law(topology.pe.gemm.model);
  vector_law(topology.pe.vector.model);
  require("pe.dma.model", topology.pe.dma.model, ModelRegistry::dma);
  require("cube.hbm.model", topology.cube.hbm.model, ModelRegistry::hbm);
}

}  // namespace kernbench::hardware
