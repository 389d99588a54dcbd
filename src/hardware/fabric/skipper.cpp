#include "hardware/fabric/skipper.h"

#include <algorithm>
#include <cassert>
#include <initializer_list>
#include <map>
#include <utility>

#include "sim/run_ahead.h"

namespace kernbench::hardware::fabric {

void Skipper::watch(const void* watcher, sim::AgentId agent, std::uint64_t first, std::uint64_t end) {
  watcher_ = watcher;
  state_.watched = agent;
  state_.first_watched = first;
  state_.end_watched = end;
  state_.watching = true;
  state_.disturbances = 0;
}

void Skipper::stop(const void* watcher) {
  if (watcher_ != watcher) return;
  watcher_ = nullptr;
  state_.watching = false;
}

/// Writes a state as numbers.
class Skipper::Writer {
 public:
  Writer(const FabricState& state, std::vector<std::int64_t>& into)
      : state_(state), now_(state.scheduler.now()), into_(into) {}

  bool name_transfers(sim::AgentId agent, const Names& names);
  bool write_transfers(std::vector<std::int64_t>& not_landed);
  void write_servers();

 private:
  struct Named {
    std::int64_t name;
    TransferSlot slot;
    auto operator<=>(const Named&) const = default;
  };

  void put(std::int64_t value) { into_.push_back(value); }
  void put(std::uint64_t value) { put(static_cast<std::int64_t>(value)); }
  void put(std::uint32_t value) { put(std::int64_t{value}); }
  void put(bool value) { put(std::int64_t{value}); }
  void put(Bytes value) { put(value.count()); }
  void put_duration(Time value) { put(value.count()); }
  void put_time(Time value) { put((value - now_).count()); }
  /// A time that only counts as long as it is not in the past.
  void put_coming(Time value) { put(std::max(value, now_).count() - now_.count()); }
  void put_address(const void* value) { put(reinterpret_cast<std::uintptr_t>(value)); }
  void put_port(std::uint64_t port) { put(is_of_transfer(port) ? port >> 63 << 63 | (port & 1) : port); }
  void put_name(TransferSlot slot) { put(slot == kNoTransfer ? kUnknown : name_of(slot)); }
  std::int64_t name_of(TransferSlot slot) const { return std::ranges::find(transfers_, slot, &Named::slot)->name; }

  bool write(const Named& named, std::vector<std::int64_t>& not_landed);
  void write_coalesced(const Transfer& transfer);
  void write(const QueuedBurst& burst);
  void write(const Room& room);
  void write(Buffer& buffer);
  void write(const Candidate& candidate);
  void write_feeder(Buffer* buffer);

