// The contents of a collectives file (ccl.yaml): algorithms of collectives, and the set-up of their queues.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "kernbench/dtype.h"
#include "kernbench/queues.h"
#include "kernbench/units.h"
#include "topology/describe.h"
#include "topology/file_path.h"

namespace kernbench::distributed {

/// Which PEs of a rank that is a SIP work on an all-reduce of a tensor that lies on one of them: that one, or all.
enum class Mapper : std::uint8_t { leader, all_pes };
inline constexpr std::array<std::string_view, 2> kMapperNames{"leader", "all_pes"};
inline constexpr std::array<std::string_view, 3> kBufferKindNames{"tcm", "hbm", "sram"};
/// Checks of a call's group and placement. multi_pe_sip_local: each rank is a SIP, and its tensor lies on several PEs.
inline constexpr std::array<std::string_view, 1> kValidatorNames{"multi_pe_sip_local"};
inline constexpr std::array<std::string_view, 2> kBackpressureNames{"sleep", "poll"};

class Tuning;

/// One algorithm of a collectives file, with what `defaults` says where it says nothing itself.
struct AlgorithmSpec {
  std::string module;                            // its algorithm of all-reduces
  std::optional<std::string> topology = {};      // without: that of the module
  std::optional<topology::FilePath> msccl = {};  // file with the schedule of its algorithm for an operation
  std::optional<topology::FilePath> tune = {};   // file by which automatic choices go
  std::optional<std::string> validator = {};     // of all-reduces
  Mapper mapper = Mapper::leader;                // likewise
  std::string broadcast = "ring_broadcast";      // its other algorithms; each of them may be kAutomatic
  std::string barrier = "ring_barrier";
  std::string reduce_scatter = "ring_reduce_scatter";
  std::string all_gather = "ring_all_gather";
  std::string reduce = "ring_reduce";
  std::string gather = "direct_gather";
  std::string scatter = "direct_scatter";
  std::string all_to_all = "pairwise_all_to_all";
  std::string all_reduce_partials = "intercube_allreduce";
  BufferKind buffer_kind = BufferKind::tcm;
  Backpressure backpressure = Backpressure::sleep;
  // assumption: enough slots in flight that credits come back in time over links of a few hundred GB/s
  std::int32_t n_slots = 8;
  Bytes slot_size = Bytes(16 * 1024);             // assumption: a tile of 8192 elements of f16
  Bytes vc_chunk_size = Bytes(1024);              // assumption: the NoC's chunk in the shipped topologies
  Bytes ipcq_credit_size_bytes = Bytes(16);       // assumption: an address and a count
  std::int32_t n_elem = 1 << 20;                  // assumption: large enough for bandwidth to show
  std::optional<std::int32_t> world_size = {};    // without: the number of SIPs
  std::vector<std::string_view> candidates = {};  // of automatic choices; none of an operation: all. No key of the file
  AlgorithmTableRef table = shipped_algorithms();  // of which the names are. Likewise
  std::shared_ptr<const Tuning> tuning = {};       // what the file `tune` says. Likewise
  bool operator==(const AlgorithmSpec&) const = default;

