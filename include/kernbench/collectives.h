// Collective algorithms of your own: a description and a kernel of the tile language, registered by name. KB_ALGO, a
// collectives file, InitOptions::algorithm and `kernbench ccl --algo` take it like a shipped one.
//
//   void relay(kernbench::collectives::Program& program) {
//     for (int step = 1; step < program.ranks(); ++step) {
//       const auto block = program.output(program.before(step));
//       for (std::int64_t tile = 0; tile < block.tiles(); ++tile)
//         block.store(tile, program.receive(program.before(1), block, tile));
//       …
//     }
//   }
//   KERNBENCH_COLLECTIVES(registry) {
//     registry.add({.name = "relay", .operation = kernbench::collectives::Operation::all_gather, …, .kernel = relay});
//   }
//
// The kernel runs on each PE that holds a part of the tensors, and talks to its counterparts: the same PE of other
// SIPs, or the only PEs of other ranks. All of them have as many elements of a block as it has, so that it looks as if
// each rank were one PE. Of another block it may have more, fewer, or none: a block of an all-gather's output may lie
// on one PE, and the next one on another, and only the counterparts of the former one have it for their input. So what
// is sent and received is counted by the tiles of its block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernbench/collective_registry.h"
#include "kernbench/tl.h"
#include "kernbench/where.h"

namespace kernbench::distributed {
struct CollectiveArguments;
struct ElementRow;
struct RankView;
}  // namespace kernbench::distributed

namespace kernbench::collectives {

/// What an algorithm does.
enum class Operation : std::uint8_t {
  all_reduce,
  broadcast,
  reduce_scatter,
  all_gather,
  reduce,
  gather,
  scatter,
  all_to_all,
};

/// How many ranks a group has, and how they stand in the machine.
struct Shape {
  int ranks = 1;
  /// PEs of a cube, cubes, SIPs, without those of size 1: their product is `ranks`. Empty where ranks are SIPs, or do
  /// not fill the levels evenly.
  std::vector<int> levels = {};
};

/// A group that an algorithm may run on: two ranks or more.
struct Group {
  Shape shape;
  bool rank_per_pe = false;  // else a rank is a SIP
  std::string_view wiring;   // of the SIPs: system.sips.topology, such as "ring_1d"
  std::int64_t slots = 1;    // of a channel
};

/// A call of a collective, as all ranks make it.
struct Call {
  DType dtype = DType::f32;
  std::int64_t elements = 0;  // of the tensor; of blocks, of all blocks of a rank
  int pes = 1;                // of a rank, that hold a part of what is moved
  int cubes = 1;              // on which these lie
  bool replicated = false;    // several PEs of a rank hold the same elements
  bool equal_blocks = true;   // all blocks have one size; of an all-to-all they need not
  int root = 0;               // of broadcast, reduce, gather, scatter
};

/// A channel from one rank to another; both count from 0 in the group.
using Channel = std::pair<int, int>;
/// From each rank to the next one, and around.
std::vector<Channel> ring_channels(int ranks);
/// From each rank to each other one.
std::vector<Channel> all_channels(int ranks);

/// Messages that are under way at one time, for the closed-form cost by which `auto` chooses (docs/collectives.md).
struct Step {
  struct Message {
    int from, to;
    double weight = 1;
    int way = 0;  // of several ways that PEs of a rank go at one time: none waits for messages of another one
  };
  std::vector<Message> messages = {};
  double share = 0;             // of the tensor's bytes (of blocks: of all blocks'), of a message of weight 1
  std::int64_t latencies = 1;   // one after the other; 0: they overlap with those of other steps
  std::int64_t times = 1;       // that the step is done
  bool through_memory = false;  // what is sent has been stored in the step before, and is loaded
  bool loaded = false;          // what is sent is loaded when the step before is through
  bool in_turn = false;         // PEs begin with different ranks: what meets on a link goes different ways in turn
  double fresh = 1;             // of the messages those that pass on what the step before brings: others can go with it
  double memory = 0;            // bytes that a rank loads and stores, at most, for each byte of a message of weight 1
};

/// Elements of a tensor that the calling PE takes care of, in a row, and in tiles of one slot each. None where other
/// PEs hold them all.
class Elements {
 public:
  std::int64_t size() const;
  std::int64_t tiles() const;
  /// Part `index` of `count` parts of ceil(size / count) elements, the last ones shorter or empty. ValueError for an
  /// index that is not from 0 to count - 1.
  Elements part(std::int64_t index, std::int64_t count, Where where = Where::current()) const;
  /// Loads or stores one tile; ValueError for a tile that is not there, and for a value of another shape than its.
  tl::Tile load(std::int64_t tile, Where where = Where::current()) const;
  void store(std::int64_t tile, const tl::Tile& value, Where where = Where::current()) const;

  /// For the library's own use.
  explicit Elements(std::shared_ptr<const kernbench::distributed::ElementRow> state) : state_(std::move(state)) {}
  const kernbench::distributed::ElementRow& state() const { return *state_; }

