#include "tile/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "kernbench/error.h"
#include "sim/fiber.h"
#include "tile/program/overlap.h"

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
    : environment_(environment), launch_(std::move(launch)), at_(at), id_(id), pe_(environment.machine.pe(at)) {}

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
  return program;
}

Program& Program::current(const char* call) {
  if (!running()) return current(call, tl::Where());
  return *static_cast<Program*>(sim::this_fiber::current()->local(sim::Fiber::Slot::kernel).get());
}

void Program::run(sim::AgentId agent, const std::function<void()>& body) {
  agent_ = agent;
  trace_->agent = agent;
  trace_->start = environment_.scheduler.now();
  if (launch_->queues) environment_.traces->begin(trace_);
  auto& slot = sim::this_fiber::current()->local(sim::Fiber::Slot::kernel);
  slot = shared_from_this();
  environment_.sink.on_program_begin(*this);
  try {
    run_body(body);
    check_all_awaited();
    while (!pending_.empty()) {
      const auto operation = pending_.front();
      const Step step(*this, Activity::drain, operation->where, operation->operation_name());
      operation->done.wait();
    }
    if (!live_objects_.empty()) {
      throw ProgramError("TileLifetimeError",
                         fmt::format("a tile outlives its kernel: tiles live in the TCM while their kernel runs; store "
                                     "them to a tensor instead of keeping handles. Tiles:{}",
                                     live_objects_text()),
                         program_text());
    }
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

std::string Program::last_place() const {
  const std::string place = sim::this_fiber::current()->place();
  return place.empty() ? program_text() : program_text() + ", at or after " + place;
}

// Errors that do not know where they come from get the last place that the program was at.
void Program::run_body(const std::function<void()>& body) {
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

void Program::abandon() {
  environment_.sink.on_program_abandoned(*this);
  for (const auto& operation : pending_) {
    operation->holds.clear();
    operation->take_effect = nullptr;
    operation->buffer.reset();
  }
  pending_.clear();
  unawaited_.clear();
  environment_.traces->forget(*trace_);
  trace_ = std::make_shared<ProgramTrace>();
  for (TcmObject* object : std::exchange(live_objects_, {})) object->reservation_.reset();
}

void Program::end_step(ProgramStep& step) {
  step.end = environment_.scheduler.now();
  if (step.start == step.end) return;
  environment_.sink.on_step(*this, step);
  // A loop that polls makes millions of them.
  if (!trace_->steps.empty() && !step.cause.known()) {
    ProgramStep& last = trace_->steps.back();
    if (last.activity == step.activity && last.end == step.start && !last.cause.known() &&
        last.where.line() == step.where.line() && last.where.file_name() == step.where.file_name()) {
      last.end = step.end;
      ++last.count;
      return;
    }
  }
  trace_->steps.push_back(step);
}

void Program::finish() {
  const Time end = trace_->end = environment_.scheduler.now();
  environment_.sink.on_program_end(*this);
  trace_->sort();
  launch_->account.add(*trace_, dma_bytes_);
  const std::shared_ptr<ProgramTrace> trace = std::exchange(trace_, std::make_shared<ProgramTrace>());
  if (launch_->queues) environment_.traces->end(trace);
  const bool later = end > launch_->last_end || (end == launch_->last_end && at_ < launch_->last_pe);
  if (launch_->last_end != Time::zero() && !later) return;
  launch_->last_start = trace->start;
  launch_->last_end = end;
  launch_->last_pe = at_;
  launch_->last_breakdown = intervals_.tile(trace->start, end);
  launch_->last_trace = trace;
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

std::shared_ptr<TileState> Program::new_tile(DType dtype, const tl::Extents& shape, const char* kind, tl::Where where) {
  const TcmObjectInfo info{"tile", next_object_++, dtype, shape, kind, where};
  return std::make_shared<TileState>(*this, info, reserve(info));
}

// Several tiles may be asked for before their operation is made: no time passes between a grant and the next request.
void Program::begin_asking() {
  const Time now = environment_.scheduler.now();
  if (!asking_.open || asking_.granted != now) asking_ = {true, now, now, {}};
}

std::shared_ptr<TileState> Program::new_view(const TileState& of, DType dtype, const tl::Extents& shape,
                                             const char* kind, tl::Where where) {
  const TcmObjectInfo info{"tile", next_object_++, dtype, shape, kind, where};
  auto view = std::make_shared<TileState>(*this, info, of.reservation());
  view->producer = of.producer;
  Fingerprint expression;
  expression.add(std::string_view(kind));
  expression.add(of.expression);
  view->expression = expression.value();
  return view;
}

void Program::note_read(std::uint64_t expression, std::uint64_t value_bits) {
  if (reads_.note(expression, value_bits)) {
    sim::this_fiber::note_poll();
  } else {
    sim::this_fiber::note_progress();
  }
}

std::shared_ptr<KernelOperation> Program::new_operation(hardware::EngineKind engine, const char* kind,
                                                        const std::shared_ptr<TileState>& result,
                                                        std::span<const TileState* const> inputs) {
  const std::uint64_t number = next_operation_++;
  auto operation = std::make_shared<KernelOperation>(engine, kind, agent_, number, std::string());
  operation->program = shared_from_this();
  operation->observer = this;
  operation->where = where_;
  begin_asking();
  operation->requested = asking_.requested;
  operation->granted = asking_.granted;
  operation->granted_by = asking_.granted_by;
  asking_.open = false;
  for (const TileState* input : inputs) {
    if (input == nullptr) continue;
    operation->holds.push_back(input->reservation());
    if (input->producer && !input->producer->done.is_set()) operation->dependencies.push_back(input->producer);
  }
  operation->operands = operation->dependencies.size();
  if (result) {
    operation->holds.push_back(result->reservation());
    result->producer = operation;
    Fingerprint expression;
    expression.add(std::string_view(kind));
    for (const TileState* input : inputs) {
      if (input != nullptr) expression.add(input->expression);
    }
    result->expression = expression.value();
  }
  if (environment_.sink.wants_operands()) {
    for (const TileState* input : inputs) {
      if (input != nullptr) operation->operand_text += fmt::format(" tcm:tile{}", input->number());
    }
    if (result) operation->operand_text += fmt::format(" -> tcm:tile{}", result->number());
  }
  return operation;
}

void Program::add_memory_dependencies(KernelOperation& operation) {
  for (const auto& earlier : pending_) {
    if (earlier->engine != hardware::EngineKind::dma) continue;
    const bool ordered = operation.releases || earlier->acquires;
    const bool conflict = earlier->write || operation.write;
    if (ordered || (conflict && overlap(earlier->legs, operation.legs))) operation.dependencies.push_back(earlier);
  }
}

namespace {

Bytes& at_distance(DistanceBytes& bytes, PeCoordinate pe, PeCoordinate slice) {
  if (pe == slice) return bytes.own_slice;
  if (pe.sip != slice.sip) return bytes.other_sips;
  return pe.cube == slice.cube ? bytes.same_cube : bytes.same_sip;
}

}  // namespace

void Program::count(const KernelOperation& operation) {
  if (operation.engine == hardware::EngineKind::dma) {
    for (const auto& leg : operation.legs) {
      Bytes bytes;
      for (const auto& range : leg.ranges) bytes += range.total();
      launch_->hbm_bytes += bytes;
      launch_->slice_bytes[leg.slice] += bytes;
      at_distance(launch_->distance, at_, leg.slice) += bytes;
      dma_bytes_ += bytes;
    }
  } else if (operation.engine == hardware::EngineKind::gemm) {
    launch_->work.add(operation.gemm, environment_.machine.topology().pe.gemm);
  } else if (operation.engine == hardware::EngineKind::vector) {
    launch_->work.add(operation.vector, operation.widest, environment_.machine.topology().pe.vector);
  }
}

void Program::wait_until_placed(const KernelOperation& operation) {
  for (const auto& dependency : operation.dependencies) {
    const auto placed = static_cast<const KernelOperation&>(*dependency).all_placed;
    if (placed && !placed->is_set()) placed->wait();
  }
}

void Program::issue(const std::shared_ptr<KernelOperation>& operation) {
  if (operation->engine == hardware::EngineKind::dma || operation->releases) add_memory_dependencies(*operation);
  if (operation->buffer) add_buffer_dependencies(*operation);
  count(*operation);
  wait_until_placed(*operation);
  pending_.push_back(operation);
  environment_.sink.on_issue(*operation);
  pe_.submit(operation);
}

void Program::issue_composite(std::uint64_t number, const std::vector<std::shared_ptr<KernelOperation>>& operations) {
  auto command = std::make_shared<hardware::CompositeCommand>();
  command->agent = agent_;
  command->number = number;
  for (const auto& operation : operations) {
    if (operation->engine == hardware::EngineKind::dma) add_memory_dependencies(*operation);
    count(*operation);
    operation->all_placed = command->placed;
  }
  command->operations.assign(operations.begin(), operations.end());
  pending_.insert(pending_.end(), operations.begin(), operations.end());
  pe_.submit(command);
}

numerics::Source Program::source(const char* kind, const tl::Where& where) const {
  const bool named = launch_->called_at.line() != 0;
  return {.operation = kind, .work = launch_->lasting_name, .where = named ? launch_->called_at : where};
}

std::string Program::place(const tl::Where& where) const {
  return fmt::format("{}, {}", program_text(), to_text(where));
}

void Program::on_start(hardware::Operation& operation) {
  auto& mine = static_cast<KernelOperation&>(operation);
  auto& machine = environment_.machine;
  mine.bound = machine.least(at_, mine);
  if (mine.legs.empty()) return;
  const auto servers = machine.servers_of(at_, mine, mine.bound.leg);
  mine.on_its_way.reserve(servers.size());
  for (const auto server : servers) mine.on_its_way.emplace_back(server, machine.fabric().counters(server).busy);
}

OperationRecord Program::record_of_finished(const KernelOperation& operation) const {
  auto& machine = environment_.machine;
  const bool dma = operation.engine == hardware::EngineKind::dma;
  auto record = record_of(operation, operation.where, dma ? operation.bound : machine.least(at_, operation));
  if (!dma || record.bound.total() + record.translation >= operation.finished - operation.started) return record;
  const Time beyond = operation.finished - operation.started - record.bound.total() - record.translation;
  record.starved = std::min(operation.starved.time, beyond);
  if (record.starved > Time::zero()) record.buffer = machine.fabric().spec(operation.starved.server).part;
  if (record.starved == beyond) return record;
  // The first of equals: the servers come in the order of the way.
  Time most;
  for (const auto& [server, before] : operation.on_its_way) {
    const Time busy = machine.fabric().counters(server).busy - before;
    if (busy <= most) continue;
    most = busy;
    record.busiest = machine.fabric().spec(server).part;
  }
  return record;
}

void Program::note_message(const KernelOperation& operation) {
  const hardware::MessageArrival& arrival = *operation.arrival;
  const auto& fabric = environment_.machine.fabric();
  MessageWay way{operation.number,     arrival.send, arrival.sent,         arrival.at,
                 arrival.slowest.time, {},           arrival.starved.time, {}};
  if (way.slowest_time > Time::zero()) way.slowest = fabric.spec(arrival.slowest.server).part;
  if (way.starved > Time::zero()) way.buffer = fabric.spec(arrival.starved.server).part;
  trace_->messages.push_back(way);
}

void Program::on_match(hardware::Operation& receive, hardware::Operation& send) {
  match(static_cast<KernelOperation&>(receive), static_cast<const KernelOperation&>(send));
}

void Program::on_effect(hardware::Operation& operation) {
  auto& mine = static_cast<KernelOperation&>(operation);
  if (mine.take_effect) {
    const numerics::SourceScope here(environment_.executor.sources(), source(mine.kind, mine.where));
    mine.take_effect(mine);
  }
  mine.take_effect = nullptr;
}

void Program::on_finish(hardware::Operation& operation) {
  auto& mine = static_cast<KernelOperation&>(operation);
  intervals_.add(mine.engine, mine.started + mine.waited, mine.finished);
  trace_->operations.push_back(record_of_finished(mine));
  if (mine.arrival) note_message(mine);
  environment_.sink.on_operation(mine);
  pe_.tcm().released_by(mine.operation_name());
  mine.holds.clear();
  mine.buffer.reset();
  pe_.tcm().released_by({});
  const auto program = std::move(mine.program);
  const auto entry = std::find_if(pending_.begin(), pending_.end(), [&](const auto& p) { return p.get() == &mine; });
  if (entry == pending_.end()) return;  // abandoned
  const auto keep =
      std::move(*entry);  // dropping the last reference here would destroy the operation that is being reported
  pending_.erase(entry);
}

}  // namespace kernbench::tile
