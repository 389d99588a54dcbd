// Messages between PEs.
#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "hardware/dma/multicast.h"
#include "hardware/pe/command_queue.h"
#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "tile/memory/buffer_access.h"
#include "tile/memory/memory_access.h"
#include "tile/messages/membership.h"
#include "tile/program/conversion.h"
#include "tile/program/message.h"
#include "tile/program/program.h"

namespace kernbench::tile {

std::string Site::text() const {
  return fmt::format("kernel {} on {} (program {}), {}", *launch, kernbench::to_text(pe), program, to_text(where));
}

Name KernelCommand::wait_name() const {
  if (const auto* dma = std::get_if<hardware::DmaWork>(&work); dma != nullptr && dma->multicast != nullptr) {
    const Name of_group =
        named("{}{} of group \"{}\" ({})", kind, operation_number(number), dma->multicast->group(), to_text(where));
    return queue == nullptr ? of_group : of_group + named(" on {}", queue->wait_name());
  }
  if (!message_end) return Command::wait_name();
  if (queue == nullptr) return named("{}#{} ({})", kind, number, to_text(where));
  return named("{}{} ({}) on {}", kind, operation_number(number), to_text(where), queue->wait_name());
}

void match(KernelCommand& receive, const KernelCommand& send) {
  MessageEnd& to = *receive.message_end;
  const MessageEnd& from = *send.message_end;
  receive.program->launch().queues->note_received(from.row, send.command_name());
  if (to.dtype != from.dtype || to.shape.numel() != from.shape.numel()) {
    throw ProgramError(
        "MessageMismatchError",
        fmt::format(
            "tl::recv expects {} {}, but the message with tag {} is {} {}; it was sent in {}. Send and receive one "
            "element type and as many elements",
            name(to.dtype), to_text(to.shape), receive.message().tag, name(from.dtype), to_text(from.shape),
            from.site.text()),
        to.site.text());
  }
  to.value = from.value;
}

Membership membership(const AccessCall& call) {
  const auto& queues = call.program.launch().queues;
  const auto self = call.program.member();
  if (!self) {
    throw ProgramError("NoChannelError",
                       fmt::format("tl::{}: this launch has no channels{}; name a topology or pairs in "
                                   "torch::LaunchOptions::queues",
                                   call.name, queues ? " of which this PE is a member" : ""),
                       call.program.place(call.where));
  }
  return {queues, *self};
}

Site site_of(const AccessCall& call) {
  return {call.program.launch().shared_name, call.program.coordinate(), call.program.id(), call.where};
}

void wait_until_done(const AccessCall& call, const hardware::CommandRef& command) {
  const Program::Step step(call.program, Activity::token, call.where, command.get());
  command->done.wait();
}

}  // namespace kernbench::tile

