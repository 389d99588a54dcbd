// Custom component models: compiled beside the program, chosen by name in a topology file.
//
//   class OpenPage final : public kernbench::HbmChannelModel { … };
//
//   kernbench::SimulateOptions options;
//   options.topology = "my_machine.yaml";                      // cube.hbm.model: open_page
//   options.models.add_hbm("open_page", [](const kernbench::HbmChannelFigures& figures,
//                                          const kernbench::ModelParameters& parameters) {
//     return std::make_unique<OpenPage>(figures, parameters);
//   });
//
// A model must be deterministic: what it returns follows from its figures, its parameters and the commands it was asked
// about before. It may keep state (an open row), for each part of the machine has a model of its own. What it throws
// ends the run with an error that names the model, its part and the simulated time.
//
// Library functions choose their plans (the tiles of a product, say) as if the parts were built in: what a model costs
// is not known before it is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/coordinates.h"
#include "kernbench/engines.h"
#include "kernbench/units.h"

namespace kernbench {

/// The values under `parameters` beside `model` in the topology file: `parameters: {row_hit: 20ns, banks: 16}`. Every
/// accessor throws a ConfigurationError that names the key, the value and what is expected; a key that the model has
/// not asked for when it has been made is one too.
class ModelParameters {
 public:
  /// `path` is that of the section: "cube.hbm.parameters"; `model` the name of the model, for messages.
  ModelParameters(std::string path, std::string model, std::map<std::string, std::string> values);

