// Operators and functions that go through tiles element by element.
#include <fmt/format.h>

#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "tile/compute/elementwise.h"
#include "tile/compute/tile_operands.h"
#include "tile/program/conversion.h"

namespace kernbench::tl {

using numerics::BinaryOperation;
using numerics::UnaryOperation;
using tile::OperationInfo;
using tile::Program;
using tile::StateRef;
using tile::TileOperands;
namespace operations = tile::operations;
using Inputs = std::span<const numerics::Value>;

namespace {

/// An elementwise command whose value `compute` makes.
Tile elementwise(Program& program, const OperationInfo& info, const TileOperands& operands, DType dtype,
                 tile::ComputeValue compute, const Where& where) {
  return tile::issue_vector_command(program,
                                    {.kind = info.kind,
                                     .cost = info.cost,
                                     .dtype = dtype,
                                     .shape = operands.shape(),
                                     .inputs = operands.tiles(),
                                     .compute = std::move(compute)},
                                    where);
}

Tile binary(const OperationInfo& info, BinaryOperation operation, const Operand& a, const Operand& b,
            const Where& where) {
  auto& program = Program::current(info.kind, where);
  const TileOperands operands(program, info, {&a, &b}, where);
  DType dtype = DType::boolean;
  auto rule = numerics::ScalarRule::tile;
  if (info.type != tile::ResultType::boolean) {
    const DType promoted = operands.promoted();
    tile::check_accepted(program, info, promoted, where);
    dtype = tile::result_type(info, promoted);
    rule = numerics::ScalarRule::element;
  }
  return elementwise(
      program, info, operands, dtype,
      [operation, dtype, rule, slots = operands.slots()](numerics::Executor& executor, Inputs inputs) {
        return numerics::binary(executor, operation, slots.get(0, inputs), slots.get(1, inputs), dtype, rule);
      },
      where);
}

Tile binary(BinaryOperation operation, const Operand& a, const Operand& b) {
  return binary(tile::operation_info(operation), operation, a, b, a.where());
}

Tile unary(UnaryOperation operation, const Operand& x, const Where& where) {
  const OperationInfo& info = tile::operation_info(operation);
  auto& program = Program::current(info.kind, where);
  const TileOperands operands(program, info, {&x}, where);
  tile::check_accepted(program, info, x.tile().dtype(), where);
  const DType dtype = tile::result_type(info, x.tile().dtype());
  return elementwise(
      program, info, operands, dtype,
      [operation, dtype](numerics::Executor& executor, Inputs inputs) {
        return numerics::unary(executor, operation, inputs[0], dtype);
      },
      where);
}

/// Of tiles that are all floats (fma, fdiv); scalars may be integers.
void check_floats(const Program& program, const OperationInfo& info, const TileOperands& operands, const Where& where) {
  for (const StateRef& tile : operands.tiles()) tile::check_accepted(program, info, tile->dtype(), where);
}

}  // namespace

Tile operator+(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::add, a, b);
}
Tile operator-(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::subtract, a, b);
}
Tile operator*(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::multiply, a, b);
}
Tile operator/(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::divide, a, b);
}
Tile operator%(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::fmod, a, b);
}
Tile idiv(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::truncate_divide, a, b);
}
Tile operator&(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::bit_and, a, b);
}
Tile operator|(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::bit_or, a, b);
}
Tile operator^(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::bit_xor, a, b);
}
Tile operator<<(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::shift_left, a, b);
}
Tile operator>>(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::shift_right, a, b);
}
Tile operator<(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::less, a, b);
}
Tile operator<=(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::less_equal, a, b);
}
Tile operator>(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::greater, a, b);
}
Tile operator>=(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::greater_equal, a, b);
}
Tile operator==(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::equal, a, b);
}
Tile operator!=(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::not_equal, a, b);
}
Tile operator-(const Operand& a) {
  return unary(UnaryOperation::negate, a, a.where());
}
Tile operator~(const Operand& a) {
  return unary(UnaryOperation::bit_not, a, a.where());
}
Tile operator!(const Operand& a) {
  return unary(UnaryOperation::logical_not, a, a.where());
}

Tile& Tile::operator+=(const Operand& other) {
  return *this = Operand(*this, other.where()) + other;
}
Tile& Tile::operator-=(const Operand& other) {
  return *this = Operand(*this, other.where()) - other;
}
Tile& Tile::operator*=(const Operand& other) {
  return *this = Operand(*this, other.where()) * other;
}
Tile& Tile::operator/=(const Operand& other) {
  return *this = Operand(*this, other.where()) / other;
}
Tile& Tile::operator%=(const Operand& other) {
  return *this = Operand(*this, other.where()) % other;
}
Tile& Tile::operator&=(const Operand& other) {
  return *this = Operand(*this, other.where()) & other;
}
Tile& Tile::operator|=(const Operand& other) {
  return *this = Operand(*this, other.where()) | other;
}
Tile& Tile::operator^=(const Operand& other) {
  return *this = Operand(*this, other.where()) ^ other;
}

