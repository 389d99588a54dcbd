// Transfers chunk by chunk: one event for each chunk and server, the arbitration that starts it.
#pragma once

#include <cstdint>
#include <vector>

#include "hardware/fabric/recurrence.h"
#include "hardware/fabric/transfer.h"
#include "kernbench/units.h"

namespace kernbench::hardware::fabric {

/// When a chunk starts on a server, everything that follows from it is known: when its head and tail reach the next
/// server, and when its credit of the buffer before is home. These are written where they will be needed, and the only
/// events are the turns of the arbiters: at the earliest time at which a server is free and some head can be served.
class ExactEngine {
 public:
  explicit ExactEngine(FabricState& state) : state_(state) {}

  /// Lets a transfer that starts now ask for its first servers.
  void start(TransferSlot slot);
  /// Puts a coalesced transfer into the state in which `recurrence` stands after run(transfer.start, now).
  void resume(TransferSlot slot, const Recurrence& recurrence);

 private:
  struct QueueName {
    std::uint32_t server = 0, buffer = 0;
    std::uint32_t member = 0;  // of the group that a write buffer is for
  };

  void prepare(Transfer& transfer);
  void link_members(Transfer& transfer);
  void restore_servers(Transfer& transfer, const Recurrence& recurrence);
  void restore_queues(Transfer& transfer, TransferSlot slot, const Recurrence& recurrence);
  void present_injections(TransferSlot slot, const Recurrence* recurrence);
  void present_injection(TransferSlot slot, std::uint32_t chunk);
  void present_response(TransferSlot slot);
  void present_head(const QueueName& name);

  void arbitrate(std::uint64_t server);
  void serve(std::uint32_t server, std::size_t index);
  Time own_service(const Server& server, const Transfer& transfer, const QueuedChunk& chunk, Bytes bytes);
  void return_credit(const Transfer& transfer, const QueuedChunk& chunk, Time tail, Time waited);
  void advance_port(std::uint32_t server, std::size_t index);
  void forward(std::uint32_t server, const QueuedChunk& chunk, Time tail);

  /// Offers the next head of a port: in place of the candidate at `index` if it asks for the same server.
  void replace_candidate(std::uint32_t server, std::size_t index, std::uint32_t next_server, const Candidate& next);
  void add_candidate(std::uint32_t server, const Candidate& candidate);
  void take_turn_at(std::uint32_t server, Time when);

  std::uint32_t server_of(const Transfer& transfer, std::uint32_t chunk, std::size_t stage) const;
  CreditPool* credits_behind(Transfer& transfer, std::uint32_t chunk, std::size_t stage);
  Candidate injection(TransferSlot slot, std::uint32_t chunk);
  Candidate response(TransferSlot slot);
  Candidate queue_head(const QueueName& name);
  /// The queue in which a chunk waits for `stage`, in a buffer behind the server before.
  QueueName queue_before(const Transfer& transfer, std::uint32_t chunk, std::size_t stage) const;
  Ring<QueuedChunk>& queue(const QueueName& name) {
    return state_.servers[name.server].buffer(name.buffer).queue(name.member);
  }

  FabricState& state_;
  std::vector<std::uint32_t> member_chunk_;  // the first chunk for each member of the first group, while preparing
};

}  // namespace kernbench::hardware::fabric
