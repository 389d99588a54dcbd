#include "tile/messages/window_access.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "kernbench/error.h"
#include "tile/program/conversion.h"

namespace kernbench::tile {

WindowAccess window_access(AccessCall call) {
  const auto& queues = call.program.launch().queues;
  const auto self = call.program.member();
  if (!self || queues->windows() == nullptr) {
    throw ProgramError("NoWindowError",
                       fmt::format("tl::{}: this launch has no window{}; give it one: "
                                   "torch::LaunchOptions::queues.window = WindowOptions{{…}}",
                                   call.name, queues && !self ? " of which this PE is a member" : ""),
                       call.program.place(call.where));
  }
  return {std::move(call), *queues, *queues->windows(), *self};
}

std::int32_t WindowAccess::member(const tl::Peer& peer) const {
  if (const auto member = queues.member_called(self, peer)) return *member;
  throw ProgramError("NoMemberError",
                     fmt::format("tl::{}: {} is no member; this program is member {} of members 0 to {}{}", call.name,
                                 to_text(peer), self, queues.members().size() - 1,
                                 peer.kind == tl::Peer::Kind::coordinate || peer.kind == tl::Peer::Kind::member
                                     ? ""
                                     : ", and only the channels of a mesh have directions"),
                     call.program.place(call.where));
}

Bytes WindowAccess::check_inside(std::int32_t member, std::int64_t offset, DType dtype,
                                 const tl::Extents& shape) const {
  for (const std::int64_t extent : shape) {
    if (extent <= 0) call.value_error(fmt::format("shape {} must be positive in every dimension", to_text(shape)));
  }
  if (dtype == DType::f64) call.value_error("the TCM has no f64 elements; use f32");
  const std::int64_t item = item_size(dtype), bytes = shape.numel() * item;
  const hardware::Window& row = windows.row(member);
  const std::int64_t last = row.bytes.count() - bytes;
  if (offset < 0 || offset > last) {
    const std::string fits =
        last < 0 ? "no offset fits; make QueueOptions::window.bytes larger" : fmt::format("offsets 0 to {} fit", last);
    throw OutOfBoundsError(
        fmt::format("tl::{}: {} B ({} {}) at offset {} leave the window of {} (member {}), which has "
                    "{} B; {}",
                    call.name, bytes, name(dtype), to_text(shape), offset, kernbench::to_text(row.owner), member,
                    row.bytes.count(), fits),
        call.program.place(call.where));
  }
  if (offset % item != 0) {
    call.value_error(
        fmt::format("offset {} is not a multiple of the {} B of an element of {}", offset, item, name(dtype)));
  }
  return Bytes(bytes);
}

std::int32_t WindowAccess::signal_index(std::int64_t index) const {
  const std::int32_t count = windows.options().signals;
  if (index >= 0 && index < count) return static_cast<std::int32_t>(index);
  const std::string limit = count == 0 ? "no signal words" : fmt::format("signal words 0 to {}", count - 1);
  throw OutOfBoundsError(fmt::format("tl::{}: there is no signal word {}; each member has {} "
                                     "(QueueOptions::window.signals)",
                                     call.name, index, limit),
                         call.program.place(call.where));
}

hardware::WindowWork WindowAccess::work_for(std::int32_t member) const {
  const hardware::Window& row = windows.row(member);
  hardware::WindowWork work;
  work.target = row.owner;
  work.buffer_kind = row.buffer_kind;
  work.chunk = queues.options().parameters.vc_chunk_size;
  work.epoch = row.epoch;
  return work;
}

std::vector<numerics::Piece> WindowAccess::pieces(std::int32_t member, std::int64_t offset, Bytes bytes) const {
  const Environment& environment = call.program.environment();
  numerics::Piece piece;
  piece.memory = &windows.bytes_of(member, environment.executor, environment.fresh_memory_is_zero);
  piece.address = static_cast<std::uint64_t>(offset);
  piece.row_bytes = piece.stride = bytes.count();
  return {piece};
}

}  // namespace kernbench::tile
