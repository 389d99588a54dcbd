#include "hardware/fabric/coalescer.h"

#include <algorithm>
#include <cassert>

namespace kernbench::hardware::fabric {

void Coalescer::load(const Transfer& transfer) {
  known_ = kNoTransfer;
  const std::span<const Stage> route = transfer.request.route;
  recurrence_.reset(transfer.request);
  for (std::size_t stage = 0; stage < route.size(); ++stage) {
    const Server& server = state_.servers[route[stage].server.value];
    Lane& lane = recurrence_.lane(stage);
    lane.service = server.service;
    lane.latency = server.latency;
    lane.memory = state_.is_memory(route[stage]);
    lane.free_at = server.free_at;
    lane.last_start = server.last_start;
    lane.last_bytes = server.last_bytes;
    lane.work = ServerCounters{};
    lane.bursts = 0;
    lane.waits = RoomWaits();
    lane.first = lane.first_held = Time();
    if (lane.memory) std::ranges::copy(state_.channels_of(route[stage]), recurrence_.channels(stage).begin());
    if (stage + 1 == route.size()) continue;
    if (stage == 0 && transfer.has_response_buffer()) {
      lane.room.reset(state_.response_buffer(route[stage]));
      continue;
    }
    const Buffer* buffer = server.buffers[buffer_index(route, stage)].get();
    if (buffer == nullptr || buffer->room.all_free()) {
      lane.room.reset(server.spec.buffer);
    } else {
      lane.room = buffer->room;
      lane.room.settle(transfer.start);
    }
  }
}

/// Whether all bytes of the transfer are one burst wherever they go.
static bool is_packet(const TransferRequest& request) {
  const std::span<const StridedRange> ranges = request.ranges.view();
  if (ranges.size() != 1 || !request.landing.view().empty()) return false;
  const StridedRange& row = ranges.front();
  return row.rows == 1 && row.address == 0 && row.row_bytes <= request.burst && row.row_bytes <= request.granule;
}

bool Coalescer::start_packet(Transfer& transfer) {
  const std::span<const Stage> route = transfer.request.route;
  const Bytes bytes = transfer.request.ranges.view().front().row_bytes;
  transfer.results.clear();
  transfer.returns.clear();
  transfer.channels.clear();
  Time ready = transfer.start, complete = transfer.start, latency_before;
  for (std::size_t stage = 0; stage < route.size(); ++stage) {
    if (state_.is_memory(route[stage])) return false;
    Server& server = state_.servers[route[stage].server.value];
    if (stage + 1 < route.size()) {
      Buffer* const buffer = server.buffers[buffer_index(route, stage)].get();
      if (buffer != nullptr) buffer->room.settle(transfer.start);
      if (buffer != nullptr && !buffer->room.all_free()) return false;
    }
    const Time begin = std::max(ready, server.free_at);
    const Time service = server.service.of(bytes);
    complete = std::max(complete, begin + service);
    if (stage > 0) transfer.returns.push_back({complete + latency_before, begin - ready, bytes.count()});
    ready = begin + server.latency;
    complete += server.latency;
    latency_before = server.latency;
    if (stage == 0) transfer.departed = complete;
    transfer.results.push_back({begin + service, begin, bytes, {service, bytes, 1}, RoomWaits(), 0});
  }
  transfer.delivered = complete;
  // What is home by then needs no way home.
  std::size_t kept = 0;
  for (std::size_t stage = 0; stage + 1 < route.size(); ++stage) {
    if (transfer.returns[stage].home <= complete) continue;
    transfer.returns[kept++] = transfer.returns[stage];
    transfer.results[stage].returns = 1;
  }
  transfer.returns.resize(kept);
  return true;
}

void Coalescer::schedule(Transfer& transfer, TransferSlot slot) {
  plan(transfer, slot);
  state_.schedule_departed(transfer);
  state_.schedule_delivered(transfer, slot);
}

void Coalescer::start(TransferSlot slot) {
  Transfer& transfer = state_.transfer(slot);
  transfer.coalesced = true;
  known_ = kNoTransfer;  // of an earlier transfer in the slot
  if (is_packet(transfer.request) && start_packet(transfer)) return schedule(transfer, slot);
  load(transfer);
  recurrence_.run(transfer.start);
  transfer.departed = recurrence_.departed();
  transfer.delivered = recurrence_.delivered();
  transfer.results.clear();
  transfer.returns.clear();
  transfer.channels.clear();
  const std::span<const Stage> route = transfer.request.route;
  for (std::size_t stage = 0; stage < route.size(); ++stage) {
    Lane& lane = recurrence_.lane(stage);
    lane.room.settle(transfer.delivered);
    const Ring<ReturningRoom>& returning = lane.room.returning();
    transfer.results.push_back({lane.free_at, lane.last_start, lane.last_bytes, lane.work, lane.waits,
                                static_cast<std::uint32_t>(returning.size())});
    for (std::size_t j = 0; j < returning.size(); ++j) transfer.returns.push_back(returning[j]);
    if (lane.memory) {
      const std::span<const Channel> channels = std::as_const(recurrence_).channels(stage);
      transfer.channels.insert(transfer.channels.end(), channels.begin(), channels.end());
    }
  }
  schedule(transfer, slot);
}

void Coalescer::plan(const Transfer& transfer, TransferSlot slot) {
  for (const Stage& stage : transfer.request.route) {
    for (std::uint32_t member = 0; member < stage.group; ++member) {
      state_.servers[stage.server.value + member].plan = slot;
    }
  }
}

void Coalescer::finish(TransferSlot slot) {
  Transfer& transfer = state_.transfer(slot);
  const std::span<const Stage> route = transfer.request.route;
  plan(transfer, kNoTransfer);
  std::uint64_t port = transfer.port();
  auto returns = transfer.returns.begin();
  auto channels = transfer.channels.begin();
  for (std::size_t stage = 0; stage < route.size(); ++stage) {
    const LaneResult& result = transfer.results[stage];
    const bool responses = stage == 0 && transfer.has_response_buffer();
    Server& server = state_.servers[route[stage].server.value];
    // It was alone: nobody else's want of room can have held it up.
    transfer.note(stage, result.last_start, server.room_waits, result.waits, Time(), Time());
    server.account(result.work, result.waits, result.free_at, result.last_start, result.last_bytes, port);
    if (state_.is_memory(route[stage])) {
      const auto behind = channels + route[stage].group;
      std::copy(channels, behind, state_.channels_of(route[stage]).begin());
      channels = behind;
    }
    if (stage + 1 == route.size()) break;
    const auto end = returns + result.returns;
    if (!responses) {
      Room& room = server.buffer(buffer_index(route, stage)).room;
      room.reset(server.spec.buffer);
      for (auto home = returns; home != end; ++home) {
        room.take_before(home->bytes);
        room.give(*home);
      }
    }
    returns = end;
    port = responses ? response_port(port) : state_.queue_port(route[stage].server.value, buffer_index(route, stage));
  }
}

void Coalescer::dissolve(TransferSlot slot) {
  Transfer& transfer = state_.transfer(slot);
  assert(transfer.coalesced);
  load(transfer);
  recurrence_.run(transfer.start, state_.scheduler.now());
  plan(transfer, kNoTransfer);
  transfer.coalesced = false;
  // An event whose cause has happened already stays; the others are scheduled again when their cause happens.
  const std::int64_t bytes = transfer.request.ranges.total().count();
  if (recurrence_.started_first() < bytes) state_.scheduler.cancel(transfer.departed_event);
  if (recurrence_.started_last() < bytes) state_.scheduler.cancel(transfer.delivered_event);
  engine_.resume(slot, recurrence_);
}

ServerCounters Coalescer::work_before_now(std::uint32_t server) {
  const TransferSlot slot = state_.servers[server].plan;
  const Transfer& transfer = state_.transfer(slot);
  const Time now = state_.scheduler.now();
  if (known_ != slot || known_at_ != now) {
    load(transfer);
    recurrence_.run(transfer.start, now);
    known_ = slot;
    known_at_ = now;
  }
  for (std::size_t stage = 0; stage < transfer.request.route.size(); ++stage) {
    const Stage& at = transfer.request.route[stage];
    if (server < at.server.value || server >= at.server.value + at.group) continue;
    const Lane& lane = recurrence_.lane(stage);
    if (!lane.memory) return work_before(now, lane.work, lane.last_start, lane.last_bytes, lane.free_at);
    // A memory's channel counts from the beginning of time.
    const Channel& channel = std::as_const(recurrence_).channels(stage)[server - at.server.value];
    const Channel& before = state_.channels[server];
    ServerCounters more = work_before(now, channel);
    const ServerCounters known = work_before(now, before);
    more.busy -= known.busy;
    more.bytes -= known.bytes;
    more.bursts -= known.bursts;
    return more;
  }
  return {};
}

}  // namespace kernbench::hardware::fabric
