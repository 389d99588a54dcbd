// Making tiles: arange, full, zeros.
#include <fmt/format.h>

#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "tile/compute/tile_operands.h"
#include "tile/program/conversion.h"

namespace kernbench::tl {

using tile::OperationInfo;
using tile::Program;
using tile::to_scalar;
using tile::to_shape;
using tile::to_text;
namespace operations = tile::operations;

namespace {

Tile fill(Program& program, const OperationInfo& info, const Extents& shape, Scalar value, DType dtype,
          const Where& where) {
  return tile::issue_vector_command(
      program,
      {.kind = info.kind,
       .cost = info.cost,
       .dtype = dtype,
       .shape = shape,
       .inputs = {},
       .compute =
           [shape, value = to_scalar(value), dtype](numerics::Executor& executor, std::span<const numerics::Value>) {
             return numerics::full(executor, to_shape(shape), dtype, value);
           }},
      where);
}

}  // namespace

Tile arange(std::int64_t start, std::int64_t end, Where where) {
  auto& program = Program::current("arange", where);
  if (end <= start || !numerics::holds(DType::i32, start) || !numerics::holds(DType::i32, end - 1)) {
    throw ValueError(fmt::format("tl::arange({}, {}): the range must have at least one number, and all of them must be "
                                 "i32",
                                 start, end),
                     program.place(where));
  }
  const auto& info = operations::kArange;
  return tile::issue_vector_command(program,
                                    {.kind = info.kind,
                                     .cost = info.cost,
                                     .dtype = DType::i32,
                                     .shape = {end - start},
                                     .inputs = {},
                                     .compute =
                                         [start, end](numerics::Executor& executor, std::span<const numerics::Value>) {
                                           return numerics::arange(executor, start, end, DType::i32);
                                         }},
                                    where);
}

Tile full(Extents shape, Scalar value, DType dtype, Where where) {
  auto& program = Program::current("full", where);
  tile::check_device_type(program, "full", dtype, where);
  for (const std::int64_t extent : shape) {
    if (extent <= 0) {
      throw ValueError(fmt::format("tl::full: shape {} must be positive in every dimension", to_text(shape)),
                       program.place(where));
    }
  }
  if (value.kind() == Scalar::Kind::integer && is_integer(dtype) && !numerics::holds(dtype, value.as_integer())) {
    throw ValueError(fmt::format("tl::full: {} does not fit the type {}", value.as_integer(), name(dtype)),
                     program.place(where));
  }
  return fill(program, operations::kFull, shape, value, dtype, where);
}

Tile zeros(Extents shape, DType dtype, Where where) {
  return full(shape, Scalar(0), dtype, where);
}

Tile zeros_like(const Tile& other, Where where) {
  auto& program = Program::current("zeros_like", where);
  const auto& state = program.own(other, "zeros_like", where);
  return fill(program, operations::kZerosLike, state->shape(), Scalar(0), state->dtype(), where);
}

}  // namespace kernbench::tl
