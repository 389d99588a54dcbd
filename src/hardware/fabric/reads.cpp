// Reads of a memory: its turns and those of the ports behind it, together, as long as nothing else happens.
#include <algorithm>
#include <utility>

#include "hardware/fabric/exact_engine.h"

namespace kernbench::hardware::fabric {

static bool takes_only_reads(const Server& port, std::uint32_t memory) {
  return port.entry == responses_of(memory) && port.only_through_entry() && !port.by_accesses;
}

/// Several reads and nothing else are under way at the memory, and go to ports at which nothing else is. (One runs on.)
bool ExactEngine::only_reads(std::uint32_t memory) const {
  const Server& from = state_.servers[memory];
  if (from.users < 2 || from.entry != kBeginsAtGroup || !from.only_through_entry() || from.own_law) return false;
  std::uint32_t users = 0;
  for (const std::uint32_t port : from.ports) {
    const Server& to = state_.servers[port];
    if (takes_only_reads(to, memory)) users += to.users;
  }
  return users == from.users;
}

bool ExactEngine::arbitrate_together(std::uint32_t server) {
  const Server& at = state_.servers[server];
  const bool behind = is_responses(at.entry);
  const std::uint32_t memory = behind ? static_cast<std::uint32_t>(at.entry) : server;
  if ((behind && !takes_only_reads(at, memory)) || !only_reads(memory)) return false;
  take_turns_together(memory);
  return true;
}

[[gnu::always_inline]] inline MemoryService ExactEngine::take_accesses(const Transfer& transfer,
                                                                       std::span<Channel> channels, Time now) {
  if (transfer.accesses.size() == 1) {
    const Accesses& accesses = transfer.accesses.front();
    if (const auto only = transfer.first_channel.only_one(accesses)) return occupy(channels[*only], accesses, now);
  }
  load_.reset(channels.size());
  for (const Accesses& accesses : transfer.accesses) {
    load_.add(accesses, accesses.address, transfer.first_channel, channels);
  }
  return occupy(channels, load_, now, [](std::size_t, Time, Time, Bytes) {});
}

/// The memory takes a burst of the transfer whose turn it is, and it goes into the transfer's response buffer. Returns
/// until when nothing else happens, `quiet_until` or sooner.
[[gnu::always_inline]] inline Time ExactEngine::serve_read(Server& memory, std::span<Channel> channels, Server& port,
                                                           std::size_t index, Time now, Time quiet_until) {
  index = memory.arbiter.serve(index);
  Candidate& chosen = memory.arbiter[index];
  const TransferSlot slot = chosen.transfer;
  Transfer& transfer = state_.transfer(slot);
  const std::int64_t bytes = chosen.bytes;
  const Time could = std::max(transfer.start, memory.free_at);
  const MemoryService service = take_accesses(transfer, channels, now);
  memory.free_at = takes_next(channels, now);
  memory.last_start = now;
  const RoomWaits waits = room_waits(now - could, chosen.room->take(bytes, now));
  const bool noted = transfer.logs_next(bytes);
  if (noted) transfer.note(0, now, memory.room_waits, waits, now - transfer.start, waits.total());
  memory.room_waits += waits;
  chosen.bytes = next_burst(transfer, true);
  if (chosen.bytes == 0) memory.arbiter.remove(index);
  const Time complete = service.end + memory.latency;
  transfer.departed = std::max(transfer.departed, complete);
  transfer.unstarted_first -= bytes;
  const bool departs = transfer.unstarted_first == 0;
  if (departs) state_.schedule_departed(transfer);
  Buffer& responses = transfer.responses;
  responses.queue.push_back({service.head + memory.latency, complete, &transfer.hops[1], bytes, slot, 1, noted});
  if (responses.queue.size() == 1) port.arbiter.add(head_of(responses, response_port(transfer.port())));
  return departs ? std::min(quiet_until, transfer.departed) : quiet_until;
}

/// The port serves the transfer whose turn it is. Returns until when nothing else happens, `quiet_until` or sooner.
[[gnu::always_inline]] inline Time ExactEngine::serve_response(Server& memory, Server& port, std::size_t index,
                                                               Time now, Time quiet_until) {
  index = port.arbiter.serve(index);
  Candidate& chosen = port.arbiter[index];
  Buffer& responses = *chosen.from;
  const QueuedBurst burst = responses.queue.front();
  Transfer& transfer = state_.transfer(burst.transfer);
  const Time could = std::max({burst.ready, port.free_at, chosen.since});
  const Time service = port.service.of(Bytes(burst.bytes));
  port.free_at = now + service;
  port.last_start = now;
  port.last_bytes = Bytes(burst.bytes);
  add(port.work, {service, Bytes(burst.bytes), 1});
  const RoomWaits waits =
      chosen.room == nullptr ? RoomWaits() : room_waits(now - could, chosen.room->take(burst.bytes, now));
  if (burst.noted) transfer.note(1, now, port.room_waits, waits, now - burst.ready, waits.total());
  port.room_waits += waits;
  const Time tail = std::max(port.free_at, burst.complete);
  const Time complete = tail + port.latency;
  // What has room without it never asks for it.
  if (transfer.unstarted_first > responses.room.free())
    responses.room.give({tail + memory.latency, now - burst.ready, burst.bytes});
  responses.queue.pop_front();
  responses.left = now;
  if (responses.queue.empty()) {
    port.arbiter.remove(index);
  } else {
    const QueuedBurst& next = responses.queue.front();
    chosen.ready = next.ready;
    chosen.bytes = next.bytes;
    chosen.since = now;
  }
  if (transfer.hops[1].behind != nullptr) {
    run_on({now + port.latency, complete, burst.hop + 1, burst.bytes, burst.transfer, 2, burst.noted});
    return turns_.quiet_until();
  }
  transfer.delivered = std::max(transfer.delivered, complete);
  transfer.unstarted_last -= burst.bytes;
  if (transfer.unstarted_last > 0) return quiet_until;
  state_.schedule_delivered(transfer, burst.transfer);
  return std::min(quiet_until, transfer.delivered);
}

[[gnu::always_inline]] inline ExactEngine::PortTurn& ExactEngine::port_of(const Candidate& read) {
  const std::uint32_t id = state_.transfer(read.transfer).hops[1].server;
  PortTurn* at = port_turns_.data();
  while (at->id != id) ++at;
  return *at;
}

/// Whether what is read leaves the fabric behind the ports, so that nobody else decides when it goes on.
bool ExactEngine::reads_end_at_ports(Server& memory) {
  for (std::size_t i = 0; i < memory.arbiter.size(); ++i) {
    if (state_.transfer(memory.arbiter[i].transfer).hops[1].behind != nullptr) return false;
  }
  for (const PortTurn& port : port_turns_) {
    for (std::size_t i = 0; i < port.server->arbiter.size(); ++i) {
      if (port.server->arbiter[i].room != nullptr) return false;
    }
  }
  return true;
}

/// A time before which the ports do nothing that the memory would know of, or whoever waits for a delivery, given that
/// the memory takes its next burst at `next_read`. Later than the next turn of any of them.
Time ExactEngine::ports_tell_nothing_until(Server& memory, Time next_read) {
  const Time never = Time::max();
  Time until = never, first_response = next_read == never ? never : next_read + memory.latency;
  for (const PortTurn& port : port_turns_) {
    first_response = std::min(first_response, port.next.when);
    for (std::size_t i = 0; i < port.server->arbiter.size(); ++i) {
      const Candidate& asks = port.server->arbiter[i];
      if (state_.transfer(asks.transfer).unstarted_first > 0) continue;
      until = std::min(until, std::max(asks.from->queue.back().complete, port.next.when) + port.server->latency);
    }
  }
  for (std::size_t i = 0; i < memory.arbiter.size(); ++i) {
    const Transfer& transfer = state_.transfer(memory.arbiter[i].transfer);
    const bool room_for_all = transfer.responses.room.free() >= transfer.unstarted_first;
    if (!room_for_all) return std::min(until, first_response + memory.latency);
  }
  return until;
}

/// The memory takes what it can until it may have learnt something from the ports, then these serve what has come, and
/// so on: which of them is looked at first does not matter as long as none tells the other anything.
void ExactEngine::take_turns_by_server(Server& memory, std::span<Channel> channels, Arbiter::Next& read,
                                       Time quiet_until) {
  const Time now = state_.scheduler.now();
  for (bool served = true; std::exchange(served, false);) {
    const Time untold = ports_tell_nothing_until(memory, read.when);
    const auto is_due = [&](Time turn) { return turn <= now || turn < std::min(quiet_until, untold); };
    for (; is_due(read.when); read = memory.arbiter.next(memory.free_at), served = true) {
      Server& port = *port_of(memory.arbiter[read.index]).server;
      quiet_until = serve_read(memory, channels, port, read.index, read.when, quiet_until);
    }
    for (PortTurn& port : port_turns_) {
      Server& at = *port.server;
      port.next = at.arbiter.next(std::max(at.free_at, now));
      for (; is_due(port.next.when); port.next = at.arbiter.next(at.free_at), served = true) {
        quiet_until = serve_response(memory, at, port.next.index, port.next.when, quiet_until);
      }
    }
    // A transfer for which there was no room may have its turn before the one for which there was.
    read = memory.arbiter.next(std::max(memory.free_at, now));
  }
}

/// As they come, since what goes on behind a port depends on others.
void ExactEngine::take_turns_in_order(Server& memory, std::span<Channel> channels, Arbiter::Next& read,
                                      Time quiet_until) {
  const Time now = state_.scheduler.now();
  bool room_came = false;
  for (;;) {
    // A transfer for which there was no room may have its turn before the one for which there was.
    if (std::exchange(room_came, false)) read = memory.arbiter.next(std::max(memory.free_at, now));
    PortTurn* first = port_turns_.data();
    for (PortTurn& port : port_turns_) {
      if (port.next.when < first->next.when) first = &port;
    }
    const Time next = std::min(read.when, first->next.when);
    if (next > now && next >= quiet_until) break;
    if (read.when <= first->next.when) {
      PortTurn& port = port_of(memory.arbiter[read.index]);
      const std::size_t asking = port.server->arbiter.size();
      quiet_until = serve_read(memory, channels, *port.server, read.index, next, quiet_until);
      read = memory.arbiter.next(memory.free_at);
      if (port.server->arbiter.size() > asking) {
        port.next = port.server->arbiter.next(std::max(port.server->free_at, now));
      }
    } else {
      serving_ = first->id;
      const Transfer& served = state_.transfer(first->server->arbiter[first->next.index].transfer);
      const Bytes burst = served.request.burst;
      room_came = served.unstarted_first > 0 && !served.responses.room.has(burst.count());
      quiet_until = serve_response(memory, *first->server, first->next.index, next, quiet_until);
      first->next = first->server->arbiter.next(first->server->free_at);
    }
  }
  serving_ = kNobody;
}

/// What one of the servers does reaches the others later than it happens, so that of turns at one time any may come
/// first. Nobody else's turns or events come before the end of the quiet time; a departure, a delivery or the turn of
/// another server that becomes known may end it sooner.
void ExactEngine::take_turns_together(std::uint32_t memory_id) {
  Server& memory = state_.servers[memory_id];
  const Time now = state_.scheduler.now();
  port_turns_.clear();
  memory.turn_at = Time::max();
  turns_.forget(memory_id);
  for (const std::uint32_t id : memory.ports) {
    Server& port = state_.servers[id];
    if (port.users == 0 || !takes_only_reads(port, memory_id)) continue;
    port.turn_at = Time::max();
    turns_.forget(id);
    port_turns_.push_back({&port, id, port.arbiter.next(std::max(port.free_at, now))});
  }
  const std::span<Channel> channels{&state_.channels[memory_id], memory.group};
  const Time quiet_until = turns_.quiet_until();
  Arbiter::Next read = memory.arbiter.next(std::max(memory.free_at, now));
  if (reads_end_at_ports(memory)) {
    take_turns_by_server(memory, channels, read, quiet_until);
  } else {
    take_turns_in_order(memory, channels, read, quiet_until);
  }
  take_turn_at(memory, memory_id, read.when);
  for (const PortTurn& port : port_turns_) take_turn_at(*port.server, port.id, port.next.when);
}

}  // namespace kernbench::hardware::fabric
