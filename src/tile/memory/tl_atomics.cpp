// Atomic operations: one DMA descriptor that carries the operands to the memory and brings the old values back.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "addressing/tensor_descriptor.h"
#include "base/name_format.h"
#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "sim/fiber.h"
#include "tile/memory/memory_access.h"
#include "tile/program/conversion.h"

namespace kernbench::tile {

namespace {

using numerics::AtomicOperation;

struct AtomicCall {
  AccessCall access;
  AtomicOperation operation;
};

/// Element types that an operation is for, as text; null when it takes every type.
const char* accepted_types(AtomicOperation operation, DType dtype) {
  const bool floating = is_floating_point(dtype);
  const bool wide = dtype == DType::i32 || dtype == DType::i64 || dtype == DType::f32;
  switch (operation) {
    case AtomicOperation::add:
      return wide || dtype == DType::f16 || dtype == DType::bf16 ? nullptr : "i32, i64, f32, f16 and bf16";
    case AtomicOperation::maximum:
    case AtomicOperation::minimum:
      return wide ? nullptr : "i32, i64 and f32";
    case AtomicOperation::bit_and:
    case AtomicOperation::bit_or:
    case AtomicOperation::bit_xor:
      return floating ? "integers and bool" : nullptr;
    case AtomicOperation::exchange:
    case AtomicOperation::compare_exchange:
      break;
  }
  return nullptr;
}

/// Replicas of one box share their virtual address. An atomic on one of them would be seen by some PEs and not by
/// others.
bool is_replicated(const addressing::TensorDescriptor& tensor) {
  for (std::size_t i = 1; i < tensor.shards.size(); ++i) {
    if (tensor.shards[i].va == tensor.shards.front().va) return true;
  }
  return false;
}

void check(const AtomicCall& call, const tl::Tensor& tensor) {
  const addressing::TensorDescriptor& descriptor = tensor.descriptor();
  if (const char* types = accepted_types(call.operation, descriptor.dtype)) {
    call.access.value_error(
        fmt::format("tensor {} has element type {}, but this operation is for {}; keep such values "
                    "in a tensor of one of these types",
                    descriptor.name, name(descriptor.dtype), types));
  }
  if (is_replicated(descriptor)) {
    call.access.value_error(
        fmt::format("tensor {} is replicated, and an atomic would change one copy of it only; split "
                    "it over the PEs, or place it on a single one (DPPolicy)",
                    descriptor.name));
  }
}

/// Whether the atomic has changed memory: what is there now differs from what it has read. Lanes that are invalid (as
/// those that are masked off) do not count. What cannot be computed may have changed.
bool has_changed(numerics::Executor& executor, const numerics::OperationKey& key, const numerics::Value& old,
                 std::span<const numerics::Piece> pieces) {
  if (!old.has_data()) return true;
  try {
    const numerics::TileView before = numerics::view(executor, old);
    const numerics::Value now = numerics::gather(executor, key, old.dtype(), old.shape(), pieces, numerics::Scalar(0));
    if (!now.has_data()) return true;
    const numerics::TileView after = numerics::view(executor, now);
    const auto item = static_cast<std::size_t>(item_size(before.dtype));
    for (std::int64_t lane = 0; lane < before.shape.numel(); ++lane) {
      const std::size_t at = static_cast<std::size_t>(lane) * item;
      if (before.valid(lane) && !std::ranges::equal(before.bytes.subspan(at, item), after.bytes.subspan(at, item))) {
        return true;
      }
    }
    return false;
  } catch (const Error&) {
    return true;
  }
}

/// What happens to the bytes when the operation takes effect.
struct Effect {
  AtomicOperation operation;
  std::vector<numerics::Piece> pieces;
  std::shared_ptr<TileValue> operand, compare, old;
  std::optional<MaskUse> mask;
  numerics::Shape shape;
  DType dtype;

