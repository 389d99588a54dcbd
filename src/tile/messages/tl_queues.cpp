// Messages between PEs.
#include <fmt/format.h>

#include <utility>

#include "base/text.h"
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
  return fmt::format("kernel {} on {} (program {}), {}", launch, kernbench::to_text(pe), program, to_text(where));
}

Name KernelOperation::wait_name() const {
  if (message == nullptr) return Operation::wait_name();
  if (queue == nullptr) return named("{}#{} ({})", kind, number, to_text(where));
  return named("{}{} ({}) on {}", kind, operation_number(number), to_text(where), queue->wait_name());
}

void match(KernelOperation& receive, const KernelOperation& send) {
  MessageEnd& to = *receive.message;
  const MessageEnd& from = *send.message;
  from.queues->note_received(send.operation_name());
  if (to.dtype != from.dtype || to.shape.numel() != from.shape.numel()) {
    throw ProgramError(
        "MessageMismatchError",
        fmt::format(
            "tl::recv expects {} {}, but the message with tag {} is {} {}; it was sent in {}. Send and receive one "
            "element type and as many elements",
            name(to.dtype), to_text(to.shape), receive.ipcq.tag, name(from.dtype), to_text(from.shape),
            from.site.text()),
        to.site.text());
  }
  to.value = from.value;
}

Membership membership(const AccessCall& call) {
  const auto& queues = call.program.launch().queues;
  const auto self = queues ? queues->index_of(call.program.coordinate()) : std::nullopt;
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
  return {call.program.launch().name, call.program.coordinate(), call.program.id(), call.where};
}

void wait_until_done(const AccessCall& call, const hardware::OperationRef& operation) {
  const Program::Step step(call.program, Activity::token, call.where, operation->operation_name());
  operation->done.wait();
}

}  // namespace kernbench::tile

namespace kernbench::tl {

using tile::access_call;
using tile::AccessCall;
using tile::KernelOperation;
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

std::unique_ptr<MessageEnd> message_end(const AccessCall& call, const Membership& member, DType dtype,
                                        const Extents& shape) {
  auto end = std::make_unique<MessageEnd>();
  end->queues = member.queues;
  end->site = site_of(call);
  end->dtype = dtype;
  end->shape = shape;
  return end;
}

hardware::OperationRef send_message(const AccessCall& call, const Tile& value, const Peer& peer, std::uint64_t tag) {
  const auto& state = call.program.own(value, call.name, call.where);
  const Membership member = membership(call);
  const QueueRow& row = row_of(call, member, peer, true);
  auto operation = call.program.new_operation(hardware::EngineKind::ipcq, call.kind, nullptr, {state.get()});
  operation->ipcq = {true, row.channel.slots, row.channel.epoch, tag,
                     Bytes(state->shape().numel() * item_size(state->dtype()))};
  operation->message = message_end(call, member, state->dtype(), state->shape());
  operation->message->value = state->value();
  member.queues->note_sent(operation->operation_name(), {operation->message->site, row.channel.receiver, tag});
  call.program.issue(operation);
  return operation;
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
  auto operation = call.program.new_operation(hardware::EngineKind::ipcq, call.kind, result, {});
  operation->ipcq = {false, row.channel.slots, row.channel.epoch, tag, Bytes(shape.numel() * item_size(dtype))};
  operation->message = message_end(call, member, dtype, shape);
  result->expression += operation->number;
  operation->take_effect = [value = result->value(), dtype, lanes = tile::to_shape(shape)](KernelOperation& mine) {
    numerics::Executor& executor = mine.program->environment().executor;
    const auto received = std::exchange(mine.message->value, nullptr);
    // What did not fit is an error; whoever uses it before the program has been taken back gets invalid lanes.
    value->bind(received ? numerics::reshape(executor, received->value, lanes)
                         : numerics::gather(executor, key_of(mine), dtype, lanes, {}));
  };
  call.program.issue(operation);
  return Tile(result);
}

/// Receives into a box of a buffer.
hardware::OperationRef receive_into(const AccessCall& call, const Buffer& into, const Extents& offsets,
                                    const Extents& shape, const Peer& peer, std::uint64_t tag) {
  const tile::BufferState& buffer = own_buffer(call, into);
  check_inside(call, buffer, offsets, shape);
  const DType dtype = buffer.dtype();
  const Membership member = membership(call);
  const QueueRow& row = row_of(call, member, peer, false);
  auto operation = call.program.new_operation(hardware::EngineKind::ipcq, call.kind, nullptr, {});
  operation->ipcq = {false, row.channel.slots, row.channel.epoch, tag, Bytes(shape.numel() * item_size(dtype))};
  operation->message = message_end(call, member, dtype, shape);
  operation->holds.push_back(buffer.reservation());
  operation->buffer = std::make_unique<tile::BufferAccess>(tile::BufferAccess{buffer.bytes(), offsets, shape});
  operation->write = true;
  operation->take_effect = [lanes = tile::to_shape(shape)](KernelOperation& mine) {
    numerics::Executor& executor = mine.program->environment().executor;
    const auto received = std::exchange(mine.message->value, nullptr);
    if (!received) return;  // it did not fit, which is an error
    numerics::scatter(executor, key_of(mine), numerics::reshape(executor, received->value, lanes),
                      pieces_of(*mine.buffer));
  };
  call.program.issue(operation);
  return operation;
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
  Tile tile = receive_message(call, dtype, shape, peer, tag);
  auto state = call.program.add_async(tile.state()->producer, call.name, where);
  tile.state()->async = state;
  return {std::move(tile), Token(std::move(state))};
}

Token irecv(const Buffer& into, Extents offsets, Extents shape, const Peer& peer, std::uint64_t tag, Where where) {
  const AccessCall call = access_call("irecv", "recv", where);
  return Token(call.program.add_async(receive_into(call, into, offsets, shape, peer, tag), call.name, where));
}

}  // namespace kernbench::tl
