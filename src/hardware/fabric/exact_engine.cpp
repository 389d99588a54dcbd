#include "hardware/fabric/exact_engine.h"

#include <algorithm>
#include <cassert>

#include "hardware/fabric/chunks.h"

namespace kernbench::hardware::fabric {

// ---- where a chunk goes

std::uint32_t ExactEngine::server_of(const Transfer& transfer, std::uint32_t chunk, std::size_t stage) const {
  const Stage& at = transfer.request.route[stage];
  if (at.group <= 1) return at.server.value;
  const ChunkState& state = transfer.chunks[chunk];
  return at.server.value + (stage == 0 ? state.first_member : state.last_member);
}

CreditPool* ExactEngine::credits_behind(Transfer& transfer, std::uint32_t chunk, std::size_t stage) {
  if (stage + 1 == transfer.request.route.size()) return nullptr;
  const Stage& at = transfer.request.route[stage];
  if (at.group > 1) return &transfer.response_credits[transfer.chunks[chunk].first_member];
  return &state_.servers[at.server.value].buffer(at.traffic.index()).credits;
}

// ---- input ports and their heads

Candidate ExactEngine::injection(TransferSlot slot, std::uint32_t chunk) {
  Transfer& transfer = state_.transfer(slot);
  return {transfer.port(), {transfer.start, transfer.start, slot, chunk, 0}, credits_behind(transfer, chunk, 0)};
}

Candidate ExactEngine::response(TransferSlot slot) {
  Transfer& transfer = state_.transfer(slot);
  const std::uint32_t chunk = transfer.next_response;
  const ChunkState& state = transfer.chunks[chunk];
  return {response_port(transfer.port()),
          {state.ready, state.complete, slot, chunk, 1},
          credits_behind(transfer, chunk, 1)};
}

Candidate ExactEngine::queue_head(std::uint32_t server, std::uint32_t traffic_class) {
  const QueuedChunk& head = state_.servers[server].buffer(traffic_class).queue.front();
  return {queue_port(server, traffic_class), head,
          credits_behind(state_.transfer(head.transfer), head.chunk, head.stage)};
}

void ExactEngine::present_injection(TransferSlot slot, std::uint32_t chunk) {
  add_candidate(server_of(state_.transfer(slot), chunk, 0), injection(slot, chunk));
}

void ExactEngine::present_response(TransferSlot slot) {
  const Transfer& transfer = state_.transfer(slot);
  add_candidate(server_of(transfer, transfer.next_response, 1), response(slot));
}

void ExactEngine::present_head(std::uint32_t server, std::uint32_t traffic_class) {
  const Candidate head = queue_head(server, traffic_class);
  add_candidate(server_of(state_.transfer(head.head.transfer), head.head.chunk, head.head.stage), head);
}

// ---- turns

void ExactEngine::take_turn_at(std::uint32_t server, Time when) {
  if (when == Time::max()) return;
  Server& at = state_.servers[server];
  when = std::max({when, at.free_at, state_.scheduler.now()});
  if (at.turn_at <= when) return;
  if (at.turn_at != Time::max()) state_.scheduler.cancel(at.turn);
  at.turn_at = when;
  at.turn = state_.scheduler.schedule(when, event::Phase::arbitrate, at.spec.agent, server,
                                      event::call<&ExactEngine::arbitrate>(this, server));
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
  add_candidate(next_server, next);
}

void ExactEngine::arbitrate(std::uint64_t server_argument) {
  const auto server = static_cast<std::uint32_t>(server_argument);
  Server& at = state_.servers[server];
  at.turn_at = Time::max();
  const std::size_t index = at.arbiter.choose(state_.scheduler.now());
  if (index != Arbiter::kNone) serve(server, index);
  take_turn_at(server, at.arbiter.earliest(at.free_at));
}

void ExactEngine::serve(std::uint32_t server, std::size_t index) {
  const Time now = state_.scheduler.now();
  Server& at = state_.servers[server];
  assert(at.free_at <= now);
  const Candidate chosen = at.arbiter[index];
  const QueuedChunk& chunk = chosen.head;
  Transfer& transfer = state_.transfer(chunk.transfer);
  const Bytes bytes = transfer.chunks[chunk.chunk].bytes;
  const Time service = at.service.of(bytes);
  at.arbiter.served(chosen.port);
  at.free_at = now + service;
  at.last_start = now;
  at.last_bytes = bytes;
  at.work.busy += service;
  at.work.bytes += bytes;
  ++at.work.chunks;

  const Time tail = std::max(at.free_at, chunk.complete);
  if (chosen.credits != nullptr) chosen.credits->take(now);
  if (chunk.stage > 0) return_credit(transfer, chunk, tail);
  advance_port(server, index);
  forward(server, chunk, tail);
}

void ExactEngine::return_credit(const Transfer& transfer, const QueuedChunk& chunk, Time tail) {
  const std::size_t before = chunk.stage - std::size_t{1};
  const std::uint32_t server = server_of(transfer, chunk.chunk, before);
  Server& at = state_.servers[server];
  CreditPool& credits = *credits_behind(state_.transfer(chunk.transfer), chunk.chunk, before);
  const Time home = tail + at.latency;
  const bool awaited = home < credits.available() && !at.arbiter.empty();
  credits.give(home);
  if (awaited && at.turn_at > std::max(home, at.free_at)) take_turn_at(server, at.arbiter.earliest(at.free_at));
}

void ExactEngine::advance_port(std::uint32_t server, std::size_t index) {
  Arbiter& arbiter = state_.servers[server].arbiter;
  const QueuedChunk chunk = arbiter[index].head;
  Transfer& transfer = state_.transfer(chunk.transfer);
  if (chunk.stage == 0) {
    const std::uint32_t next = transfer.chunks[chunk.chunk].next;
    if (next == kNoChunk) return arbiter.remove(index);
    return arbiter.replace(index, injection(chunk.transfer, next));
  }
  if (chunk.stage == 1 && transfer.has_response_buffer()) {
    const std::uint32_t next = ++transfer.next_response;
    if (next == transfer.chunk_count || !transfer.chunks[next].arrived) return arbiter.remove(index);
    return replace_candidate(server, index, server_of(transfer, next, 1), response(chunk.transfer));
  }
  const Stage& before = transfer.request.route[chunk.stage - std::size_t{1}];
  const std::uint32_t traffic_class = before.traffic.index();
  Ring<QueuedChunk>& queue = state_.servers[before.server.value].buffer(traffic_class).queue;
  queue.pop_front();
  if (queue.empty()) return arbiter.remove(index);
  const Candidate next = queue_head(before.server.value, traffic_class);
  const Transfer& next_transfer = state_.transfer(next.head.transfer);
  replace_candidate(server, index, server_of(next_transfer, next.head.chunk, next.head.stage), next);
}

void ExactEngine::forward(std::uint32_t server, const QueuedChunk& chunk, Time tail) {
  Server& at = state_.servers[server];
  Transfer& transfer = state_.transfer(chunk.transfer);
  const Time complete = tail + at.latency;
  if (chunk.stage == 0) {
    transfer.departed = std::max(transfer.departed, complete);
    if (--transfer.unstarted_first == 0) state_.schedule_departed(transfer);
  }
  const std::size_t stage = chunk.stage + std::size_t{1};
  if (stage == transfer.request.route.size()) {
    transfer.delivered = std::max(transfer.delivered, complete);
    if (--transfer.unstarted_last == 0) state_.schedule_delivered(transfer, chunk.transfer);
    return;
  }
  const Time ready = at.last_start + at.latency;
  if (stage == 1 && transfer.has_response_buffer()) {
    ChunkState& state = transfer.chunks[chunk.chunk];
    state.ready = ready;
    state.complete = complete;
    state.arrived = true;
    if (chunk.chunk == transfer.next_response) present_response(chunk.transfer);
    return;
  }
  const std::uint32_t traffic_class = transfer.request.route[chunk.stage].traffic.index();
  Ring<QueuedChunk>& queue = at.buffer(traffic_class).queue;
  queue.push_back({ready, complete, chunk.transfer, chunk.chunk, static_cast<std::uint16_t>(stage)});
  if (queue.size() == 1) present_head(server, traffic_class);
}

// ---- beginning

void ExactEngine::prepare(Transfer& transfer) {
  const TransferRequest& request = transfer.request;
  const std::uint32_t first_group = request.route.front().group;
  ChunkCursor cursor(request.ranges, request.chunk);
  Interleaver first_member(request.chunk, first_group);
  Interleaver last_member(request.chunk, request.route.back().group);
  transfer.chunks.clear();
  transfer.chunks.reserve(transfer.chunk_count);
  Chunk chunk;
  while (cursor.next(chunk)) {
    ChunkState& state = transfer.chunks.emplace_back();
    state.bytes = chunk.bytes;
    state.first_member = static_cast<std::uint16_t>(first_member.server_of(chunk.address));
    state.last_member = static_cast<std::uint16_t>(last_member.server_of(chunk.address));
  }
  assert(transfer.chunks.size() == transfer.chunk_count);
  link_members(transfer);
  transfer.next_response = 0;
  transfer.unstarted_first = transfer.unstarted_last = transfer.chunk_count;
  transfer.departed = transfer.delivered = transfer.start;
  transfer.response_credits.resize(first_group);
  for (std::uint32_t member = 0; member < first_group; ++member) {
    transfer.response_credits[member].reset(state_.servers[request.route.front().server.value + member].spec.credits);
  }
}

void ExactEngine::link_members(Transfer& transfer) {
  member_chunk_.assign(transfer.request.route.front().group, kNoChunk);
  for (std::uint32_t i = transfer.chunk_count; i-- > 0;) {
    ChunkState& state = transfer.chunks[i];
    state.next = member_chunk_[state.first_member];
    member_chunk_[state.first_member] = i;
  }
}

void ExactEngine::present_injections(TransferSlot slot, const Recurrence* recurrence) {
  // link_members() has left the first chunk of each member.
  for (std::uint32_t member = 0; member < member_chunk_.size(); ++member) {
    std::uint32_t chunk = member_chunk_[member];
    const std::uint64_t started = recurrence == nullptr ? 0 : recurrence->lane(member).work.chunks;
    for (std::uint64_t i = 0; i < started; ++i) chunk = state_.transfer(slot).chunks[chunk].next;
    if (chunk != kNoChunk) present_injection(slot, chunk);
  }
}

void ExactEngine::start(TransferSlot slot) {
  prepare(state_.transfer(slot));
  present_injections(slot, nullptr);
}

void ExactEngine::resume(TransferSlot slot, const Recurrence& recurrence) {
  Transfer& transfer = state_.transfer(slot);
  prepare(transfer);
  transfer.departed = recurrence.departed();
  transfer.delivered = recurrence.delivered();
  transfer.unstarted_first -= recurrence.started_first();
  transfer.unstarted_last -= recurrence.started_last();
  restore_servers(transfer, recurrence);
  restore_queues(transfer, slot, recurrence);
  present_injections(slot, &recurrence);
  if (transfer.has_response_buffer() && transfer.next_response < transfer.chunk_count &&
      transfer.chunks[transfer.next_response].arrived) {
    present_response(slot);
  }
  for (std::size_t stage = transfer.has_response_buffer() ? 1 : 0; stage + 1 < transfer.request.route.size(); ++stage) {
    const Stage& at = transfer.request.route[stage];
    const std::uint32_t traffic_class = at.traffic.index();
    if (!state_.servers[at.server.value].buffer(traffic_class).queue.empty()) {
      present_head(at.server.value, traffic_class);
    }
  }
}

void ExactEngine::restore_servers(Transfer& transfer, const Recurrence& recurrence) {
  const std::vector<Stage>& route = transfer.request.route;
  std::uint64_t port = transfer.port();
  for (std::size_t stage = 0; stage < route.size(); ++stage) {
    const bool responses = stage == 0 && transfer.has_response_buffer();
    for (std::uint32_t member = 0; member < route[stage].group; ++member) {
      const Lane& lane = recurrence.lane(recurrence.first_lane(stage) + member);
      Server& server = state_.servers[route[stage].server.value + member];
      server.account(lane.work, lane.free_at, lane.last_start, lane.last_bytes, port);
      if (responses) {
        transfer.response_credits[member] = lane.credits;
      } else if (stage + 1 < route.size()) {
        server.buffer(route[stage].traffic.index()).credits = lane.credits;
      }
    }
    port = responses ? response_port(port) : queue_port(route[stage].server.value, route[stage].traffic.index());
  }
}

void ExactEngine::restore_queues(Transfer& transfer, TransferSlot slot, const Recurrence& recurrence) {
  for (const WaitingChunk& waiting : recurrence.waiting()) {
    if (waiting.stage == 1 && transfer.has_response_buffer()) {
      ChunkState& state = transfer.chunks[waiting.chunk];
      state.ready = waiting.ready;
      state.complete = waiting.complete;
      state.arrived = true;
      continue;
    }
    const Stage& before = transfer.request.route[waiting.stage - std::size_t{1}];
    state_.servers[before.server.value]
        .buffer(before.traffic.index())
        .queue.push_back({waiting.ready, waiting.complete, slot, waiting.chunk, waiting.stage});
  }
  if (!transfer.has_response_buffer()) return;
  for (std::uint32_t member = 0; member < transfer.request.route[1].group; ++member) {
    const ServerCounters& work = recurrence.lane(recurrence.first_lane(1) + member).work;
    transfer.next_response += static_cast<std::uint32_t>(work.chunks);
  }
}

}  // namespace kernbench::hardware::fabric