  void operator()(KernelCommand& mine) const {
    numerics::Executor& executor = mine.program->environment().executor;
    const numerics::OperationKey key = key_of(mine);
    if (mask) mask->check(mine);
    const auto filled = [&](const std::shared_ptr<TileValue>& tile) {
      return tile ? numerics::broadcast_to(executor, tile->value, shape) : numerics::Value();
    };
    const numerics::Value all = mask ? numerics::broadcast_to(executor, mask->value->value, shape) : numerics::Value();
    old->bind(numerics::atomic(executor, key, operation, pieces, filled(operand), filled(compare), all, dtype, shape));
    // Somebody polls: only a change can end that.
    if (sim::this_fiber::progress_matters() && has_changed(executor, key, old->value, pieces)) {
      sim::this_fiber::note_progress();
    }
  }
};

bool acquires(tl::MemoryOrder order) {
  return order == tl::MemoryOrder::acquire || order == tl::MemoryOrder::acq_rel;
}
bool releases(tl::MemoryOrder order) {
  return order == tl::MemoryOrder::release || order == tl::MemoryOrder::acq_rel;
}

/// The operands of an atomic, of the tensor's type; shapes broadcast to that of the result.
struct Operands {
  tl::Tile value, compare;
};

Operands operands_of(const AtomicCall& call, const tl::Tensor& tensor, const tl::Operand* compare,
                     const tl::Operand& value, const tl::Extents& shape) {
  Operands operands;
  if (compare != nullptr) operands.compare = stored_value(call.access, tensor, *compare, shape);
  operands.value = stored_value(call.access, tensor, value, shape);
  return operands;
}

tl::Tile issue(const AtomicCall& call, const tl::Tensor& tensor, const tl::Extents& shape, const Operands& operands,
               Places places, const Lanes& lanes, const tl::AtomicOptions& options) {
  check_legs(call.access, places.legs);
  Program& program = call.access.program;
  const auto result = program.new_tile(tensor.dtype(), shape, call.access.kind, call.access.where);
  const TileState* compare = operands.compare.defined() ? operands.compare.state().get() : nullptr;
  auto command =
      program.new_command(hardware::DmaWork{hardware::DmaKind::atomic, std::move(places.legs), std::move(places.pages)},
                          call.access.kind, result, {operands.value.state().get(), compare, lanes.offsets, lanes.mask});
  command->acquires = acquires(options.order);
  command->releases = releases(options.order);
  command->scope = options.scope;
  result->expression = expression_of(command->dma().legs, result->expression);
  const auto elements = to_shape(shape);
  if (program.environment().data_enabled) {
    std::optional<MaskUse> mask;
    if (lanes.mask_chooses) mask = mask_use(call.access, *lanes.mask);
    command->take_effect = Effect{call.operation,
                                  std::move(places.pieces),
                                  operands.value.state()->value(),
                                  compare != nullptr ? compare->value() : nullptr,
                                  result->value(),
                                  std::move(mask),
                                  elements,
                                  tensor.dtype()};
  } else {
    command->take_effect = [value = result->value(), elements, dtype = tensor.dtype()](KernelCommand& mine) {
      value->bind(numerics::full(mine.program->environment().executor, elements, dtype, 0));
    };
  }
  program.issue(command);
  return tl::Tile(result);
}

tl::Tile atomic(AtomicOperation operation, const char* kind, const tl::PointerTile& pointers,
                const tl::Operand* compare, const tl::Operand& value, const tl::AtomicOptions& options,
                const tl::Where& where) {
  const AtomicCall call{{Program::current(kind, where), kind, kind, where}, operation};
  Program& program = call.access.program;
  const tl::Tensor& tensor = pointers.base().tensor();
  check(call, tensor);
  const TileState& offsets = *program.own(pointers.offsets(), kind, where);
  const tl::Extents shape = offsets.shape();
  tl::StoreOptions masked;
  masked.mask = options.mask;
  Lanes lanes = lanes_of(call.access, masked, shape);
  lanes.offsets = &offsets;
  lanes.mask_chooses = false;  // here: what is masked off has no place
  const Operands operands = operands_of(call, tensor, compare, value, shape);
  const PointerLanes targets = resolve_lanes(program, kind, pointers, lanes.mask, where, true);
  return issue(call, tensor, shape, operands, places_of_lanes(call.access, tensor, targets), lanes, options);
}

tl::Tile atomic(AtomicOperation operation, const char* kind, const tl::Pointer& pointer, const tl::Operand* compare,
                const tl::Operand& value, const tl::AtomicOptions& options, const tl::Where& where) {
  const AtomicCall call{{Program::current(kind, where), kind, kind, where}, operation};
  const tl::Tensor& tensor = pointer.tensor();
  check(call, tensor);
  const StridedBlock element = whole_block(pointer.offset(), {}, {});
  check_strided(call.access, tensor, element, true);
  tl::StoreOptions masked;
  masked.mask = options.mask;
  const Lanes lanes = lanes_of(call.access, masked, {});
  const Operands operands = operands_of(call, tensor, compare, value, {});
  return issue(call, tensor, {}, operands, places_of_strided(call.access, tensor, element, true), lanes, options);
}

}  // namespace

}  // namespace kernbench::tile