  const FabricState& state_;
  Time now_;
  std::vector<std::int64_t>& into_;
  std::vector<Named> transfers_;
};

bool Skipper::Writer::name_transfers(sim::AgentId agent, const Names& names) {
  for (const TransferSlot slot : state_.under_way()) {
    const TransferRequest& request = state_.transfer(slot).request;
    const std::int64_t name = request.agent == agent ? names(request.operation) : kUnknown;
    if (name == kUnknown) return false;
    transfers_.push_back({name, slot});
  }
  std::ranges::sort(transfers_);
  return std::ranges::adjacent_find(transfers_, {}, &Named::name) == transfers_.end();
}

bool Skipper::Writer::write_transfers(std::vector<std::int64_t>& not_landed) {
  put(transfers_.size());
  return std::ranges::all_of(transfers_, [&](const Named& named) { return write(named, not_landed); });
}

bool Skipper::Writer::write(const Named& named, std::vector<std::int64_t>& not_landed) {
  const Transfer& transfer = state_.transfer(named.slot);
  const TransferRequest& request = transfer.request;
  const Bytes bytes = request.ranges.total();
  if (request.route.empty() || transfer.is_tree() || transfer.own_laws || request.log != nullptr ||
      bytes > request.burst) {
    return false;
  }
  put(named.name);
  put_address(request.route.data());
  put(bytes);
  put_time(transfer.start);
  put_time(transfer.departed);
  put_time(transfer.delivered);
  put_address(reinterpret_cast<const void*>(request.departed.function));
  put_address(reinterpret_cast<const void*>(request.delivered.function));
  put(transfer.coalesced);
  const bool reads = state_.is_memory(request.route.front()), lands = state_.is_memory(request.route.back());
  if (transfer.coalesced) {
    write_coalesced(transfer);
    return !reads && !lands;
  }
  put(transfer.unstarted_first);
  put(transfer.unstarted_last);
  if (reads && transfer.unstarted_first > 0) return false;
  if (lands && transfer.unstarted_last > 0) not_landed.push_back(named.name);
  for (const Stage* stage : {&request.route.front(), &request.route.back()}) {
    if (!state_.is_memory(*stage)) continue;
    Time free;
    for (const Channel& channel : state_.channels_of(*stage)) free = std::max(free, channel.free_at);
    put_coming(free);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): a list that is looked at has no const operator[]
  if (transfer.has_response_buffer()) write(const_cast<Buffer&>(transfer.responses));
  return true;
}

void Skipper::Writer::write_coalesced(const Transfer& transfer) {
  for (const LaneResult& lane : transfer.results) {
    put_time(lane.free_at);
    put_time(lane.last_start);
    put(lane.last_bytes);
    put_duration(lane.work.busy);
    put(lane.work.bytes);
    put(lane.work.bursts);
    put_duration(lane.waits.kept);
    put_duration(lane.waits.starved);
    put(lane.returns);
  }
  for (const ReturningRoom& room : transfer.returns) {
    put_time(room.home);
    put_duration(room.waited);
    put(room.bytes);
  }
}

void Skipper::Writer::write(const QueuedBurst& burst) {
  put_name(burst.transfer);
  put_time(burst.ready);
  put_time(burst.complete);
  put(std::uint32_t{burst.stage});
  put(burst.bytes);
}

void Skipper::Writer::write(const Room& room) {
  std::int64_t free = room.free();
  const Ring<ReturningRoom>& returning = room.returning();
  std::size_t home = 0;
  for (; home < returning.size() && returning[home].home < now_; ++home) free += returning[home].bytes;
  put(free);
  put(returning.size() - home);
  for (std::size_t i = home; i < returning.size(); ++i) {
    put_time(returning[i].home);
    put_duration(returning[i].waited);
    put(returning[i].bytes);
  }
}

void Skipper::Writer::write(Buffer& buffer) {
  write(buffer.room);
  put(buffer.queue.size());
  for (std::size_t i = 0; i < buffer.queue.size(); ++i) write(buffer.queue[i]);
  put(buffer.held);
  put_coming(buffer.left);
  std::size_t started = 0;
  while (started < buffer.ahead.size() && buffer.ahead[started].start < now_) ++started;
  put(buffer.ahead.size() - started);
  for (std::size_t i = started; i < buffer.ahead.size(); ++i) {
    const AheadStart& ahead = buffer.ahead[i];
    write(ahead.burst);
    put_time(ahead.start);
    put(ahead.server);
    put_time(ahead.tail);
    put_duration(ahead.service);
    put_time(ahead.free_before);
    put_time(ahead.last_start_before);
    put(ahead.last_bytes_before);
    put_port(ahead.port_before);
    put_coming(ahead.left_before);
  }
}

void Skipper::Writer::write(const Candidate& candidate) {
  put_port(candidate.port);
  put_name(candidate.transfer);
  put_time(candidate.ready);
  put_time(std::max(candidate.ready, candidate.since));
  put(candidate.bytes);
}

/// One out of which nothing has run on that could be taken back is as good as none. (It may be that of a transfer which
/// is over, and that of another one by now.)
void Skipper::Writer::write_feeder(Buffer* buffer) {
  const bool feeds =
      buffer != nullptr && !buffer->ahead.empty() && (buffer->held || buffer->ahead.back().start >= now_);
  if (!feeds) return put(kUnknown);
  for (const Named& named : transfers_) {
    if (&state_.transfer(named.slot).responses == buffer) return put(named.name);
  }
  put_address(buffer);
}

void Skipper::Writer::write_servers() {
  for (std::uint32_t i = 0; i < state_.servers.size(); ++i) {
    const Server& at = state_.servers[i];
    const bool idle = at.users == 0 && at.free_at <= now_ &&
                      std::ranges::none_of(at.buffers, [](const auto& buffer) { return buffer != nullptr; });
    put_port(at.arbiter.last_port());
    put_port(at.arbiter.last_lane());
    put(idle);
    if (idle) continue;
    put(at.users);
    if (at.users > 0) {
      put(at.entry);
      put(at.through_entry);
    }
    const bool busy = at.free_at > now_;
    put(busy);
    put(at.arbiter.size());
    if (busy || !at.arbiter.empty()) put_time(at.free_at);
    if (busy) {
      put_time(at.last_start);
      put(at.last_bytes);
    }
    put(at.turn_at == Time::max() ? INT64_MAX : (at.turn_at - now_).count());
    put_name(at.plan);
    write_feeder(at.fed_by);
    for (const Candidate& candidate : at.arbiter.candidates()) write(candidate);
    for (std::uint32_t index = 0; index < kBuffers; ++index) {
      Buffer* const buffer = at.buffers[index].get();
      if (buffer == nullptr) continue;
      put(index);
      write(*buffer);
    }
    put(kBuffers);
  }
}

bool Skipper::take(sim::AgentId agent, const Names& names, Snapshot& snapshot) {
  snapshot.state.clear();
  snapshot.not_landed.clear();
  if (exact_ || state_.observer != nullptr) return false;
  Writer writer(state_, snapshot.state);
  if (!writer.name_transfers(agent, names) || !writer.write_transfers(snapshot.not_landed)) return false;
  writer.write_servers();
  snapshot.work.clear();
  for (const Server& server : state_.servers) snapshot.work.push_back(server.work);
  return true;
}

// ---- memories

static const Stage& stage_at(const TransferRequest& burst, Skipper::End end) {
  return end == Skipper::End::first ? burst.route.front() : burst.route.back();
}

/// What the burst asks of the channels of a memory.
void Skipper::load(const TransferRequest& burst, const Stage& memory, End end) {
  const ChannelSelector channel_of(burst.granule, memory.group);
  const auto channels = std::as_const(state_).channels_of(memory);
  load_.reset(memory.group);
  BurstCursor cursor(burst);
  cursor.next([&](const Accesses& accesses) {
    load_.add(accesses, end == End::last ? accesses.landing : accesses.address, channel_of, channels);
  });
}

Skipper::Use Skipper::use_of(const TransferRequest& burst, End end) {
  const Stage& memory = stage_at(burst, end);
  if (!state_.is_memory(memory)) return {};
  load(burst, memory, end);
  const std::span<Channel> channels = state_.channels_of(memory);
  Time longest, shortest = Time::max(), behind;
  std::size_t needed = 0;
  load_.for_each([&](std::size_t i, const Load::Share& share) {
    const Time time = channels[i].service.of(Bytes(share.occupied));
    longest = std::max(longest, time);
    shortest = std::min(shortest, time);
    behind = std::max(behind, time - channels[i].queue);
    ++needed;
  });
  return {longest, std::max(behind, needed == memory.group ? shortest : Time())};
}

void Skipper::count(const TransferRequest& burst, End end, std::int64_t times) {
  const Stage& memory = stage_at(burst, end);
  if (!state_.is_memory(memory)) return;
  load(burst, memory, end);
  const std::span<Channel> channels = state_.channels_of(memory);
  load_.for_each([&](std::size_t i, const Load::Share& share) {
    Channel& channel = channels[i];
    channel.work.busy += channel.service.of(Bytes(share.occupied)) * times;
    channel.work.bytes += Bytes(share.bytes) * times;
    channel.work.bursts += static_cast<std::uint64_t>(times);
  });
}

// ---- on to a later time

Time Skipper::hold() {
  held_.clear();
  for (const TransferSlot slot : state_.under_way()) {
    const Transfer& transfer = state_.transfer(slot);
    const bool departs = state_.scheduler.cancel(transfer.departed_event);
    const bool delivers = state_.scheduler.cancel(transfer.delivered_event);
    held_.push_back({slot, departs, delivers});
  }
  engine_.turns().hold();
  return sim::quiet_until(state_.scheduler);
}

void Skipper::go_on(Time by) {
  const Time then = state_.scheduler.now() + by;
  const bool nothing_before = sim::advance(state_.scheduler, {static_cast<std::uint64_t>(then.count()), 0});
  assert(nothing_before);
  static_cast<void>(nothing_before);
  for (const Held& held : held_) {
    Transfer& transfer = state_.transfer(held.slot);
    if (held.departs) state_.schedule_departed(transfer);
    if (held.delivers) state_.schedule_delivered(transfer, held.slot);
  }
  engine_.turns().go_on(by);
}

namespace {

/// Moves what is under way to a later time, with other names.
class Shift {
 public:
  Shift(Time by, sim::AgentId agent, const Skipper::Renamed& operations) : by_(by), operations_(operations) {
    for (const auto& [was, is] : operations) ports_.emplace(injection_port(agent, was), injection_port(agent, is));
  }

