// Lanes that meet each other: flip, gather, sort, histogram, and reductions and scans by a function.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "tile/compute/fuse_as.h"
#include "tile/compute/tile_operands.h"
#include "tile/program/conversion.h"

namespace kernbench::tl {

using tile::OperationInfo;
using tile::Program;
using tile::refuse;
using tile::StateRef;
using tile::to_text;
namespace operations = tile::operations;
using Inputs = std::span<const numerics::Value>;

namespace {

/// A tile that is known to be the calling program's, with an axis of it counted from 0.
struct Along {
  Program& program;
  const StateRef& state;
  int axis;

  Along(const char* call, const Tile& x, int dim, const Where& where)
      : program(Program::current(call, where)),
        state(program.own(x, call, where)),
        axis(tile::checked_axis(program, call, dim, state->shape(), where)) {}
  std::int64_t length() const { return state->shape()[static_cast<std::size_t>(axis)]; }
  Extents with(std::int64_t length) const {
    Extents shape = state->shape();
    shape[static_cast<std::size_t>(axis)] = length;
    return shape;
  }
};

/// Lanes that the vector engine goes through in all stages of a bitonic network.
std::int64_t lanes_of_network(const Along& x) {
  const auto levels = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(x.length() - 1)));
  return x.state->shape().numel() / x.length() * (std::int64_t{1} << levels) * (levels * (levels + 1) / 2);
}

Tile sorted(const OperationInfo& info, const Along& x, bool descending, std::int64_t kept, const Where& where) {
  return tile::issue_vector_command(x.program,
                                    {.kind = info.kind,
                                     .cost = info.cost,
                                     .dtype = x.state->dtype(),
                                     .shape = x.with(kept),
                                     .inputs = {x.state},
                                     .compute =
                                         [axis = x.axis, descending, kept](numerics::Executor& executor, Inputs in) {
                                           return numerics::sort(executor, in[0], axis, descending, kept);
                                         },
                                     .elements = std::max(lanes_of_network(x), x.state->shape().numel())},
                                    where);
}

}  // namespace

Tile flip(const Tile& x, int dim, Where where) {
  const auto& info = operations::kFlip;
  const Along along("flip", x, dim, where);
  return tile::issue_vector_command(
      along.program,
      {.kind = info.kind,
       .cost = info.cost,
       .dtype = along.state->dtype(),
       .shape = along.state->shape(),
       .inputs = {along.state},
       .compute = [axis = along.axis](numerics::Executor& executor,
                                      Inputs inputs) { return numerics::flip(executor, inputs[0], axis); }},
      where);
}

Tile gather(const Tile& x, const Tile& index, int axis, Where where) {
  const auto& info = operations::kGather;
  const Along along("gather", x, axis, where);
  const auto& places = along.program.own(index, "gather", where);
  if (!is_integer(places->dtype())) {
    refuse(along.program, "gather", fmt::format("indices are integers, not {}; cast them", name(places->dtype())),
           where);
  }
  const Extents& shape = places->shape();
  const bool fits =
      shape.size() == along.state->shape().size() && shape == along.with(shape[static_cast<std::size_t>(along.axis)]);
  if (!fits) {
    refuse(along.program, "gather",
           fmt::format("indices of shape {} for a tile of shape {}: they must agree but for dimension {}",
                       to_text(shape), to_text(along.state->shape()), along.axis),
           where);
  }
  return tile::issue_vector_command(along.program,
                                    {.kind = info.kind,
                                     .cost = info.cost,
                                     .dtype = along.state->dtype(),
                                     .shape = shape,
                                     .inputs = {along.state, places},
                                     .compute =
                                         [axis = along.axis](numerics::Executor& executor, Inputs inputs) {
                                           return numerics::take_along(executor, inputs[0], inputs[1], axis);
                                         }},
                                    where);
}

Tile sort(const Tile& x, int dim, bool descending, Where where) {
  const Along along("sort", x, dim, where);
  return sorted(operations::kSort, along, descending, along.length(), where);
}

Tile topk(const Tile& x, std::int64_t k, int dim, Where where) {
  const Along along("topk", x, dim, where);
  if (k < 1 || k > along.length()) {
    refuse(along.program, "topk",
           fmt::format("k is {}; dimension {} of shape {} has 1 to {} lanes to choose", k, along.axis,
                       to_text(along.state->shape()), along.length()),
           where);
  }
  return sorted(operations::kTopk, along, true, k, where);
}

Tile histogram(const Tile& x, std::int64_t bins, const Tile& mask, Where where) {
  const auto& info = operations::kHistogram;
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  tile::check_accepted(program, info, state->dtype(), where);
  if (bins < 1) refuse(program, info.kind, fmt::format("{} bins; there must be at least one", bins), where);
  std::vector<StateRef> inputs{state};
  if (mask.defined()) {
    inputs.push_back(program.own(mask, info.kind, where));
    if (!(inputs.back()->shape() == state->shape())) {
      refuse(program, info.kind,
             fmt::format("a mask of shape {} for a tile of shape {}: they must agree", to_text(mask.shape()),
                         to_text(state->shape())),
             where);
    }
  }
  const std::int64_t lanes = state->shape().numel();
  return tile::issue_vector_command(
      program,
      {.kind = info.kind,
       .cost = info.cost,
       .dtype = DType::i32,
       .shape = {bins},
       .inputs = std::move(inputs),
       .compute =
           [bins](numerics::Executor& executor, Inputs in) {
             const auto counted = in.size() > 1 ? numerics::cast(executor, in[1], DType::boolean) : numerics::Value();
             return numerics::histogram(executor, in[0], counted, bins);
           },
       .elements = lanes * bins,
       .reduced = lanes},
      where);
}

