// Arithmetic of the tile language: each call reserves the result, issues a command to an engine, and submits the
// computation of the values when the command takes effect.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "base/error.h"
#include "data/operations.h"
#include "kernbench/tl.h"
#include "kernel/conversion.h"
#include "kernel/engine_work.h"
#include "kernel/program.h"

namespace kernbench::tl {

using data::BinaryOperation;
using data::ReduceOperation;
using data::UnaryOperation;
using hardware::EngineKind;
using kernel::KernelOperation;
using kernel::Program;
using kernel::TileState;
using kernel::to_extents;
using kernel::to_scalar;
using kernel::to_shape;
using kernel::to_text;
using topology::VectorOperation;
using StateRef = std::shared_ptr<TileState>;

namespace {

Bytes tile_bytes(const TileState& tile) {
  return Bytes(tile.shape().numel() * item_size(tile.dtype()));
}

/// One vector command over `lanes` lanes that produces a tile; `compute` makes the value from the bound inputs.
Tile vector_operation(Program& program, const char* kind, DType dtype, const Extents& shape,
                      std::initializer_list<const StateRef*> inputs, hardware::VectorWork work,
                      std::function<data::Value(data::Executor&)> compute, const Where& where) {
  const auto result = program.new_tile(dtype, shape, kind, where);
  std::array<const TileState*, 2> states{};
  std::size_t count = 0;
  for (const auto* input : inputs) states[count++] = input->get();
  auto operation = program.new_operation(EngineKind::vector, kind, result, {states[0], states[1]});
  work.operand_bytes = tile_bytes(*result);
  work.item_bytes = item_size(dtype);
  for (const auto* input : inputs) {
    work.operand_bytes += tile_bytes(**input);
    work.item_bytes = std::max(work.item_bytes, item_size((*input)->dtype()));
  }
  operation->vector = work;
  operation->take_effect = [value = result->value(), compute = std::move(compute)](KernelOperation& mine) {
    value->bind(compute(mine.program->environment().executor));
  };
  program.issue(operation);
  return Tile(result);
}

hardware::VectorWork elementwise(std::int64_t elements, VectorOperation operation) {
  hardware::VectorWork work;
  work.elements = elements;
  work.operation = operation;
  return work;
}

VectorOperation cost_of(BinaryOperation operation) {
  if (data::is_comparison(operation)) return VectorOperation::compare;
  switch (operation) {
    case BinaryOperation::multiply:
      return VectorOperation::multiply;
    case BinaryOperation::divide:
      return VectorOperation::divide;
    case BinaryOperation::maximum:
    case BinaryOperation::minimum:
      return VectorOperation::minimum;
    default:
      return VectorOperation::add;
  }
}

DType binary_type(BinaryOperation operation, const Operand& a, const Operand& b) {
  if (operation == BinaryOperation::divide) {
    const DType left = a.is_scalar() ? b.tile().dtype() : a.tile().dtype();
    const DType right = b.is_scalar() ? left : b.tile().dtype();
    return data::division_type(left, right);
  }
  if (a.is_scalar()) return data::promote(b.tile().dtype(), to_scalar(a.scalar()).kind());
  if (b.is_scalar()) return data::promote(a.tile().dtype(), to_scalar(b.scalar()).kind());
  return data::promote(a.tile().dtype(), b.tile().dtype());
}

Tile binary(BinaryOperation operation, const char* kind, const Operand& a, const Operand& b) {
  const Where where = a.is_scalar() ? b.where() : a.where();
  auto& program = Program::current(kind, where);
  if (a.is_scalar() && b.is_scalar()) {
    throw ValueError(fmt::format("tl::{}: both operands are scalars; use ordinary C++ arithmetic", kind),
                     program.place(where));
  }
  const auto* left = a.is_scalar() ? nullptr : &program.own(a.tile(), kind, where);
  const auto* right = b.is_scalar() ? nullptr : &program.own(b.tile(), kind, where);
  auto shape = to_shape(left ? (*left)->shape() : (*right)->shape());
  if (left && right) {
    const auto both = data::broadcast_shapes(shape, to_shape((*right)->shape()));
    if (!both) {
      throw ValueError(fmt::format("tl::{}: shapes {} and {} do not broadcast: aligned on the right, extents must be "
                                   "equal or 1",
                                   kind, to_text((*left)->shape()), to_text((*right)->shape())),
                       program.place(where));
    }
    shape = *both;
  }
  const bool comparison = data::is_comparison(operation);
  const DType dtype = comparison ? DType::boolean : binary_type(operation, a, b);
  const auto work = elementwise(shape.numel(), cost_of(operation));
  if (left && right) {
    return vector_operation(
        program, kind, dtype, to_extents(shape), {left, right}, work,
        [operation, dtype, x = (*left)->value(), y = (*right)->value()](data::Executor& executor) {
          return data::binary(executor, operation, x->value, y->value, dtype);
        },
        where);
  }
  const data::Scalar scalar = to_scalar(left ? b.scalar() : a.scalar());
  const auto& tile = left ? *left : *right;
  return vector_operation(
      program, kind, dtype, to_extents(shape), {&tile}, work,
      [operation, dtype, scalar, tile_first = left != nullptr, x = tile->value()](data::Executor& executor) {
        return tile_first ? data::binary(executor, operation, x->value, scalar, dtype)
                          : data::binary(executor, operation, scalar, x->value, dtype);
      },
      where);
}

Tile unary(UnaryOperation operation, const char* kind, const Tile& x, DType dtype, VectorOperation cost,
           const Where& where) {
  auto& program = Program::current(kind, where);
  const auto& state = program.own(x, kind, where);
  return vector_operation(
      program, kind, dtype, state->shape(), {&state}, elementwise(state->shape().numel(), cost),
      [operation, dtype, value = state->value()](data::Executor& executor) {
        return data::unary(executor, operation, value->value, dtype);
      },
      where);
}

Tile reduce(ReduceOperation operation, const char* kind, const Tile& x, std::optional<int> axis, bool keep_dims,
            const Where& where) {
  auto& program = Program::current(kind, where);
  const auto& state = program.own(x, kind, where);
  const auto rank = static_cast<int>(state->shape().size());
  if (axis) {
    const int wrapped = *axis < 0 ? *axis + rank : *axis;
    if (wrapped < 0 || wrapped >= rank) {
      throw ValueError(
          fmt::format("tl::{}: axis {} is out of range for a tile of shape {}", kind, *axis, to_text(state->shape())),
          program.place(where));
    }
    axis = wrapped;
  }
  Extents shape;
  std::int64_t reduced = state->shape().numel();
  if (axis) reduced = state->shape()[static_cast<std::size_t>(*axis)];
  if (axis || keep_dims) {
    data::Shape extents;
    for (int dimension = 0; dimension < rank; ++dimension) {
      const bool gone = !axis || dimension == *axis;
      if (!gone)
        extents.push_back(state->shape()[static_cast<std::size_t>(dimension)]);
      else if (keep_dims)
        extents.push_back(1);
    }
    shape = to_extents(extents);
  }
  const bool boolean_sum = operation == ReduceOperation::sum && state->dtype() == DType::boolean;
  const DType dtype = boolean_sum ? DType::i32 : state->dtype();
  auto work = elementwise(state->shape().numel(), VectorOperation::reduce);
  work.reduced = std::max<std::int64_t>(reduced, 1);
  return vector_operation(
      program, kind, dtype, shape, {&state}, work,
      [operation, axis, keep_dims, dtype, value = state->value()](data::Executor& executor) {
        return data::reduce(executor, operation, value->value, axis, keep_dims, dtype);
      },
      where);
}

DType floating(DType dtype) {
  return is_floating_point(dtype) ? dtype : DType::f32;
}

}  // namespace

Tile operator+(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::add, "add", a, b);
}
Tile operator-(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::subtract, "sub", a, b);
}
Tile operator*(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::multiply, "mul", a, b);
}
Tile operator/(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::divide, "div", a, b);
}
Tile operator-(const Operand& a) {
  const DType dtype = a.is_scalar() || !a.tile().defined() ? DType::f32 : a.tile().dtype();
  return unary(UnaryOperation::negate, "neg", a.tile(), dtype, VectorOperation::add, a.where());
}
Tile operator<(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::less, "lt", a, b);
}
Tile operator<=(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::less_equal, "le", a, b);
}
Tile operator>(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::greater, "gt", a, b);
}
Tile operator>=(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::greater_equal, "ge", a, b);
}
Tile operator==(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::equal, "eq", a, b);
}
Tile operator!=(const Operand& a, const Operand& b) {
  return binary(BinaryOperation::not_equal, "ne", a, b);
}
Tile maximum(const Operand& a, const Operand& b, PropagateNan /*propagate_nan*/) {
  return binary(BinaryOperation::maximum, "maximum", a, b);
}
Tile minimum(const Operand& a, const Operand& b, PropagateNan /*propagate_nan*/) {
  return binary(BinaryOperation::minimum, "minimum", a, b);
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

Tile full(Extents shape, Scalar value, DType dtype, Where where) {
  auto& program = Program::current("full", where);
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      throw ValueError(fmt::format("tl::full: shape {} has a negative extent", to_text(shape)), program.place(where));
    }
  }
  return vector_operation(
      program, "full", dtype, shape, {}, elementwise(shape.numel(), VectorOperation::copy),
      [shape, value = to_scalar(value), dtype](data::Executor& executor) {
        return data::full(executor, to_shape(shape), dtype, value);
      },
      where);
}

