// The component models that a topology names: built-in laws, and models of the caller's own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/part.h"
#include "hardware/command.h"
#include "kernbench/models.h"
#include "sim/watched_call.h"
#include "topology/models.h"
#include "topology/pe_specs.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// The law of a compute engine.
struct ComputeLaw {
  /// When a command ends that starts at `start`: later than `start`. Null: the model is not built in.
  Time (*end)(const topology::PeSpec& pe, const Command& command, Time start) = nullptr;
  /// When `next` may start at the earliest behind a command that has started. Null: when that one has ended.
  Time (*follow)(const topology::PeSpec& pe, const Command& before, const Command& next) = nullptr;
};

/// The built-in law of a model's name; without an `end` for a name that is not built in.
ComputeLaw gemm_law(const std::string& model);
ComputeLaw vector_law(const std::string& model);

/// The names in a registry, for reading a topology that may use them.
topology::ModelNames names_of(const ModelRegistry& registry);

/// Makes the caller's models that a topology names. The references must outlive it.
class Models {
 public:
  /// Throws ConfigurationError when the topology names a model that does not exist.
  Models(const topology::Topology& topology, const topology::PeSpecs& pe_specs, const ModelRegistry& registry);

  /// Each is null where the topology names a built-in model. They throw a ConfigurationError, with its place in the
  /// file where that is known, for a parameter that the model refuses or does not know, and a ModelError for anything
  /// else that the model's factory throws.
  std::unique_ptr<HbmChannelModel> hbm(const HbmChannelFigures& figures) const;
  std::unique_ptr<GemmModel> gemm(PeCoordinate pe) const;
  std::unique_ptr<VectorModel> vector(PeCoordinate pe) const;
  std::unique_ptr<DmaModel> dma(PeCoordinate pe, std::int32_t queue) const;

 private:
  template <class Registered, class Figures>
  auto make(const Registered& registered, const char* section, const std::string& name,
            const topology::ModelParameterTexts& values, const Figures& figures, PartId part) const
      -> decltype(registered.begin()->second(figures, std::declval<const ModelParameters&>()));

  const topology::Topology& topology_;
  const topology::PeSpecs& pe_specs_;
  const ModelRegistry& registry_;
};

/// "2.5 us" and "3 us", or picoseconds where two times that differ would look alike.
std::pair<std::string, std::string> told_apart(Time one, Time other);

/// The model "open_page" of sip0.cube0.pe1.hbm.channel0.
std::string own_model_text(const std::string& model, PartId part);

/// Throws a ModelError for the exception that is being handled, which the model of `part` threw at `when`, or, without
/// a time, the factory of the model.
[[noreturn]] void raise_model_error(const std::string& model, PartId part, std::optional<Time> when);

/// A call of a model, as the watchdog names it.
class ModelCall final : public sim::WatchedCall {
 public:
  ModelCall(const std::string& model, PartId part, Time when) : model_(model), part_(part), when_(when) {}
  std::string text() const override;

 private:
  const std::string& model_;
  PartId part_;
  Time when_;
};

/// What `call` returns, which asks the model of a part; what that throws becomes a ModelError.
template <class Call>
Time answer_of(const std::string& model, PartId part, Time when, Call call) {
  const ModelCall watched(model, part, when);
  const sim::WatchedScope scope(watched);
  try {
    return call();
  } catch (...) {
    raise_model_error(model, part, when);
  }
}

/// Commands as models of one's own see them.
GemmCommand gemm_command(const topology::GemmSpec& spec, const GemmWork& work, Time start);
/// One for each operation of a fused command, of which the first has the bytes; `start` is that of the first.
std::vector<VectorCommand> vector_commands(const topology::VectorSpec& spec, const VectorWork& work, Time start);
DmaDescriptor dma_descriptor(const DmaWork& work, Time start);

}  // namespace kernbench::hardware
