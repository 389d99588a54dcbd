#include "hardware/fabric/exact_engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/text.h"
#include "hardware/fabric/activity_observer.h"
#include "kernbench/error.h"

namespace kernbench::hardware::fabric {

// ---- buffers

Buffer* ExactEngine::buffer_behind(Transfer& transfer, std::size_t stage) {
  const std::span<const Stage> route = transfer.request.route;
  if (stage == 0 && transfer.has_response_buffer()) return &transfer.responses;
  return &state_.servers[route[stage].server.value].buffer(buffer_index(route, stage));
}

Room* ExactEngine::room_behind(Transfer& transfer, std::size_t stage) {
  return stage + 1 == transfer.request.route.size() ? nullptr : &buffer_behind(transfer, stage)->room;
}

// ---- input ports and their heads

std::uint64_t ExactEngine::port_behind(const Transfer& transfer, std::size_t stage) const {
  if (stage == 0 && transfer.has_response_buffer()) return response_port(transfer.port());
  return queue_port(transfer.request.route[stage].server.value, buffer_index(transfer.request.route, stage));
}

Candidate ExactEngine::injection(TransferSlot slot) {
  Transfer& transfer = state_.transfer(slot);
  transfer.after_first = transfer.first;
  const std::int64_t bytes = transfer.after_first.next();
  return {transfer.port(), {transfer.start, transfer.start, slot, 0, bytes}, room_behind(transfer, 0)};
}

Candidate ExactEngine::head_before(const Transfer& transfer, std::size_t stage) {
  const QueuedBurst& head = buffer_behind(const_cast<Transfer&>(transfer), stage - 1)->queue.front();
  return {port_behind(transfer, stage - 1), head, room_behind(state_.transfer(head.transfer), head.stage)};
}

void ExactEngine::present_injection(TransferSlot slot) {
  const Candidate head = injection(slot);
  if (head.head.bytes > 0) add_candidate(state_.transfer(slot).request.route.front().server.value, head);
}

// ---- turns

void ExactEngine::take_turn_at(std::uint32_t server, Time when) {
  if (when == Time::max()) return;
  Server& at = state_.servers[server];
  when = std::max({when, at.free_at, state_.scheduler.now()});
  if (at.turn_at <= when) return;
  if (at.turn_at != Time::max()) state_.scheduler.cancel(at.turn);
  at.turn_at = when;
  // A server that is always busy goes from turn to turn, whoever began: its transfers are what is under way.
  const sim::Scheduler::ActsFor nobody(state_.scheduler, state_.scheduler.origin_of_turns());
  at.turn = state_.scheduler.schedule(when, sim::Phase::arbitrate, at.spec.agent, server,
                                      sim::call<&ExactEngine::arbitrate>(this, server));
}

void ExactEngine::add_candidate(std::uint32_t server, const Candidate& candidate) {
  state_.servers[server].arbiter.add(candidate);
  take_turn_at(server, candidate.eligible());
}

void ExactEngine::replace_candidate(std::uint32_t server, std::size_t index, std::uint32_t next_server,
                                    const Candidate& next) {
  if (next_server == server) {
    state_.servers[server].arbiter.replace(index, next);
    return;  // this server looks for its next turn after it has served
  }
  state_.servers[server].arbiter.remove(index);
  Candidate moved = next;
  moved.since = state_.scheduler.now();
  add_candidate(next_server, moved);
}

void ExactEngine::arbitrate(std::uint64_t server_argument) {
  const auto server = static_cast<std::uint32_t>(server_argument);
  Server& at = state_.servers[server];
  at.turn_at = Time::max();
  // A memory may take several bursts at one instant.
  while (at.free_at <= state_.scheduler.now()) {
    const std::size_t index = at.arbiter.choose(state_.scheduler.now());
    if (index == Arbiter::kNone) break;
    serve(server, index);
  }
  take_turn_at(server, at.arbiter.earliest(at.free_at));
}

// ---- service

void ExactEngine::observe(std::uint32_t server, const Transfer& transfer, Time start, Time end, Bytes bytes) {
  if (state_.observer == nullptr) return;
  state_.observer->on_service({server}, transfer.request.agent, transfer.request.operation, start, end, bytes);
}

ExactEngine::Service ExactEngine::serve_plain(std::uint32_t server, const Transfer& transfer,
                                              const QueuedBurst& burst) {
  Server& at = state_.servers[server];
  const Time now = state_.scheduler.now();
  const Bytes bytes(burst.bytes);
  const Time service = at.service.of(bytes);
  at.last_bytes = bytes;
  at.work.busy += service;
  at.work.bytes += bytes;
  ++at.work.bursts;
  observe(server, transfer, now, now + service, bytes);
  return {now, now + service, now + service};
}

/// Calls `visit(channel, address, bytes)` for each access of a burst at one of the ends of its route. In the middle it
/// is one access.
template <class Visit>
void ExactEngine::visit_accesses(Transfer& transfer, const QueuedBurst& burst, Visit visit) {
  const TransferRequest& request = transfer.request;
  const bool first = burst.stage == 0;
  if (!first && burst.stage + std::size_t{1} < request.route.size()) return visit(0, 0, burst.bytes);
  const ChannelSelector channel_of(request.granule, request.route[burst.stage].group);
  BurstCursor cursor = first ? transfer.first : transfer.last;
  cursor.next([&](const Accesses& accesses) {
    std::uint64_t address = first ? accesses.address : accesses.landing;
    for (std::int64_t i = 0; i < accesses.count; ++i, address += static_cast<std::uint64_t>(accesses.stride)) {
      visit(channel_of(address), address, accesses.bytes);
    }
  });
  if (!first) transfer.last = cursor;
}

MemoryService ExactEngine::serve_by_laws(Transfer& transfer, const QueuedBurst& burst) {
  const Time now = state_.scheduler.now();
  const Stage& stage = transfer.request.route[burst.stage];
  MemoryService service{now, now};
  bool head = true;
  visit_accesses(transfer, burst, [&](std::uint32_t member, std::uint64_t address, std::int64_t bytes) {
    const Server& server = state_.servers[stage.server.value + member];
    Channel& channel = state_.channels[stage.server.value + member];
    const Time start = std::max(channel.free_at, now);
    const Time time = server.spec.law({address, Bytes(bytes), burst.stage > 0, start});
    if (time < Time::picoseconds(1)) {
      throw ProgramError("ModelError", "the model of " + server.spec.name + " gave a service time of " + to_text(time) +
                                           " for an access of " + to_text(Bytes(bytes)) + "; it must be at least 1 ps");
    }
    if (std::exchange(head, false)) service.head = start;
    channel.take(now, time, Bytes(bytes));
    service.end = std::max(service.end, channel.free_at);
    observe(stage.server.value + member, transfer, start, channel.free_at, Bytes(bytes));
  });
  return service;
}

ExactEngine::Service ExactEngine::serve_memory(Transfer& transfer, const QueuedBurst& burst) {
  const Time now = state_.scheduler.now();
  const Stage& stage = transfer.request.route[burst.stage];
  const Server& at = state_.servers[stage.server.value];
  const std::span<Channel> channels = state_.channels_of(stage);
  MemoryService service;
  if (at.own_law) {
    service = serve_by_laws(transfer, burst);
  } else {
    load_.reset(stage.group);
    visit_accesses(transfer, burst, [&](std::uint32_t member, std::uint64_t, std::int64_t bytes) {
      load_.add(member, bytes, channels[member].minimum.count());
    });
    service = occupy(channels, load_, now, [&](std::size_t member, Time start, Time end, Bytes bytes) {
      observe(stage.server.value + static_cast<std::uint32_t>(member), transfer, start, end, bytes);
    });
  }
  return {service.head, service.end, takes_next(channels, now)};
}

void ExactEngine::serve(std::uint32_t server, std::size_t index) {
  const Time now = state_.scheduler.now();
  Server& at = state_.servers[server];
  assert(at.free_at <= now);
  const Candidate chosen = at.arbiter[index];
  const QueuedBurst& burst = chosen.head;
  Transfer& transfer = state_.transfer(burst.transfer);
  const Time could = std::max({burst.ready, at.free_at, chosen.since});
  const Service service = state_.is_memory(transfer.request.route[burst.stage]) ? serve_memory(transfer, burst)
                                                                                : serve_plain(server, transfer, burst);
  at.arbiter.served(chosen.port);
  at.free_at = service.next;
  at.last_start = now;

  const Time tail = std::max(service.end, burst.complete);
  const Time before = chosen.room == nullptr ? Time() : chosen.room->take(burst.bytes, now);
  const Time starving = starved(now - could, before);
  transfer.note(burst.stage, now, at.starved, starving);
  at.starved += starving;
  if (burst.stage > 0) return_room(transfer, burst, tail, now - burst.ready);
  advance_port(server, index);
  forward(server, burst, service.head, tail);
}

void ExactEngine::return_room(Transfer& transfer, const QueuedBurst& burst, Time tail, Time waited) {
  const std::size_t before = burst.stage - std::size_t{1};
  const std::uint32_t server = transfer.request.route[before].server.value;
  Server& at = state_.servers[server];
  const Time home = tail + at.latency;
  buffer_behind(transfer, before)->room.give({home, waited, burst.bytes});
  if (at.arbiter.empty() || at.turn_at <= std::max(home, at.free_at)) return;
  take_turn_at(server, at.arbiter.earliest(at.free_at));
}

void ExactEngine::advance_port(std::uint32_t server, std::size_t index) {
  Arbiter& arbiter = state_.servers[server].arbiter;
  const QueuedBurst burst = arbiter[index].head;
  Transfer& transfer = state_.transfer(burst.transfer);
  if (burst.stage == 0) {
    transfer.first = transfer.after_first;
    const Candidate next = injection(burst.transfer);
    if (next.head.bytes == 0) return arbiter.remove(index);
    return arbiter.replace(index, next);
  }
  Buffer& before = *buffer_behind(transfer, burst.stage - std::size_t{1});
  before.queue.pop_front();
  if (before.queue.empty()) return arbiter.remove(index);
  const Candidate next = head_before(transfer, burst.stage);
  const Transfer& next_transfer = state_.transfer(next.head.transfer);
  replace_candidate(server, index, next_transfer.request.route[next.head.stage].server.value, next);
}

void ExactEngine::forward(std::uint32_t server, const QueuedBurst& burst, Time head, Time tail) {
  Server& at = state_.servers[server];
  Transfer& transfer = state_.transfer(burst.transfer);
  const Time complete = tail + at.latency;
  if (burst.stage == 0) {
    transfer.departed = std::max(transfer.departed, complete);
    transfer.unstarted_first -= burst.bytes;
    if (transfer.unstarted_first == 0) state_.schedule_departed(transfer);
  }
  const std::size_t stage = burst.stage + std::size_t{1};
  if (stage == transfer.request.route.size()) {
    transfer.delivered = std::max(transfer.delivered, complete);
    transfer.unstarted_last -= burst.bytes;
    if (transfer.unstarted_last == 0) state_.schedule_delivered(transfer, burst.transfer);
    return;
  }
  Buffer& behind = *buffer_behind(transfer, burst.stage);
  behind.queue.push_back({head + at.latency, complete, burst.transfer, static_cast<std::uint16_t>(stage), burst.bytes});
  if (behind.queue.size() == 1) present_head(transfer, stage);
}

void ExactEngine::present_head(const Transfer& transfer, std::size_t stage) {
  const Candidate head = head_before(transfer, stage);
  const Transfer& of = state_.transfer(head.head.transfer);
  add_candidate(of.request.route[head.head.stage].server.value, head);
}

// ---- how a transfer enters exact mode: at its start, or in the middle of a coalesced way

void ExactEngine::prepare(Transfer& transfer) {
  const Stage& first = transfer.request.route.front();
  transfer.first = transfer.last = BurstCursor(transfer.request);
  transfer.unstarted_first = transfer.unstarted_last = transfer.request.ranges.total().count();
  transfer.departed = transfer.delivered = transfer.start;
  if (transfer.has_response_buffer()) transfer.responses.room.reset(state_.response_buffer(first));
}

void ExactEngine::start(TransferSlot slot) {
  prepare(state_.transfer(slot));
  present_injection(slot);
}

void ExactEngine::resume(TransferSlot slot, const Recurrence& recurrence) {
  Transfer& transfer = state_.transfer(slot);
  prepare(transfer);
  transfer.first = recurrence.first();
  transfer.last = recurrence.last();
  transfer.departed = recurrence.departed();
  transfer.delivered = recurrence.delivered();
  transfer.unstarted_first -= recurrence.started_first();
  transfer.unstarted_last -= recurrence.started_last();
  restore_servers(transfer, recurrence);
  restore_queues(transfer, slot, recurrence);
  present_injection(slot);
  for (std::size_t stage = 1; stage < transfer.request.route.size(); ++stage) {
    if (!buffer_behind(transfer, stage - 1)->queue.empty()) present_head(transfer, stage);
  }
}

void ExactEngine::restore_servers(Transfer& transfer, const Recurrence& recurrence) {
  const std::span<const Stage> route = transfer.request.route;
  std::uint64_t port = transfer.port();
  for (std::size_t stage = 0; stage < route.size(); ++stage) {
    const Lane& lane = recurrence.lane(stage);
    Server& server = state_.servers[route[stage].server.value];
    if (lane.bursts > 0) {
      transfer.note(stage, lane.last_start, server.starved, lane.starved);
      server.account(lane.work, lane.starved, lane.free_at, lane.last_start, lane.last_bytes, port);
      if (lane.memory) std::ranges::copy(recurrence.channels(stage), state_.channels_of(route[stage]).begin());
    }
    if (stage + 1 == route.size()) break;
    buffer_behind(transfer, stage)->room = lane.room;
    port = port_behind(transfer, stage);
  }
}

void ExactEngine::restore_queues(Transfer& transfer, TransferSlot slot, const Recurrence& recurrence) {
  for (const WaitingBurst& waiting : recurrence.waiting()) {
    buffer_behind(transfer, waiting.stage - std::size_t{1})
        ->queue.push_back({waiting.ready, waiting.complete, slot, waiting.stage, waiting.bytes});
  }
}

}  // namespace kernbench::hardware::fabric