  /// Whether the algorithm of an operation is chosen call by call (cost/automatic_choice.h).
  bool is_automatic(CollectiveOperation operation) const { return algorithm_for(operation) == kAutomatic; }
  /// The name of its algorithm for an operation, or kAutomatic.
  const std::string& algorithm_for(CollectiveOperation operation) const {
    const std::array<const std::string*, kCollectiveOperations.size()> names{
        &module, &broadcast, &barrier, &reduce_scatter, &all_gather,
        &reduce, &gather,    &scatter, &all_to_all,     &all_reduce_partials};
    return *names[static_cast<std::size_t>(operation)];
  }
  /// Makes an algorithm of the table that of its operation.
  void take(const CollectiveAlgorithm& algorithm) {
    const std::array<std::string*, kCollectiveOperations.size()> names{
        &module, &broadcast, &barrier, &reduce_scatter, &all_gather,
        &reduce, &gather,    &scatter, &all_to_all,     &all_reduce_partials};
    *names[static_cast<std::size_t>(algorithm.operation)] = algorithm.name;
    if (algorithm.operation == CollectiveOperation::all_reduce) topology.reset();  // of the module that is used no more
  }
  /// Of a tile that takes one slot.
  std::int64_t tile_elements(DType dtype) const {
    return std::max<std::int64_t>(1, slot_size.count() / item_size(dtype));
  }
};

/// A collectives file.
struct Collectives {
  std::string algorithm;  // the one that is used when a program names none
  AlgorithmSpec defaults;
  std::map<std::string, AlgorithmSpec> algorithms = {};
  bool operator==(const Collectives&) const = default;
};

/// The keys of `defaults` and of an algorithm, for the visitors of topology/describe.h.
template <class V, topology::SpecOf<AlgorithmSpec> S>
void describe(V& visit, S& spec) {
  namespace limits = topology::limits;
  constexpr std::int64_t kCount = (std::int64_t{1} << 31) - 1;
  visit.field({"topology", "arrangement of the ranks: that of `module`, and an error if it is another", false, 0, 0,
               spec.table->all_reduce_topologies()},
              spec.topology);
  visit.field(
      {"msccl", "MSCCL file (XML) whose schedule is the algorithm of its operation; from the folder of this file"},
      spec.msccl);
  visit.field(
      {"tune", "file that `kernbench ccl --tune` has written, by which `auto` chooses; from the folder of this file"},
      spec.tune);
  visit.field(
      {"validator", "check of group and placement that every all_reduce must pass", false, 0, 0, kValidatorNames},
      spec.validator);
  visit.field({"mapper", "PEs of a SIP that work on an all-reduce of a tensor on one PE: that one, or all", false, 0, 0,
               kMapperNames},
              spec.mapper);
  const auto choice = [&](const char* key, const char* meaning, CollectiveOperation operation, auto& value) {
    visit.field({key, meaning, false, 0, 0, spec.table->choices(operation)}, value);
  };
  choice("broadcast", "algorithm of broadcasts", CollectiveOperation::broadcast, spec.broadcast);
  choice("barrier", "algorithm of barriers", CollectiveOperation::barrier, spec.barrier);
  choice("reduce_scatter", "algorithm of reduce-scatters", CollectiveOperation::reduce_scatter, spec.reduce_scatter);
  choice("all_gather", "algorithm of all-gathers", CollectiveOperation::all_gather, spec.all_gather);
  choice("reduce", "algorithm of reduces", CollectiveOperation::reduce, spec.reduce);
  choice("gather", "algorithm of gathers", CollectiveOperation::gather, spec.gather);
  choice("scatter", "algorithm of scatters", CollectiveOperation::scatter, spec.scatter);
  choice("all_to_all", "algorithm of all-to-alls", CollectiveOperation::all_to_all, spec.all_to_all);
  choice("all_reduce_partials", "algorithm of all-reduces of partial sums", CollectiveOperation::all_reduce_partials,
         spec.all_reduce_partials);
  visit.field({"buffer_kind", "memory of the receiver that holds the slots", false, 0, 0, kBufferKindNames},
              spec.buffer_kind);
  visit.field({"backpressure", "how a program waits for a credit or a message", false, 0, 0, kBackpressureNames},
              spec.backpressure);
  visit.field({"n_slots", "slots of a queue", false, 1, 1 << 16}, spec.n_slots);
  visit.field({"slot_size", "of one slot; a larger tile takes several", false, 1, limits::bytes}, spec.slot_size);
  visit.field({"vc_chunk_size", "unit in which a payload crosses the fabric, at most `slot_size`", false, 1, 1 << 20},
              spec.vc_chunk_size);
  visit.field({"ipcq_credit_size_bytes", "size of the message that gives a slot back", false, 1, 1 << 16},
              spec.ipcq_credit_size_bytes);
  visit.field({"n_elem", "elements of a rank that a bench takes when it is told nothing else", false, 1, kCount},
              spec.n_elem);
  visit.field({"world_size", "ranks; without it the number of SIPs", false, 1, 1 << 20}, spec.world_size);
}

}  // namespace kernbench::distributed
