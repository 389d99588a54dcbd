// Reductions and running sums.
#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "tile/compute/tile_operands.h"
#include "tile/program/conversion.h"

namespace kernbench::tl {

using numerics::ReduceOperation;
using tile::OperationInfo;
using tile::Program;
namespace operations = tile::operations;
using Inputs = std::span<const numerics::Value>;

namespace {

Tile reduce(const OperationInfo& info, ReduceOperation operation, const Tile& x, std::optional<int> axis,
            bool keep_dims, const Where& where) {
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  if (axis) axis = tile::checked_axis(program, info.kind, *axis, state->shape(), where);
  const DType dtype = tile::result_type(info, state->dtype());
  const std::int64_t all = state->shape().numel();
  return tile::issue_vector_command(
      program,
      {.kind = info.kind,
       .cost = info.cost,
       .dtype = dtype,
       .shape = tile::reduced_shape(state->shape(), axis, keep_dims),
       .inputs = {state},
       .compute =
           [operation, axis, keep_dims, dtype](numerics::Executor& executor, Inputs inputs) {
             return numerics::reduce(executor, operation, inputs[0], axis, keep_dims, dtype);
           },
       .elements = all,
       .reduced = axis ? state->shape()[static_cast<std::size_t>(*axis)] : all},
      where);
}

}  // namespace

Tile sum(const Tile& x, std::optional<int> axis, bool keep_dims, Where where) {
  return reduce(operations::kSum, ReduceOperation::sum, x, axis, keep_dims, where);
}
Tile max(const Tile& x, std::optional<int> axis, bool keep_dims, Where where) {
  return reduce(operations::kMax, ReduceOperation::maximum, x, axis, keep_dims, where);
}
Tile min(const Tile& x, std::optional<int> axis, bool keep_dims, Where where) {
  return reduce(operations::kMin, ReduceOperation::minimum, x, axis, keep_dims, where);
}
Tile argmax(const Tile& x, std::optional<int> axis, bool keep_dims, Where where) {
  return reduce(operations::kArgmax, ReduceOperation::argmax, x, axis, keep_dims, where);
}
Tile argmin(const Tile& x, std::optional<int> axis, bool keep_dims, Where where) {
  return reduce(operations::kArgmin, ReduceOperation::argmin, x, axis, keep_dims, where);
}

namespace {

using Scan = numerics::Value (*)(numerics::Executor&, const numerics::Value&, int axis, bool reverse, DType);

Tile scan(const OperationInfo& info, Scan values, const Tile& x, int axis, bool reverse, const Where& where) {
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  axis = tile::checked_axis(program, info.kind, axis, state->shape(), where);
  const DType dtype = tile::result_type(info, state->dtype());
  return tile::issue_vector_command(program,
                                    {.kind = info.kind,
                                     .cost = info.cost,
                                     .dtype = dtype,
                                     .shape = state->shape(),
                                     .inputs = {state},
                                     .compute =
                                         [values, axis, reverse, dtype](numerics::Executor& executor, Inputs inputs) {
                                           return values(executor, inputs[0], axis, reverse, dtype);
                                         }},
                                    where);
}

}  // namespace

Tile cumsum(const Tile& x, int axis, bool reverse, Where where) {
  return scan(operations::kCumsum, numerics::cumsum, x, axis, reverse, where);
}
Tile cumprod(const Tile& x, int axis, bool reverse, Where where) {
  return scan(operations::kCumprod, numerics::cumprod, x, axis, reverse, where);
}

}  // namespace kernbench::tl