namespace detail {

namespace {

/// The lanes start, start + step, … of each tile along an axis: a copy within the fused command.
std::vector<Tile> parts(Program& program, const char* kind, const std::vector<Tile>& tiles, int axis,
                        std::int64_t start, std::int64_t length, std::int64_t step, const Where& where) {
  std::vector<Tile> result;
  for (const Tile& tile : tiles) {
    const StateRef& state = tile.state();
    Extents shape = state->shape();
    shape[static_cast<std::size_t>(axis)] = length;
    result.push_back(tile::issue_vector_command(
        program,
        {.kind = kind,
         .cost = topology::VectorOperation::copy,
         .dtype = state->dtype(),
         .shape = shape,
         .inputs = {state},
         .compute = [=](numerics::Executor& executor,
                        Inputs inputs) { return numerics::narrow(executor, inputs[0], axis, start, length, step); }},
        where));
  }
  return result;
}

/// Tiles of one shape, and the function that combines two lots of them.
class Combination {
 public:
  Combination(const char* call, std::span<const Tile> tiles, const CombineTiles& combine, const Where& where)
      : call_(call), program_(Program::current(call, where)), combine_(combine), where_(where) {
    for (const Tile& tile : tiles) {
      if (!(program_.own(tile, call, where)->shape() == tiles.front().shape())) {
        refuse(program_, call,
               fmt::format("tiles of shapes {} and {} cannot be combined together; give them one shape",
                           to_text(tiles.front().shape()), to_text(tile.shape())),
               where);
      }
    }
  }
  int checked(int axis, const Extents& shape) const { return tile::checked_axis(program_, call_, axis, shape, where_); }
  std::vector<Tile> part(const std::vector<Tile>& tiles, int axis, std::int64_t start, std::int64_t length,
                         std::int64_t step = 1) const {
    return parts(program_, call_, tiles, axis, start, length, step, where_);
  }
  std::vector<Tile> operator()(const std::vector<Tile>& left, const std::vector<Tile>& right) const {
    std::vector<Tile> result = combine_(left, right);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const Tile& made = result[i];
      if (made.defined() && made.dtype() == left[i].dtype() && made.shape() == left[i].shape()) continue;
      refuse(
          program_, call_,
          made.defined()
              ? fmt::format("combine makes a tile of type {} and shape {} of two of type {} and shape {}; "
                            "it must keep both",
                            name(made.dtype()), to_text(made.shape()), name(left[i].dtype()), to_text(left[i].shape()))
              : std::string("combine makes an empty tile; it must return one"),
          where_);
    }
    return result;
  }
  std::vector<Tile> joined(const std::vector<Tile>& first, const std::vector<Tile>& second, int axis) const {
    std::vector<Tile> result;
    for (std::size_t i = 0; i < first.size(); ++i) result.push_back(cat(first[i], second[i], axis, where_));
    return result;
  }

 private:
  const char* call_;
  Program& program_;
  const CombineTiles& combine_;
  Where where_;
};

}  // namespace

std::vector<Tile> reduce(std::span<const Tile> tiles, std::optional<int> axis, const CombineTiles& combine,
                         bool keep_dims, const Where& where) {
  const Combination combination("reduce", tiles, combine, where);
  const Extents whole = tiles.front().shape();
  if (axis) axis = combination.checked(*axis, whole);
  const int along = axis.value_or(0);
  const Extents shape = tile::reduced_shape(whole, axis, keep_dims);
  return tile::fuse_as("reduce", where, [&] {
    std::vector<Tile> now(tiles.begin(), tiles.end());
    if (!axis)
      for (Tile& tile : now) tile = ravel(tile, where);
    for (std::int64_t lanes = now.front().shape()[static_cast<std::size_t>(along)]; lanes > 1;
         lanes = lanes / 2 + lanes % 2) {
      std::vector<Tile> pairs =
          combination(combination.part(now, along, 0, lanes / 2, 2), combination.part(now, along, 1, lanes / 2, 2));
      if (lanes % 2 == 1) pairs = combination.joined(pairs, combination.part(now, along, lanes - 1, 1), along);
      now = std::move(pairs);
    }
    for (Tile& tile : now) tile = reshape(tile, shape, where);
    return now;
  });
}

std::vector<Tile> associative_scan(std::span<const Tile> tiles, int axis, const CombineTiles& combine, bool reverse,
                                   const Where& where) {
  const Combination combination("associative_scan", tiles, combine, where);
  const int along = combination.checked(axis, tiles.front().shape());
  const std::int64_t lanes = tiles.front().shape()[static_cast<std::size_t>(along)];
  return tile::fuse_as("associative_scan", where, [&] {
    std::vector<Tile> now(tiles.begin(), tiles.end());
    const auto turn = [&] {
      for (Tile& tile : now) tile = flip(tile, along, where);
    };
    if (reverse) turn();
    for (std::int64_t distance = 1; distance < lanes; distance *= 2) {
      const std::int64_t rest = lanes - distance;
      now = combination.joined(
          combination.part(now, along, 0, distance),
          combination(combination.part(now, along, 0, rest), combination.part(now, along, distance, rest)), along);
    }
    if (reverse) turn();
    return now;
  });
}

}  // namespace detail

}  // namespace kernbench::tl
