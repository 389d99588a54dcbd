#include "tile/compute/vector_command.h"

#include <algorithm>
#include <utility>

#include "numerics/operations.h"
#include "tile/compute/fused_command.h"
#include "tile/program/conversion.h"
#include "tile/program/program.h"

namespace kernbench::tile {

Bytes tile_bytes(const TileState& tile) {
  return Bytes(tile.shape().numel() * item_size(tile.dtype()));
}

hardware::VectorWork work_of(const VectorCommand& command, const TileState& result) {
  hardware::VectorWork work;
  work.elements = command.elements > 0 ? command.elements : result.shape().numel();
  work.operation = command.cost;
  work.reduced = command.reduced;
  work.item_bytes = item_size(command.dtype);
  work.operand_bytes = tile_bytes(result);
  for (const auto& input : command.inputs) {
    work.item_bytes = std::max(work.item_bytes, item_size(input->dtype()));
    work.operand_bytes += tile_bytes(*input);
  }
  return work;
}

DType widest_of(const VectorCommand& command) {
  DType widest = command.dtype;
  for (const auto& input : command.inputs) {
    if (item_size(input->dtype()) > item_size(widest)) widest = input->dtype();
  }
  return widest;
}

namespace {

bool is_known(const VectorCommand& command) {
  return command.pure && !is_floating_point(command.dtype) &&
         std::ranges::all_of(command.inputs, [](const StateRef& input) { return input->known.defined(); });
}

bool is_assumed(const VectorCommand& command) {
  return std::ranges::any_of(command.inputs, [](const StateRef& input) { return input->assumed; });
}

numerics::Value known_result(Program& program, const VectorCommand& command, const tl::Where& where) {
  std::vector<numerics::Value> inputs;
  inputs.reserve(command.inputs.size());
  for (const auto& input : command.inputs) inputs.push_back(input->known);
  numerics::Executor& constants = program.environment().constants;
  const numerics::SourceScope here(constants.sources(), program.source(command.kind, where));
  return command.compute(constants, inputs);
}

}  // namespace

void make_known(Program& program, const VectorCommand& command, TileState& result, const tl::Where& where) {
  if (!is_known(command)) return;
  result.known = known_result(program, command, where);
  result.assumed = is_assumed(command);
}

std::vector<const TileState*> inputs_of(const VectorCommand& command) {
  std::vector<const TileState*> inputs;
  inputs.reserve(command.inputs.size());
  for (const auto& input : command.inputs) inputs.push_back(input.get());
  return inputs;
}

numerics::Value absent(numerics::Executor& executor, DType dtype, const tl::Extents& shape) {
  return numerics::full(executor, to_shape(shape), dtype, 0);
}

namespace {

/// Binds `result` to what `compute` makes of the operands' values, all of which are bound by then.
auto bind_computed(const VectorCommand& command, const TileState& result) {
  std::vector<std::shared_ptr<TileValue>> inputs;
  inputs.reserve(command.inputs.size());
  for (const auto& input : command.inputs) inputs.push_back(input->value());
  return [value = result.value(), inputs = std::move(inputs), compute = command.compute](KernelCommand& mine) {
    std::vector<numerics::Value> values;
    values.reserve(inputs.size());
    for (const auto& input : inputs) values.push_back(input->value);
    value->bind(compute(mine.program->environment().executor, values));
  };
}

}  // namespace

tl::Tile issue_vector_command(Program& program, const VectorCommand& command, const tl::Where& where) {
  if (FusedCommand* fused = program.fused()) return fused->add(command, where);
  const auto result = program.new_tile(command.dtype, command.shape, command.kind, where);
  const auto issued = program.new_command(work_of(command, *result), command.kind, result, inputs_of(command));
  issued->widest = widest_of(command);
  make_known(program, command, *result, where);
  if (!program.environment().data_enabled) {
    issued->take_effect = [value = result->value(), dtype = command.dtype, shape = command.shape](KernelCommand& mine) {
      value->bind(absent(mine.program->environment().executor, dtype, shape));
    };
  } else if (result->known.defined()) {
    issued->take_effect = [value = result->value(), known = result->known](KernelCommand&) { value->bind(known); };
  } else {
    issued->take_effect = bind_computed(command, *result);
  }
  program.issue(issued);
  return tl::Tile(result);
}

tl::Tile make_view(Program& program, const StateRef& of, const char* kind, DType dtype, const tl::Extents& shape,
                   std::function<numerics::Value(numerics::Executor&, const numerics::Value&)> change,
                   const tl::Where& where) {
  auto view = program.new_view(*of, dtype, shape, kind, where);
  auto& environment = program.environment();
  if (of->known.defined() && !is_floating_point(dtype)) {
    view->known = change(environment.constants, of->known);
    view->assumed = of->assumed;
  }
  auto& executor = environment.executor;
  if (environment.data_enabled) {
    of->value()->on_bound([&executor, value = view->value(), change = std::move(change)](const numerics::Value& whole) {
      value->bind(change(executor, whole));
    });
  } else {
    // At the same instant as with data: whoever waits for the value must see no difference.
    of->value()->on_bound([&executor, value = view->value(), dtype, shape](const numerics::Value&) {
      value->bind(absent(executor, dtype, shape));
    });
  }
  return tl::Tile(std::move(view));
}

}  // namespace kernbench::tile