  bool has(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  Time time(std::string_view key) const;
  Bytes bytes(std::string_view key) const;
  Bandwidth bandwidth(std::string_view key) const;
  /// The same with what to take where the file does not say.
  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  Time time(std::string_view key, Time otherwise) const;
  Bytes bytes(std::string_view key, Bytes otherwise) const;
  Bandwidth bandwidth(std::string_view key, Bandwidth otherwise) const;

  /// A ConfigurationError for `key` with a message of the model's own: "must be a power of two, found 3".
  [[noreturn]] void reject(std::string_view key, const std::string& message) const;
  /// A ConfigurationError when the file has a key that nobody has asked for.
  void require_all_asked() const;

 private:
  const std::string* find(std::string_view key) const;
  template <class T, class Parse>
  T get(std::string_view key, const char* expected, Parse parse) const;

  std::string path_, model_;
  std::map<std::string, std::string> values_;
  mutable std::map<std::string, bool, std::less<>> asked_;
};

// ---- HBM -------------------------------------------------------------------------------------------------------

/// One channel of a PE's HBM slice, as the topology file describes it.
struct HbmChannelFigures {
  PeCoordinate slice;
  std::int32_t channel = 0;   // of the slice
  std::int32_t channels = 1;  // of the slice
  Bandwidth bandwidth;        // of the channel
  Time latency;               // from the start of an access to the head of its data; the fabric adds it by itself
  Bytes access;               // smallest access
  Bytes interleave;           // granule; an access never crosses one
};

/// A channel begins with an access.
struct HbmAccess {
  std::uint64_t address = 0;  // in the channel's own bytes: its granules follow each other
  Bytes bytes;
  bool write = false;
  Time start;
};

/// How long the accesses of one channel take.
class HbmChannelModel {
 public:
  virtual ~HbmChannelModel() = default;
  /// How long the channel is occupied by an access that starts now, at least 1 ps. Called once for each access, in the
  /// order in which the channel serves them.
  virtual Time service(const HbmAccess& access) = 0;
};

// ---- GEMM engine -----------------------------------------------------------------------------------------------

struct GemmFigures {
  PeCoordinate pe;
  Frequency clock;
  std::int32_t rows = 1;
  std::int32_t columns = 1;
};

/// C[m,n] += A[m,k] B[k,n], `batch` times.
struct GemmCommand {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  GemmOperand operand = GemmOperand::f16;
  std::int64_t steps = 0;  // cycles for k steps at pe.gemm.rate of the operand type, rounded up
  Time start;
  std::int64_t fold_rows = 0, fold_columns = 0;  // of the array that a block of C is asked to take at most; 0: all
};

class GemmModel {
 public:
  virtual ~GemmModel() = default;
  /// When a command ends that the engine takes at `command.start`; later than that. Called once for each command, in
  /// their order.
  virtual Time end(const GemmCommand& command) = 0;
};

// ---- vector engine ---------------------------------------------------------------------------------------------

struct VectorFigures {
  PeCoordinate pe;
  Frequency clock;
  std::int32_t lanes = 1;
  Bytes narrowest;
  std::int32_t startup_cycles = 0;
  Bandwidth tcm_bandwidth;
};

/// One operation. Those of a fused command (tl::fuse) are asked for one after the other, each with the end of the one
/// before as its start; the first has the bytes of all.
struct VectorCommand {
  std::int64_t elements = 0;
  VectorOperation operation = VectorOperation::add;
  std::int32_t cycles = 1;      // pe.vector.cycles of the operation
  std::int64_t item_bytes = 4;  // of the widest element type among operands and result
  std::int64_t reduced = 1;     // of a reduction: elements that become one
  Bytes operand_bytes;          // read and written in TCM
  Time start;
};

class VectorModel {
 public:
  virtual ~VectorModel() = default;
  /// As GemmModel::end.
  virtual Time end(const VectorCommand& command) = 0;
};

// ---- DMA engine ------------------------------------------------------------------------------------------------

struct DmaFigures {
  PeCoordinate pe;
  std::int32_t queue = 0;
  Time setup;  // pe.dma.setup
};

struct DmaDescriptor {
  bool write = false;
  std::int64_t slices = 0;  // HBM slices that it touches
  std::int64_t rows = 0;    // pieces of consecutive bytes
  Bytes bytes;
  Time start;
};

/// How long a queue prepares a descriptor before its requests set out: translation, say.
class DmaModel {
 public:
  virtual ~DmaModel() = default;
  /// Called once for each descriptor of the queue, in the order in which they start.
  virtual Time setup(const DmaDescriptor& descriptor) = 0;
};

// ---- the registry ----------------------------------------------------------------------------------------------

/// Models by name, for each kind of component. A value: give it to a simulation as SimulateOptions::models. The figures
/// and parameters that a factory is given end with the call: a model copies what it needs.
class ModelRegistry {
 public:
  template <class Model, class Figures>
  using Factory = std::function<std::unique_ptr<Model>(const Figures&, const ModelParameters&)>;
  using HbmFactory = Factory<HbmChannelModel, HbmChannelFigures>;
  using GemmFactory = Factory<GemmModel, GemmFigures>;
  using VectorFactory = Factory<VectorModel, VectorFigures>;
  using DmaFactory = Factory<DmaModel, DmaFigures>;

  /// Each makes a model known under `name`: cube.hbm.model, pe.gemm.model, pe.vector.model, pe.dma.model. ValueError
  /// for an empty factory, for a name that is taken (by a built-in model, too), and for one that is not 1 to 64
  /// letters, digits, '.', '_' and '-'.
  ModelRegistry& add_hbm(const std::string& name, HbmFactory factory);
  ModelRegistry& add_gemm(const std::string& name, GemmFactory factory);
  ModelRegistry& add_vector(const std::string& name, VectorFactory factory);
  ModelRegistry& add_dma(const std::string& name, DmaFactory factory);

  const std::map<std::string, HbmFactory, std::less<>>& hbm() const;
  const std::map<std::string, GemmFactory, std::less<>>& gemm() const;
  const std::map<std::string, VectorFactory, std::less<>>& vector() const;
  const std::map<std::string, DmaFactory, std::less<>>& dma() const;

 private:
  struct Models;
  const Models& models() const;
  Models& own_models();

  // Copies share it until one of them is added to. Four maps would cost each unit that includes this header 20 ms.
  std::shared_ptr<Models> models_;
};

}  // namespace kernbench

/// In a file for `kernbench run FILE.cpp`: adds the file's models before its program runs.
///   KERNBENCH_MODELS(registry) { registry.add_hbm("open_page", …); }
#define KERNBENCH_MODELS(registry) extern "C" void kernbench_add_models(::kernbench::ModelRegistry& registry)
