#include "hardware/models.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/error_text.h"
#include "base/quantity.h"
#include "base/text.h"
#include "hardware/gemm/systolic.h"
#include "hardware/vector/simd.h"
#include "kernbench/error.h"

namespace kernbench::hardware {
namespace {

using topology::ModelKind;

/// A built-in model of a compute engine.
struct ComputeModel {
  std::string_view name;
  ComputeLaw law;
};

constexpr std::array kGemmModels{ComputeModel{"systolic", {systolic_end, systolic_follow}},
                                 ComputeModel{"scale_sim_os", {scale_sim_end}}};
constexpr std::array kVectorModels{ComputeModel{"simd", {simd_end}}};

constexpr bool same_names(std::span<const ComputeModel> models, std::span<const std::string_view> names) {
  return std::ranges::equal(models, names, {}, &ComputeModel::name);
}
static_assert(same_names(kGemmModels, topology::BuiltInModels::gemm));
static_assert(same_names(kVectorModels, topology::BuiltInModels::vector));
static_assert(topology::BuiltInModels::hbm.size() == 1 && topology::BuiltInModels::dma.size() == 1);

ComputeLaw find_law(std::span<const ComputeModel> models, const std::string& name) {
  const auto found = std::ranges::find(models, name, &ComputeModel::name);
  return found == models.end() ? ComputeLaw() : found->law;
}

template <class Registered>
std::vector<std::string> keys(const Registered& registered) {
  std::vector<std::string> names;
  for (const auto& [name, _] : registered) names.push_back(name);
  return names;
}

void require(const char* key, const std::string& model, ModelKind kind, const topology::ModelNames& own) {
  const auto built_in = topology::built_in_models(kind);
  std::vector<std::string_view> known(built_in.begin(), built_in.end());
  known.insert(known.end(), own.of(kind).begin(), own.of(kind).end());
  if (std::ranges::find(known, model) != known.end()) return;
  std::string message = std::string(key) + " is \"" + model + "\", but there is no such model";
  const std::string_view suggestion = nearest(model, known);
  if (!suggestion.empty()) message += ", did you mean \"" + std::string(suggestion) + "\"?";
  message += "; models:";
  for (const std::string_view name : known) message += " " + std::string(name);
  throw ConfigurationError(message);
}

/// The message of an error about a parameter, behind the place of the parameter where the file has it.
std::string with_place(const std::string& message, const topology::ModelParameterPlaces& known) {
  const auto found = known.places.find(message.substr(0, message.find(':')));
  return found == known.places.end() ? message : found->second + ": " + message;
}

/// What an exception says: "std::out_of_range: vector::at", "ValueError: 3 is no power of two".
std::string told_by(const std::exception_ptr& exception) {
  const ErrorText text = error_text(exception);
  return text.type + ": " + text.message;
}

}  // namespace

/// The model that the registered factory of `name` makes; null for a built-in one.
template <class Registered, class Figures>
auto Models::make(const Registered& registered, const char* section, const std::string& name,
                  const topology::ModelParameterTexts& values, const Figures& figures, PartId part) const
    -> decltype(registered.begin()->second(figures, std::declval<const ModelParameters&>())) {
  const auto found = registered.find(name);
  if (found == registered.end()) return nullptr;
  const ModelParameters parameters(section, name, values);
  auto model = decltype(found->second(figures, parameters)){};
  try {
    model = found->second(figures, parameters);
    if (model != nullptr) parameters.require_all_asked();
  } catch (const ConfigurationError& error) {
    throw ConfigurationError(with_place(error.what(), topology_.parameter_places), error.where());
  } catch (...) {
    raise_model_error(name, part, {});
  }
  if (model == nullptr) {
    throw ProgramError("ModelError", "the factory of model " + in_quotes(name) + " made none for " + to_text(part) +
                                         ": it returned nullptr; return a model, or throw why there is none");
  }
  return model;
}

std::pair<std::string, std::string> told_apart(Time one, Time other) {
  const auto exactly = [](Time time) { return std::to_string(time.count()) + " ps"; };
  if (one != other && to_text(one) == to_text(other)) return {exactly(one), exactly(other)};
  return {to_text(one), to_text(other)};
}

std::string own_model_text(const std::string& model, PartId part) {
  return "the model " + in_quotes(model) + " of " + to_text(part);
}

std::string ModelCall::text() const {
  return own_model_text(model_, part_) + ", asked at " + to_text(when_) + ",";
}

void raise_model_error(const std::string& model, PartId part, std::optional<Time> when) {
  const std::string who =
      when ? own_model_text(model, part) : "the factory of model " + in_quotes(model) + " for " + to_text(part);
  const std::string at = when ? " at " + to_text(*when) : "";
  throw ProgramError("ModelError", who + " threw" + at + ": " + told_by(std::current_exception()));
}

ComputeLaw gemm_law(const std::string& model) {
  return find_law(kGemmModels, model);
}
ComputeLaw vector_law(const std::string& model) {
  return find_law(kVectorModels, model);
}

topology::ModelNames names_of(const ModelRegistry& registry) {
  return {keys(registry.hbm()), keys(registry.gemm()), keys(registry.vector()), keys(registry.dma())};
}

Models::Models(const topology::Topology& topology, const topology::PeSpecs& pe_specs, const ModelRegistry& registry)
    : topology_(topology), pe_specs_(pe_specs), registry_(registry) {
  const topology::ModelNames own = names_of(registry);
  require("cube.hbm.model", topology.cube.hbm.model, ModelKind::hbm, own);
  require("pe.gemm.model", topology.pe.gemm.model, ModelKind::gemm, own);
  require("pe.vector.model", topology.pe.vector.model, ModelKind::vector, own);
  require("pe.dma.model", topology.pe.dma.model, ModelKind::dma, own);
}

std::unique_ptr<HbmChannelModel> Models::hbm(const HbmChannelFigures& figures) const {
  const topology::HbmSpec& spec = topology_.cube.hbm;
  const PartId channel{PartKind::hbm_channel, figures.slice, figures.channel};
  return make(registry_.hbm(), "cube.hbm.parameters", spec.model, spec.parameters, figures, channel);
}

std::unique_ptr<GemmModel> Models::gemm(PeCoordinate pe) const {
  const topology::PeSpec& own = pe_specs_.of(pe);
  const topology::GemmSpec& spec = own.gemm;
  const GemmFigures figures{pe, own.clock, spec.array.height, spec.array.width};
  return make(registry_.gemm(), "pe.gemm.parameters", spec.model, spec.parameters, figures, {PartKind::gemm, pe});
}

std::unique_ptr<VectorModel> Models::vector(PeCoordinate pe) const {
  const topology::PeSpec& own = pe_specs_.of(pe);
  const topology::VectorSpec& spec = own.vector;
  const VectorFigures figures{pe, own.clock, spec.lanes, spec.narrowest, spec.startup_cycles, own.tcm.bandwidth};
  return make(registry_.vector(), "pe.vector.parameters", spec.model, spec.parameters, figures, {PartKind::vector, pe});
}

std::unique_ptr<DmaModel> Models::dma(PeCoordinate pe, std::int32_t queue) const {
  const topology::DmaSpec& spec = topology_.pe.dma;
  return make(registry_.dma(), "pe.dma.parameters", spec.model, spec.parameters, DmaFigures{pe, queue, spec.setup},
              {PartKind::dma_queue, pe, queue});
}

GemmCommand gemm_command(const topology::GemmSpec& spec, const GemmWork& work, Time start) {
  return {work.batch, work.m,         work.n,
          work.k,     work.operand,   spec.rate[work.operand].cycles_for(work.k),
          start,      work.fold_rows, work.fold_columns};
}

std::vector<VectorCommand> vector_commands(const topology::VectorSpec& spec, const VectorWork& work, Time start) {
  std::vector<VectorCommand> commands;
  work.each(DType::f32, [&](const VectorStep& step) {
    commands.push_back({step.elements, step.operation, spec.cycles[step.operation], step.item_bytes, step.reduced,
                        commands.empty() ? work.operand_bytes : Bytes(0), start});
  });
  return commands;
}

DmaDescriptor dma_descriptor(const DmaWork& work, Time start) {
  DmaDescriptor descriptor{work.writes(), static_cast<std::int64_t>(work.legs.size()), 0, Bytes(0), start};
  for (const DmaLeg& leg : work.legs) {
    descriptor.bytes += leg.total();
    for (const StridedRange& range : leg.ranges) descriptor.rows += range.rows;
  }
  return descriptor;
}

}  // namespace kernbench::hardware
