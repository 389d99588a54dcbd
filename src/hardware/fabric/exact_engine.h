// Transfers burst by burst: one turn of an arbiter for each burst and server.
#pragma once

#include <cstdint>

#include "hardware/fabric/channels.h"
#include "hardware/fabric/recurrence.h"
#include "hardware/fabric/transfer.h"
#include "hardware/fabric/turns.h"
#include "kernbench/units.h"

namespace kernbench::hardware::fabric {

/// When a burst starts on a server, everything that follows from it is known: when its head and tail reach the next
/// server, and when its room in the buffer before is home. These are written where they will be needed, and all that
/// is left are the turns of the arbiters: at the earliest time at which a server is free and some head can be served.
class ExactEngine {
 public:
  /// `state` has its observer already.
  ExactEngine(FabricState& state, bool one_event_for_each_turn)
      : state_(state),
        turns_(state.scheduler, one_event_for_each_turn, sim::call<&ExactEngine::arbitrate>(this)),
        runs_on_(!one_event_for_each_turn && state.observer == nullptr) {}

  /// Lets a transfer that starts now ask for its first server.
  void start(TransferSlot slot);
  /// Puts a coalesced transfer into the state in which `recurrence` stands after run(transfer.start, now).
  void resume(TransferSlot slot, const Recurrence& recurrence);
  /// A route leads to `server` from another side than those before it: what has run on to there and does not start
  /// before now waits again.
  void take_back(std::uint32_t server);
  Turns& turns() { return turns_; }
  /// What a server has done before now, but for what it has done as a memory or for a coalesced transfer.
  ServerCounters plain_work_before_now(std::uint32_t server) const;

 private:
  struct Service {
    Time head;  // of the burst on this server
    Time end;
    Time next;  // the server can serve again
  };

  // A port behind a memory that takes its turns together with it.
  struct PortTurn {
    Server* server = nullptr;
    std::uint32_t id = 0;
    Arbiter::Next next;
  };

  void prepare(Transfer& transfer);
  void restore_servers(Transfer& transfer, const Recurrence& recurrence);
  void restore_queues(Transfer& transfer, TransferSlot slot, const Recurrence& recurrence);
  void present_injection(TransferSlot slot);

  void arbitrate(std::uint64_t server);
  bool only_reads(std::uint32_t memory) const;
  bool arbitrate_together(std::uint32_t server);
  void take_turns_together(std::uint32_t memory);
  bool reads_end_at_ports(Server& memory);
  Time ports_tell_nothing_until(Server& memory, Time next_read);
  void take_turns_by_server(Server& memory, std::span<Channel> channels, Arbiter::Next& read, Time quiet_until);
  void take_turns_in_order(Server& memory, std::span<Channel> channels, Arbiter::Next& read, Time quiet_until);
  PortTurn& port_of(const Candidate& read);
  Time serve_read(Server& memory, std::span<Channel> channels, Server& port, std::size_t index, Time now,
                  Time quiet_until);
  Time serve_response(Server& memory, Server& port, std::size_t index, Time now, Time quiet_until);
  MemoryService take_accesses(const Transfer& transfer, std::span<Channel> channels, Time now);
  void serve(std::uint32_t server, Server& at, std::size_t index);
  Service serve_plain(std::uint32_t server, Server& at, TransferSlot transfer, Bytes bytes);
  Service serve_memory(Transfer& transfer, const QueuedBurst& burst);
  MemoryService serve_by_channels(Transfer& transfer, const QueuedBurst& burst);
  MemoryService serve_by_laws(Transfer& transfer, const QueuedBurst& burst);
  template <class Visit>
  void visit_accesses(Transfer& transfer, const QueuedBurst& burst, Visit visit);
  [[gnu::cold, gnu::noinline]] void watch_choice(const Arbiter& arbiter, Time now);
  [[gnu::cold, gnu::noinline]] void watch_channels(std::span<const Channel> channels, Time now);
  void observe(std::uint32_t server, const Transfer& transfer, Time start, Time end, Bytes bytes);
  void return_room(const Hop& before, const ReturningRoom& room);
  void advance_port(Server& at, std::uint32_t server, std::size_t index);
  void forward(Server& at, const QueuedBurst& burst, Time head, Time tail);
  void run_on(const QueuedBurst& forwarded);
  bool can_run_on(const Hop& hop, std::int64_t bytes);
  Time serve_ahead(const QueuedBurst& burst, Server& at, Time start);
  void wait_in_queue(const QueuedBurst& burst);
  void prefetch(const Hop& next) const;
  void ask(Buffer& queue, std::uint64_t port);
  void ask_all(Buffer& queue, std::uint64_t port);
  void leave_fork(Server& at, std::size_t index, const QueuedBurst& burst, Time tail);
  void release(std::uint32_t server, Server& at);
  void stop_asking(Buffer& queue, std::uint64_t port);
  void take_back_last(Buffer& queue);

