// How a transfer enters exact mode: at its start, or in the middle of a coalesced way.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hardware/fabric/chunks.h"
#include "hardware/fabric/exact_engine.h"

namespace kernbench::hardware::fabric {

void ExactEngine::prepare(Transfer& transfer) {
  const TransferRequest& request = transfer.request;
  const std::uint32_t first_group = request.route.front().group;
  ChunkCursor cursor(request);
  Interleaver first_member(request.interleave_granule(), first_group);
  Interleaver last_member(request.interleave_granule(), request.route.back().group);
  transfer.chunks.clear();
  transfer.chunks.reserve(transfer.chunk_count);
  transfer.addresses.clear();
  transfer.landing_addresses.clear();
  Chunk chunk;
  while (cursor.next(chunk)) {
    ChunkState& state = transfer.chunks.emplace_back();
    state.bytes = chunk.bytes;
    if (transfer.own_laws) {
      transfer.addresses.push_back(chunk.address);
      transfer.landing_addresses.push_back(chunk.landing);
    }
    state.first_member = static_cast<std::uint16_t>(first_member.server_of(chunk.address));
    state.last_member = static_cast<std::uint16_t>(last_member.server_of(chunk.landing));
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
    const std::uint32_t server = transfer.request.route[stage].server.value;
    const std::uint32_t index = buffer_index(transfer.request.route, stage);
    const Buffer& buffer = state_.servers[server].buffer(index);
    for (std::uint32_t member = 0; member < buffer.queues.size(); ++member) {
      if (!buffer.queues[member].empty()) present_head({server, index, member});
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
      if (lane.work.chunks > 0) transfer.note(stage, lane.last_start, server.starved, lane.starved);
      server.account(lane.work, lane.starved, lane.free_at, lane.last_start, lane.last_bytes, port);
      if (responses) {
        transfer.response_credits[member] = lane.credits;
      } else if (stage + 1 < route.size()) {
        server.buffer(buffer_index(route, stage)).credits = lane.credits;
      }
    }
    if (stage + 1 < route.size())
      port = responses ? response_port(port) : queue_port(route[stage].server.value, buffer_index(route, stage));
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
    queue(queue_before(transfer, waiting.chunk, waiting.stage))
        .push_back({waiting.ready, waiting.complete, slot, waiting.chunk, waiting.stage});
  }
  if (!transfer.has_response_buffer()) return;
  for (std::uint32_t member = 0; member < transfer.request.route[1].group; ++member) {
    const ServerCounters& work = recurrence.lane(recurrence.first_lane(1) + member).work;
    transfer.next_response += static_cast<std::uint32_t>(work.chunks);
  }
}

}  // namespace kernbench::hardware::fabric
