#include "tile/compute/fused_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "kernbench/error.h"
#include "numerics/elementwise_table.h"
#include "tile/compute/operation_table.h"
#include "tile/program/program.h"

namespace kernbench::tile {

namespace {

/// The operations of the table that run on the vector engine, or nowhere, commands that only kernels of the library
/// give (atan2), functions that are made of these, and questions without a command. Looked up for each operation of a
/// fuse.
const std::unordered_set<std::string_view>& allowed() {
  static const auto all = [] {
    std::unordered_set<std::string_view> names{
        "program_id", "num_programs",   "pe_id",          "cube_id",          "device_id", "zeros_like",
        "full",       "library kernel", "reduce",         "associative_scan", "softmax",   "umulhi",
        "to_mx",      "broadcast",      "xor_sum",        "reduce_or",        "rand",      "rand4x",
        "randn",      "randn4x",        "max_with_index", "min_with_index"};
    for (const OperationInfo* info : operation_table()) {
      if (info->runs != Runs::gemm) names.insert(info->kind);
    }
    for (const numerics::BinaryInfo& row : numerics::binary_table()) {
      if (row.cost) names.insert(row.name);
    }
    return names;
  }();
  return all;
}

}  // namespace

void FusedCommand::name(const char* call, const tl::Where& where) {
  call_ = call;
  where_ = where;
}

void FusedCommand::check(const char* call, const tl::Where& where) const {
  if (allowed().contains(call)) return;
  throw ValueError(
      fmt::format("tl::{}: not possible within tl::fuse, whose operations become one command of the vector "
                  "engine; call it before or after the fuse",
                  call),
      program_.place(where));
}

void FusedCommand::read(const StateRef& tile) {
  const Reservation* bytes = tile->reservation().get();
  if (inner_.contains(bytes) || !input_bytes_.insert(bytes).second) return;
  inputs_.push_back(tile);
  work_.operand_bytes += tile_bytes(*tile);
}

tl::Tile FusedCommand::add(const VectorCommand& command, const tl::Where& where) {
  const auto state = program_.new_inner_tile(command.dtype, command.shape, command.kind, where);
  const hardware::VectorWork alone = work_of(command, *state);
  const DType widest = widest_of(command);
  work_.fused.push_back({alone.elements, alone.operation, alone.item_bytes, alone.reduced, widest});
  work_.kept += alone.operand_bytes;
  make_known(program_, command, *state, where);
  state->expression = expression_of(command.kind, inputs_of(command));
  Step step{command.kind, where, {}, state->value(), command.compute};
  for (const auto& input : command.inputs) {
    read(input);
    step.inputs.push_back(input->value());
  }
  inner_.insert(state->reservation().get());
  left_.push_back({state->reservation(), command.kind, where});
  steps_.push_back(std::move(step));
  return tl::Tile(state);
}

void FusedCommand::check_left() const {
  for (const Left& each : left_) {
    if (each.reservation.expired()) continue;
    throw ValueError(
        fmt::format("tl::{}: the value of {} at {} has a handle outside of the scope; values of a fuse pass "
                    "registers and are gone after it: return the tile from the function",
                    call_, each.kind, to_text(each.where)),
        program_.place(each.where));
  }
}

/// What is to become a tile with room.
struct FusedCommand::Output {
  std::shared_ptr<TileValue> from;
  DType dtype;
  tl::Extents shape;
  numerics::Value known;
  bool assumed;
  std::uint64_t expression;
  std::shared_ptr<TileValue> to = {};
};

std::vector<tl::Tile> FusedCommand::issue(std::vector<tl::Tile> results) {
  if (steps_.empty()) return results;
  if (!where_) where_ = steps_.front().where;
  std::vector<Output> outputs;
  std::vector<std::size_t> places(results.size());  // among the outputs, from 1 on; 0: a tile from outside
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TileState& state = *program_.own(results[i], call_, *where_);
    if (!inner_.contains(state.reservation().get())) continue;
    auto known = std::ranges::find(outputs, state.value(), &Output::from);
    if (known == outputs.end()) {
      outputs.push_back({state.value(), state.dtype(), state.shape(), state.known, state.assumed, state.expression});
      known = std::prev(outputs.end());
    }
    places[i] = static_cast<std::size_t>(known - outputs.begin()) + 1;
    results[i] = {};
  }
  check_left();
  const auto tiles = issue_with(outputs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (places[i] > 0) results[i] = tl::Tile(tiles[places[i] - 1]);
  }
  return results;
}

std::vector<StateRef> FusedCommand::issue_with(std::vector<Output>& outputs) {
  std::vector<StateRef> tiles;
  for (Output& output : outputs) {
    tiles.push_back(program_.new_tile(output.dtype, output.shape, call_, *where_));
    tiles.back()->known = output.known;
    tiles.back()->assumed = output.assumed;
    output.to = tiles.back()->value();
    work_.operand_bytes += tile_bytes(*tiles.back());
  }
  work_.kept -= std::min(work_.kept, work_.operand_bytes);
  std::vector<const TileState*> inputs;
  for (const StateRef& input : inputs_) inputs.push_back(input.get());
  const auto command = program_.new_command(std::move(work_), call_, tiles.empty() ? nullptr : tiles.front(), inputs);
  command->where = *where_;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (i > 0) command->holds.push_back(tiles[i]->reservation());
    tiles[i]->producer = command;
    tiles[i]->expression = outputs[i].expression;
  }
  const auto effect = std::make_shared<std::pair<std::vector<Step>, std::vector<Output>>>(std::move(steps_), outputs);
  command->take_effect = [effect](KernelCommand& mine) { compute(*mine.program, effect->first, effect->second); };
  program_.issue(command);
  return tiles;
}

void FusedCommand::compute(Program& program, const std::vector<Step>& steps, const std::vector<Output>& outputs) {
  numerics::Executor& executor = program.environment().executor;
  if (!program.environment().data_enabled) {
    for (const Output& output : outputs) output.to->bind(absent(executor, output.dtype, output.shape));
    return;
  }
  for (const Step& step : steps) {
    const numerics::SourceScope here(executor.sources(), program.source(step.kind, step.where));
    std::vector<numerics::Value> values;
    values.reserve(step.inputs.size());
    for (const auto& input : step.inputs) values.push_back(input->value);
    step.result->bind(step.compute(executor, values));
  }
  for (const Output& output : outputs) output.to->bind(output.from->value);
}

}  // namespace kernbench::tile

namespace kernbench::tl::detail {

using tile::FusedCommand;
using tile::Program;

FuseScope::FuseScope() {
  Program& program = Program::current("fuse");
  if (program.fused() != nullptr) return;
  command_ = std::make_shared<FusedCommand>(program);
  program.set_fused(command_.get());
}

FuseScope::~FuseScope() {
  if (command_) command_->program().set_fused(nullptr);
}

void FuseScope::add(Tile&& result) {
  results_.push_back(std::move(result));
}

std::vector<Tile> FuseScope::close() {
  if (!command_) return std::move(results_);
  command_->program().set_fused(nullptr);
  return command_->issue(std::move(results_));
}

}  // namespace kernbench::tl::detail
