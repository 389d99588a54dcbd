// collectives.h: what a user's own algorithm is given, and how it is registered.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/quantity.h"
#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/own_algorithm.h"
#include "distributed/algorithms/own_ranges.h"
#include "distributed/algorithms/reduction.h"
#include "distributed/algorithms/slices.h"
#include "kernbench/collectives.h"
#include "kernbench/error.h"
#include "tile/memory/memory_access.h"
#include "tile/program/conversion.h"

namespace kernbench {
namespace {

using collectives::Algorithm;

constexpr std::size_t kLongestName = 64;

bool is_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, fits);
}

/// Why an algorithm cannot be registered; empty: it can.
std::string fault_of(const Algorithm& algorithm, const CollectiveRegistry::Algorithms& others) {
  const std::string& name = algorithm.name;
  if (!is_name(name))
    return fmt::format("the name {} of a collective algorithm is not 1 to {} letters, digits and underscores",
                       in_quotes(name), kLongestName);
  const auto has_name = [&](const auto& other) { return other->name == name; };
  if (name == distributed::kAutomatic || distributed::shipped_algorithms()->named(name) != nullptr)
    return fmt::format("there is a shipped collective algorithm {} already: take another name", name);
  if (std::ranges::any_of(others, has_name))
    return fmt::format("a collective algorithm {} is registered twice: take another name", name);
  const auto missing = [&](const char* member) {
    return fmt::format("collective algorithm {} has no {}: set Algorithm::{}", name, member, member);
  };
  if (!algorithm.kernel) return missing("kernel");
  if (!algorithm.channels) return missing("channels");
  if (algorithm.method.empty()) return missing("method");
  const bool folds = distributed::reduces(distributed::operation_of(algorithm.operation));
  if (folds && algorithm.fold_order.empty()) return missing("fold_order");
  return {};
}

}  // namespace

CollectiveRegistry& CollectiveRegistry::add(Algorithm algorithm) {
  const std::string fault = fault_of(algorithm, algorithms_);
  if (!fault.empty()) throw ValueError(fault);
  algorithms_.push_back(std::make_shared<const Algorithm>(std::move(algorithm)));
  return *this;
}

CollectiveRegistry& CollectiveRegistry::add(const CollectiveRegistry& other) {
  for (const auto& each : other.algorithms()) add(*each);
  return *this;
}

}  // namespace kernbench

namespace kernbench::collectives {

using distributed::CollectiveArguments;
using distributed::ElementRow;
using distributed::Piece;
using distributed::Pieces;
using distributed::RankView;

namespace {

/// "kernel relay#0.0 on sip0.cube0.pe0 (program 0), mine.cpp:24"
std::string place_of(const char* call, const Where& where) {
  return tile::site_of(tile::access_call(call, call, where)).text();
}

std::string text_of(const Algorithm& algorithm, std::int64_t rank, const char* call, const std::string& reason) {
  return fmt::format("algorithm {} on rank {}: {}: {}", algorithm.name, rank, call, reason);
}

[[noreturn]] void refuse(const Algorithm& algorithm, std::int64_t rank, const char* call, const std::string& reason,
                         const Where& where) {
  throw ValueError(text_of(algorithm, rank, call, reason), place_of(call, where));
}
[[noreturn]] void refuse(const ElementRow& row, const char* call, const std::string& reason, const Where& where) {
  refuse(*row.algorithm, row.rank, call, reason, where);
}

Piece tile_at(const ElementRow& row, std::int64_t tile, const char* call, const Where& where) {
  Piece found;
  bool any = false;
  if (tile >= 0)
    distributed::for_each_tile(row.pieces, row.tile_elements, tile, 1, [&](const Piece& at) {
      found = at;
      any = true;
    });
  if (any) return found;
  refuse(row, call,
         fmt::format("there is no tile {} of these elements of the {}: they have {} tiles", tile, row.tensor,
                     distributed::tiles_of(row.pieces, row.tile_elements)),
         where);
}

/// The tile is stored as a whole: a value of another shape would leave a part of it, or reach beyond it.
void check_shape(const ElementRow& row, std::int64_t tile, const tl::Extents& shape, const tl::Tile& value,
                 const Where& where) {
  if (!value.defined()) return;  // which the store refuses
  const tl::Extents given = value.shape();
  if (given == shape) return;
  const bool other_number = given.numel() != shape.numel();
  const std::string has = other_number
                              ? fmt::format("{} elements, the value {}", shape.numel(), given.numel())
                              : fmt::format("the shape {}, the value {}", tile::to_text(shape), tile::to_text(given));
  refuse(row, "store",
         fmt::format("tile {} of these elements of the {} has {}; give a value of its shape", tile, row.tensor, has),
         where);
}

/// Who talks to whom by which call of the program.
struct Talk {
  const Algorithm& algorithm;
  const RankView& ranks;
  std::span<const Channel> channels;
  bool sends;

