// Algorithms of collectives: a description and a kernel each. table.cpp lists them; each one is a file of its own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "distributed/algorithms/blocks.h"
#include "distributed/algorithms/levels.h"
#include "distributed/algorithms/range.h"
#include "kernbench/collectives.h"
#include "kernbench/tl/types.h"
#include "tensor/placement/device_part.h"

namespace kernbench::torch::distributed {
enum class ReduceOp : std::uint8_t;
}

namespace kernbench::distributed {

struct AlgorithmSpec;

/// What an algorithm does; a group has one algorithm for each.
enum class CollectiveOperation : std::uint8_t {
  all_reduce,
  broadcast,
  barrier,
  reduce_scatter,
  all_gather,
  reduce,
  gather,
  scatter,
  all_to_all,
  all_reduce_partials,
};
/// The names of its values, in their order.
inline constexpr std::array<std::string_view, 10> kCollectiveOperationNames{
    "all_reduce", "broadcast", "barrier", "reduce_scatter", "all_gather",
    "reduce",     "gather",    "scatter", "all_to_all",     "all_reduce_partials"};
inline constexpr std::array<CollectiveOperation, 10> kCollectiveOperations{
    CollectiveOperation::all_reduce, CollectiveOperation::broadcast,
    CollectiveOperation::barrier,    CollectiveOperation::reduce_scatter,
    CollectiveOperation::all_gather, CollectiveOperation::reduce,
    CollectiveOperation::gather,     CollectiveOperation::scatter,
    CollectiveOperation::all_to_all, CollectiveOperation::all_reduce_partials};
constexpr std::string_view name(CollectiveOperation operation) {
  return kCollectiveOperationNames[static_cast<std::size_t>(operation)];
}

/// Whether ranks end with a result that they have folded.
constexpr bool reduces(CollectiveOperation operation) {
  return operation == CollectiveOperation::all_reduce || operation == CollectiveOperation::reduce_scatter ||
         operation == CollectiveOperation::reduce || operation == CollectiveOperation::all_reduce_partials;
}
/// Whether one rank does something else than the others.
constexpr bool has_root(CollectiveOperation operation) {
  return operation == CollectiveOperation::broadcast || operation == CollectiveOperation::reduce ||
         operation == CollectiveOperation::gather || operation == CollectiveOperation::scatter;
}
/// Whether a group's channels for it are made with its first use: else with the group's first communication.
constexpr bool opens_channels_late(CollectiveOperation operation) {
  return operation == CollectiveOperation::gather || operation == CollectiveOperation::scatter ||
         operation == CollectiveOperation::all_to_all || operation == CollectiveOperation::all_reduce_partials;
}

/// In place of an algorithm's name: the one that costs least, for each call.
inline constexpr std::string_view kAutomatic = "auto";

/// A group that an algorithm may run on.
struct GroupDescription {
  int ranks = 1;             // two or more
  bool rank_per_pe = false;  // else a rank is a SIP
  const AlgorithmSpec& spec;
  const topology::Topology& machine;
  std::span<const int> members = {};  // global ranks, in their order; empty: 0, 1, …

  GroupShape shape() const;
  /// As validators see it.
  collectives::Group seen() const;
};

/// A group as the kernels of one rank see it.
struct RankView {
  std::int64_t rank = 0, size = 1;
  std::span<const std::optional<tensor::DevicePart>> parts = {};  // by rank, all of them known
  /// Elements of a tile, which takes one slot; and how many tiles may be under way before one has been taken out.
  std::int64_t tile_elements = 1, window = 1;
  const topology::Topology* machine = nullptr;
  bool backwards = false;            // `parts` has the last rank first
  std::span<const int> levels = {};  // of the group's shape

  /// The number in the group of the rank at a place in this order.
  std::int64_t number(std::int64_t place) const { return backwards ? size - 1 - place : place; }
  const tensor::DevicePart& part(std::int64_t of) const { return *parts[static_cast<std::size_t>(number(of))]; }
  /// The rank `steps` places before this one, or after it; the last one is before the first one.
  std::int64_t before(std::int64_t steps) const { return ((rank - steps) % size + size) % size; }
  std::int64_t after(std::int64_t steps) const { return (rank + steps) % size; }
  const tensor::DevicePart& next() const { return part(after(1)); }
  const tensor::DevicePart& previous() const { return part(before(1)); }
  /// The same ranks in the opposite order: the last one is rank 0.
  RankView reversed() const { return {size - 1 - rank, size, parts, tile_elements, window, machine, !backwards}; }
};

/// What the calling PE takes part in.
struct CollectiveArguments {
  /// One-dimensional, changed in place: of an all-reduce, a broadcast, a reduce. None: a barrier, or there are blocks.
  const tl::Tensor* tensor = nullptr;
  /// Of a tensor of another PE, whose elements the PEs of the rank share out: the calling PE's.
  std::optional<Range> share = {};
  torch::distributed::ReduceOp reduction{};  // of what reduces
  std::int64_t root = 0;                     // of a broadcast, reduce, gather, scatter
  BlockArguments blocks = {};
  const Replicas* replicas = nullptr;  // of a tensor of partial sums
};

/// A channel from the PEs of one rank to their counterparts on another, by their places in the group.
using RankPair = std::pair<int, int>;

/// Messages of an algorithm that are under way at one time, as its cost sees them (cost/algorithm_cost.h).
using CostStep = collectives::Step;

struct CollectiveAlgorithm {
  std::string_view name;  // in collectives files, and of its launches
  CollectiveOperation operation;
  std::string_view topology;    // name of the arrangement of the ranks, which decides their channels
  std::string_view method;      // how it works, for the documentation
  std::string_view fold_order;  // of what reduces: which bits it ends with; empty for others
  std::string_view runs_on;     // the groups that `refusal` lets pass, for the documentation

