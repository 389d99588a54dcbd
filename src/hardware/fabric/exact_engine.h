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
  ExactEngine(FabricState& state, bool one_event_for_each_turn)
      : state_(state), turns_(state.scheduler, one_event_for_each_turn, sim::call<&ExactEngine::arbitrate>(this)) {}

  /// Lets a transfer that starts now ask for its first server.
  void start(TransferSlot slot);
  /// Puts a coalesced transfer into the state in which `recurrence` stands after run(transfer.start, now).
  void resume(TransferSlot slot, const Recurrence& recurrence);

 private:
  struct Service {
    Time head;  // of the burst on this server
    Time end;
    Time next;  // the server can serve again
  };

  void prepare(Transfer& transfer);
  void restore_servers(Transfer& transfer, const Recurrence& recurrence);
  void restore_queues(Transfer& transfer, TransferSlot slot, const Recurrence& recurrence);
  void present_injection(TransferSlot slot);

  void arbitrate(std::uint64_t server);
  void serve(std::uint32_t server, Server& at, std::size_t index);
  Service serve_plain(std::uint32_t server, Server& at, const Transfer& transfer, Bytes bytes);
  Service serve_memory(Transfer& transfer, const QueuedBurst& burst);
  MemoryService serve_by_channels(Transfer& transfer, const QueuedBurst& burst);
  MemoryService serve_by_laws(Transfer& transfer, const QueuedBurst& burst);
  template <class Visit>
  void visit_accesses(Transfer& transfer, const QueuedBurst& burst, Visit visit);
  void observe(std::uint32_t server, const Transfer& transfer, Time start, Time end, Bytes bytes);
  void return_room(const Hop& before, const ReturningRoom& room);
  void advance_port(Server& at, std::uint32_t server, std::size_t index);
  void forward(Server& at, Transfer& transfer, const QueuedBurst& burst, Time head, Time tail);

  void add_candidate(std::uint32_t server, const Candidate& candidate);
  void take_turn_at(Server& at, std::uint32_t server, Time when);

  /// Goes on to the burst that starts next on the first stage, which may be a memory; its bytes.
  static std::int64_t next_burst(Transfer& transfer, bool memory);
  /// The burst that a transfer injects next; without bytes: none.
  Candidate injection(TransferSlot slot);
  /// The head of a buffer that is `port` to the next server.
  Candidate head_of(Buffer& buffer, std::uint64_t port);
  std::uint32_t next_server(const Candidate& candidate);

  FabricState& state_;
  Turns turns_;
  Load load_;  // of the burst that is being served
};

}  // namespace kernbench::hardware::fabric