  const char* call() const { return sends ? "send" : "receive"; }
};

/// The rank at the other end of a channel that the algorithm has declared.
const tensor::DevicePart& other_rank(const Talk& talk, int rank, const Where& where) {
  const auto& [algorithm, ranks, channels, sends] = talk;
  const int own = static_cast<int>(ranks.rank);
  if (rank < 0 || rank >= ranks.size)
    refuse(algorithm, own, talk.call(), fmt::format("there is no rank {}: they are 0 to {}", rank, ranks.size - 1),
           where);
  if (rank == own)
    refuse(algorithm, own, talk.call(),
           fmt::format("rank {} is the program's own; load and store need no message", rank), where);
  const Channel channel = sends ? Channel(own, rank) : Channel(rank, own);
  if (std::ranges::binary_search(channels, channel)) return ranks.part(rank);
  const std::string way = fmt::format("from rank {} to rank {}", channel.first, channel.second);
  // Where ranks fail alike one text stands for all: the places stay apart, and say which goes with which.
  throw ProgramError(
      "NoChannelError",
      text_of(algorithm, own, talk.call(),
              fmt::format("the algorithm declares no channel {}; add it to what Algorithm::channels yields", way)),
      place_of(talk.call(), where) + ", " + way);
}

bool has_one_tensor(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::broadcast || operation == Operation::reduce;
}

/// A call of Program::input or output.
struct BlockCall {
  const Algorithm& algorithm;
  const RankView& ranks;
  const char* name;
  Where where;

  [[noreturn]] void refuse(const std::string& reason) const {
    collectives::refuse(algorithm, ranks.rank, name, reason, where);
  }
  void require_only_one(int block) const {
    if (block == 0) return;
    const auto operation = distributed::name(distributed::operation_of(algorithm.operation));
    refuse(
        fmt::format("there is no block {} of the {} of {}: it is one; leave the number out", block, name, operation));
  }
};

/// The elements of all_reduce, broadcast and reduce.
ElementRow whole_row(const BlockCall& call, const CollectiveArguments& arguments) {
  ElementRow row{{*arguments.tensor}, {}, call.ranks.tile_elements, &call.algorithm, call.ranks.rank, call.name};
  distributed::for_each_own_range(arguments, [&](distributed::Range range) {
    if (range.begin < range.end) row.pieces.push_back({range.begin, 1, 0, range.end - range.begin});
  });
  return row;
}

/// A block of a list.
ElementRow block_row(const BlockCall& call, std::span<const distributed::BlockRow> rows, std::span<const Pieces> shares,
                     std::int64_t row, std::int64_t share) {
  if (rows.empty()) call.refuse("only the root has blocks");
  if (row < 0 || row >= std::ssize(rows))
    call.refuse(fmt::format("there is no block {}: they are 0 to {}", row, std::ssize(rows) - 1));
  return {rows[static_cast<std::size_t>(row)],
          shares[static_cast<std::size_t>(share)],
          call.ranks.tile_elements,
          &call.algorithm,
          call.ranks.rank,
          call.name};
}

Elements elements_of(ElementRow row) {
  return Elements(std::make_shared<const ElementRow>(std::move(row)));
}

}  // namespace

std::vector<Channel> ring_channels(int ranks) {
  std::vector<Channel> channels;
  if (ranks < 2) return channels;
  for (int rank = 0; rank < ranks; ++rank) channels.emplace_back(rank, (rank + 1) % ranks);
  return channels;
}

std::vector<Channel> all_channels(int ranks) {
  std::vector<Channel> channels;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to) channels.emplace_back(from, to);
  return channels;
}