Tile maximum(const Operand& a, const Operand& b, PropagateNan propagate_nan) {
  return binary(propagate_nan == PropagateNan::all ? BinaryOperation::maximum_nan : BinaryOperation::maximum, a, b);
}
Tile minimum(const Operand& a, const Operand& b, PropagateNan propagate_nan) {
  return binary(propagate_nan == PropagateNan::all ? BinaryOperation::minimum_nan : BinaryOperation::minimum, a, b);
}

Tile clamp(const Operand& x, const Operand& low, const Operand& high, Where where) {
  const auto& info = operations::kClamp;
  auto& program = Program::current(info.kind, where);
  const TileOperands operands(program, info, {&x, &low, &high}, where);
  const DType dtype = operands.promoted();
  return elementwise(
      program, info, operands, dtype,
      [dtype, slots = operands.slots()](numerics::Executor& executor, Inputs inputs) {
        return numerics::clamp(executor, slots.get(0, inputs), slots.get(1, inputs), slots.get(2, inputs), dtype);
      },
      where);
}

Tile where(const Operand& condition, const Operand& a, const Operand& b, Where where) {
  const auto& info = operations::kWhere;
  auto& program = Program::current(info.kind, where);
  const TileOperands operands(program, info, {&condition, &a, &b}, where);
  const DType dtype = operands.promoted(1);
  return elementwise(
      program, info, operands, dtype,
      [dtype, slots = operands.slots()](numerics::Executor& executor, Inputs inputs) {
        return numerics::where(executor, slots.get(0, inputs), slots.get(1, inputs), slots.get(2, inputs), dtype);
      },
      where);
}

Tile fma(const Operand& x, const Operand& y, const Operand& z, Where where) {
  const auto& info = operations::kFma;
  auto& program = Program::current(info.kind, where);
  const TileOperands operands(program, info, {&x, &y, &z}, where);
  check_floats(program, info, operands, where);
  const DType dtype = operands.promoted();
  return elementwise(
      program, info, operands, dtype,
      [dtype, slots = operands.slots()](numerics::Executor& executor, Inputs inputs) {
        return numerics::fma(executor, slots.get(0, inputs), slots.get(1, inputs), slots.get(2, inputs), dtype);
      },
      where);
}

Tile fdiv(const Operand& a, const Operand& b, Where where) {
  const auto& info = operations::kFdiv;
  const auto& program = Program::current(info.kind, where);
  check_floats(program, info, TileOperands(program, info, {&a, &b}, where), where);
  return binary(info, BinaryOperation::divide, a, b, where);
}

Tile pow(const Operand& a, const Operand& b, Where where) {
  const auto& info = operations::kPower;
  const auto& program = Program::current(info.kind, where);
  check_floats(program, info, TileOperands(program, info, {&a, &b}, where), where);
  return binary(info, BinaryOperation::power, a, b, where);
}

Tile abs(const Tile& x, Where where) {
  return unary(UnaryOperation::absolute, x, where);
}
#define KERNBENCH_FUNCTION(operation, name, ...)       \
  Tile name(const Tile& x, Where where) {              \
    return unary(UnaryOperation::operation, x, where); \
  }
#include "kernbench/elementwise/unary.def"

Tile cast(const Tile& x, DType dtype, Rounding rounding, Where where) {
  const auto& info = operations::kCast;
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  tile::check_device_type(program, info.kind, dtype, where);
  if (state->dtype() == dtype) return x;
  const auto mode = rounding == Rounding::rtz ? RoundingMode::toward_zero : RoundingMode::nearest;
  return tile::issue_vector_command(
      program,
      {.kind = info.kind,
       .cost = info.cost,
       .dtype = dtype,
       .shape = state->shape(),
       .inputs = {state},
       .compute = [dtype, mode](numerics::Executor& executor,
                                Inputs inputs) { return numerics::cast(executor, inputs[0], dtype, mode); }},
      where);
}

Tile bitcast(const Tile& x, DType dtype, Where where) {
  const auto& info = operations::kBitcast;
  auto& program = Program::current(info.kind, where);
  const auto& state = program.own(x, info.kind, where);
  tile::check_device_type(program, info.kind, dtype, where);
  if (dtype == DType::boolean && state->dtype() != dtype) {
    throw ValueError("tl::bitcast: bits other than 0 and 1 are no bool; use x != 0", program.place(where));
  }
  if (item_size(dtype) != item_size(state->dtype())) {
    throw ValueError(fmt::format("tl::bitcast: {} has {} bytes, {} has {}; only types of one width share their bits",
                                 name(state->dtype()), item_size(state->dtype()), name(dtype), item_size(dtype)),
                     program.place(where));
  }
  return tile::make_view(
      program, state, info.kind, dtype, state->shape(),
      [dtype](numerics::Executor& executor, const numerics::Value& value) {
        return numerics::bitcast(executor, value, dtype);
      },
      where);
}

}  // namespace kernbench::tl

namespace kernbench::tile {

tl::Tile apply(numerics::UnaryOperation operation, const tl::Tile& x, const tl::Where& where) {
  return tl::unary(operation, x, where);
}

tl::Tile apply(numerics::BinaryOperation operation, const tl::Operand& a, const tl::Operand& b,
               const tl::Where& where) {
  return tl::binary(operation_info(operation), operation, a, b, where);
}

}  // namespace kernbench::tile
