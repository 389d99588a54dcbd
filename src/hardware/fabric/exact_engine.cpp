#include "hardware/fabric/exact_engine.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"
#include "hardware/fabric/activity_observer.h"
#include "kernbench/error.h"

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
  return &state_.servers[at.server.value].buffer(buffer_index(transfer.request.route, stage)).credits;
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

ExactEngine::QueueName ExactEngine::queue_before(const Transfer& transfer, std::uint32_t chunk,
                                                 std::size_t stage) const {
  const std::vector<Stage>& route = transfer.request.route;
  const std::uint32_t buffer = buffer_index(route, stage - 1);
  const bool lands = buffer >= TrafficClass::count;
  return {route[stage - 1].server.value, buffer, lands ? transfer.chunks[chunk].last_member : std::uint32_t{0}};
}

Candidate ExactEngine::queue_head(const QueueName& name) {
  const QueuedChunk& head = queue(name).front();
  return {queue_port(name.server, name.buffer), head,
          credits_behind(state_.transfer(head.transfer), head.chunk, head.stage)};
}

void ExactEngine::present_injection(TransferSlot slot, std::uint32_t chunk) {
  add_candidate(server_of(state_.transfer(slot), chunk, 0), injection(slot, chunk));
}

void ExactEngine::present_response(TransferSlot slot) {
  const Transfer& transfer = state_.transfer(slot);
  add_candidate(server_of(transfer, transfer.next_response, 1), response(slot));
}

void ExactEngine::present_head(const QueueName& name) {
  const Candidate head = queue_head(name);
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
  const std::size_t index = at.arbiter.choose(state_.scheduler.now());
  if (index != Arbiter::kNone) serve(server, index);
  take_turn_at(server, at.arbiter.earliest(at.free_at));
}

Time ExactEngine::own_service(const Server& server, const Transfer& transfer, const QueuedChunk& chunk, Bytes bytes) {
  const bool last = chunk.stage > 0 && chunk.stage + std::size_t{1} == transfer.request.route.size();
  const auto& addresses = last ? transfer.landing_addresses : transfer.addresses;
  const Time time = server.spec.law({addresses[chunk.chunk], bytes, last, state_.scheduler.now()});
  if (time < Time::picoseconds(1)) {
    throw ProgramError("ModelError", "the model of " + server.spec.name + " gave a service time of " + to_text(time) +
                                         " for an access of " + to_text(bytes) + "; it must be at least 1 ps");
  }
  return time;
}

void ExactEngine::serve(std::uint32_t server, std::size_t index) {
  const Time now = state_.scheduler.now();
  Server& at = state_.servers[server];
  assert(at.free_at <= now);
  const Candidate chosen = at.arbiter[index];
  const QueuedChunk& chunk = chosen.head;
  Transfer& transfer = state_.transfer(chunk.transfer);
  const Bytes bytes = transfer.chunks[chunk.chunk].bytes;
  const Time could = std::max({chunk.ready, at.free_at, chosen.since});
  const Time service = at.own_law ? own_service(at, transfer, chunk, bytes) : at.service.of(bytes);
  at.arbiter.served(chosen.port);
  at.free_at = now + service;
  at.last_start = now;
  at.last_bytes = bytes;
  at.work.busy += service;
  at.work.bytes += bytes;
  ++at.work.chunks;
  if (state_.observer != nullptr) {
    state_.observer->on_service({server}, transfer.request.agent, transfer.request.operation, now, at.free_at, bytes);
  }

  const Time tail = std::max(at.free_at, chunk.complete);
  const Time before = chosen.credits == nullptr ? Time() : chosen.credits->take(now);
  const Time starving = starved(now - could, before);
  transfer.note(chunk.stage, now, at.starved, starving);
  at.starved += starving;
  if (chunk.stage > 0) return_credit(transfer, chunk, tail, now - chunk.ready);
  advance_port(server, index);
  forward(server, chunk, tail);
}

void ExactEngine::return_credit(const Transfer& transfer, const QueuedChunk& chunk, Time tail, Time waited) {
  const std::size_t before = chunk.stage - std::size_t{1};
  const std::uint32_t server = server_of(transfer, chunk.chunk, before);
  Server& at = state_.servers[server];
  CreditPool& credits = *credits_behind(state_.transfer(chunk.transfer), chunk.chunk, before);
  const Time home = tail + at.latency;
  const bool awaited = home < credits.available() && !at.arbiter.empty();
  credits.give({home, waited});
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
  const QueueName name = queue_before(transfer, chunk.chunk, chunk.stage);
  Ring<QueuedChunk>& waiting = queue(name);
  waiting.pop_front();
  if (waiting.empty()) return arbiter.remove(index);
  const Candidate next = queue_head(name);
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
  const QueueName name = queue_before(transfer, chunk.chunk, stage);
  Ring<QueuedChunk>& waiting = queue(name);
  waiting.push_back({ready, complete, chunk.transfer, chunk.chunk, static_cast<std::uint16_t>(stage)});
  if (waiting.size() == 1) present_head(name);
}

}  // namespace kernbench::hardware::fabric
