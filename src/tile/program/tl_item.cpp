// Reading values back in a kernel: item, item_or, device_assert.
#include <fmt/format.h>

#include <bit>
#include <string>
#include <utility>

#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "sim/fiber.h"
#include "tile/explain/explanation.h"
#include "tile/program/conversion.h"
#include "tile/program/known.h"
#include "tile/program/program.h"

namespace kernbench::tl {

using tile::Program;
using tile::to_text;

namespace {

/// Waits for the producer, pays for the read, and returns the value; absent when it has no data and one is assumed.
std::optional<numerics::Scalar> read_scalar(const Tile& x, bool assumed, const Where& where) {
  auto& program = Program::current("item", where);
  const auto& state = *program.own(x, "item", where);
  if (state.shape().numel() != 1) {
    throw ValueError(fmt::format("tl::item: a tile of shape {} has {} elements; item reads exactly one, reduce first",
                                 to_text(state.shape()), state.shape().numel()),
                     program.place(where));
  }
  const auto& environment = program.environment();
  const numerics::Value* known = tile::known_value(state);
  if (!environment.data_enabled && !known && !assumed) {
    throw ProgramError("NoDataError",
                       "tl::item reads a computed value, but the run has no data (--no-data); use "
                       "tl::item_or(tile, assumed) to go on with an assumed value",
                       program.place(where));
  }
  if (state.producer) {
    const Program::Step step(program, tile::Activity::value, where, state.producer.get());
    state.producer->done.wait();
  }
  {
    const Program::Step step(program, tile::Activity::scalar_read, where);
    sim::this_fiber::sleep(environment.machine.topology().pe.control.scalar_read);
  }
  if (!known && !state.value()->value.has_data()) {
    if (!assumed) {
      throw ProgramError(
          "SkippedValueError",
          "tl::item reads a value that derives from floating-point operations, which "
          "--skip-floating-point-ops leaves out; use tl::item_or(tile, assumed) to go on with an assumed "
          "value",
          program.place(where));
    }
    program.note_read(state.expression, 0);
    return std::nullopt;
  }
  const numerics::Item item = known ? numerics::item(environment.constants, *known)
                                    : numerics::item(environment.executor, state.value()->value);
  if (!item.valid) {
    throw InvalidValueError(
        fmt::format("tl::item read an invalid value (from {}): {}", state.kind(), tile::explanation(item.source)),
        program.place(where));
  }
  program.note_read(state.expression, std::bit_cast<std::uint64_t>(item.value.as_double()));
  return item.value;
}

}  // namespace

namespace detail {

double item_as_double(const Tile& x, std::optional<double> assumed, const Where& where) {
  const auto value = read_scalar(x, assumed.has_value(), where);
  return value ? value->as_double() : *assumed;
}

std::int64_t item_as_integer(const Tile& x, std::optional<std::int64_t> assumed, const Where& where) {
  const auto value = read_scalar(x, assumed.has_value(), where);
  return value ? value->as_integer() : *assumed;
}

}  // namespace detail

void device_assert(const Tile& condition, std::string_view message, Where where) {
  auto& program = Program::current("device_assert", where);
  auto look = [text = std::string(message), place = program.place(where)](const numerics::TileView& view) {
    for (std::int64_t lane = 0; lane < view.shape.numel(); ++lane) {
      if (!view.valid(lane)) {
        throw InvalidValueError(fmt::format("device_assert(\"{}\"): lane {} of the condition is invalid: {}", text,
                                            lane, tile::explanation(view.source(lane))),
                                place);
      }
      if (!view.element(lane).as_boolean()) {
        throw ProgramError("DeviceAssertionError", fmt::format("device_assert failed: {} (lane {})", text, lane),
                           place);
      }
    }
  };
  program.inspect(condition, "device_assert", where, std::move(look));
}

void device_assert(bool condition, std::string_view message, Where where) {
  if (condition) return;
  const auto& program = Program::current("device_assert", where);
  throw ProgramError("DeviceAssertionError", fmt::format("device_assert failed: {}", message), program.place(where));
}

}  // namespace kernbench::tl
