#include "hardware/fabric/coalescer.h"

#include <cassert>

namespace kernbench::hardware::fabric {

void Coalescer::load(const Transfer& transfer) {
  known_ = kNoTransfer;
  const std::vector<Stage>& route = transfer.request.route;
  recurrence_.reset(transfer.request);
  for (std::size_t stage = 0; stage < route.size(); ++stage) {
    const bool shares_buffer = stage + 1 < route.size() && route[stage].group == 1;
    for (std::uint32_t member = 0; member < route[stage].group; ++member) {
      const Server& server = state_.servers[route[stage].server.value + member];
      Lane& lane = recurrence_.lane(recurrence_.first_lane(stage) + member);
      lane.service = server.service;
      lane.latency = server.latency;
      lane.free_at = server.free_at;
      lane.last_start = server.last_start;
      lane.last_bytes = server.last_bytes;
      lane.work = ServerCounters{};
      lane.starved = Time();
      const Buffer* buffer = shares_buffer ? server.buffers[buffer_index(route, stage)].get() : nullptr;
      if (buffer == nullptr || buffer->credits.home() == server.spec.credits) {
        lane.credits.reset(server.spec.credits);
      } else {
        lane.credits = buffer->credits;
        lane.credits.settle(transfer.start);
      }
    }
  }
}

void Coalescer::start(TransferSlot slot) {
  Transfer& transfer = state_.transfer(slot);
  transfer.coalesced = true;
  load(transfer);
  recurrence_.run(transfer.start);
  transfer.departed = recurrence_.departed();
  transfer.delivered = recurrence_.delivered();
  transfer.results.clear();
  transfer.returns.clear();
  for (std::size_t i = 0; i < recurrence_.lane_count(); ++i) {
    Lane& lane = recurrence_.lane(i);
    lane.credits.settle(transfer.delivered);
    const Ring<ReturningCredit>& returning = lane.credits.returning();
    transfer.results.push_back({lane.free_at, lane.last_start, lane.last_bytes, lane.work, lane.starved,
                                static_cast<std::uint32_t>(returning.size())});
    for (std::size_t j = 0; j < returning.size(); ++j) transfer.returns.push_back(returning[j]);
  }
  for (const Stage& stage : transfer.request.route) {
    for (std::uint32_t member = 0; member < stage.group; ++member) {
      state_.servers[stage.server.value + member].plan = slot;
    }
  }
  state_.schedule_departed(transfer);
  state_.schedule_delivered(transfer, slot);
}

void Coalescer::release_servers(const Transfer& transfer) {
  for (const Stage& stage : transfer.request.route) {
    for (std::uint32_t member = 0; member < stage.group; ++member) {
      state_.servers[stage.server.value + member].plan = kNoTransfer;
    }
  }
}

void Coalescer::finish(TransferSlot slot) {
  Transfer& transfer = state_.transfer(slot);
  const std::vector<Stage>& route = transfer.request.route;
  release_servers(transfer);
  std::uint64_t port = transfer.port();
  auto returns = transfer.returns.begin();
  auto result = transfer.results.begin();
  for (std::size_t stage = 0; stage < route.size(); ++stage) {
    const bool responses = stage == 0 && transfer.has_response_buffer();
    for (std::uint32_t member = 0; member < route[stage].group; ++member, ++result) {
      Server& server = state_.servers[route[stage].server.value + member];
      if (result->work.chunks > 0) transfer.note(stage, result->last_start, server.starved, result->starved);
      server.account(result->work, result->starved, result->free_at, result->last_start, result->last_bytes, port);
      const auto end = returns + result->returns;
      if (!responses && stage + 1 < route.size()) {
        CreditPool& credits = server.buffer(buffer_index(route, stage)).credits;
        credits.reset(server.spec.credits - static_cast<std::int32_t>(result->returns));
        for (auto home = returns; home != end; ++home) credits.give(*home);
      }
      returns = end;
    }
    if (stage + 1 < route.size())
      port = responses ? response_port(port) : queue_port(route[stage].server.value, buffer_index(route, stage));
  }
}

void Coalescer::dissolve(TransferSlot slot) {
  Transfer& transfer = state_.transfer(slot);
  assert(transfer.coalesced);
  load(transfer);
  recurrence_.run(transfer.start, state_.scheduler.now());
  release_servers(transfer);
  transfer.coalesced = false;
  // An event whose cause has happened already stays; the others are scheduled again when their cause happens.
  if (recurrence_.started_first() < transfer.chunk_count) state_.scheduler.cancel(transfer.departed_event);
  if (recurrence_.started_last() < transfer.chunk_count) state_.scheduler.cancel(transfer.delivered_event);
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
  std::size_t index = 0;
  for (const Stage& stage : transfer.request.route) {
    for (std::uint32_t member = 0; member < stage.group; ++member, ++index) {
      if (stage.server.value + member != server) continue;
      const Lane& lane = recurrence_.lane(index);
      return work_before(now, lane.work, lane.last_start, lane.last_bytes, lane.free_at);
    }
  }
  return {};
}

}  // namespace kernbench::hardware::fabric