std::int64_t Elements::size() const {
  return distributed::elements_of(state_->pieces);
}
std::int64_t Elements::tiles() const {
  return distributed::tiles_of(state_->pieces, state_->tile_elements);
}
Elements Elements::part(std::int64_t index, std::int64_t count, Where where) const {
  if (index < 0 || index >= count)
    refuse(*state_, "part", fmt::format("there is no part {} of {}: they are 0 to {}", index, count, count - 1), where);
  return Elements(std::make_shared<const ElementRow>(
      ElementRow{state_->row, distributed::part_of(state_->pieces, index, count), state_->tile_elements,
                 state_->algorithm, state_->rank, state_->tensor}));
}
tl::Tile Elements::load(std::int64_t tile, Where where) const {
  return distributed::load(state_->row, tile_at(*state_, tile, "load", where), where);
}
void Elements::store(std::int64_t tile, const tl::Tile& value, Where where) const {
  const Piece at = tile_at(*state_, tile, "store", where);
  check_shape(*state_, tile, distributed::shape_of(at), value, where);
  distributed::store(state_->row, at, value, where);
}

Program::Program(const Algorithm& algorithm, const RankView& ranks, const CollectiveArguments& arguments,
                 std::span<const Channel> channels)
    : algorithm_(algorithm),
      ranks_(ranks),
      arguments_(arguments),
      channels_(channels),
      levels_(ranks.levels.begin(), ranks.levels.end()) {}

int Program::rank() const {
  return static_cast<int>(ranks_.rank);
}
int Program::ranks() const {
  return static_cast<int>(ranks_.size);
}
int Program::root() const {
  return static_cast<int>(arguments_.root);
}
int Program::after(std::int64_t steps) const {
  return static_cast<int>(ranks_.before(-steps));
}
int Program::before(std::int64_t steps) const {
  return static_cast<int>(ranks_.before(steps));
}
std::int64_t Program::slots() const {
  return ranks_.window;
}

Elements Program::input(int block, Where where) const {
  const BlockCall call{algorithm_, ranks_, "input", where};
  const Operation operation = algorithm_.operation;
  const bool whole = has_one_tensor(operation);
  const bool one = operation == Operation::all_gather || operation == Operation::gather;
  if (whole || one) call.require_only_one(block);
  if (whole) return elements_of(whole_row(call, arguments_));
  const auto& blocks = arguments_.blocks;
  const auto shares = operation == Operation::all_gather ? blocks.received : blocks.sent;
  return elements_of(block_row(call, blocks.inputs, shares, block, one ? ranks_.rank : block));
}

Elements Program::output(int block, Where where) const {
  const BlockCall call{algorithm_, ranks_, "output", where};
  const Operation operation = algorithm_.operation;
  const bool whole = has_one_tensor(operation);
  const bool one = operation == Operation::reduce_scatter || operation == Operation::scatter;
  if (whole || one) call.require_only_one(block);
  if (whole) return elements_of(whole_row(call, arguments_));
  const auto& blocks = arguments_.blocks;
  const auto shares = operation == Operation::reduce_scatter ? blocks.sent : blocks.received;
  return elements_of(block_row(call, blocks.outputs, shares, block, one ? ranks_.rank : block));
}

void Program::send(int rank, const tl::Tile& tile, std::uint64_t tag, Where where) const {
  const Talk talk{algorithm_, ranks_, channels_, true};
  tl::isend(tile, distributed::counterpart_on(other_rank(talk, rank, where)), tag, where);
  tl::wait_group(ranks_.window, where);
}

tl::Tile Program::receive(int rank, const Elements& like, std::int64_t tile, std::uint64_t tag, Where where) const {
  const ElementRow& row = like.state();
  const Talk talk{algorithm_, ranks_, channels_, false};
  const tl::Peer peer = distributed::counterpart_on(other_rank(talk, rank, where));
  return tl::recv(row.row.tensor.dtype(), distributed::shape_of(tile_at(row, tile, talk.call(), where)), peer, tag,
                  where);
}

tl::Tile Program::reduce(const tl::Tile& a, const tl::Tile& b) const {
  return distributed::reduce(arguments_.reduction, a, b);
}
tl::Tile Program::finish(const tl::Tile& folded) const {
  if (arguments_.reduction == torch::distributed::ReduceOp::AVG && is_floating_point(folded.dtype()))
    return tl::cast(folded / static_cast<double>(ranks_.size), folded.dtype());
  return distributed::finish_reduction(arguments_.reduction, folded, ranks_.size);
}

}  // namespace kernbench::collectives
