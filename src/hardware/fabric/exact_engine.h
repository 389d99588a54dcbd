// Transfers burst by burst: one event for each burst and server, the arbitration that starts it.
#pragma once

#include <cstdint>

#include "hardware/fabric/channels.h"
#include "hardware/fabric/recurrence.h"
#include "hardware/fabric/transfer.h"
#include "kernbench/units.h"

namespace kernbench::hardware::fabric {

/// When a burst starts on a server, everything that follows from it is known: when its head and tail reach the next
/// server, and when its room in the buffer before is home. These are written where they will be needed, and the only
/// events are the turns of the arbiters: at the earliest time at which a server is free and some head can be served.
class ExactEngine {
 public:
  explicit ExactEngine(FabricState& state) : state_(state) {}

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
  void present_head(const Transfer& transfer, std::size_t stage);

  void arbitrate(std::uint64_t server);
  void serve(std::uint32_t server, std::size_t index);
  Service serve_plain(std::uint32_t server, const Transfer& transfer, const QueuedBurst& burst);
  Service serve_memory(Transfer& transfer, const QueuedBurst& burst);
  MemoryService serve_by_laws(Transfer& transfer, const QueuedBurst& burst);
  template <class Visit>
  void visit_accesses(Transfer& transfer, const QueuedBurst& burst, Visit visit);
  void observe(std::uint32_t server, const Transfer& transfer, Time start, Time end, Bytes bytes);
  void return_room(Transfer& transfer, const QueuedBurst& burst, Time tail, Time waited);
  void advance_port(std::uint32_t server, std::size_t index);
  void forward(std::uint32_t server, const QueuedBurst& burst, Time head, Time tail);

  /// Offers the next head of a port: in place of the candidate at `index` if it asks for the same server.
  void replace_candidate(std::uint32_t server, std::size_t index, std::uint32_t next_server, const Candidate& next);
  void add_candidate(std::uint32_t server, const Candidate& candidate);
  void take_turn_at(std::uint32_t server, Time when);

  Buffer* buffer_behind(Transfer& transfer, std::size_t stage);
  Room* room_behind(Transfer& transfer, std::size_t stage);
  Candidate injection(TransferSlot slot);
  /// The head of the buffer before `stage` of a transfer's route.
  Candidate head_before(const Transfer& transfer, std::size_t stage);
  std::uint64_t port_behind(const Transfer& transfer, std::size_t stage) const;

  FabricState& state_;
  Load load_;  // of the burst that is being served
};

}  // namespace kernbench::hardware::fabric