  void apply(Server& at) const {
    move({&at.free_at, &at.last_start});
    if (at.turn_at != Time::max()) at.turn_at += by_;
    at.arbiter.shift(by_, [this](std::uint64_t port) { return name_of(port); });
    for (const auto& buffer : at.buffers) {
      if (buffer != nullptr) apply(*buffer);
    }
  }
  void apply(Channel& channel) const { move({&channel.free_at, &channel.last_taken}); }
  void apply(Transfer& transfer) const {
    move({&transfer.start, &transfer.departed, &transfer.delivered});
    for (LaneResult& lane : transfer.results) move({&lane.free_at, &lane.last_start});
    for (ReturningRoom& room : transfer.returns) room.home += by_;
    transfer.request.operation = operations_.at(transfer.request.operation);
    if (transfer.coalesced || !transfer.has_response_buffer()) return;
    transfer.hops.front().port = response_port(transfer.port());
    apply(transfer.responses);
  }

 private:
  void move(std::initializer_list<Time*> times) const {
    for (Time* const time : times) *time += by_;
  }
  std::uint64_t name_of(std::uint64_t port) const {
    if (!is_of_transfer(port)) return port;
    const std::uint64_t responses = port & 1;
    const auto found = ports_.find(port ^ responses);
    return found == ports_.end() ? port : found->second | responses;
  }
  void apply(QueuedBurst& burst) const { move({&burst.ready, &burst.complete}); }
  void apply(Buffer& buffer) const {
    buffer.room.shift(by_);
    for (std::size_t i = 0; i < buffer.queue.size(); ++i) apply(buffer.queue[i]);
    buffer.left += by_;
    for (std::size_t i = 0; i < buffer.ahead.size(); ++i) {
      AheadStart& ahead = buffer.ahead[i];
      apply(ahead.burst);
      move({&ahead.start, &ahead.tail, &ahead.free_before, &ahead.last_start_before, &ahead.left_before});
      ahead.port_before = name_of(ahead.port_before);
    }
  }

  Time by_;
  const Skipper::Renamed& operations_;
  std::map<std::uint64_t, std::uint64_t> ports_;
};

}  // namespace

// What servers have waited for room is only told to logs, of which there is none now, as what it has grown by.
void Skipper::skip(Time period, std::int64_t times, const Snapshot& earlier, const Snapshot& now,
                   const Renamed& operations) {
  const Shift shift(period * times, state_.watched, operations);
  coalescer_.forget();
  for (std::size_t i = 0; i < state_.servers.size(); ++i) {
    Server& at = state_.servers[i];
    shift.apply(at);
    const ServerCounters &before = earlier.work[i], &after = now.work[i];
    at.work.busy += (after.busy - before.busy) * times;
    at.work.bytes += (after.bytes - before.bytes) * times;
    at.work.bursts += (after.bursts - before.bursts) * static_cast<std::uint64_t>(times);
  }
  for (Channel& channel : state_.channels) shift.apply(channel);
  for (const TransferSlot slot : state_.under_way()) shift.apply(state_.transfer(slot));
}

}  // namespace kernbench::hardware::fabric