Tile zeros(Extents shape, DType dtype, Where where) {
  return full(shape, Scalar(0), dtype, where);
}

Tile exp(const Tile& x, Where where) {
  auto& program = Program::current("exp", where);
  const auto& state = program.own(x, "exp", where);
  return unary(UnaryOperation::exponential, "exp", x, floating(state->dtype()), VectorOperation::exp, where);
}

Tile cast(const Tile& x, DType dtype, Rounding /*rounding*/, Where where) {
  auto& program = Program::current("cast", where);
  const auto& state = program.own(x, "cast", where);
  if (state->dtype() == dtype) return x;
  return vector_operation(
      program, "cast", dtype, state->shape(), {&state}, elementwise(state->shape().numel(), VectorOperation::cast),
      [dtype, value = state->value()](data::Executor& executor) { return data::cast(executor, value->value, dtype); },
      where);
}

Tile sum(const Tile& x, std::optional<int> axis, bool keep_dims, Where where) {
  return reduce(ReduceOperation::sum, "sum", x, axis, keep_dims, where);
}
Tile max(const Tile& x, std::optional<int> axis, bool keep_dims, Where where) {
  return reduce(ReduceOperation::maximum, "max", x, axis, keep_dims, where);
}

Tile dot(const Tile& a, const Tile& b, const Tile& accumulator, std::optional<DType> out_dtype, Where where) {
  auto& program = Program::current("dot", where);
  const auto& left = program.own(a, "dot", where);
  const auto& right = program.own(b, "dot", where);
  const auto fail = [&](const std::string& message) { throw ValueError("tl::dot: " + message, program.place(where)); };
  if (left->shape().size() != 2 || right->shape().size() != 2) {
    fail(fmt::format("operands must be two-dimensional, got {} and {}", to_text(left->shape()),
                     to_text(right->shape())));
  }
  const std::int64_t m = left->shape()[0], k = left->shape()[1], n = right->shape()[1];
  if (right->shape()[0] != k) {
    fail(fmt::format("inner extents differ: {} x {}; the first operand's columns must equal the second's rows",
                     to_text(left->shape()), to_text(right->shape())));
  }
  if (m == 0 || n == 0 || k == 0) {
    fail(fmt::format("empty operands {} x {}", to_text(left->shape()), to_text(right->shape())));
  }
  if (left->dtype() != right->dtype()) {
    fail(fmt::format("operand types differ: {} and {}; cast one of them", name(left->dtype()), name(right->dtype())));
  }
  const bool integer = left->dtype() == DType::i32;
  if (left->dtype() == DType::boolean) fail("boolean operands are not supported; cast to i32");
  const DType dtype = out_dtype.value_or(integer ? DType::i32 : DType::f32);
  if (integer != (dtype == DType::i32) || (!integer && !is_floating_point(dtype))) {
    fail(fmt::format("operands of type {} cannot accumulate into {}", name(left->dtype()), name(dtype)));
  }
  const Extents shape{m, n};
  const StateRef* addend = accumulator.defined() ? &program.own(accumulator, "dot", where) : nullptr;
  if (addend && !((*addend)->shape() == shape)) {
    fail(fmt::format("the accumulator has shape {}, the product {}", to_text((*addend)->shape()), to_text(shape)));
  }
  if (addend && ((*addend)->dtype() == DType::i32) != integer) {
    fail(fmt::format("the accumulator's type {} does not fit operands of type {}", name((*addend)->dtype()),
                     name(left->dtype())));
  }
  const auto result = program.new_tile(dtype, shape, "dot", where);
  auto operation = program.new_operation(EngineKind::gemm, "dot", result,
                                         {left.get(), right.get(), addend ? addend->get() : nullptr});
  operation->gemm = {.batch = 1, .m = m, .n = n, .k = k, .operand = kernel::gemm_operand(left->dtype())};
  operation->take_effect = [value = result->value(), x = left->value(), y = right->value(),
                            start = addend ? (*addend)->value() : nullptr, dtype](KernelOperation& mine) {
    value->bind(data::dot(mine.program->environment().executor, x->value, y->value,
                          start ? start->value : data::Value(), dtype));
  };
  program.issue(operation);
  return Tile(result);
}

}  // namespace kernbench::tl
