// Loads and stores of the tile language.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/fingerprint.h"
#include "data/memory.h"
#include "data/operations.h"
#include "event/fiber.h"
#include "kernbench/tl.h"
#include "kernel/access.h"
#include "kernel/conversion.h"
#include "kernel/locate.h"
#include "kernel/program.h"
#include "kernel/tensor_descriptor.h"

namespace kernbench::tl {

using hardware::EngineKind;
using kernel::KernelOperation;
using kernel::Program;
using kernel::ShardPiece;
using kernel::to_scalar;
using kernel::to_shape;
using kernel::to_text;

namespace {

void check_box(const Program& program, const char* call, const Tensor& tensor, const Extents& offsets,
               const Extents& shape, const Where& where) {
  const auto& descriptor = tensor.descriptor();
  const Extents extents = tensor.shape();
  if (offsets.size() != extents.size() || shape.size() != extents.size()) {
    throw ValueError(
        fmt::format("tl::{}: tensor {} has {} dimensions, but {} offsets and a block of {} dimensions were "
                    "given",
                    call, descriptor.name, extents.size(), offsets.size(), shape.size()),
        program.place(where));
  }
  for (std::size_t dimension = 0; dimension < extents.size(); ++dimension) {
    if (shape[dimension] <= 0) {
      throw ValueError(fmt::format("tl::{}: block shape {} must be positive in every dimension", call, to_text(shape)),
                       program.place(where));
    }
    if (offsets[dimension] < 0 || offsets[dimension] >= extents[dimension]) {
      throw OutOfBoundsError(
          fmt::format("tl::{}: offset {} in dimension {} lies outside of tensor {} of shape {}; valid are 0 to {} (a "
                      "block may reach past the end, but must begin inside)",
                      call, offsets[dimension], dimension, descriptor.name, to_text(extents), extents[dimension] - 1),
          program.place(where));
    }
  }
}

/// One piece of a DMA operation after translation.
struct Located {
  ShardPiece piece;
  kernel::Translation target;
};

std::vector<Located> translate(const Program& program, const Tensor& tensor, const Extents& offsets,
                               const Extents& shape, const Where& where) {
  std::vector<Located> located;
  const PeCoordinate here = program.coordinate();
  try {
    for (const auto& piece : kernel::locate_box(tensor.descriptor(), offsets.span(), shape.span(), here)) {
      located.push_back({piece, program.environment().addresses.translate(here, piece.va, Bytes(span_bytes(piece)))});
    }
  } catch (const OutOfBoundsError& error) {
    throw OutOfBoundsError(error.what(), program.place(where));
  }
  return located;
}

std::vector<hardware::DmaLeg> legs_of(const std::vector<Located>& located) {
  std::vector<hardware::DmaLeg> legs;
  for (const auto& [piece, target] : located) kernel::append_leg(legs, piece, target);
  return legs;
}

std::vector<data::Piece> pieces_of(const Program& program, const std::vector<Located>& located, std::int64_t item) {
  std::vector<data::Piece> pieces;
  pieces.reserve(located.size());
  for (const auto& [piece, target] : located) {
    pieces.push_back(kernel::data_piece(program.environment(), piece, target, item));
  }
  return pieces;
}

/// Two loads of the same bytes are the same expression.
std::uint64_t expression_of(const std::vector<hardware::DmaLeg>& legs) {
  Fingerprint expression;
  for (const auto& leg : legs) {
    for (const auto& range : leg.ranges) {
      expression.add((static_cast<std::uint64_t>(leg.slice.cube.value) << 32) |
                     static_cast<std::uint64_t>(leg.slice.pe.value));
      expression.add(range.address);
      expression.add(static_cast<std::uint64_t>(range.total().count()));
    }
  }
  return expression.value();
}

data::OperationKey key_of(const KernelOperation& operation) {
  return {operation.effect.count(), operation.agent.value, operation.number};
}

}  // namespace

Tile load(const Tensor& tensor, Extents offsets, Extents shape, LoadOptions options, Where where) {
  auto& program = Program::current("load", where);
  check_box(program, "load", tensor, offsets, shape, where);
  const auto result = program.new_tile(tensor.dtype(), shape, "load", where);
  const auto located = translate(program, tensor, offsets, shape, where);
  auto operation = program.new_operation(EngineKind::dma, "load", result, {});
  operation->legs = legs_of(located);
  result->expression = expression_of(operation->legs);
  if (program.environment().data_enabled) {
    std::optional<data::Scalar> other;
    if (options.other) other = to_scalar(options.other->scalar());
    operation->take_effect = [pieces = pieces_of(program, located, item_size(tensor.dtype())), other,
                              value = result->value(), shape, dtype = tensor.dtype()](KernelOperation& mine) {
      value->bind(
          data::gather(mine.program->environment().executor, key_of(mine), dtype, to_shape(shape), pieces, other));
    };
  } else {
    operation->take_effect = [value = result->value(), shape, dtype = tensor.dtype()](KernelOperation& mine) {
      value->bind(data::full(mine.program->environment().executor, to_shape(shape), dtype, 0));
    };
  }
  program.issue(operation);
  return Tile(result);
}

void store(const Tensor& tensor, Extents offsets, const Tile& value, StoreOptions /*options*/, Where where) {
  auto& program = Program::current("store", where);
  program.own(value, "store", where);
  if (!tensor.writable()) {
    throw ValueError(fmt::format("tl::store: tensor {} is a tl::In parameter of the kernel; take it as tl::Tensor to "
                                 "write it",
                                 tensor.descriptor().name),
                     program.place(where));
  }
  check_box(program, "store", tensor, offsets, value.shape(), where);
  const Tile converted = cast(value, tensor.dtype(), Rounding::rtne, where);
  const auto& state = converted.state();
  const auto located = translate(program, tensor, offsets, value.shape(), where);
  auto operation = program.new_operation(EngineKind::dma, "store", nullptr, {state.get()});
  operation->write = true;
  event::this_fiber::note_progress();
  operation->legs = legs_of(located);
  if (program.environment().data_enabled) {
    operation->take_effect = [pieces = pieces_of(program, located, item_size(tensor.dtype())),
                              source = state->value()](KernelOperation& mine) {
      data::scatter(mine.program->environment().executor, key_of(mine), source->value, pieces);
    };
  }
  program.issue(operation);
}

}  // namespace kernbench::tl