namespace kernbench::tl {

using tile::access_call;
using tile::AccessCall;
using tile::KernelCommand;
using tile::Membership;
using tile::MessageEnd;
using tile::QueueRow;

namespace {

const QueueRow& row_of(const AccessCall& call, const Membership& member, const Peer& peer, bool sends) {
  const QueueRow* row = sends ? member.queues->sending(member.self, peer) : member.queues->receiving(member.self, peer);
  if (row != nullptr) return *row;
  throw ProgramError(
      "NoChannelError",
      fmt::format("tl::{}: there is no channel {} {}; member {} of {} has channels {}: {}. Add the pair to "
                  "QueueOptions::pairs or choose another topology",
                  call.name, sends ? "to" : "from", tile::to_text(peer), member.self, member.queues->members().size(),
                  sends ? "to" : "from", member.queues->text_of(member.self, sends)),
      call.program.place(call.where));
}

MessageEnd message_end(const AccessCall& call, const Membership& member, const QueueRow& row, DType dtype,
                       const Extents& shape) {
  return {member.queues->index_of(row), site_of(call), dtype, shape, nullptr};
}

hardware::MessageWork message_work(const QueueRow& row, bool sends, std::uint64_t tag, Bytes bytes) {
  const hardware::Channel& channel = row.channel;
  return {sends, sends ? channel.send_entry : channel.receive_entry, channel.slots, channel.epoch, tag, bytes};
}

hardware::CommandRef send_message(const AccessCall& call, const Tile& value, const Peer& peer, std::uint64_t tag) {
  const auto& state = call.program.own(value, call.name, call.where);
  const Membership member = membership(call);
  const QueueRow& row = row_of(call, member, peer, true);
  const Bytes bytes(state->shape().numel() * item_size(state->dtype()));
  auto command = call.program.new_command(message_work(row, true, tag, bytes), call.kind, nullptr, {state.get()});
  command->message_end = message_end(call, member, row, state->dtype(), state->shape());
  command->message_end->value = state->value();
  member.queues->note_sent(command->message_end->row, {command->command_name(), command->message_end->site, tag});
  call.program.issue(command);
  return command;
}

Tile receive_message(const AccessCall& call, DType dtype, const Extents& shape, const Peer& peer, std::uint64_t tag) {
  for (const std::int64_t extent : shape) {
    if (extent <= 0)
      call.value_error(fmt::format("shape {} must be positive in every dimension", tile::to_text(shape)));
  }
  if (dtype == DType::f64) call.value_error("the TCM has no f64 elements; use f32");
  const Membership member = membership(call);
  const QueueRow& row = row_of(call, member, peer, false);
  const auto result = call.program.new_tile(dtype, shape, call.kind, call.where);
  const Bytes bytes(shape.numel() * item_size(dtype));
  auto command = call.program.new_command(message_work(row, false, tag, bytes), call.kind, result, {});
  command->message_end = message_end(call, member, row, dtype, shape);
  result->expression += command->number;
  command->take_effect = [value = result->value(), dtype, lanes = tile::to_shape(shape)](KernelCommand& mine) {
    numerics::Executor& executor = mine.program->environment().executor;
    const auto received = std::exchange(mine.message_end->value, nullptr);
    // What did not fit is an error; whoever uses it before the program has been taken back gets invalid lanes.
    value->bind(received ? numerics::reshape(executor, received->value, lanes)
                         : numerics::gather(executor, key_of(mine), dtype, lanes, {}));
  };
  call.program.issue(command);
  return Tile(result);
}

/// Receives into a box of a buffer.
hardware::CommandRef receive_into(const AccessCall& call, const Buffer& into, const Extents& offsets,
                                  const Extents& shape, const Peer& peer, std::uint64_t tag) {
  const tile::BufferState& buffer = own_buffer(call, into);
  check_inside(call, buffer, offsets, shape);
  const DType dtype = buffer.dtype();
  const Membership member = membership(call);
  const QueueRow& row = row_of(call, member, peer, false);
  const Bytes bytes(shape.numel() * item_size(dtype));
  auto command = call.program.new_command(message_work(row, false, tag, bytes), call.kind, nullptr, {});
  command->message_end = message_end(call, member, row, dtype, shape);
  command->holds.push_back(buffer.reservation());
  command->buffer = tile::BufferAccess{buffer.bytes(), offsets, shape, buffer.number(), true};
  command->take_effect = [lanes = tile::to_shape(shape)](KernelCommand& mine) {
    numerics::Executor& executor = mine.program->environment().executor;
    const auto received = std::exchange(mine.message_end->value, nullptr);
    if (!received) return;  // it did not fit, which is an error
    numerics::scatter(executor, key_of(mine), numerics::reshape(executor, received->value, lanes),
                      pieces_of(*mine.buffer));
  };
  call.program.issue(command);
  return command;
}

}  // namespace

std::int64_t num_members(Where where) {
  return static_cast<std::int64_t>(membership(access_call("num_members", "", where)).queues->members().size());
}

std::int64_t member_index(Where where) {
  return membership(access_call("member_index", "", where)).self;
}

Peer member(std::int64_t index) {
  return {Peer::Kind::member, index, {}};
}

Peer peer_at(std::int64_t device, std::int64_t cube, std::int64_t pe) {
  return {Peer::Kind::coordinate,
          0,
          {SipId{static_cast<std::int32_t>(device)}, CubeId{static_cast<std::int32_t>(cube)},
           PeId{static_cast<std::int32_t>(pe)}}};
}

Peer ring_next() {
  return {Peer::Kind::ring_next, 0, {}};
}
Peer ring_previous() {
  return {Peer::Kind::ring_previous, 0, {}};
}
Peer north() {
  return {Peer::Kind::north, 0, {}};
}
Peer south() {
  return {Peer::Kind::south, 0, {}};
}
Peer east() {
  return {Peer::Kind::east, 0, {}};
}
Peer west() {
  return {Peer::Kind::west, 0, {}};
}
Peer self() {
  return {Peer::Kind::self, 0, {}};
}

void send(const Tile& value, const Peer& peer, std::uint64_t tag, Where where) {
  const AccessCall call = access_call("send", "send", where);
  wait_until_done(call, send_message(call, value, peer, tag));
}

Token isend(const Tile& value, const Peer& peer, std::uint64_t tag, Where where) {
  const AccessCall call = access_call("isend", "send", where);
  return Token(call.program.add_async(send_message(call, value, peer, tag), call.name, where));
}

Tile recv(DType dtype, Extents shape, const Peer& peer, std::uint64_t tag, Where where) {
  const AccessCall call = access_call("recv", "recv", where);
  Tile tile = receive_message(call, dtype, shape, peer, tag);
  wait_until_done(call, tile.state()->producer);
  return tile;
}

Tile recv_async(DType dtype, Extents shape, const Peer& peer, std::uint64_t tag, Where where) {
  return receive_message(access_call("recv_async", "recv", where), dtype, shape, peer, tag);
}

AsyncLoad irecv(DType dtype, Extents shape, const Peer& peer, std::uint64_t tag, Where where) {
  const AccessCall call = access_call("irecv", "recv", where);
  return started(call, receive_message(call, dtype, shape, peer, tag));
}

Token irecv(const Buffer& into, Extents offsets, Extents shape, const Peer& peer, std::uint64_t tag, Where where) {
  const AccessCall call = access_call("irecv", "recv", where);
  return Token(call.program.add_async(receive_into(call, into, offsets, shape, peer, tag), call.name, where));
}

}  // namespace kernbench::tl
