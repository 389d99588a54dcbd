// collectives.h: what a user's own algorithm is given, and how it is registered.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
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

Piece tile_at(const ElementRow& row, std::int64_t tile) {
  Piece found;
  bool any = false;
  if (tile >= 0)
    distributed::for_each_tile(row.pieces, row.tile_elements, tile, 1, [&](const Piece& at) {
      found = at;
      any = true;
    });
  if (any) return found;
  throw ValueError(fmt::format("there is no tile {} of these elements: they have {} tiles", tile,
                               distributed::tiles_of(row.pieces, row.tile_elements)));
}

const tensor::DevicePart& other_rank(const RankView& ranks, int rank, const char* call) {
  if (rank < 0 || rank >= ranks.size)
    throw ValueError(fmt::format("{}: there is no rank {}: they are 0 to {}", call, rank, ranks.size - 1));
  if (rank == ranks.rank)
    throw ValueError(fmt::format("{}: rank {} is the program's own; load and store need no message", call, rank));
  return ranks.part(rank);
}

bool has_one_tensor(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::broadcast || operation == Operation::reduce;
}

/// The elements of all_reduce, broadcast and reduce.
ElementRow whole_row(const RankView& ranks, const CollectiveArguments& arguments) {
  ElementRow row{{*arguments.tensor}, {}, ranks.tile_elements};
  distributed::for_each_own_range(arguments, [&](distributed::Range range) {
    if (range.begin < range.end) row.pieces.push_back({range.begin, 1, 0, range.end - range.begin});
  });
  return row;
}

/// A block of a list; `what` names it for errors.
ElementRow block_row(const RankView& ranks, std::span<const distributed::BlockRow> rows, std::span<const Pieces> shares,
                     std::int64_t row, std::int64_t share, const char* what) {
  if (rows.empty()) throw ValueError(fmt::format("{}: only the root has blocks", what));
  if (row < 0 || row >= std::ssize(rows))
    throw ValueError(fmt::format("{}: there is no block {}: they are 0 to {}", what, row, std::ssize(rows) - 1));
  return {rows[static_cast<std::size_t>(row)], shares[static_cast<std::size_t>(share)], ranks.tile_elements};
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
Elements Elements::part(std::int64_t index, std::int64_t count) const {
  if (index < 0 || index >= count)
    throw ValueError(fmt::format("there is no part {} of {}: they are 0 to {}", index, count, count - 1));
  return Elements(std::make_shared<const ElementRow>(
      ElementRow{state_->row, distributed::part_of(state_->pieces, index, count), state_->tile_elements}));
}
tl::Tile Elements::load(std::int64_t tile) const {
  return distributed::load(state_->row, tile_at(*state_, tile));
}
void Elements::store(std::int64_t tile, const tl::Tile& value) const {
  distributed::store(state_->row, tile_at(*state_, tile), value);
}

Program::Program(const Algorithm& algorithm, const RankView& ranks, const CollectiveArguments& arguments)
    : operation_(algorithm.operation),
      ranks_(ranks),
      arguments_(arguments),
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

Elements Program::input(int block) const {
  if (has_one_tensor(operation_)) return elements_of(whole_row(ranks_, arguments_));
  const auto& blocks = arguments_.blocks;
  const bool one = operation_ == Operation::all_gather || operation_ == Operation::gather;
  const auto shares = operation_ == Operation::all_gather ? blocks.received : blocks.sent;
  return elements_of(block_row(ranks_, blocks.inputs, shares, one ? 0 : block, one ? ranks_.rank : block, "input"));
}

Elements Program::output(int block) const {
  if (has_one_tensor(operation_)) return elements_of(whole_row(ranks_, arguments_));
  const auto& blocks = arguments_.blocks;
  const bool one = operation_ == Operation::reduce_scatter || operation_ == Operation::scatter;
  const auto shares = operation_ == Operation::reduce_scatter ? blocks.sent : blocks.received;
  return elements_of(block_row(ranks_, blocks.outputs, shares, one ? 0 : block, one ? ranks_.rank : block, "output"));
}

void Program::send(int rank, const tl::Tile& tile, std::uint64_t tag, Where where) const {
  tl::isend(tile, distributed::counterpart_on(other_rank(ranks_, rank, "send")), tag, where);
  tl::wait_group(ranks_.window);
}

tl::Tile Program::receive(int rank, const Elements& like, std::int64_t tile, std::uint64_t tag, Where where) const {
  const ElementRow& row = like.state();
  return tl::recv(row.row.tensor.dtype(), distributed::shape_of(tile_at(row, tile)),
                  distributed::counterpart_on(other_rank(ranks_, rank, "receive")), tag, where);
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