  /// Why it cannot run on a group, and what would fit; empty: it can.
  std::function<std::string(const GroupDescription& group)> refusal;
  /// The channels that it needs in a group of two or more ranks. The same for all algorithms of a topology.
  std::function<std::vector<RankPair>(const GroupShape& ranks)> channels;
  /// Called on each PE that holds a part of the tensor; of a barrier on one PE. There may be one rank only.
  std::function<void(const RankView& ranks, const CollectiveArguments& arguments)> kernel;
  /// What it costs; of operations with one algorithm none.
  std::function<std::vector<CostStep>(const GroupShape& ranks)> steps = {};
  /// Of calls of which a PE has so many bytes at most, where that is something else.
  Bytes few = {};
  std::function<std::vector<CostStep>(const GroupShape& ranks)> steps_of_few = {};
  /// Why it does not take a call, and what would fit; empty: it does. Without a function it takes every call.
  std::function<std::string(const collectives::Group& group, const collectives::Call& call)> validator = {};
  bool in_pieces = false;  // its messages are those of a chain (pieces.h)
  bool in_parts = false;   // of as many bytes as a queue holds: a PE does all steps of one before those of the next
  bool in_half_windows = false;  // what comes of half a queue is folded and sent on before the next half is sent
  bool is_own = false;           // the user's: whether it leaves messages in its channels is looked at
  bool in_rounds = false;        // of all pairs: it may take several launches, each with some of its channels
};

/// The shipped ones. Of each operation, the first one is what a file means that says nothing.
std::span<const CollectiveAlgorithm> collective_algorithms();

/// The algorithms of a simulation: those that are shipped, and the user's own behind them.
class AlgorithmTable {
 public:
  explicit AlgorithmTable(const CollectiveRegistry& own = {});

  std::span<const CollectiveAlgorithm> all() const { return all_; }
  /// Their names, for one operation; likewise what a file may say of it; and the names of the topologies of
  /// all-reduces, in the order of the table.
  std::span<const std::string_view> names(CollectiveOperation operation) const { return of(names_, operation); }
  std::span<const std::string_view> choices(CollectiveOperation operation) const { return of(choices_, operation); }
  std::span<const std::string_view> all_reduce_topologies() const { return topologies_; }
  /// The algorithm of that name. ConfigurationError when the operation has none of it.
  const CollectiveAlgorithm& find(CollectiveOperation operation, std::string_view name) const;
  /// The algorithm of that name of whatever operation; null: there is none.
  const CollectiveAlgorithm* named(std::string_view name) const;
  /// The user's own.
  const CollectiveRegistry& own() const { return own_; }

 private:
  using Names = std::vector<std::string_view>;
  using NamesByOperation = std::array<Names, kCollectiveOperations.size()>;
  static std::span<const std::string_view> of(const NamesByOperation& names, CollectiveOperation operation) {
    return names[static_cast<std::size_t>(operation)];
  }

  CollectiveRegistry own_;  // whose texts and functions `all_` uses
  std::vector<CollectiveAlgorithm> all_;
  NamesByOperation names_, choices_;
  Names topologies_;
};
using AlgorithmTableRef = std::shared_ptr<const AlgorithmTable>;
/// That of the shipped algorithms alone.
const AlgorithmTableRef& shipped_algorithms();

/// Whether the algorithm of an operation can be chosen call by call: it has several, and knows what they cost.
bool can_be_automatic(CollectiveOperation operation);

/// Of the shipped table: see AlgorithmTable.
const CollectiveAlgorithm& find_collective_algorithm(CollectiveOperation operation, std::string_view name);
/// The one that a group uses; of an operation whose algorithm is chosen call by call, the first one.
const CollectiveAlgorithm& algorithm_for(const AlgorithmSpec& spec, CollectiveOperation operation);

/// The channels of a group: what its algorithms need together, each once, but for those that are opened late.
std::vector<RankPair> channels_of(const AlgorithmSpec& spec, const GroupShape& ranks);

/// Some of the channels of an algorithm: those from rank r to rank r + s for the steps s from `first_step` to
/// `last_step`.
struct ChannelRound {
  std::int64_t first_step = 1, last_step = 0;
  std::vector<RankPair> channels;
};
/// The channels of an algorithm of all pairs, in as few launches as PEs have room for; each rank sends and receives on
/// one channel in a step.
std::vector<ChannelRound> channel_rounds(const GroupDescription& group, const CollectiveAlgorithm& algorithm);
/// ConfigurationError when one of the group's algorithms cannot run on it: says why, and which can. `call` is the
/// operation of the API that makes the group.
void check_can_run(const GroupDescription& group, std::string_view call);

/// How many channels the PEs of a group can have to receive, and as many to send: by the entries of a PE and the memory
/// for slots.
std::int64_t channels_that_fit(const GroupDescription& group);
/// What makes so many fit: "raise pe.ipcq.queues, and take fewer or smaller slots or raise pe.ipcq.capacity".
std::string ways_to_channels(const GroupDescription& group, std::int64_t needed);

/// The table of shipped algorithms in Markdown.
std::string algorithms_reference();

}  // namespace kernbench::distributed
