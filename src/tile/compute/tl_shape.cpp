// Changes of shape: views that cost nothing, and commands that move lanes.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "tile/compute/tile_operands.h"
#include "tile/program/conversion.h"

namespace kernbench::tl {

using tile::OperationInfo;
using tile::Program;
using tile::StateRef;
using tile::to_shape;
using tile::to_text;
namespace operations = tile::operations;
using Inputs = std::span<const numerics::Value>;

namespace {

/// A tile of the same elements in another shape. REQUIRES: equal numel.
Tile reshaped(Program& program, const OperationInfo& info, const StateRef& state, const Extents& shape,
              const Where& where) {
  return tile::make_view(
      program, state, info.kind, state->dtype(), shape,
      [shape](numerics::Executor& executor, const numerics::Value& value) {
        return numerics::reshape(executor, value, to_shape(shape));
      },
      where);
}

/// `shape` with its -1, if it has one, filled in; ValueError unless it has as many elements as `from`.
Extents completed_shape(const Program& program, const OperationInfo& info, Extents shape, const Extents& from,
                        const Where& where) {
  const auto wanted = shape;
  const auto open = static_cast<std::size_t>(std::ranges::find(shape, -1) - shape.begin());
  if (open < shape.size()) shape[open] = 1;
  const bool positive = std::ranges::all_of(shape, [](std::int64_t extent) { return extent > 0; });
  if (positive && open < shape.size()) shape[open] = std::max<std::int64_t>(from.numel() / shape.numel(), 1);
  if (!positive || shape.numel() != from.numel()) {
    tile::refuse(
        program, info.kind,
        fmt::format("a tile of shape {} has {} elements and cannot become {}; extents must be positive (one may be "
                    "-1) and their product the same",
                    to_text(from), from.numel(), to_text(wanted)),
        where);
  }
  return shape;
}

Tile reshape_as(const OperationInfo& info, const Tile& x, const Extents& shape, const Where& where) {
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  return reshaped(program, info, state, completed_shape(program, info, shape, state->shape(), where), where);
}

/// Dimensions counted from 0; ValueError unless each of the tile's occurs once.
std::vector<int> checked_order(const Program& program, const OperationInfo& info, const Extents& order,
                               const Extents& shape, const Where& where) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::vector<int> result;
  std::vector<bool> seen(shape.size(), false);
  for (const std::int64_t dimension : order) {
    const std::int64_t wrapped = dimension < 0 ? dimension + rank : dimension;
    if (wrapped < 0 || wrapped >= rank || seen[static_cast<std::size_t>(wrapped)]) break;
    seen[static_cast<std::size_t>(wrapped)] = true;
    result.push_back(static_cast<int>(wrapped));
  }
  if (result.size() != order.size() || result.size() != shape.size()) {
    tile::refuse(program, info.kind,
                 fmt::format("order {} does not name each dimension of shape {} once", to_text(order), to_text(shape)),
                 where);
  }
  return result;
}

/// One command that moves lanes: `compute` makes the value.
Tile moved(Program& program, const OperationInfo& info, DType dtype, const Extents& shape, std::vector<StateRef> inputs,
           tile::ComputeValue compute, const Where& where) {
  return tile::issue_vector_command(program,
                                    {.kind = info.kind,
                                     .cost = info.cost,
                                     .dtype = dtype,
                                     .shape = shape,
                                     .inputs = std::move(inputs),
                                     .compute = std::move(compute)},
                                    where);
}

Tile permute_as(const OperationInfo& info, Program& program, const StateRef& state, const Extents& order,
                const Where& where) {
  auto dimensions = checked_order(program, info, order, state->shape(), where);
  Extents shape = state->shape();
  for (std::size_t i = 0; i < dimensions.size(); ++i)
    shape[i] = state->shape()[static_cast<std::size_t>(dimensions[i])];
  return moved(
      program, info, state->dtype(), shape, {state},
      [dimensions = std::move(dimensions)](numerics::Executor& executor, Inputs inputs) {
        return numerics::permute(executor, inputs[0], dimensions);
      },
      where);
}

Extents appended(const Extents& shape, std::int64_t extent) {
  std::vector<std::int64_t> result(shape.begin(), shape.end());
  result.push_back(extent);
  return Extents(std::span<const std::int64_t>(result));
}

/// ValueError unless the tiles agree in type, rank, and every extent but that of `axis`; the extents of the result.
Extents joined_shape(const Program& program, const OperationInfo& info, const std::vector<StateRef>& states,
                     std::size_t axis, const Where& where) {
  const auto& first = *states.front();
  Extents shape = first.shape();
  for (std::size_t i = 1; i < states.size(); ++i) {
    const auto& other = *states[i];
    if (other.dtype() != first.dtype()) {
      tile::refuse(program, info.kind,
                   fmt::format("tiles of types {} and {} cannot be put together; cast one of them", name(first.dtype()),
                               name(other.dtype())),
                   where);
    }
    Extents same = other.shape();
    if (same.size() == shape.size()) same[axis] = first.shape()[axis];
    if (!(same == first.shape())) {
      tile::refuse(program, info.kind,
                   fmt::format("shapes {} and {} must agree but for dimension {}", to_text(first.shape()),
                               to_text(other.shape()), axis),
                   where);
    }
    shape[axis] += other.shape()[axis];
  }
  return shape;
}

}  // namespace

Tile reshape(const Tile& x, Extents shape, Where where) {
  return reshape_as(operations::kReshape, x, shape, where);
}
Tile view(const Tile& x, Extents shape, Where where) {
  return reshape_as(operations::kView, x, shape, where);
}
Tile ravel(const Tile& x, Where where) {
  return reshape_as(operations::kRavel, x, {-1}, where);
}

