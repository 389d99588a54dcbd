// One-sided accesses: puts, gets and signals.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fingerprint.h"
#include "base/text.h"
#include "hardware/ipcq/ipcq.h"
#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "sim/fiber.h"
#include "tile/messages/signals.h"
#include "tile/messages/window_access.h"
#include "tile/program/conversion.h"

namespace kernbench::tl {

using tile::access_call;
using tile::KernelCommand;
using tile::KernelCommandRef;
using tile::Program;
using tile::WindowAccess;

namespace {

hardware::SignalUpdate update_of(SignalOperation operation) {
  return operation == SignalOperation::set ? hardware::SignalUpdate::set : hardware::SignalUpdate::add;
}

/// A command for the window of a member, without bytes and without a signal.
KernelCommandRef new_command(const WindowAccess& access, const std::shared_ptr<tile::TileState>& result,
                             const tile::TileState* source, std::int32_t target) {
  return access.call.program.new_command(access.work_for(target), access.call.kind, result, {source});
}

/// The command moves `bytes` at `offset` of the target's window.
void set_bytes(const WindowAccess& access, KernelCommand& command, std::int32_t target, std::int64_t offset,
               Bytes bytes) {
  command.window().bytes = bytes;
  command.window().memory = access.windows.row(target).byte(offset);
  command.window_offset = static_cast<std::uint64_t>(offset);
}

void issue(const WindowAccess& access, const KernelCommandRef& command) {
  access.windows.add_order(access.self, command);
  sim::this_fiber::note_progress();
  access.call.program.issue(command);
}

/// A command that puts `value`.
KernelCommandRef new_put(const WindowAccess& access, const WindowPlace& to, const Tile& value) {
  const auto& state = access.call.program.own(value, access.call.name, access.call.where);
  const std::int32_t target = access.member(to.peer);
  const Bytes bytes = access.check_inside(target, to.offset, state->dtype(), state->shape());
  auto command = new_command(access, nullptr, state.get(), target);
  set_bytes(access, *command, target, to.offset, bytes);
  command->take_effect = [pieces = access.pieces(target, to.offset, bytes),
                          source = state->value()](KernelCommand& mine) {
    numerics::scatter(mine.program->environment().executor, key_of(mine), source->value, pieces);
  };
  return command;
}

/// The command ends with an update of a word. It stands for the program's accesses of tensors so far, too.
void add_signal(const WindowAccess& access, KernelCommand& command, std::int32_t target, std::int32_t word,
                std::int64_t value, SignalOperation update) {
  hardware::WindowWork& work = command.window();
  work.signals = true;
  work.word = access.windows.row(target).word(word);
  work.update = update_of(update);
  work.value = value;
  command.releases = true;
}

bool compares(Comparison comparison, std::int64_t a, std::int64_t b) {
  switch (comparison) {
    case Comparison::eq:
      return a == b;
    case Comparison::ne:
      return a != b;
    case Comparison::gt:
      return a > b;
    case Comparison::ge:
      return a >= b;
    case Comparison::lt:
      return a < b;
    case Comparison::le:
      break;
  }
  return a <= b;
}

const char* sign(Comparison comparison) {
  switch (comparison) {
    case Comparison::eq:
      return "==";
    case Comparison::ne:
      return "!=";
    case Comparison::gt:
      return ">";
    case Comparison::ge:
      return ">=";
    case Comparison::lt:
      return "<";
    case Comparison::le:
      break;
  }
  return "<=";
}

void wait_for_all(const WindowAccess& access) {
  for (const auto& command : access.windows.under_way(access.self)) wait_until_done(access.call, command);
}

/// The n-th word of a scope counts the n-th message of each barrier: in round n every member tells the one 2^n places
/// behind it, and after the last round it has heard, directly or not, of all.
void run_barrier(const WindowAccess& access, Scope scope) {
  const auto group = access.windows.group(access.self, scope);
  const auto size = static_cast<std::int64_t>(group.size());
  const std::int64_t own = std::ranges::find(group, access.self) - group.begin();
  const std::int64_t generation = access.windows.enter_barrier(access.self, scope);
  std::int32_t round = 0;
  for (std::int64_t distance = 1; distance < size; distance *= 2, ++round) {
    const std::int32_t target = group[static_cast<std::size_t>((own + distance) % size)];
    const std::int32_t word = access.windows.barrier_word(scope, round);
    const auto command = new_command(access, nullptr, nullptr, target);
    add_signal(access, *command, target, word, 1, SignalOperation::add);
    issue(access, command);
    tile::wait_for_barrier(access, {scope, generation, word, &group});
  }
}

}  // namespace

WindowPlace window(const Peer& peer, std::int64_t offset) {
  return {peer, offset};
}

void put(const WindowPlace& to, const Tile& value, Where where) {
  const WindowAccess access = tile::window_access(access_call("put", "put", where));
  issue(access, new_put(access, to, value));
}

void put_signal(const WindowPlace& to, const Tile& value, std::int64_t index, std::int64_t signal,
                SignalOperation operation, Where where) {
  const WindowAccess access = tile::window_access(access_call("put_signal", "put_signal", where));
  const auto command = new_put(access, to, value);
  add_signal(access, *command, access.member(to.peer), access.signal_index(index), signal, operation);
  issue(access, command);
}

Tile get(const WindowPlace& from, DType dtype, Extents shape, Where where) {
  const WindowAccess access = tile::window_access(access_call("get", "get", where));
  const std::int32_t target = access.member(from.peer);
  const Bytes bytes = access.check_inside(target, from.offset, dtype, shape);
  const auto result = access.call.program.new_tile(dtype, shape, access.call.kind, where);
  const auto command = new_command(access, result, nullptr, target);
  set_bytes(access, *command, target, from.offset, bytes);
  command->window().reads = true;
  Fingerprint expression;
  expression.add(result->expression);
  expression.add(command->window().memory.value());
  result->expression = expression.value();
  command->take_effect = [pieces = access.pieces(target, from.offset, bytes), value = result->value(), dtype,
                          lanes = tile::to_shape(shape)](KernelCommand& mine) {
    value->bind(numerics::gather(mine.program->environment().executor, key_of(mine), dtype, lanes, pieces));
  };
  access.windows.add_order(access.self, command);
  access.call.program.issue(command);
  return Tile(result);
}

void signal(const Peer& peer, std::int64_t index, std::int64_t value, SignalOperation operation, Where where) {
  const WindowAccess access = tile::window_access(access_call("signal", "signal", where));
  const std::int32_t target = access.member(peer);
  const std::int32_t word = access.signal_index(index);
  const auto command = new_command(access, nullptr, nullptr, target);
  add_signal(access, *command, target, word, value, operation);
  issue(access, command);
}

std::int64_t wait_until(std::int64_t index, Comparison comparison, std::int64_t value, Where where) {
  const WindowAccess access = tile::window_access(access_call("wait_until", "", where));
  const std::int32_t word = access.signal_index(index);
  const auto met = [comparison, value](std::int64_t now) { return compares(comparison, now, value); };
  const std::int64_t seen = tile::wait_for_signal(access, {word, fmt::format("{} {}", sign(comparison), value), met});
  sim::this_fiber::note_progress();
  return seen;
}

std::int64_t signal_value(std::int64_t index, Where where) {
  const WindowAccess access = tile::window_access(access_call("signal_value", "", where));
  const std::int32_t word = access.signal_index(index);
  Program& program = access.call.program;
  {
    const Program::Step step(program, tile::Activity::scalar_read, where);
    sim::this_fiber::sleep(program.environment().machine.topology().pe.control.scalar_read);
  }
  const std::int64_t seen = tile::read_signal(access, word);
  Fingerprint expression;
  expression.add(std::string_view("signal_value"));
  expression.add(access.windows.row(access.self).word(word).value());
  program.note_read(expression.value(), static_cast<std::uint64_t>(seen));
  return seen;
}

void fence(Where where) {
  const WindowAccess access = tile::window_access(access_call("fence", "", where));
  access.windows.fence(access.self);
}

void quiet(Where where) {
  wait_for_all(tile::window_access(access_call("quiet", "", where)));
}

void barrier(Scope scope, Where where) {
  const WindowAccess access = tile::window_access(access_call("barrier", "barrier", where));
  wait_for_all(access);
  run_barrier(access, scope);
}

}  // namespace kernbench::tl
