#include "tile/memory/memory_access.h"

#include <fmt/format.h>

#include <utility>

#include "addressing/tensor_descriptor.h"
#include "base/fingerprint.h"
#include "base/name_format.h"
#include "hardware/agents.h"
#include "kernbench/error.h"
#include "numerics/memory/masked_transfer.h"
#include "numerics/operations.h"
#include "sim/fiber.h"
#include "tile/explain/explanation.h"
#include "tile/memory/multicast_table.h"
#include "tile/program/conversion.h"

namespace kernbench::tile {

AccessCall access_call(const char* name, const char* kind, const tl::Where& where) {
  return {Program::current(name, where), name, kind, where};
}

void AccessCall::value_error(const std::string& message) const {
  throw ValueError(fmt::format("tl::{}: {}", name, message), program.place(where));
}

namespace {

/// The mask or the `other` of an access: a tile that broadcasts to the block.
const TileState* broadcastable(const AccessCall& call, const tl::Tile& tile, const char* what,
                               const tl::Extents& shape) {
  const TileState& state = *call.program.own(tile, call.name, call.where);
  const auto both = numerics::broadcast_shapes(to_shape(state.shape()), to_shape(shape));
  if (!both || !(to_extents(*both) == shape)) {
    call.value_error(fmt::format("the {} of shape {} does not broadcast to the block of shape {}", what,
                                 to_text(state.shape()), to_text(shape)));
  }
  return &state;
}

const TileState* checked_mask(const AccessCall& call, const tl::Tile& mask, const tl::Extents& shape) {
  if (!mask.defined()) return nullptr;
  const TileState* state = broadcastable(call, mask, "mask", shape);
  if (state->dtype() != DType::boolean) {
    call.value_error(
        fmt::format("the mask must be a tile of bool, got {}; compare it with something", name(state->dtype())));
  }
  return state;
}

}  // namespace

std::uint64_t expression_of(const std::vector<hardware::DmaLeg>& legs, std::uint64_t operands) {
  Fingerprint expression;
  expression.add(operands);
  for (const auto& leg : legs) {
    for (const auto& range : leg.ranges) {
      expression.add((static_cast<std::uint64_t>(leg.slice.cube.value) << 32) |
                     static_cast<std::uint64_t>(leg.slice.pe.value));
      expression.add(range.address);
      if (leg.in_sram()) expression.add(std::string_view("sram"));
      expression.add(static_cast<std::uint64_t>(range.total().count()));
    }
  }
  return expression.value();
}

numerics::OperationKey key_of(const KernelCommand& command) {
  return {command.times.effect.count(), command.agent.value, command.number};
}

// Refused here, where the call is known; the engine's own check is the last resort.
void check_legs(const AccessCall& call, const std::vector<hardware::DmaLeg>& legs) {
  if (legs.size() <= hardware::kMaximumLegs) return;
  call.value_error(
      fmt::format("the block touches {} HBM slices, but a DMA descriptor has at most {} parts; use a "
                  "smaller block",
                  legs.size(), hardware::kMaximumLegs));
}

void MaskUse::check(KernelCommand& mine) const {
  numerics::inspect(mine.program->environment().executor, key_of(mine), value->value,
                    [call = call, site = site](const numerics::TileView& view) {
                      for (std::int64_t lane = 0; lane < view.shape.numel(); ++lane) {
                        if (view.valid(lane)) continue;
                        throw InvalidValueError(
                            fmt::format("tl::{}: lane {} of the mask is invalid: {}", call,
                                        lane_text(lane, to_extents(view.shape)), explanation(view.source(lane))),
                            site.text());
                      }
                    });
}

MaskUse mask_use(const AccessCall& call, const TileState& mask) {
  return {mask.value(), call.name, site_of(call)};
}

Lanes lanes_of(const AccessCall& call, const tl::LoadOptions& options, const tl::Extents& shape) {
  Lanes lanes;
  lanes.mask = checked_mask(call, options.mask, shape);
  lanes.mask_chooses = lanes.mask != nullptr;
  if (!options.other) return lanes;
  if (options.other->is_scalar())
    lanes.other = to_scalar(options.other->scalar());
  else
    lanes.other_tile = broadcastable(call, options.other->tile(), "`other`", shape);
  return lanes;
}

Lanes lanes_of(const AccessCall& call, const tl::StoreOptions& options, const tl::Extents& shape) {
  Lanes lanes;
  lanes.mask = checked_mask(call, options.mask, shape);
  lanes.mask_chooses = lanes.mask != nullptr;
  return lanes;
}

namespace {

/// Why lanes of a load have no place: a mask of pointers has taken theirs away, or they lie outside.
numerics::Cause reason_of_gaps(const Program& program, const Lanes& lanes) {
  if (lanes.mask == nullptr || lanes.mask_chooses) return numerics::Cause::outside;
  return program.environment().reads_may_leave_tensors ? numerics::Cause::masked_or_outside : numerics::Cause::masked;
}

}  // namespace

namespace {

/// The tile of a multicast is what its first member has read.
void take_what_is_read(KernelCommand& mine, const std::shared_ptr<MulticastRound>& round, TileValue& value) {
  if (mine.program->environment().stream.wanted(Topic::edges)) {
    mine.happens_before.push_back({round->read, HappensBefore::Reason::read});
  }
  value.bind(round->value->value);
}

tl::Tile issue_part(const AccessCall& call, const std::shared_ptr<TileState>& result, Places places, const Lanes& lanes,
                    const MulticastPart& part) {
  Program& program = call.program;
  const std::shared_ptr<MulticastRound> round = part.round;
  auto command = program.new_command(multicast_work(call, part, places), call.kind, result, {});
  result->expression = expression_of(command->dma().legs, 0);
  if (part.member > 0) {
    command->take_effect = [round, value = result->value()](KernelCommand& mine) {
      take_what_is_read(mine, round, *value);
    };
  } else {
    round->read = command->command_name();
    command->take_effect = [pieces = std::move(places.pieces), other = lanes.other, round, value = result->value(),
                            shape = to_shape(result->shape()), dtype = result->dtype()](KernelCommand& mine) {
      const Environment& environment = mine.program->environment();
      const numerics::Cause outside = numerics::Cause::outside;
      round->value->bind(environment.data_enabled ? numerics::gather(environment.executor, key_of(mine), dtype, shape,
                                                                     pieces, other, outside)
                                                  : numerics::full(environment.executor, shape, dtype, 0));
      value->bind(round->value->value);
    };
  }
  program.issue(command);
  return tl::Tile(result);
}

}  // namespace

tl::Tile issue_load(const AccessCall& call, const std::shared_ptr<TileState>& result, Places places, const Lanes& lanes,
                    const MulticastPart* together) {
  check_legs(call, places.legs);
  // Without bytes there is nobody to wait for.
  if (together != nullptr && !places.legs.empty()) return issue_part(call, result, std::move(places), lanes, *together);
  Program& program = call.program;
  const bool plain = lanes.offsets == nullptr && lanes.mask == nullptr && lanes.other_tile == nullptr;
  auto command =
      program.new_command(hardware::DmaWork{hardware::DmaKind::read, std::move(places.legs), std::move(places.pages)},
                          call.kind, result, {lanes.offsets, lanes.mask, lanes.other_tile});
  command->masks_lanes = lanes.mask_chooses;
  result->expression = expression_of(command->dma().legs, plain ? 0 : result->expression);
  const auto shape = to_shape(result->shape());
  const DType dtype = result->dtype();
  if (!program.environment().data_enabled) {
    command->take_effect = [value = result->value(), shape, dtype](KernelCommand& mine) {
      value->bind(numerics::full(mine.program->environment().executor, shape, dtype, 0));
    };
  } else if (lanes.mask_chooses || lanes.other_tile != nullptr) {
    std::optional<MaskUse> mask;
    if (lanes.mask_chooses) mask = mask_use(call, *lanes.mask);
    const auto other_tile = lanes.other_tile != nullptr ? lanes.other_tile->value() : nullptr;
    command->take_effect = [pieces = std::move(places.pieces), mask = std::move(mask), other_tile, other = lanes.other,
                            value = result->value(), shape, dtype](KernelCommand& mine) {
      numerics::Executor& executor = mine.program->environment().executor;
      if (mask) mask->check(mine);
      numerics::Value rest;
      if (other_tile)
        rest = other_tile->value;
      else if (other)
        rest = numerics::full(executor, numerics::Shape{}, dtype, *other);
      value->bind(numerics::gather_masked(executor, key_of(mine), dtype, shape, pieces,
                                          mask ? mask->value->value : numerics::Value(), rest));
    };
  } else {
    command->take_effect = [pieces = std::move(places.pieces), other = lanes.other, value = result->value(), shape,
                            dtype, uncovered = reason_of_gaps(program, lanes)](KernelCommand& mine) {
      value->bind(
          numerics::gather(mine.program->environment().executor, key_of(mine), dtype, shape, pieces, other, uncovered));
    };
  }
  program.issue(command);
  return tl::Tile(result);
}

tl::Tile stored_value(const AccessCall& call, const tl::Tensor& tensor, const tl::Operand& value,
                      const tl::Extents& shape) {
  if (!tensor.writable()) {
    call.value_error(fmt::format("tensor {} is a tl::In parameter of the kernel; take it as tl::Tensor to write it",
                                 tensor.descriptor().name));
  }
  if (value.is_scalar()) return tl::full({}, value.scalar(), tensor.dtype(), call.where);
  broadcastable(call, value.tile(), "value", shape);
  return tl::cast(value.tile(), tensor.dtype(), tl::Rounding::rtne, call.where);
}

hardware::CommandRef issue_store(const AccessCall& call, const tl::Tile& value, const tl::Extents& shape, Places places,
                                 const Lanes& lanes) {
  check_legs(call, places.legs);
  Program& program = call.program;
  const auto& state = value.state();
  auto command =
      program.new_command(hardware::DmaWork{hardware::DmaKind::write, std::move(places.legs), std::move(places.pages)},
                          call.kind, nullptr, {state.get(), lanes.offsets, lanes.mask});
  command->masks_lanes = lanes.mask_chooses;
  command->chosen_lane = lanes.chosen;
  sim::this_fiber::note_progress();
  const bool plain = state->shape() == shape && !lanes.mask_chooses;
  const bool data = program.environment().data_enabled;
  if (data && plain) {
    command->take_effect = [pieces = std::move(places.pieces), source = state->value()](KernelCommand& mine) {
      numerics::scatter(mine.program->environment().executor, key_of(mine), source->value, pieces);
    };
  } else if (data) {
    std::optional<MaskUse> mask;
    if (lanes.mask_chooses) mask = mask_use(call, *lanes.mask);
    command->take_effect = [pieces = std::move(places.pieces), mask = std::move(mask), source = state->value(),
                            full_shape = to_shape(shape)](KernelCommand& mine) {
      numerics::Executor& executor = mine.program->environment().executor;
      const numerics::Value all = numerics::broadcast_to(executor, source->value, full_shape);
      if (!mask) return numerics::scatter(executor, key_of(mine), all, pieces);
      mask->check(mine);
      numerics::scatter_masked(executor, key_of(mine), all, pieces, mask->value->value);
    };
  }
  program.issue(command);
  return command;
}

tl::AsyncLoad started(const AccessCall& call, tl::Tile tile) {
  auto state = call.program.add_async(tile.state()->producer, call.name, call.where);
  tile.state()->async = state;
  return {std::move(tile), tl::Token(std::move(state))};
}

tl::Token started(const AccessCall& call, hardware::CommandRef command) {
  return tl::Token(call.program.add_async(std::move(command), call.name, call.where));
}

}  // namespace kernbench::tile
