#include "tile/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "kernbench/error.h"
#include "sim/fiber.h"
#include "tile/compute/fused_command.h"
#include "tile/memory/cube_memory.h"
#include "tile/memory/multicast_table.h"

namespace kernbench::tile {

std::string to_text(const tl::Where& where) {
  if (where.line() == 0) return {};
  const std::string_view path = where.file_name();
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), where.line());
}

void TileValue::bind(numerics::Value bound_value) {
  value = std::move(bound_value);
  bound = true;
  for (auto& action : when_bound) action(value);
  when_bound.clear();
}

void TileValue::on_bound(std::function<void(const numerics::Value&)> action) {
  if (bound)
    action(value);
  else
    when_bound.push_back(std::move(action));
}

Program::Program(Environment& environment, std::shared_ptr<LaunchRecord> launch, PeCoordinate at, std::int64_t id)
    : environment_(environment), launch_(std::move(launch)), at_(at), id_(id), pe_(environment.machine.pe(at)) {
  if (!launch_->traffic) launch_->traffic = Reference(new hardware::Traffic);
}

bool Program::running() {
  auto* fiber = sim::this_fiber::current();
  return fiber != nullptr && fiber->local(sim::Fiber::Slot::kernel) != nullptr;
}

Program& Program::current(const char* call, const tl::Where& where) {
  if (!running()) {
    throw ProgramError(
        "ContextError",
        fmt::format("tl::{} was called outside of a kernel; tile operations work only in a function that "
                    "torch::launch runs",
                    call),
        to_text(where));
  }
  sim::Fiber& fiber = *sim::this_fiber::current();
  fiber.note_place(where);
  auto& program = *static_cast<Program*>(fiber.local(sim::Fiber::Slot::kernel).get());
  program.where_ = where;
  if (program.fused_ != nullptr) program.fused_->check(call, where);
  return program;
}

Program& Program::current(const char* call) {
  if (!running()) return current(call, tl::Where());
  return *static_cast<Program*>(sim::this_fiber::current()->local(sim::Fiber::Slot::kernel).get());
}

void Program::run(sim::AgentId agent, const std::function<void()>& body) {
  agent_ = agent;
  started_ = environment_.scheduler.now();
  if (launch_->queues) member_ = launch_->queues->index_of(at_);
  auto& slot = sim::this_fiber::current()->local(sim::Fiber::Slot::kernel);
  slot = shared_from_this();
  environment_.stream.tell(Topic::programs, [this](OperationConsumer& each) { each.on_program_begin(*this); });
  try {
    do {
      run_body(body);
      check_all_awaited();
      check_no_tiles();
    } while (go_on());
    drain();
  } catch (const Cancelled&) {
    abandon();
    throw;
  } catch (...) {
    if (environment_.failures != nullptr) environment_.failures->note(std::current_exception(), last_place());
    abandon();
    throw;
  }
  slot.reset();
  finish();
}

void Program::drain() {
  while (!pending_.empty()) {
    const KernelCommandRef command(&pending_.front());
    const Step step(*this, Activity::drain, command->where, command.get());
    command->done.wait();
  }
}

/// The program that runs has returned. What it has under way holds room, but no tiles: those that are left are the
/// kernel's own, or of a command that has not begun, for which it waits.
void Program::check_no_tiles() {
  if (live_objects_.empty()) return;
  drain();
  if (live_objects_.empty()) return;
  throw ProgramError("TileLifetimeError",
                     fmt::format("a tile outlives its kernel: tiles live in the TCM while their kernel runs; store "
                                 "them to a tensor instead of keeping handles. Tiles:{}",
                                 live_objects_text()),
                     program_text());
}

/// Makes the next program of this PE the one that runs; false when there is none.
bool Program::go_on() {
  if (!has_next()) return false;
  environment_.stream.tell(Topic::programs, [this](OperationConsumer& each) { each.on_program_left(*this); });
  {
    const Step step(*this, Activity::next_program, tl::Where());
    sim::this_fiber::sleep(environment_.machine.pe_spec(at_).control.start_latency);
  }
  ++id_;
  begins_.push_back(next_number_);
  reads_ = {};
  where_ = {};
  sim::this_fiber::note_progress();
  environment_.stream.tell(Topic::programs, [this](OperationConsumer& each) { each.on_program_next(*this); });
  return true;
}

