#include "hardware/models.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "hardware/gemm/systolic.h"
#include "hardware/vector/simd.h"

namespace kernbench::hardware {
namespace {

constexpr std::array kGemmModels{ComputeModel{"systolic", systolic_end}};
constexpr std::array kVectorModels{ComputeModel{"simd", simd_end}};

[[noreturn]] void throw_unknown(const char* key, const std::string& model, std::span<const std::string_view> known) {
  std::string message = std::string(key) + " is \"" + model + "\", but there is no such model";
  const std::string_view suggestion = nearest(model, known);
  if (!suggestion.empty()) message += ", did you mean \"" + std::string(suggestion) + "\"?";
  message += "; models:";
  for (const std::string_view name : known) message += " " + std::string(name);
  throw ConfigurationError(message);
}

ComputeLaw find(const char* key, const std::string& model, std::span<const ComputeModel> models) {
  std::vector<std::string_view> names;
  for (const ComputeModel& candidate : models) {
    if (candidate.name == model) return candidate.law;
    names.push_back(candidate.name);
  }
  throw_unknown(key, model, names);
}

void require(const char* key, const std::string& model, std::string_view only) {
  if (model != only) throw_unknown(key, model, std::array{only});
}

}  // namespace

ComputeLaw gemm_law(const std::string& model) {
  return find("pe.gemm.model", model, kGemmModels);
}
ComputeLaw vector_law(const std::string& model) {
  return find("pe.vector.model", model, kVectorModels);
}

void require_known_models(const topology::Topology& topology) {
  gemm_law(topology.pe.gemm.model);
  vector_law(topology.pe.vector.model);
  require("pe.dma.model", topology.pe.dma.model, "dma");
  require("cube.hbm.model", topology.cube.hbm.model, "hbm");
}

}  // namespace kernbench::hardware
