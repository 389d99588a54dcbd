#include "hardware/fabric/exact_engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/text.h"
#include "hardware/fabric/activity_observer.h"
#include "kernbench/error.h"
#include "sim/errors.h"

namespace kernbench::hardware::fabric {

// ---- input ports and their heads

Candidate ExactEngine::injection(TransferSlot slot) {
  Transfer& transfer = state_.transfer(slot);
  const Hop& hop = transfer.hops.front();
  return {transfer.port(), transfer.start, hop.room(), nullptr, next_burst(transfer, hop.memory), slot};
}

[[gnu::always_inline]] inline QueuedBurst ExactEngine::injected(const Candidate& candidate) {
  const Transfer& transfer = state_.transfer(candidate.transfer);
  return {transfer.start,
          transfer.start,
          transfer.hops.data(),
          candidate.bytes,
          candidate.transfer,
          0,
          transfer.logs_next(candidate.bytes)};
}

void ExactEngine::present_injection(TransferSlot slot) {
  const Candidate head = injection(slot);
  if (head.bytes > 0) add_candidate(state_.transfer(slot).hops.front().server, head);
}

// ---- what depends on the names of transfers, or on channels

/// Which of several candidates is next is a matter of names where two transfers or more are compared, one of which may
/// have had the last turn.
void ExactEngine::watch_choice(const Arbiter& arbiter, Time now) {
  if (arbiter.size() < 2) return;
  std::size_t eligible = 0, named = 0;
  for (const Candidate& candidate : arbiter.candidates()) {
    if (candidate.eligible() > now) continue;
    ++eligible;
    named += is_of_transfer(candidate.port) ? 1 : 0;
  }
  const std::size_t last = is_of_transfer(arbiter.last_port()) ? 1 : 0;
  if (eligible > 1 && named > 0 && named + last > 1) ++state_.disturbances;
}

void ExactEngine::watch_channels(std::span<const Channel> channels, Time now) {
  if (std::ranges::any_of(channels, [now](const Channel& channel) { return channel.free_at > now; })) {
    ++state_.disturbances;
  }
}

// ---- service

[[gnu::always_inline]] inline void ExactEngine::observe(std::uint32_t server, const Transfer& transfer, Time start,
                                                        Time end, Bytes bytes) {
  if (state_.observer == nullptr) return;
  state_.observer->on_service({server}, transfer.request.agent, transfer.request.operation, start, end, bytes);
}

[[gnu::always_inline]] inline ExactEngine::Service ExactEngine::serve_plain(std::uint32_t server, Server& at,
                                                                            TransferSlot transfer, Bytes bytes) {
  const Time now = state_.scheduler.now();
  const Time service = at.service.of(bytes);
  at.last_bytes = bytes;
  add(at.work, {service, bytes, 1});
  if (state_.observer != nullptr) observe(server, state_.transfer(transfer), now, now + service, bytes);
  return {now, now + service, now + service};
}

/// Calls `visit(accesses, address of the first, channel selector)` for the accesses of a burst. In the middle of a
/// route it is one access.
template <class Visit>
void ExactEngine::visit_accesses(Transfer& transfer, const QueuedBurst& burst, Visit visit) {
  if (burst.stage == 0) {
    for (const Accesses& accesses : transfer.accesses) visit(accesses, accesses.address, transfer.first_channel);
  } else if (transfer.hops[burst.stage].behind == nullptr) {
    transfer.last.next([&](const Accesses& accesses) { visit(accesses, accesses.landing, transfer.last_channel); });
  } else {
    visit(Accesses{0, 0, burst.bytes, 1, 0}, 0, ChannelSelector());
  }
}

MemoryService ExactEngine::serve_by_laws(Transfer& transfer, const QueuedBurst& burst) {
  const Time now = state_.scheduler.now();
  const Stage& stage = transfer.request.route[burst.stage];
  MemoryService service{now, now};
  bool head = true;
  const auto serve_one = [&](std::uint32_t member, std::uint64_t address, std::int64_t bytes) {
    const Server& server = state_.servers[stage.server.value + member];
    Channel& channel = state_.channels[stage.server.value + member];
    const Time start = std::max(channel.free_at, now);
    const Time time = server.spec.law({address, Bytes(bytes), burst.stage > 0, start});
    if (time < Time::picoseconds(1)) {
      throw ProgramError("ModelError", "the model of " + server.spec.name + " gave a service time of " + to_text(time) +
                                           " for an access of " + to_text(Bytes(bytes)) + "; it must be at least 1 ps");
    }
    if (time > Time::limit() - start) {
      sim::raise_too_long("the model of " + server.spec.name + " gave a service time of " + to_text(time) +
                          " for an access of " + to_text(Bytes(bytes)) + " at " + to_text(start));
    }
    if (std::exchange(head, false)) service.head = start;
    channel.take(now, time, Bytes(bytes));
    service.end = std::max(service.end, channel.free_at);
    observe(stage.server.value + member, transfer, start, channel.free_at, Bytes(bytes));
  };
  visit_accesses(transfer, burst, [&](const Accesses& accesses, std::uint64_t address, const auto& channel_of) {
    for (std::int64_t i = 0; i < accesses.count; ++i, address += static_cast<std::uint64_t>(accesses.stride)) {
      serve_one(channel_of(address), address, accesses.bytes);
    }
  });
  return service;
}

[[gnu::always_inline]] inline MemoryService ExactEngine::serve_by_channels(Transfer& transfer,
                                                                           const QueuedBurst& burst) {
  const Time now = state_.scheduler.now();
  const Stage& stage = transfer.request.route[burst.stage];
  const std::span<Channel> channels = state_.channels_of(stage);
  const auto told = [&](std::size_t member, Time start, Time end, Bytes bytes) {
    observe(stage.server.value + static_cast<std::uint32_t>(member), transfer, start, end, bytes);
  };
  if (burst.stage == 0 && transfer.accesses.size() == 1) {
    if (const auto only = transfer.first_channel.only_one(transfer.accesses.front())) {
      const MemoryService service = occupy(channels[*only], transfer.accesses.front(), now);
      told(*only, service.head, service.end, Bytes(burst.bytes));
      return service;
    }
  }
  load_.reset(stage.group);
  visit_accesses(transfer, burst, [&](const Accesses& accesses, std::uint64_t address, const auto& channel_of) {
    load_.add(accesses, address, channel_of, channels);
  });
  return occupy(channels, load_, now, told);
}

ExactEngine::Service ExactEngine::serve_memory(Transfer& transfer, const QueuedBurst& burst) {
  const Stage& stage = transfer.request.route[burst.stage];
  const bool own_law = state_.servers[stage.server.value].own_law;
  if (state_.watching) [[unlikely]]
    watch_channels(state_.channels_of(stage), state_.scheduler.now());
  const MemoryService service = own_law ? serve_by_laws(transfer, burst) : serve_by_channels(transfer, burst);
  return {service.head, service.end, takes_next(state_.channels_of(stage), state_.scheduler.now())};
}

[[gnu::always_inline]] inline void ExactEngine::advance_port(Server& at, std::uint32_t server, std::size_t index) {
  Candidate& place = at.arbiter[index];
  if (place.from == nullptr) {
    Transfer& transfer = state_.transfer(place.transfer);
    place.bytes = next_burst(transfer, transfer.hops.front().memory);
    if (place.bytes == 0) at.arbiter.remove(index);
    return;
  }
  place.from->queue.pop_front();
  place.from->left = state_.scheduler.now();
  if (place.from->queue.empty()) return at.arbiter.remove(index);
  const Hop& hop = *place.from->queue.front().hop;
  if (hop.forks) {
    Buffer& queue = *place.from;
    const std::uint64_t port = place.port;
    at.arbiter.remove(index);
    return ask_all(queue, port);
  }
  const Candidate next = head_of(*place.from, place.port);
  if (hop.server != server) {
    at.arbiter.remove(index);
    return add_candidate(hop.server, next);
  }
  place = next;  // this server looks for its next turn after it has served
}

[[gnu::always_inline]] inline void ExactEngine::forward(Server& at, const QueuedBurst& burst, Time head, Time tail) {
  const Time complete = tail + at.latency;
  if (burst.stage == 0) {
    Transfer& transfer = state_.transfer(burst.transfer);
    transfer.departed = std::max(transfer.departed, complete);
    transfer.unstarted_first -= burst.bytes;
    if (transfer.unstarted_first == 0) state_.schedule_departed(transfer);
  }
  if (burst.hop->behind == nullptr) {
    Transfer& transfer = state_.transfer(burst.transfer);
    if (burst.hop->in_tree) {
      const std::uint16_t receiver = transfer.request.tree[burst.stage].receiver;
      TreeEnd& end = transfer.ends[receiver];
      end.delivered = std::max(end.delivered, complete);
      end.unstarted -= burst.bytes;
      if (end.unstarted == 0) state_.schedule_received(transfer, burst.transfer, receiver);
      return;
    }
    transfer.delivered = std::max(transfer.delivered, complete);
    transfer.unstarted_last -= burst.bytes;
    if (transfer.unstarted_last == 0) state_.schedule_delivered(transfer, burst.transfer);
    return;
  }
  const auto stage = static_cast<std::uint16_t>(burst.stage + 1);
  run_on({head + at.latency, complete, burst.hop + 1, burst.bytes, burst.transfer, stage, burst.noted});
}

void ExactEngine::serve(std::uint32_t server, Server& at, std::size_t index) {
  const Time now = state_.scheduler.now();
  index = at.arbiter.serve(index);
  const Candidate& chosen = at.arbiter[index];
  QueuedBurst burst = chosen.from != nullptr ? chosen.from->queue.front() : injected(chosen);
  const bool forks = chosen.branch != 0;
  if (forks) {
    burst.hop += chosen.branch - burst.stage;
    burst.stage = chosen.branch;
  }
  if (burst.hop->behind != nullptr) prefetch(burst.hop[1]);
  const Time could = std::max({burst.ready, at.free_at, chosen.since});
  const Service service = burst.hop->memory ? serve_memory(state_.transfer(burst.transfer), burst)
                                            : serve_plain(server, at, burst.transfer, Bytes(burst.bytes));
  at.free_at = service.next;
  at.last_start = now;

  const Time tail = std::max(service.end, burst.complete);
  const RoomWaits waits =
      chosen.room == nullptr ? RoomWaits() : room_waits(now - could, chosen.room->take(burst.bytes, now));
  if (burst.noted) {
    state_.transfer(burst.transfer).note(burst.stage, now, at.room_waits, waits, now - burst.ready, waits.total());
  }
  at.room_waits += waits;
  if (forks) {
    leave_fork(at, index, burst, tail);
    return forward(at, burst, service.head, tail);
  }
  if (burst.stage > 0) {
    const Hop& from = burst.hop[-1];
    return_room(from, {tail + from.latency, now - burst.ready, burst.bytes});
  }
  advance_port(at, server, index);
  forward(at, burst, service.head, tail);
}

/// A burst has started on one of the servers behind a fork. Its room is free when the last of them has it all.
void ExactEngine::leave_fork(Server& at, std::size_t index, const QueuedBurst& burst, Time tail) {
  Buffer& queue = *at.arbiter[index].from;
  const std::uint64_t port = at.arbiter[index].port;
  const Hop& before = queue.queue.front().hop[-1];
  const Time now = state_.scheduler.now();
  at.arbiter.remove(index);
  Fork& fork = queue.fork;
  fork.home = std::max(fork.home, tail + before.latency);
  fork.waited = std::max(fork.waited, now - burst.ready);
  if (--fork.open > 0) return;
  return_room(before, {fork.home, fork.waited, burst.bytes});
  queue.queue.pop_front();
  queue.left = now;
  if (!queue.queue.empty()) ask_all(queue, port);
}

void ExactEngine::arbitrate(std::uint64_t server_argument) {
  const auto server = static_cast<std::uint32_t>(server_argument);
  Server& at = state_.servers[server];
  at.turn_at = Time::max();
  const bool may_read = at.entry == kBeginsAtGroup || is_responses(at.entry);
  if (may_read && runs_on_ && !state_.watching && arbitrate_together(server)) return;
  serving_ = server;
  const Time now = state_.scheduler.now();
  // A memory may take several bursts at one instant.
  while (at.free_at <= now && !at.arbiter.empty()) {
    if (state_.watching) [[unlikely]]
      watch_choice(at.arbiter, now);
    const std::size_t index = at.arbiter.choose(now);
    if (index == Arbiter::kNone) break;
    serve(server, at, index);
  }
  serving_ = kNobody;
  if (at.fed_by != nullptr) release(server, at);
  if (!at.arbiter.empty()) take_turn_at(at, server, at.arbiter.earliest(at.free_at));
}

// ---- how a transfer enters exact mode: at its start, or in the middle of a coalesced way

void ExactEngine::prepare(Transfer& transfer) {
  const std::span<const Stage> route = transfer.request.route;
  transfer.first = transfer.last = BurstCursor(transfer.request);
  transfer.first_channel = ChannelSelector(transfer.request.granule, route.front().group);
  transfer.last_channel = ChannelSelector(transfer.request.granule, route.back().group);
  transfer.bytes = transfer.request.ranges.total().count();
  transfer.unstarted_first = transfer.unstarted_last = transfer.bytes;
  transfer.departed = transfer.delivered = transfer.start;
  if (transfer.has_response_buffer()) {
    transfer.responses.room.reset(state_.response_buffer(route.front()));
    transfer.responses.left = Time();
    transfer.responses.ahead.clear();
  }
  transfer.hops.clear();
  const std::span<const TreeStage> tree = transfer.request.tree;
  for (std::size_t stage = 0; stage < route.size(); ++stage) {
    Hop& hop = transfer.hops.emplace_back();
    hop.server = route[stage].server.value;
    hop.memory = state_.is_memory(route[stage]);
    hop.latency = state_.servers[hop.server].latency;
    hop.in_tree = !tree.empty();
    if (hop.in_tree) {
      hop.next_branch = tree[stage].next_branch;
      hop.forks = stage > 0 && !transfer.request.ends_at(stage - 1) && hop.next_branch != 0;
    }
    if (transfer.request.ends_at(stage)) {
      assert(tree.empty() || !hop.memory);
      continue;
    }
    const std::uint32_t index = buffer_index(route, stage);
    const bool responses = stage == 0 && transfer.has_response_buffer();
    hop.behind = responses ? &transfer.responses : &state_.servers[hop.server].buffer(index);
    hop.port = responses ? response_port(transfer.port()) : state_.queue_port(hop.server, index);
    if (is_lane(hop.port) && tree.empty()) state_.servers[route[stage + 1].server.value].arbiter.expect_lanes();
  }
}

void ExactEngine::start(TransferSlot slot) {
  Transfer& transfer = state_.transfer(slot);
  prepare(transfer);
  transfer.resumed = false;
  transfer.open_receivers = transfer.request.receivers.size();
  transfer.ends.assign(transfer.open_receivers, {transfer.start, transfer.unstarted_last});
  present_injection(slot);
}

void ExactEngine::resume(TransferSlot slot, const Recurrence& recurrence) {
  Transfer& transfer = state_.transfer(slot);
  prepare(transfer);
  transfer.resumed = true;
  transfer.first = recurrence.first();
  transfer.last = recurrence.last();
  transfer.departed = recurrence.departed();
  transfer.delivered = recurrence.delivered();
  transfer.unstarted_first -= recurrence.started_first();
  transfer.unstarted_last -= recurrence.started_last();
  restore_servers(transfer, recurrence);
  restore_queues(transfer, slot, recurrence);
  present_injection(slot);
  for (std::size_t stage = 1; stage < transfer.hops.size(); ++stage) {
    const Hop& before = transfer.hops[stage - 1];
    if (!before.behind->queue.empty()) add_candidate(transfer.hops[stage].server, head_of(*before.behind, before.port));
  }
}

void ExactEngine::restore_servers(Transfer& transfer, const Recurrence& recurrence) {
  const std::span<const Stage> route = transfer.request.route;
  std::uint64_t port = transfer.port();
  for (std::size_t stage = 0; stage < route.size(); ++stage) {
    const Lane& lane = recurrence.lane(stage);
    Server& server = state_.servers[route[stage].server.value];
    if (lane.bursts > 0) {
      transfer.note(stage, lane.last_start, server.room_waits, lane.waits, lane.first, lane.first_held);
      server.account(lane.work, lane.waits, lane.free_at, lane.last_start, lane.last_bytes, port);
      if (lane.memory) std::ranges::copy(recurrence.channels(stage), state_.channels_of(route[stage]).begin());
    }
    if (stage + 1 == route.size()) break;
    transfer.hops[stage].behind->room = lane.room;
    port = transfer.hops[stage].port;
  }
}

void ExactEngine::restore_queues(Transfer& transfer, TransferSlot slot, const Recurrence& recurrence) {
  const bool noted = transfer.request.log != nullptr;
  for (const WaitingBurst& waiting : recurrence.waiting()) {
    transfer.hops[waiting.stage - std::size_t{1}].behind->queue.push_back(
        {waiting.ready, waiting.complete, &transfer.hops[waiting.stage], waiting.bytes, slot, waiting.stage, noted});
  }
}

}  // namespace kernbench::hardware::fabric
