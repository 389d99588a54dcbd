// Reductions and running sums.
#include "data/operations.h"
#include "kernbench/tl.h"
#include "kernel/conversion.h"
#include "kernel/tile_operands.h"

namespace kernbench::tl {

using data::ReduceOperation;
using kernel::OperationInfo;
using kernel::Program;
namespace operations = kernel::operations;
using Inputs = std::span<const data::Value>;

namespace {

/// `shape` without `axis`, or without any when absent; with `keep_dims` extents of 1 stay in their place.
Extents reduced_shape(const Extents& shape, std::optional<int> axis, bool keep_dims) {
  data::Shape result;
  for (std::size_t dimension = 0; dimension < shape.size(); ++dimension) {
    const bool gone = !axis || static_cast<int>(dimension) == *axis;
    if (!gone)
      result.push_back(shape[dimension]);
    else if (keep_dims)
      result.push_back(1);
  }
  return kernel::to_extents(result);
}

Tile reduce(const OperationInfo& info, ReduceOperation operation, const Tile& x, std::optional<int> axis,
            bool keep_dims, const Where& where) {
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  if (axis) axis = kernel::checked_axis(program, info.kind, *axis, state->shape(), where);
  const DType dtype = kernel::result_type(info, state->dtype());
  const std::int64_t all = state->shape().numel();
  return kernel::issue_vector_command(
      program,
      {.kind = info.kind,
       .cost = info.cost,
       .dtype = dtype,
       .shape = reduced_shape(state->shape(), axis, keep_dims),
       .inputs = {state},
       .compute = [operation, axis, keep_dims, dtype](
                      data::Executor& executor,
                      Inputs inputs) { return data::reduce(executor, operation, inputs[0], axis, keep_dims, dtype); },
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

Tile cumsum(const Tile& x, int axis, bool reverse, Where where) {
  const auto& info = operations::kCumsum;
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  axis = kernel::checked_axis(program, info.kind, axis, state->shape(), where);
  const DType dtype = kernel::result_type(info, state->dtype());
  return kernel::issue_vector_command(program,
                                      {.kind = info.kind,
                                       .cost = info.cost,
                                       .dtype = dtype,
                                       .shape = state->shape(),
                                       .inputs = {state},
                                       .compute =
                                           [axis, reverse, dtype](data::Executor& executor, Inputs inputs) {
                                             return data::cumsum(executor, inputs[0], axis, reverse, dtype);
                                           }},
                                      where);
}

}  // namespace kernbench::tl
