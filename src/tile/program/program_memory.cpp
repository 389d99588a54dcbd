// What a program holds in the TCM, and its explicitly asynchronous accesses.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "kernbench/error.h"
#include "tile/program/conversion.h"
#include "tile/program/program.h"

namespace kernbench::tile {

TcmObject::TcmObject(Program& program, const TcmObjectInfo& info, ReservationRef reservation)
    : program_(program.shared_from_this()), info_(info), reservation_(std::move(reservation)) {
  program_->live_objects_.push_back(this);
  if (reservation_->enter()) program_->live_bytes_ += program_->pe_.tcm().rounded(reservation_->bytes());
}

TcmObject::~TcmObject() {
  if (!reservation_) return;
  std::erase(program_->live_objects_, this);
  if (reservation_->leave()) program_->live_bytes_ -= program_->pe_.tcm().rounded(reservation_->bytes());
}

TileState::TileState(Program& program, const TcmObjectInfo& info, ReservationRef reservation)
    : TcmObject(program, info, std::move(reservation)), value_(make_pooled<TileValue>(*program.environment().pool)) {}

addressing::TensorDescriptor buffer_layout(const tl::Extents& shape, DType dtype, PeCoordinate owner) {
  addressing::TensorDescriptor layout{
      .name = "buffer", .dtype = dtype, .shape = {}, .va = 0, .va_bytes = {}, .shards = {}};
  layout.shape.assign(shape.begin(), shape.end());
  layout.shards.push_back(
      {.owner = owner, .offset = std::vector<std::int64_t>(shape.size(), 0), .shape = layout.shape, .va = 0});
  return layout;
}

BufferState::BufferState(Program& program, const TcmObjectInfo& info, ReservationRef reservation)
    : TcmObject(program, info, std::move(reservation)),
      bytes_(std::make_shared<BufferBytes>(program.environment().executor,
                                           buffer_layout(info.shape, info.dtype, program.coordinate()))) {
  bytes_->memory.map(0, info.shape.numel() * item_size(info.dtype), program.environment().fresh_memory_is_zero);
}

bool overlap(const BufferAccess& a, const BufferAccess& b) {
  if (a.bytes != b.bytes) return false;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    if (a.offsets[i] + a.shape[i] <= b.offsets[i] || b.offsets[i] + b.shape[i] <= a.offsets[i]) return false;
  }
  return true;
}

std::string Program::live_objects_text() const {
  auto objects = live_objects_;
  std::ranges::sort(objects, {}, &TcmObject::number);
  std::string text;
  std::map<const Reservation*, std::uint64_t> named;
  for (const TcmObject* object : objects) {
    const TcmObjectInfo& info = object->info();
    text += fmt::format("\n  {} {} {} {} from {} at {}: ", info.noun, info.number, to_text(info.shape),
                        name(info.dtype), info.kind, to_text(info.where));
    const auto [first, fresh] = named.try_emplace(object->reservation().get(), info.number);
    text += fresh ? kernbench::to_text(pe_.tcm().rounded(object->reservation()->bytes()))
                  : fmt::format("shares the bytes of tile {}", first->second);
  }
  return text;
}

ReservationRef Program::reserve(const TcmObjectInfo& info) {
  const Bytes request(info.shape.numel() * item_size(info.dtype));
  auto& tcm = pe_.tcm();
  const Bytes rounded = tcm.rounded(request);
  if (live_bytes_ + rounded > tcm.capacity()) {
    throw OutOfMemoryError(
        fmt::format("TCM of {} is too small: a {} {} {} from {} needs {}, but live tiles hold {} of {}; use smaller "
                    "tiles, let handles go out of scope earlier or raise pe.tcm.capacity. Live tiles:{}",
                    pe_.name(), info.noun, to_text(info.shape), name(info.dtype), info.kind,
                    kernbench::to_text(rounded), kernbench::to_text(live_bytes_), kernbench::to_text(tcm.capacity()),
                    live_objects_.empty() ? " none" : live_objects_text()),
        place(info.where));
  }
  begin_asking();
  if (auto by = tcm.reserve(request)) asking_.granted_by = std::move(by);
  asking_.granted = environment_.scheduler.now();
  return make_pooled<Reservation>(*environment_.pool, tcm, request);
}

ReservationRef Program::reserve_bytes(Bytes bytes, const char* kind, tl::Where where) {
  return reserve({"buffer", next_object_++, DType::u8, {bytes.count()}, kind, where});
}

std::shared_ptr<BufferState> Program::new_buffer(DType dtype, const tl::Extents& shape, tl::Where where) {
  const TcmObjectInfo info{"buffer", next_object_++, dtype, shape, "alloc", where};
  return std::make_shared<BufferState>(*this, info, reserve(info));
}

void Program::add_buffer_dependencies(KernelCommand& command) {
  for (KernelCommand& earlier : pending_) {
    if (!earlier.buffer || (!earlier.buffer->writes && !command.buffer->writes)) continue;
    if (overlap(*earlier.buffer, *command.buffer)) command.dependencies.push_back(hardware::CommandRef(&earlier));
  }
}

std::shared_ptr<AsyncState> Program::add_async(hardware::CommandRef command, const char* call, tl::Where where) {
  auto state = make_pooled<AsyncState>(
      *environment_.pool, AsyncState{shared_from_this(), std::move(command), call, where, next_async_++, false});
  unawaited_.push_back(state);
  return state;
}

void Program::wait_for(AsyncState& access) {
  {
    const Step step(*this, Activity::token, where_, access.command.get());
    access.command->done.wait();
  }
  if (std::exchange(access.awaited, true)) return;
  std::erase_if(unawaited_, [&](const auto& each) { return each.get() == &access; });
}

void Program::wait_for_all_but(std::int64_t pending) {
  while (!unawaited_.empty()) {
    const auto oldest = unawaited_.front();
    if (next_async_ - oldest->order <= static_cast<std::uint64_t>(pending)) return;
    wait_for(*oldest);
  }
}

void Program::check_all_awaited() const {
  if (unawaited_.empty()) return;
  std::string text;
  for (const auto& access : unawaited_) text += fmt::format("\n  tl::{} at {}", access->call, to_text(access->where));
  throw ProgramError("UnawaitedAccessError",
                     fmt::format("the kernel ends with {} asynchronous access{} that nobody waited for; call "
                                 "tl::wait(token) for each, or tl::wait_group(0) at the end:{}",
                                 unawaited_.size(), unawaited_.size() == 1 ? "" : "es", text),
                     place(unawaited_.front()->where));
}

}  // namespace kernbench::tile