Tile expand_dims(const Tile& x, int axis, Where where) {
  const auto& info = operations::kExpandDims;
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  const auto at = static_cast<std::size_t>(
      tile::checked_axis(program, info.kind, axis, state->shape(), state->shape().size() + 1, where));
  std::vector<std::int64_t> shape(state->shape().begin(), state->shape().end());
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), 1);
  return reshaped(program, info, state, Extents(std::span<const std::int64_t>(shape)), where);
}

Tile permute(const Tile& x, Extents order, Where where) {
  const auto& info = operations::kPermute;
  auto& program = Program::current(info.kind, where);
  return permute_as(info, program, program.own(x, info.kind, where), order, where);
}

Tile trans(const Tile& x, Extents order, Where where) {
  const auto& info = operations::kTrans;
  auto& program = Program::current(info.kind, where);
  return permute_as(info, program, program.own(x, info.kind, where), order, where);
}

Tile trans(const Tile& x, Where where) {
  const auto& info = operations::kTrans;
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  const std::size_t rank = state->shape().size();
  if (rank < 2) {
    tile::refuse(
        program, info.kind,
        fmt::format("a tile of shape {} has no two dimensions to swap; reshape it first", to_text(state->shape())),
        where);
  }
  Extents order = state->shape();
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(i);
  std::swap(order[rank - 1], order[rank - 2]);
  return permute_as(info, program, state, order, where);
}

Tile broadcast_to(const Tile& x, Extents shape, Where where) {
  const auto& info = operations::kBroadcastTo;
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  if (state->shape() == shape) return x;
  const auto both = numerics::broadcast_shapes(to_shape(state->shape()), to_shape(shape));
  const bool positive = std::ranges::all_of(shape, [](std::int64_t extent) { return extent > 0; });
  if (!both || !positive || !(*both == to_shape(shape))) {
    tile::refuse(
        program, info.kind,
        fmt::format("a tile of shape {} does not broadcast to {}: aligned on the right, its extents must be equal "
                    "or 1",
                    to_text(state->shape()), to_text(shape)),
        where);
  }
  return moved(
      program, info, state->dtype(), shape, {state},
      [shape](numerics::Executor& executor, Inputs inputs) {
        return numerics::broadcast_to(executor, inputs[0], to_shape(shape));
      },
      where);
}

Tile cat(std::span<const Tile> tiles, int axis, Where where) {
  const auto& info = operations::kCat;
  auto& program = Program::current(info.kind, where);
  if (tiles.empty()) tile::refuse(program, info.kind, "no tiles were given", where);
  std::vector<StateRef> states;
  states.reserve(tiles.size());
  for (const Tile& tile : tiles) states.push_back(program.own(tile, info.kind, where));
  axis = tile::checked_axis(program, info.kind, axis, states.front()->shape(), where);
  const Extents shape = joined_shape(program, info, states, static_cast<std::size_t>(axis), where);
  const DType dtype = states.front()->dtype();
  return moved(
      program, info, dtype, shape, std::move(states),
      [axis](numerics::Executor& executor, Inputs inputs) { return numerics::cat(executor, inputs, axis); }, where);
}
Tile cat(std::initializer_list<Tile> tiles, int axis, Where where) {
  return cat(std::span(tiles.begin(), tiles.size()), axis, where);
}
Tile cat(const Tile& a, const Tile& b, int axis, Where where) {
  return cat({a, b}, axis, where);
}

Tile join(const Tile& a, const Tile& b, Where where) {
  const auto& info = operations::kJoin;
  auto& program = Program::current(info.kind, where);
  const Operand left = a, right = b;
  const tile::TileOperands operands(program, info, {&left, &right}, where);
  const DType dtype = operands.promoted();
  const Extents shape = operands.shape();
  if (shape.size() == Extents::kMaximumRank) {
    tile::refuse(program, info.kind,
                 fmt::format("the result of tiles of shape {} has too many dimensions", to_text(shape)), where);
  }
  return moved(
      program, info, dtype, appended(shape, 2), operands.tiles(),
      [shape, dtype](numerics::Executor& executor, Inputs inputs) {
        std::vector<numerics::Value> halves;
        for (const numerics::Value& input : inputs) {
          const auto converted = numerics::cast(executor, input, dtype);
          const auto whole = numerics::broadcast_to(executor, converted, to_shape(shape));
          halves.push_back(numerics::expand_dims(executor, whole, static_cast<int>(shape.size())));
        }
        return numerics::cat(executor, halves, static_cast<int>(shape.size()));
      },
      where);
}

std::pair<Tile, Tile> split(const Tile& x, Where where) {
  const auto& info = operations::kSplit;
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  const std::size_t rank = state->shape().size();
  if (rank == 0 || state->shape()[rank - 1] != 2) {
    tile::refuse(program, info.kind, fmt::format("the last extent of shape {} must be 2", to_text(state->shape())),
                 where);
  }
  const Extents shape(state->shape().span().first(rank - 1));
  const auto half = [&](std::int64_t which) {
    return moved(
        program, info, state->dtype(), shape, {state},
        [which, shape](numerics::Executor& executor, Inputs inputs) {
          const auto lanes = numerics::narrow(executor, inputs[0], static_cast<int>(shape.size()), which, 1);
          return numerics::reshape(executor, lanes, to_shape(shape));
        },
        where);
  };
  Tile first = half(0), second = half(1);
  return {std::move(first), std::move(second)};
}

}  // namespace kernbench::tl
