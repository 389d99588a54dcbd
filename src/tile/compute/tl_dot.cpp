// The matrix products of the tile language, on the GEMM engine.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "tile/compute/engine_work.h"
#include "tile/compute/product.h"
#include "tile/compute/tile_operands.h"
#include "tile/program/conversion.h"

namespace kernbench::tile {

void ProductCall::fail(const std::string& message) const {
  refuse(program, name, message, where);
}

hardware::GemmWork product_of(const ProductCall& call, const tl::Extents& a, const tl::Extents& b) {
  const bool batched = a.size() == 3;
  if ((a.size() != 2 && !batched) || b.size() != a.size()) {
    call.fail(fmt::format("operands must both be two-dimensional, or both three-dimensional (batched), got {} and {}",
                          to_text(a), to_text(b)));
  }
  const std::size_t row = batched ? 1 : 0;
  if (batched && a[0] != b[0]) {
    call.fail(fmt::format("batch extents differ: {} x {}; the first extents must be equal", to_text(a), to_text(b)));
  }
  if (a[row + 1] != b[row]) {
    call.fail(fmt::format("inner extents differ: {} x {}; the first operand's columns must equal the second's rows",
                          to_text(a), to_text(b)));
  }
  return {.batch = batched ? a[0] : 1, .m = a[row], .n = b[row + 1], .k = b[row]};
}

void set_fold(const ProductCall& call, hardware::GemmWork& work, const tl::Fold& fold) {
  if (fold.rows < 0 || fold.columns < 0) {
    call.fail(fmt::format("fold is {} x {}; rows and columns must be positive, or 0 for all that the array has",
                          fold.rows, fold.columns));
  }
  work.fold_rows = fold.rows, work.fold_columns = fold.columns;
}

void check_accumulator(const ProductCall& call, const TileState& addend, const tl::Extents& shape, DType operands) {
  if (!(addend.shape() == shape)) {
    call.fail(fmt::format("the accumulator has shape {}, the product {}", to_text(addend.shape()), to_text(shape)));
  }
  if (is_integer(operands) ? addend.dtype() != DType::i32 : !is_floating_point(addend.dtype())) {
    call.fail(fmt::format("the accumulator's type {} does not fit operands of type {}", name(addend.dtype()),
                          name(operands)));
  }
}

const hardware::Command* continues(const TileState& addend, std::initializer_list<const TileState*> operands) {
  if (!addend.producer || addend.producer->done.is_set()) return nullptr;
  const auto uses = [&](const TileState* operand) {
    return operand != nullptr && operand->producer == addend.producer;
  };
  if (std::ranges::any_of(operands, uses)) return nullptr;
  const auto& producer = command_of(*addend.producer);
  return producer.makes_tile == addend.number() ? &producer : nullptr;
}

}  // namespace kernbench::tile

namespace kernbench::tl {

using tile::KernelCommand;
using tile::ProductCall;
using tile::Program;
using tile::StateRef;

namespace {

/// ValueError unless the operands' types go together and can accumulate into `dtype`.
void check_types(const ProductCall& call, DType a, DType b, DType dtype) {
  if (a != b && !(is_float8(a) && is_float8(b))) {
    call.fail(fmt::format("operand types differ: {} and {}; cast one of them", name(a), name(b)));
  }
  if (a == DType::boolean || a == DType::i64) {
    call.fail(fmt::format("{} operands are not supported; cast to i32", a == DType::boolean ? "boolean" : name(a)));
  }
  if (is_integer(a) ? dtype != DType::i32 : !is_floating_point(dtype)) {
    call.fail(fmt::format("operands of type {} cannot accumulate into {}", name(a), name(dtype)));
  }
}

}  // namespace

Tile dot(const Tile& a, const Tile& b, const Tile& accumulator, std::optional<DType> out_dtype, Fold fold,
         Where where) {
  auto& program = Program::current("dot", where);
  const StateRef& left = program.own(a, "dot", where);
  const StateRef& right = program.own(b, "dot", where);
  const ProductCall call{program, "dot", where};
  auto work = tile::product_of(call, left->shape(), right->shape());
  const bool integer = is_integer(left->dtype());
  const DType dtype = out_dtype.value_or(integer ? DType::i32 : DType::f32);
  tile::check_device_type(program, "dot", dtype, where);
  check_types(call, left->dtype(), right->dtype(), dtype);
  work.operand = tile::gemm_operand(left->dtype());
  tile::set_fold(call, work, fold);
  Extents shape = left->shape();
  shape[shape.size() - 1] = work.n;
  const StateRef addend = accumulator.defined() ? program.own(accumulator, "dot", where) : nullptr;
  if (addend) tile::check_accumulator(call, *addend, shape, left->dtype());
  const auto result = program.new_tile(dtype, shape, "dot", where);
  const auto command = program.new_command(work, "dot", result, {left.get(), right.get(), addend.get()});
  if (addend) command->adds_to = tile::continues(*addend, {left.get(), right.get()});
  command->take_effect = [value = result->value(), x = left->value(), y = right->value(),
                          start = addend ? addend->value() : nullptr, dtype](KernelCommand& mine) {
    value->bind(numerics::dot(mine.program->environment().executor, x->value, y->value,
                              start ? start->value : numerics::Value(), dtype));
  };
  program.issue(command);
  return Tile(result);
}

}  // namespace kernbench::tl
