#include "kernel/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "event/fiber.h"
#include "kernel/overlap.h"

namespace kernbench::kernel {

namespace {

std::string_view file_name(const tl::Where& where) {
  std::string_view path = where.file_name();
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string shape_text(const tl::Extents& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace

void TileValue::bind(data::Value bound_value) {
  value = std::move(bound_value);
  bound = true;
  for (auto& action : when_bound) action(value);
  when_bound.clear();
}

void TileValue::on_bound(std::function<void(const data::Value&)> action) {
  if (bound)
    action(value);
  else
    when_bound.push_back(std::move(action));
}

TileState::TileState(Program& program, std::uint64_t number, DType dtype, tl::Extents shape, const char* kind,
                     tl::Where where, ReservationRef reservation)
    : program_(program.shared_from_this()),
      number_(number),
      dtype_(dtype),
      shape_(shape),
      kind_(kind),
      where_(where),
      reservation_(std::move(reservation)) {
  program_->live_tiles_.push_back(this);
  if (reservation_->enter()) program_->live_bytes_ += program_->pe_.tcm().rounded(reservation_->bytes());
}

TileState::~TileState() {
  if (!reservation_) return;
  std::erase(program_->live_tiles_, this);
  if (reservation_->leave()) program_->live_bytes_ -= program_->pe_.tcm().rounded(reservation_->bytes());
}

Program::Program(Environment& environment, std::shared_ptr<LaunchRecord> launch, PeCoordinate at, std::int64_t id)
    : environment_(environment), launch_(std::move(launch)), at_(at), id_(id), pe_(environment.machine.pe(at)) {}

bool Program::running() {
  auto* fiber = event::this_fiber::current();
  return fiber != nullptr && fiber->local(event::Fiber::Slot::kernel) != nullptr;
}

Program& Program::current(const char* call, const tl::Where& where) {
  if (!running()) {
    throw ProgramError(
        "ContextError",
        fmt::format("tl::{} was called outside of a kernel; tile operations work only in a function that "
                    "torch::launch runs",
                    call),
        fmt::format("{}:{}", file_name(where), where.line()));
  }
  auto& program = *static_cast<Program*>(event::this_fiber::current()->local(event::Fiber::Slot::kernel).get());
  program.where_ = where;
  return program;
}

void Program::run(event::AgentId agent, const std::function<void()>& body) {
  agent_ = agent;
  start_ = environment_.scheduler.now();
  auto& slot = event::this_fiber::current()->local(event::Fiber::Slot::kernel);
  slot = shared_from_this();
  try {
    body();
    while (!pending_.empty()) {
      const auto operation = pending_.front();
      operation->done.wait();
    }
    if (!live_tiles_.empty()) {
      throw ProgramError("TileLifetimeError",
                         fmt::format("a tile outlives its kernel: tiles live in the TCM while their kernel runs; store "
                                     "them to a tensor instead of keeping handles. Tiles:{}",
                                     live_tiles_text()),
                         fmt::format("kernel {} on {} (program {})", launch_->name, pe_.name(), id_));
    }
  } catch (...) {
    abandon();
    throw;
  }
  slot.reset();
  finish();
}

void Program::abandon() {
  for (const auto& operation : pending_) {
    operation->holds.clear();
    operation->take_effect = nullptr;
  }
  pending_.clear();
  for (TileState* tile : std::exchange(live_tiles_, {})) tile->reservation_.reset();
}

void Program::finish() {
  const Time end = environment_.scheduler.now();
  const bool later = end > launch_->last_end || (end == launch_->last_end && at_ < launch_->last_pe);
  if (launch_->last_end != Time::zero() && !later) return;
  launch_->last_start = start_;
  launch_->last_end = end;
  launch_->last_pe = at_;
  launch_->last_breakdown = intervals_.tile(start_, end);
}

std::string Program::live_tiles_text() const {
  auto tiles = live_tiles_;
  std::sort(tiles.begin(), tiles.end(),
            [](const TileState* a, const TileState* b) { return a->number() < b->number(); });
  std::string text;
  std::map<const Reservation*, std::uint64_t> named;
  for (const TileState* tile : tiles) {
    text += fmt::format("\n  tile {} {} {} from {} at {}:{}: ", tile->number(), shape_text(tile->shape()),
                        name(tile->dtype()), tile->kind(), file_name(tile->where()), tile->where().line());
    const auto [first, fresh] = named.try_emplace(tile->reservation().get(), tile->number());
    text += fresh ? to_text(pe_.tcm().rounded(tile->reservation()->bytes()))
                  : fmt::format("shares the bytes of tile {}", first->second);
  }
  return text;
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
  return tile.state();
}

std::shared_ptr<TileState> Program::new_tile(DType dtype, const tl::Extents& shape, const char* kind, tl::Where where) {
  const Bytes request(shape.numel() * item_size(dtype));
  auto& tcm = pe_.tcm();
  const Bytes rounded = tcm.rounded(request);
  if (live_bytes_ + rounded > tcm.capacity()) {
    throw OutOfMemoryError(
        fmt::format("TCM of {} is too small: a tile {} {} from {} needs {}, but live tiles hold {} of {}; use smaller "
                    "tiles or let handles go out of scope earlier. Live tiles:{}",
                    pe_.name(), shape_text(shape), name(dtype), kind, to_text(rounded), to_text(live_bytes_),
                    to_text(tcm.capacity()), live_tiles_.empty() ? " none" : live_tiles_text()),
        place(where));
  }
  begin_asking();
  if (const auto by = tcm.reserve(request); by.known()) asking_.granted_by = by;
  asking_.granted = environment_.scheduler.now();
  auto reservation = std::make_shared<Reservation>(tcm, request);
  return std::make_shared<TileState>(*this, next_tile_++, dtype, shape, kind, where, std::move(reservation));
}

// Several tiles may be asked for before their operation is made: no time passes between a grant and the next request.
void Program::begin_asking() {
  const Time now = environment_.scheduler.now();
  if (!asking_.open || asking_.granted != now) asking_ = {true, now, now, {}};
}

std::shared_ptr<TileState> Program::new_view(const TileState& of, DType dtype, const tl::Extents& shape,
                                             const char* kind, tl::Where where) {
  auto view = std::make_shared<TileState>(*this, next_tile_++, dtype, shape, kind, where, of.reservation());
  view->producer = of.producer;
  Fingerprint expression;
  expression.add(std::string_view(kind));
  expression.add(of.expression);
  view->expression = expression.value();
  return view;
}

void Program::note_read(std::uint64_t expression, std::uint64_t value_bits) {
  Fingerprint read;
  read.add(expression);
  read.add(value_bits);
  if (read.value() == last_read_.value()) {
    event::this_fiber::note_poll();
  } else {
    event::this_fiber::note_progress();
  }
  last_read_ = read;
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
  operation->Operation::operands = operation->dependencies.size();
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
      if (input != nullptr) operation->operands += fmt::format(" tcm:tile{}", input->number());
    }
    if (result) operation->operands += fmt::format(" -> tcm:tile{}", result->number());
  }
  return operation;
}

void Program::add_memory_dependencies(KernelOperation& operation) {
  for (const auto& earlier : pending_) {
    if (earlier->engine != hardware::EngineKind::dma || (!earlier->write && !operation.write)) continue;
    if (overlap(earlier->legs, operation.legs)) operation.dependencies.push_back(earlier);
  }
}

void Program::issue(const std::shared_ptr<KernelOperation>& operation) {
  if (operation->engine == hardware::EngineKind::dma) {
    add_memory_dependencies(*operation);
    for (const auto& leg : operation->legs) {
      for (const auto& range : leg.ranges) launch_->hbm_bytes += range.total();
    }
  } else if (operation->engine == hardware::EngineKind::gemm) {
    const auto& work = operation->gemm;
    launch_->flops += 2.0 * static_cast<double>(work.batch) * static_cast<double>(work.m) *
                      static_cast<double>(work.n) * static_cast<double>(work.k);
  }
  pending_.push_back(operation);
  pe_.submit(operation);
}

std::string Program::place(const tl::Where& where) const {
  return fmt::format("kernel {} on {} (program {}), {}:{}", launch_->name, pe_.name(), id_, file_name(where),
                     where.line());
}

void Program::on_effect(hardware::Operation& operation) {
  auto& mine = static_cast<KernelOperation&>(operation);
  if (mine.take_effect) mine.take_effect(mine);
  mine.take_effect = nullptr;
}

void Program::on_finish(hardware::Operation& operation) {
  auto& mine = static_cast<KernelOperation&>(operation);
  intervals_.add(mine.engine, mine.started, mine.finished);
  environment_.sink.on_operation(mine);
  pe_.tcm().released_by(mine.operation_name());
  mine.holds.clear();
  pe_.tcm().released_by({});
  const auto program = std::move(mine.program);
  const auto entry = std::find_if(pending_.begin(), pending_.end(), [&](const auto& p) { return p.get() == &mine; });
  if (entry == pending_.end()) return;  // abandoned
  const auto keep =
      std::move(*entry);  // dropping the last reference here would destroy the operation that is being reported
  pending_.erase(entry);
}

}  // namespace kernbench::kernel
