// TCM buffers: bytes that a kernel writes and reads as it likes, through copies on the vector engine.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "addressing/locate.h"
#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "numerics/memory/memory.h"
#include "numerics/operations.h"
#include "tile/memory/access.h"
#include "tile/memory/buffer_access.h"
#include "tile/memory/memory_access.h"
#include "tile/program/conversion.h"

namespace kernbench::tile {

const BufferState& own_buffer(const AccessCall& call, const tl::Buffer& buffer) {
  if (buffer.state() == nullptr) call.value_error("an empty buffer was used");
  if (&buffer.state()->program() != &call.program) {
    call.value_error("the buffer belongs to another program; buffers live in one PE's TCM");
  }
  return *buffer.state();
}

void check_inside(const AccessCall& call, const BufferState& buffer, const tl::Extents& offsets,
                  const tl::Extents& shape) {
  check_inside(call, buffer.shape(), buffer.where(), offsets, shape);
}

void check_buffer(const AccessCall& call, const tl::Extents& shape, DType dtype) {
  for (const std::int64_t extent : shape) {
    if (extent <= 0) call.value_error(fmt::format("shape {} must be positive in every dimension", to_text(shape)));
  }
  if (dtype == DType::f64) call.value_error("the TCM has no f64 elements; use f32");
}

void check_inside(const AccessCall& call, const tl::Extents& extents, const tl::Where& allocated,
                  const tl::Extents& offsets, const tl::Extents& shape) {
  if (offsets.size() != extents.size() || shape.size() != extents.size()) {
    call.value_error(fmt::format("the buffer has {} dimensions, but {} offsets and a box of {} dimensions were given",
                                 extents.size(), offsets.size(), shape.size()));
  }
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (shape[i] <= 0)
      call.value_error(fmt::format("box shape {} must be positive in every dimension", to_text(shape)));
    if (offsets[i] < 0 || offsets[i] > extents[i] - shape[i]) {
      throw OutOfBoundsError(
          fmt::format("tl::{}: the box of shape {} at {} leaves the buffer of shape {} (from alloc at "
                      "{}) in dimension {}; offsets 0 to {} fit there",
                      call.name, to_text(shape), to_text(offsets), to_text(extents), to_text(allocated), i,
                      extents[i] - shape[i]),
          call.program.place(call.where));
    }
  }
}

std::vector<numerics::Piece> pieces_of(const BufferAccess& access) {
  const auto& layout = access.bytes->layout;
  const std::int64_t item = item_size(layout.dtype);
  std::vector<numerics::Piece> pieces;
  for (const auto& piece : locate_box(layout, access.offsets.span(), access.shape.span()))
    pieces.push_back(data_piece(access.bytes->memory, piece.va, piece, item));
  return pieces;
}

}  // namespace kernbench::tile

namespace kernbench::tl {

using tile::access_call;
using tile::AccessCall;
using tile::BufferAccess;
using tile::BufferState;
using tile::KernelCommand;
using tile::TileState;
using tile::to_shape;

namespace {

/// A vector command that copies the lanes of a box; they pass the TCM port once out and once in.
tile::KernelCommandRef new_copy(const AccessCall& call, const BufferState& buffer, const Extents& offsets,
                                const Extents& shape, const std::shared_ptr<TileState>& result,
                                const TileState* source) {
  hardware::VectorWork work;
  work.elements = shape.numel();
  work.operation = VectorOperation::copy;
  work.item_bytes = item_size(buffer.dtype());
  work.operand_bytes = Bytes(2 * shape.numel() * item_size(buffer.dtype()));
  auto command = call.program.new_command(work, call.kind, result, {source});
  command->holds.push_back(buffer.reservation());
  command->buffer = BufferAccess{buffer.bytes(), offsets, shape, buffer.number(), result == nullptr};
  command->widest = buffer.dtype();
  return command;
}

}  // namespace

DType Buffer::dtype() const {
  return state_->dtype();
}
Extents Buffer::shape() const {
  return state_->shape();
}

Buffer alloc(Extents shape, DType dtype, Where where) {
  const AccessCall call = access_call("alloc", "alloc", where);
  tile::check_buffer(call, shape, dtype);
  return Buffer(call.program.new_buffer(dtype, shape, where));
}

Tile load(const Buffer& buffer, Extents offsets, Extents shape, Where where) {
  const AccessCall call = access_call("load", "buffer_load", where);
  const BufferState& state = own_buffer(call, buffer);
  check_inside(call, state, offsets, shape);
  const auto result = call.program.new_tile(state.dtype(), shape, call.kind, where);
  const auto command = new_copy(call, state, offsets, shape, result, nullptr);
  result->expression += state.number();
  command->take_effect = [value = result->value(), dtype = state.dtype(),
                          lanes = to_shape(shape)](KernelCommand& mine) {
    numerics::Executor& executor = mine.program->environment().executor;
    value->bind(numerics::gather(executor, key_of(mine), dtype, lanes, pieces_of(*mine.buffer)));
  };
  call.program.issue(command);
  return Tile(result);
}

void store(const Buffer& buffer, Extents offsets, const Tile& value, Where where) {
  const AccessCall call = access_call("store", "buffer_store", where);
  const BufferState& state = own_buffer(call, buffer);
  call.program.own(value, call.name, where);
  check_inside(call, state, offsets, value.shape());
  const Tile converted = cast(value, state.dtype(), Rounding::rtne, where);
  const auto& source = converted.state();
  const auto command = new_copy(call, state, offsets, value.shape(), nullptr, source.get());
  command->take_effect = [source = source->value()](KernelCommand& mine) {
    numerics::Executor& executor = mine.program->environment().executor;
    numerics::scatter(executor, key_of(mine), source->value, pieces_of(*mine.buffer));
  };
  call.program.issue(command);
}

}  // namespace kernbench::tl