std::int64_t Program::id_of(std::uint64_t operation) const {
  return id_ - (begins_.end() - std::ranges::upper_bound(begins_, operation));
}

std::string Program::last_place() const {
  const std::string place = sim::this_fiber::current()->place();
  return place.empty() ? program_text() : program_text() + ", at or after " + place;
}

// Errors that do not know where they come from get the last place that the program was at.
void Program::run_body(const std::function<void()>& body) {
  dma_queues_ = 0;
  try {
    body();
  } catch (const ValueError& error) {
    if (!error.where().empty()) throw;
    throw ValueError(error.what(), last_place());
  } catch (const OutOfBoundsError& error) {
    if (!error.where().empty()) throw;
    throw OutOfBoundsError(error.what(), last_place());
  }
}

// With the last program of a launch goes what its programs have shared.
void Program::leave_launch() {
  if (++launch_->ended < launch_->pes) return;
  launch_->cube_memory.reset();
  launch_->traffic->close();
}

void Program::abandon() {
  leave_launch();
  environment_.stream.tell(Topic::programs, [this](OperationConsumer& each) { each.on_program_abandoned(*this); });
  for (KernelCommand& command : pending_) command.let_go();
  pending_.clear();
  unawaited_.clear();
  for (TcmObject* object : std::exchange(live_objects_, {})) object->reservation_.reset();
}

Program::Step::Step(Program& program, Activity activity, const tl::Where& where, const hardware::Command* cause)
    : program_(program), cause_(cause) {
  const OperationStream& stream = program.environment_.stream;
  if (!stream.wanted(Topic::steps)) return;
  step_ = {activity, program.environment_.scheduler.now(), {}, {}, where};
  if (cause != nullptr) step_.cause = cause->as_cause();
  stream.tell(Topic::steps, [&](OperationConsumer& each) { each.on_step_begun(program, step_); });
}

void Program::end_step(ProgramStep& step, const hardware::Command* cause) {
  const OperationStream& stream = environment_.stream;
  if (!stream.wanted(Topic::steps)) return;
  step.end = environment_.scheduler.now();
  stream.tell(Topic::steps, [&](OperationConsumer& each) { each.on_step(*this, step, cause); });
}

void Program::finish() {
  ended_ = environment_.scheduler.now();
  leave_launch();
  BusiestProgram& busiest = launch_->busiest;
  busiest.gemm = std::max(busiest.gemm, busy_.gemm);
  busiest.vector = std::max(busiest.vector, busy_.vector);
  busiest.tcm_bytes = std::max(busiest.tcm_bytes, busy_.tcm_bytes);
  launch_->all_programs += ended_ - started_;
  const bool first = launch_->last_end == Time::zero();
  const bool later = ended_ > launch_->last_end || (ended_ == launch_->last_end && at_ < launch_->last_pe);
  const bool stands = first || later;
  if (stands) {
    launch_->last_start = started_;
    launch_->last_end = ended_;
    launch_->last_pe = at_;
  }
  environment_.stream.tell(Topic::programs, [&](OperationConsumer& each) { each.on_program_end(*this, stands); });
}

MulticastTable& Program::multicasts() {
  if (launch_->multicasts == nullptr) launch_->multicasts = std::make_shared<MulticastTable>();
  return *launch_->multicasts;
}

CubeMemoryTable& Program::cube_memory() {
  if (launch_->cube_memory == nullptr) launch_->cube_memory = std::make_shared<CubeMemoryTable>(environment_.sram);
  return *launch_->cube_memory;
}

std::string Program::program_text() const {
  return fmt::format("kernel {} on {} (program {})", launch_->name, pe_.name(), id_);
}