  void add_candidate(std::uint32_t server, const Candidate& candidate);
  void take_turn_at(Server& at, std::uint32_t server, Time when);
  void set_turn(Server& at, std::uint32_t server, Time when);

  /// Goes on to the burst that starts next on the first stage, which may be a memory; its bytes.
  static std::int64_t next_burst(Transfer& transfer, bool memory);
  /// The burst that a transfer injects next; without bytes: none.
  Candidate injection(TransferSlot slot);
  QueuedBurst injected(const Candidate& candidate);
  /// The head of a buffer that is `port` to the next server.
  Candidate head_of(Buffer& buffer, std::uint64_t port);

  FabricState& state_;
  Turns turns_;
  bool runs_on_;  // nobody looks at each turn in simulated order
  Load load_;     // of the burst that is being served
  std::vector<PortTurn> port_turns_;
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  std::uint32_t serving_ = kNobody;  // the server that has its turn
};

[[gnu::always_inline]] inline std::int64_t ExactEngine::next_burst(Transfer& transfer, bool memory) {
  return memory ? transfer.first.next_into(transfer.accesses) : transfer.first.next();
}

[[gnu::always_inline]] inline Candidate ExactEngine::head_of(Buffer& buffer, std::uint64_t port) {
  const QueuedBurst& head = buffer.queue.front();
  return {port, head.ready, head.hop->room(), &buffer, head.bytes, head.transfer, buffer.left};
}

[[gnu::always_inline]] inline void ExactEngine::take_turn_at(Server& at, std::uint32_t server, Time when) {
  if (when == Time::max()) return;
  set_turn(at, server, std::max({when, at.free_at, state_.scheduler.now()}));
}

[[gnu::always_inline]] inline void ExactEngine::set_turn(Server& at, std::uint32_t server, Time when) {
  if (at.turn_at <= when) return;
  at.turn_at = when;
  turns_.set(server, at.agent, when);
}

[[gnu::always_inline]] inline void ExactEngine::add_candidate(std::uint32_t server, const Candidate& candidate) {
  Server& at = state_.servers[server];
  at.arbiter.add(candidate);
  take_turn_at(at, server, candidate.eligible());
}

[[gnu::always_inline]] inline void ExactEngine::return_room(const Hop& before, const ReturningRoom& room) {
  before.behind->room.give(room);
  Server& at = state_.servers[before.server];
  // The one that is serving looks for its next turn afterwards.
  if (before.server == serving_ || at.arbiter.empty() || at.turn_at <= std::max(room.home, at.free_at)) return;
  take_turn_at(at, before.server, at.arbiter.earliest(at.free_at));
}

/// What is looked at when a burst goes on. A machine has thousands of servers and buffers.
[[gnu::always_inline]] inline void ExactEngine::prefetch(const Hop& next) const {
  const auto* const server = reinterpret_cast<const char*>(&state_.servers[next.server]);
  __builtin_prefetch(server, 1);
  __builtin_prefetch(server + 64, 1);
  if (next.behind == nullptr) return;
  const auto* const buffer = reinterpret_cast<const char*>(next.behind);
  __builtin_prefetch(buffer, 1);
  __builtin_prefetch(buffer + 64, 1);
}

}  // namespace kernbench::hardware::fabric
