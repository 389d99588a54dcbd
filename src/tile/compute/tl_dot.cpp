// The matrix product of the tile language, on the GEMM engine.
#include <fmt/format.h>

#include <string>

#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "tile/compute/engine_work.h"
#include "tile/compute/tile_operands.h"
#include "tile/program/conversion.h"

namespace kernbench::tl {

using tile::KernelCommand;
using tile::Program;
using tile::StateRef;
using tile::to_text;

namespace {

struct DotCall {
  const Program& program;
  const Where& where;

  [[noreturn]] void fail(const std::string& message) const {
    throw ValueError("tl::dot: " + message, program.place(where));
  }
};

hardware::GemmWork checked_work(const DotCall& call, const Extents& a, const Extents& b) {
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

/// ValueError unless the operands' types go together and can accumulate into `dtype`.
void check_types(const DotCall& call, DType a, DType b, DType dtype) {
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

bool uses(const tile::TileState& operand, const tile::TileState& other) {
  return operand.producer == other.producer;
}

/// The command that computes all of a tile, if it has not finished.
const hardware::Command* under_way(const tile::TileState& tile) {
  if (!tile.producer || tile.producer->done.is_set()) return nullptr;
  const auto& producer = static_cast<const KernelCommand&>(*tile.producer);
  return producer.makes_tile == tile.number() ? &producer : nullptr;
}

}  // namespace

Tile dot(const Tile& a, const Tile& b, const Tile& accumulator, std::optional<DType> out_dtype, Fold fold,
         Where where) {
  auto& program = Program::current("dot", where);
  const StateRef& left = program.own(a, "dot", where);
  const StateRef& right = program.own(b, "dot", where);
  const DotCall call{program, where};
  auto work = checked_work(call, left->shape(), right->shape());
  const bool integer = is_integer(left->dtype());
  const DType dtype = out_dtype.value_or(integer ? DType::i32 : DType::f32);
  tile::check_device_type(program, "dot", dtype, where);
  check_types(call, left->dtype(), right->dtype(), dtype);
  work.operand = tile::gemm_operand(left->dtype());
  if (fold.rows < 0 || fold.columns < 0) {
    call.fail(fmt::format("fold is {} x {}; rows and columns must be positive, or 0 for all that the array has",
                          fold.rows, fold.columns));
  }
  work.fold_rows = fold.rows, work.fold_columns = fold.columns;
  Extents shape = left->shape();
  shape[shape.size() - 1] = work.n;
  const StateRef addend = accumulator.defined() ? program.own(accumulator, "dot", where) : nullptr;
  if (addend && !(addend->shape() == shape)) {
    call.fail(fmt::format("the accumulator has shape {}, the product {}", to_text(addend->shape()), to_text(shape)));
  }
  if (addend && (integer ? addend->dtype() != DType::i32 : !is_floating_point(addend->dtype()))) {
    call.fail(fmt::format("the accumulator's type {} does not fit operands of type {}", name(addend->dtype()),
                          name(left->dtype())));
  }
  const auto result = program.new_tile(dtype, shape, "dot", where);
  const auto command = program.new_command(work, "dot", result, {left.get(), right.get(), addend.get()});
  if (addend && !uses(*left, *addend) && !uses(*right, *addend)) command->adds_to = under_way(*addend);
  command->take_effect = [value = result->value(), x = left->value(), y = right->value(),
                          start = addend ? addend->value() : nullptr, dtype](KernelCommand& mine) {
    value->bind(numerics::dot(mine.program->environment().executor, x->value, y->value,
                              start ? start->value : numerics::Value(), dtype));
  };
  program.issue(command);
  return Tile(result);
}

}  // namespace kernbench::tl
