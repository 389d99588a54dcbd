#include "hardware/fabric/transfer.h"

namespace kernbench::hardware::fabric {

TransferSlot FabricState::add_transfer() {
  if (free_.empty()) {
    transfers_.push_back(std::make_unique<Transfer>());
    return static_cast<TransferSlot>(transfers_.size() - 1);
  }
  const TransferSlot slot = free_.back();
  free_.pop_back();
  return slot;
}

std::vector<TransferSlot> FabricState::under_way() const {
  std::vector<bool> is_free(transfers_.size());
  for (const TransferSlot slot : free_) is_free[slot] = true;
  std::vector<TransferSlot> slots;
  for (std::size_t slot = 0; slot < is_free.size(); ++slot) {
    if (!is_free[slot]) slots.push_back(static_cast<TransferSlot>(slot));
  }
  return slots;
}

Bytes FabricState::response_buffer(const Stage& stage) const {
  Bytes sum;
  for (std::uint32_t member = 0; member < stage.group; ++member)
    sum += servers[stage.server.value + member].spec.buffer;
  return sum;
}

void FabricState::schedule_departed(Transfer& transfer) {
  const TransferRequest& request = transfer.request;
  if (request.departed.function == nullptr) return;
  const sim::Scheduler::ActsFor starter(scheduler, transfer.origin);
  transfer.departed_event = scheduler.schedule(transfer.departed, sim::Phase::deliver, request.agent,
                                               request.operation * 2, request.departed);
}

void FabricState::schedule_delivered(Transfer& transfer, TransferSlot slot) {
  const TransferRequest& request = transfer.request;
  sim::Callback callback = on_delivered;
  callback.argument = slot;
  const sim::Scheduler::ActsFor starter(scheduler, transfer.origin);
  transfer.delivered_event =
      scheduler.schedule(transfer.delivered, sim::Phase::deliver, request.agent, request.operation * 2 + 1, callback);
}

void FabricState::schedule_received(Transfer& transfer, TransferSlot slot, std::size_t receiver) {
  const Receiver& to = transfer.request.receivers[receiver];
  sim::Callback callback = on_received;
  callback.argument = (static_cast<std::uint64_t>(receiver) << kReceiverShift) | slot;
  const sim::Scheduler::ActsFor starter(scheduler, transfer.origin);
  scheduler.schedule(transfer.ends[receiver].delivered, sim::Phase::deliver, to.agent, to.operation * 2 + 1, callback);
}

}  // namespace kernbench::hardware::fabric