namespace kernbench::tl {

using numerics::AtomicOperation;
using tile::atomic;

Tile atomic_add(const PointerTile& pointers, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::add, "atomic_add", pointers, nullptr, value, options, where);
}
Tile atomic_max(const PointerTile& pointers, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::maximum, "atomic_max", pointers, nullptr, value, options, where);
}
Tile atomic_min(const PointerTile& pointers, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::minimum, "atomic_min", pointers, nullptr, value, options, where);
}
Tile atomic_and(const PointerTile& pointers, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::bit_and, "atomic_and", pointers, nullptr, value, options, where);
}
Tile atomic_or(const PointerTile& pointers, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::bit_or, "atomic_or", pointers, nullptr, value, options, where);
}
Tile atomic_xor(const PointerTile& pointers, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::bit_xor, "atomic_xor", pointers, nullptr, value, options, where);
}
Tile atomic_xchg(const PointerTile& pointers, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::exchange, "atomic_xchg", pointers, nullptr, value, options, where);
}
Tile atomic_cas(const PointerTile& pointers, const Operand& compare, const Operand& value, AtomicOptions options,
                Where where) {
  return atomic(AtomicOperation::compare_exchange, "atomic_cas", pointers, &compare, value, options, where);
}
Tile atomic_add(const Pointer& pointer, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::add, "atomic_add", pointer, nullptr, value, options, where);
}
Tile atomic_max(const Pointer& pointer, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::maximum, "atomic_max", pointer, nullptr, value, options, where);
}
Tile atomic_min(const Pointer& pointer, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::minimum, "atomic_min", pointer, nullptr, value, options, where);
}
Tile atomic_and(const Pointer& pointer, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::bit_and, "atomic_and", pointer, nullptr, value, options, where);
}
Tile atomic_or(const Pointer& pointer, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::bit_or, "atomic_or", pointer, nullptr, value, options, where);
}
Tile atomic_xor(const Pointer& pointer, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::bit_xor, "atomic_xor", pointer, nullptr, value, options, where);
}
Tile atomic_xchg(const Pointer& pointer, const Operand& value, AtomicOptions options, Where where) {
  return atomic(AtomicOperation::exchange, "atomic_xchg", pointer, nullptr, value, options, where);
}
Tile atomic_cas(const Pointer& pointer, const Operand& compare, const Operand& value, AtomicOptions options,
                Where where) {
  return atomic(AtomicOperation::compare_exchange, "atomic_cas", pointer, &compare, value, options, where);
}

}  // namespace kernbench::tl
