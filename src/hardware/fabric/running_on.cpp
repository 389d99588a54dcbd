// Bursts that nothing can overtake run on at once: they are served ahead of time.
#include <cassert>
#include <utility>

#include "hardware/fabric/exact_engine.h"

namespace kernbench::hardware::fabric {

/// As long as all routes lead to a server through one queue, its bursts come one after the other in a known order, and
/// each starts as soon as it and the server can. A burst that waits for room, or comes to a memory, waits for its turn.
[[gnu::always_inline]] inline bool ExactEngine::can_run_on(const Hop& hop, std::int64_t bytes) {
  const Hop& before = (&hop)[-1];
  if (hop.memory || !runs_on_ || hop.in_tree || !before.behind->queue.empty()) return false;
  const Server& at = state_.servers[hop.server];
  if (!at.only_through_entry() || (is_responses(at.entry) && at.users > 1)) return false;
  if (hop.behind == nullptr) return true;
  hop.behind->room.settle(state_.scheduler.now());
  return hop.behind->room.has(bytes);
}

[[gnu::always_inline]] inline void ExactEngine::wait_in_queue(const QueuedBurst& burst) {
  const Hop& before = burst.hop[-1];
  before.behind->queue.push_back(burst);
  if (before.behind->queue.size() == 1) ask(*before.behind, before.port);
}

/// The head of a queue asks for its server. Which of the turns of an instant comes first may decide: if the burst
/// before it leaves for another server, the head asks in the turn of that one.
void ExactEngine::ask(Buffer& queue, std::uint64_t port) {
  const QueuedBurst& head = queue.queue.front();
  if (queue.left > state_.scheduler.now() && queue.left >= head.ready) {
    const std::uint32_t other = queue.ahead.back().server;
    if (head.hop->forks || other != head.hop->server) {
      queue.held = true;
      return set_turn(state_.servers[other], other, queue.left);
    }
  }
  ask_all(queue, port);
}

/// The head of a queue asks now: a server, or those that are behind a fork.
void ExactEngine::ask_all(Buffer& queue, std::uint64_t port) {
  if (const Hop& hop = *queue.queue.front().hop; !hop.forks) return add_candidate(hop.server, head_of(queue, port));
  const QueuedBurst head = queue.queue.front();
  const Hop* const hops = head.hop - head.stage;
  queue.fork = Fork{};
  for (std::uint16_t stage = head.stage; stage != 0; stage = hops[stage].next_branch) {
    const Hop& hop = hops[stage];
    ++queue.fork.open;
    add_candidate(hop.server, {port, head.ready, hop.room(), &queue, head.bytes, head.transfer, queue.left, stage});
  }
}

void ExactEngine::stop_asking(Buffer& queue, std::uint64_t port) {
  if (queue.queue.empty() || std::exchange(queue.held, false)) return;
  const QueuedBurst& head = queue.queue.front();
  state_.servers[head.hop->server].arbiter.remove_port(port);
  if (!head.hop->forks) return;
  const Hop* const hops = head.hop - head.stage;
  for (std::uint16_t stage = hops[head.stage].next_branch; stage != 0; stage = hops[stage].next_branch) {
    state_.servers[hops[stage].server].arbiter.remove_port(port);
  }
}

void ExactEngine::release(std::uint32_t server, Server& at) {
  Buffer& queue = *at.fed_by;
  if (!queue.held || queue.ahead.back().server != server) return;
  if (queue.left > state_.scheduler.now()) return set_turn(at, server, queue.left);
  queue.held = false;
  ask_all(queue, queue.queue.front().hop[-1].port);
}

/// Returns the tail of the burst on the server.
[[gnu::always_inline]] inline Time ExactEngine::serve_ahead(const QueuedBurst& burst, Server& at, Time start) {
  const Hop& before = burst.hop[-1];
  const Hop& hop = *burst.hop;
  Buffer& queue = *before.behind;
  AheadStart& ahead = queue.ahead.add(state_.scheduler.now());
  ahead.burst = burst;
  ahead.server = hop.server;
  ahead.start = start;
  ahead.service = at.service.of(Bytes(burst.bytes));
  ahead.tail = std::max(start + ahead.service, burst.complete);
  ahead.free_before = at.free_at;
  ahead.last_start_before = at.last_start;
  ahead.last_bytes_before = at.last_bytes;
  ahead.port_before = at.arbiter.last_port();
  ahead.left_before = queue.left;
  if (burst.noted) {
    Transfer& transfer = state_.transfer(burst.transfer);
    queue.ahead.add_watch(transfer.watches[burst.stage]);
    transfer.note(burst.stage, start, at.room_waits, RoomWaits(), start - burst.ready, Time());
  }
  const Time tail = ahead.tail;
  at.fed_by = &queue;
  at.free_at = start + ahead.service;
  at.last_start = queue.left = start;
  at.last_bytes = Bytes(burst.bytes);
  add(at.work, {ahead.service, Bytes(burst.bytes), 1});
  at.arbiter.served_ahead(before.port);
  if (hop.behind != nullptr) hop.behind->room.take_before(burst.bytes);
  return_room(before, {tail + before.latency, start - burst.ready, burst.bytes});
  return tail;
}

/// Its fields stay in registers from server to server: what was stored a moment ago by halves is slow to load as one.
void ExactEngine::run_on(const QueuedBurst& forwarded) {
  const Hop* hop = forwarded.hop;
  Time ready = forwarded.ready, complete = forwarded.complete;
  const std::int64_t bytes = forwarded.bytes;
  const TransferSlot slot = forwarded.transfer;
  std::uint16_t stage = forwarded.stage;
  const bool noted = forwarded.noted;
  for (; can_run_on(*hop, bytes); ++hop, ++stage) {
    if (hop->behind != nullptr) prefetch(hop[1]);
    Server& at = state_.servers[hop->server];
    const Time start = std::max({ready, at.free_at, hop[-1].behind->left});
    const Time tail = serve_ahead({ready, complete, hop, bytes, slot, stage, noted}, at, start);
    ready = start + hop->latency;
    complete = tail + hop->latency;
    if (hop->behind == nullptr) {
      Transfer& transfer = state_.transfer(slot);
      transfer.delivered = std::max(transfer.delivered, complete);
      transfer.unstarted_last -= bytes;
      if (transfer.unstarted_last == 0) state_.schedule_delivered(transfer, slot);
      return;
    }
  }
  wait_in_queue({ready, complete, hop, bytes, slot, stage, noted});
}

/// The last burst that has run on out of a queue goes back to its front, without asking for a server.
void ExactEngine::take_back_last(Buffer& queue) {
  const AheadStart& ahead = queue.ahead.back();  // keeps its place until the next one
  const QueuedBurst& burst = ahead.burst;
  Transfer& transfer = state_.transfer(burst.transfer);
  const Hop& before = burst.hop[-1];
  const Hop& hop = *burst.hop;
  Server& at = state_.servers[ahead.server];
  if (hop.behind == nullptr) {
    if (transfer.unstarted_last == 0) state_.scheduler.cancel(transfer.delivered_event);
    transfer.unstarted_last += burst.bytes;
  } else {
    Ring<QueuedBurst>& next = hop.behind->queue;
    const bool asks = !next.empty();  // no later burst is behind it any more
    if (!asks) take_back_last(*hop.behind);
    assert(next.back().transfer == burst.transfer && next.back().stage == burst.stage + 1);
    if (asks && next.size() == 1) stop_asking(*hop.behind, hop.port);
    next.erase(next.size() - 1);
    hop.behind->room.untake(burst.bytes);
  }
  before.behind->room.ungive({ahead.tail + before.latency, ahead.start - burst.ready, burst.bytes});
  at.free_at = ahead.free_before;
  at.last_start = ahead.last_start_before;
  at.last_bytes = ahead.last_bytes_before;
  at.work.busy -= ahead.service;
  at.work.bytes -= Bytes(burst.bytes);
  --at.work.bursts;
  at.arbiter.take_back(ahead.port_before);
  if (burst.noted) transfer.watches[burst.stage] = queue.ahead.take_last_watch();
  queue.left = ahead.left_before;
  queue.ahead.pop_back();
  queue.queue.push_front(burst);
}

void ExactEngine::take_back(std::uint32_t server) {
  Buffer& queue = *state_.servers[server].fed_by;
  const Time now = state_.scheduler.now();
  if (queue.ahead.empty() || queue.ahead.back().start < now) return;
  const QueuedBurst& last = queue.ahead.back().burst;
  const std::uint64_t port = last.hop[-1].port;
  stop_asking(queue, port);
  while (!queue.ahead.empty() && queue.ahead.back().start >= now) take_back_last(queue);
  ask(queue, port);
}

ServerCounters ExactEngine::plain_work_before_now(std::uint32_t server) const {
  const Server& at = state_.servers[server];
  const Time now = state_.scheduler.now();
  ServerCounters total = at.work;
  Time last_start = at.last_start, free_at = at.free_at;
  Bytes last_bytes = at.last_bytes;
  const std::size_t count = at.fed_by == nullptr ? 0 : at.fed_by->ahead.size();
  for (std::size_t i = count; i > 0 && at.fed_by->ahead[i - 1].start >= now; --i) {
    const AheadStart& ahead = at.fed_by->ahead[i - 1];
    if (ahead.server != server) continue;
    total.busy -= ahead.service;
    total.bytes -= Bytes(ahead.burst.bytes);
    --total.bursts;
    last_start = ahead.last_start_before;
    last_bytes = ahead.last_bytes_before;
    free_at = ahead.free_before;
  }
  return work_before(now, total, last_start, last_bytes, free_at);
}

}  // namespace kernbench::hardware::fabric