 private:
  std::shared_ptr<const kernbench::distributed::ElementRow> state_;
};

/// A call as the kernel on one PE sees it. `finish` what was folded, and leave nothing in a channel: what one rank
/// sends to another one, that one receives.
class Program {
 public:
  int rank() const;
  int ranks() const;
  /// Of the group's shape.
  const std::vector<int>& levels() const { return levels_; }
  /// Of broadcast, reduce, gather and scatter.
  int root() const;
  /// The rank `steps` places after this one, or before it; the first one follows the last one.
  int after(std::int64_t steps) const;
  int before(std::int64_t steps) const;
  /// Tiles that a channel takes before its receiver has taken one out: who sends more in a row than `slots` to a rank
  /// that does likewise may wait for ever.
  std::int64_t slots() const;

  /// What there is one of has no block but 0: ValueError for others, and for blocks that are not there.
  /// The tensor of all_reduce, broadcast and reduce, which is input and output at once; block `block` of the input of
  /// reduce_scatter, all_to_all, and of scatter on its root (that for rank `block`); the input of all_gather and
  /// gather.
  Elements input(int block = 0, Where where = Where::current()) const;
  /// Block `block` of the output of all_gather, all_to_all, and of gather on its root (that of rank `block`); the
  /// output of reduce_scatter and scatter.
  Elements output(int block = 0, Where where = Where::current()) const;

  /// Sends a tile to the counterpart on a rank, and goes on while a free slot is left. What has one sender, receiver
  /// and tag arrives in order. ValueError for a rank that is not there, or the own one; ProgramError ("NoChannelError")
  /// for one to which the algorithm has declared no channel (receive: from which), whoever else has one.
  void send(int rank, const tl::Tile& tile, std::uint64_t tag = 0, Where where = Where::current()) const;
  /// Waits for the next tile from there, of the shape of tile `tile` of `like`.
  tl::Tile receive(int rank, const Elements& like, std::int64_t tile, std::uint64_t tag = 0,
                   Where where = Where::current()) const;
  /// a ∘ b, the reduction of the call.
  tl::Tile reduce(const tl::Tile& a, const tl::Tile& b) const;
  /// What a fold over all ranks ends with: an AVG is divided here, once.
  tl::Tile finish(const tl::Tile& folded) const;

  /// For the library's own use.
  Program(const Algorithm& algorithm, const kernbench::distributed::RankView& ranks,
          const kernbench::distributed::CollectiveArguments& arguments, std::span<const Channel> channels);
  const kernbench::distributed::RankView& view() const { return ranks_; }

 private:
  const Algorithm& algorithm_;
  const kernbench::distributed::RankView& ranks_;
  const kernbench::distributed::CollectiveArguments& arguments_;
  std::span<const Channel> channels_;  // that the algorithm has declared, in their order
  std::vector<int> levels_;
};

/// What an algorithm is.
struct Algorithm {
  std::string name;  // of its launches, and where it is chosen: letters, digits, underscores
  Operation operation = Operation::all_reduce;
  std::string method;           // how it works, in a line
  std::string fold_order = {};  // of what reduces: in which order, which decides the bits
  /// Why it cannot run on a group, and what would fit; empty text: it can. Without a function: on every group. That
  /// its channels find room is checked besides.
  std::function<std::string(const Group&)> refusal = {};
  /// Why it does not take a call, and what would fit; empty text: it does. A call of an algorithm that is named is then
  /// a ValueError with this reason; `auto` takes another one. Its answer must follow from its arguments alone, which
  /// are the same on all ranks. Without a function it takes every call.
  std::function<std::string(const Group&, const Call&)> validator = {};
  /// The channels that the kernel uses, and no others; each once, none from a rank to itself.
  std::function<std::vector<Channel>(const Shape&)> channels = {};
  /// What each PE of a rank does; also called with one rank.
  std::function<void(Program&)> kernel = {};
  /// What it costs. Without it `auto` never chooses it.
  std::function<std::vector<Step>(const Shape&)> steps = {};
};

/// The schedule of an MSCCL file (XML) as an algorithm: gpu r is rank r, and each PE that holds a part of the tensors
/// runs the schedule on its part (docs/collectives.md). `name`: of the algorithm; without one that of the file's
/// <algo>. ConfigurationError for a file that cannot be read or does not do what its collective is to do: all faults of
/// its text, or the first of its schedule, each with line, element, reason and fix.
Algorithm load_msccl(const std::string& path, const std::string& name = {});

}  // namespace kernbench::collectives

/// In a file for `kernbench run FILE.cpp` or `--load FILE.cpp`: adds the file's algorithms before a program runs.
///   KERNBENCH_COLLECTIVES(registry) { registry.add({.name = "relay", …}); }
#define KERNBENCH_COLLECTIVES(registry) \
  extern "C" void kernbench_add_collectives(::kernbench::CollectiveRegistry& registry)
