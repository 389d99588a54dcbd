#include "distributed/msccl/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "distributed/algorithms/own_algorithm.h"
#include "kernbench/error.h"
#include "topology/spec.h"

namespace kernbench::distributed::msccl {
namespace {

using collectives::Elements;
using collectives::Program;
using Kind = Cell::Kind;

class Run {
 public:
  Run(const Plan& plan, const std::string& name, const Program& program)
      : plan_(plan),
        name_(name),
        program_(program),
        tiles_at_once_(std::max<std::int64_t>(1, program.slots() / plan.slots)) {
    const DType dtype = block(true, 0).state().row.tensor.dtype();
    tile_elements_ = block(true, 0).state().tile_elements;
    fit_scratch(item_size(dtype));
  }

  void all() {
    check_output();
    keep_own_block();
    const std::int64_t tiles = most_tiles();
    for (first_ = 0; first_ < tiles; first_ += tiles_at_once_) {
      for (const Action& action : plan_.actions[static_cast<std::size_t>(program_.rank())]) act(action);
      scratch_.clear();
    }
  }

 private:
  /// So many tiles at a time that those of all scratch chunks, those under way and some more find room in half of the
  /// TCM of a program; if one is too many, shorter ones.
  void fit_scratch(std::int64_t item) {
    constexpr std::int64_t kOthers = 6;
    const auto& pe = program_.view().machine->pe;
    const std::int64_t room = pe.tcm.capacity.count() / pe.contexts / 2 / item;  // elements
    const std::int64_t scratch = *std::ranges::max_element(plan_.scratch);
    if (scratch == 0) return;
    const std::int64_t under_way = program_.slots() + kOthers;
    const std::int64_t fitting = (room / tile_elements_ - under_way) / scratch;
    tiles_at_once_ = std::clamp<std::int64_t>(fitting, 1, tiles_at_once_);
    tile_elements_ = std::clamp<std::int64_t>(room / (under_way + scratch * tiles_at_once_), 1, tile_elements_);
  }

  Elements block(bool input, int number) const {
    Elements whole = input ? program_.input(number) : program_.output(number);
    if (tile_elements_ == 0) return whole;
    ElementRow row = whole.state();
    row.tile_elements = tile_elements_;
    return Elements(std::make_shared<const ElementRow>(std::move(row)));
  }
  Elements chunk_of(bool input, int number) const {
    const bool one = plan_.operation == CollectiveOperation::all_reduce;
    const auto in_block = one ? number : number % plan_.chunks;
    return block(input, one ? 0 : number / plan_.chunks).part(in_block, plan_.chunks);
  }
  /// The elements of a cell of a tensor.
  const Elements& of(const Cell& cell) {
    const std::pair key{cell.kind == Kind::input, cell.at};
    auto found = cells_.find(key);
    if (found == cells_.end()) found = cells_.emplace(key, chunk_of(key.first, key.second)).first;
    return found->second;
  }
  /// The elements of a chunk, or such as have as many, to tell their number from.
  const Elements& like(int chunk) {
    const int n = plan_.ranks, rank = program_.rank(), block = chunk / plan_.chunks;
    switch (plan_.operation) {
      case CollectiveOperation::all_gather:
        return of({Kind::output, chunk});
      case CollectiveOperation::all_to_all:
        return of({Kind::input, (block / n == rank ? block % n : rank) * plan_.chunks + chunk % plan_.chunks});
      default:
        return of({Kind::input, chunk});
    }
  }

  void check_output() const {
    if (plan_.operation == CollectiveOperation::reduce_scatter && !plan_.in_place &&
        block(true, program_.rank()).state().row.is(block(false, 0).state().row))
      throw ValueError(
          fmt::format("reduce_scatter by {}: the output is a block of the input, and the file has inplace=\"0\"; give "
                      "another output",
                      name_));
  }

  /// In place the own block stands in the output, also where the caller's input is another tensor.
  void keep_own_block() {
    const bool gathers = plan_.operation == CollectiveOperation::all_gather;
    if (!plan_.in_place || plan_.operation == CollectiveOperation::all_reduce) return;
    const Elements from = block(true, gathers ? 0 : program_.rank());
    const Elements to = block(false, gathers ? program_.rank() : 0);
    if (from.state().row.is(to.state().row)) return;
    for (std::int64_t tile = 0; tile < from.tiles(); ++tile) to.store(tile, from.load(tile));
  }

  std::int64_t most_tiles() {
    const bool reduces_all = plan_.operation == CollectiveOperation::all_reduce;
    const Kind kind = plan_.operation == CollectiveOperation::all_gather ? Kind::output : Kind::input;
    std::int64_t most = 0;
    for (int at = 0; at < (reduces_all ? 1 : plan_.ranks) * plan_.chunks; ++at)
      most = std::max(most, of({kind, at}).tiles());
    return most;
  }

  tl::Tile read(const Cell& cell, std::int64_t tile) {
    if (cell.kind != Kind::scratch) return of(cell).load(tile);
    return *scratch_.at({cell.at, tile});
  }
  void write(const Cell& cell, std::int64_t tile, const tl::Tile& value) {
    if (cell.kind != Kind::scratch) return of(cell).store(tile, value);
    scratch_[{cell.at, tile}] = value;
  }

  void act(const Action& action) {
    if (action.type == StepType::copy && action.source == action.target) return;
    const std::int64_t end = std::min(first_ + tiles_at_once_, like(action.chunk).tiles());
    for (std::int64_t tile = first_; tile < end; ++tile) {
      tl::Tile value =
          receives(action.type)
              ? program_.receive(action.receive, like(action.chunk), tile, static_cast<std::uint64_t>(action.channel))
              : read(action.type == StepType::reduce ? action.target : action.source, tile);
      if (folds(action.type)) value = program_.reduce(value, read(action.source, tile));
      if (action.finishes) value = program_.finish(value);
      if (writes(action.type)) write(action.target, tile, value);
      if (sends(action.type)) program_.send(action.send, value, static_cast<std::uint64_t>(action.channel));
    }
  }

  const Plan& plan_;
  const std::string& name_;
  const Program& program_;
  std::int64_t tiles_at_once_, tile_elements_ = 0, first_ = 0;
  std::map<std::pair<bool, int>, Elements> cells_;
  std::map<std::pair<int, std::int64_t>, std::optional<tl::Tile>> scratch_;  // by chunk and tile
};

/// One rank: what it has is what it gets.
void keep_all(const Plan& plan, const Program& program) {
  if (plan.operation == CollectiveOperation::all_reduce) return;
  const Elements from = program.input(0), to = program.output(0);
  if (from.state().row.is(to.state().row)) return;
  for (std::int64_t tile = 0; tile < from.tiles(); ++tile) to.store(tile, from.load(tile));
}

}  // namespace

void run(const Plan& plan, const std::string& name, const Program& program) {
  if (program.ranks() == 1) return keep_all(plan, program);
  Run(plan, name, program).all();
}

}  // namespace kernbench::distributed::msccl