const std::shared_ptr<TileState>& Program::own(const tl::Tile& tile, const char* call, const tl::Where& where) const {
  if (!tile.defined()) {
    throw ValueError(
        fmt::format("tl::{}: an empty tile (default-constructed tl::Tile) was used; assign a value first", call),
        place(where));
  }
  if (&tile.state()->program() != this) {
    throw ValueError(
        fmt::format("tl::{}: the tile belongs to another program; tiles live in one PE's TCM and cannot be passed "
                    "between instances, store it and load it there",
                    call),
        place(where));
  }
  if (const auto& async = tile.state()->async; async && !async->awaited) {
    throw ProgramError("UnawaitedTileError",
                       fmt::format("tl::{} uses the tile of tl::{} at {} before its token was waited for; call "
                                   "tl::wait(token) or tl::wait_group first",
                                   call, async->call, to_text(async->where)),
                       place(where));
  }
  return tile.state();
}

void Program::inspect(const tl::Tile& tile, const char* call, const tl::Where& where,
                      std::function<void(const numerics::TileView&)> look) {
  const auto& state = *own(tile, call, where);
  const auto number = take_number();  // without data too, so that the operations after it keep theirs
  if (!environment_.data_enabled) return;
  auto submit = [&environment = environment_, look = std::move(look), agent = agent(),
                 number](const numerics::Value& value) {
    const auto key = numerics::OperationKey{environment.scheduler.now().count(), agent.value, number};
    numerics::inspect(environment.executor, key, value, look);
  };
  state.value()->on_bound(std::move(submit));
}

std::shared_ptr<TileState> Program::new_tile(DType dtype, const tl::Extents& shape, const char* kind, tl::Where where) {
  const TcmObjectInfo info{"tile", next_object_++, dtype, shape, kind, where};
  return make_pooled<TileState>(*environment_.pool, *this, info, reserve(info));
}

std::shared_ptr<TileState> Program::new_inner_tile(DType dtype, const tl::Extents& shape, const char* kind,
                                                   tl::Where where) {
  const TcmObjectInfo info{"tile", next_object_++, dtype, shape, kind, where};
  return make_pooled<TileState>(*environment_.pool, *this, info,
                                make_pooled<Reservation>(*environment_.pool, pe_.tcm(), Bytes(0)));
}

// Several tiles may be asked for before their operation is made: no time passes between a grant and the next request.
void Program::begin_asking() {
  const Time now = environment_.scheduler.now();
  if (!asking_.open || asking_.granted != now) asking_ = {true, now, now, {}};
}

std::shared_ptr<TileState> Program::new_view(const TileState& of, DType dtype, const tl::Extents& shape,
                                             const char* kind, tl::Where where) {
  const TcmObjectInfo info{"tile", next_object_++, dtype, shape, kind, where};
  auto view = make_pooled<TileState>(*environment_.pool, *this, info, of.reservation());
  view->producer = of.producer;
  Fingerprint expression;
  expression.add(std::string_view(kind));
  expression.add(of.expression);
  view->expression = expression.value();
  return view;
}

void Program::note_read(std::uint64_t expression, std::uint64_t value_bits) {
  if (reads_.note(expression, value_bits)) {
    sim::this_fiber::note_poll(has_next() ? std::function<Name()>([this] { return programs_behind(); }) : nullptr);
  } else {
    sim::this_fiber::note_progress();
  }
}

bool Program::has_next() const {
  return id_ + 1 < launch_->grid.count() && launch_->place_of(id_ + 1) == at_;
}

/// Of those that wait for this one to end, one may be the one that would change what this one polls.
Name Program::programs_behind() const {
  std::int64_t last = id_ + 1;
  while (last + 1 < launch_->grid.count() && launch_->place_of(last + 1) == at_) ++last;
  return last == id_ + 1
             ? Name("has a program of its grid behind it, which begins on this PE when it has ended")
             : named("has {} programs of its grid behind it, which begin on this PE when it has ended", last - id_);
}

numerics::Source Program::source(const char* kind, const tl::Where& where) const {
  const bool named = launch_->called_at.line() != 0;
  return {.operation = kind, .work = launch_->lasting_name, .where = named ? launch_->called_at : where};
}

// The line of a kernel of the library says nothing to whom it serves; that of the call does.
std::string Program::place(const tl::Where& where) const {
  const bool named = launch_->called_at.line() != 0;
  return fmt::format("{}, {}", program_text(), named ? "called at " + to_text(launch_->called_at) : to_text(where));
}

}  // namespace kernbench::tile
