#include "hardware/ipcq/slot_path.h"

namespace kernbench::hardware {

namespace {

MemoryPlace place_of_slot(const Channel& channel, PhysAddr slot, Bytes bytes) {
  return {channel.parameters.buffer_kind, channel.receiver, slot, bytes, channel.parameters.vc_chunk_size};
}

}  // namespace

std::span<const Stage> SlotPath::way(const Channel& channel) const {
  return path_.way(channel.sender, place_of_slot(channel, channel.far_slot(0), Bytes(0)));
}

void SlotPath::fill(const Sender& sender, const Channel& channel, std::int32_t slot, Bytes bytes,
                    sim::Callback departed, sim::Callback delivered, TransferLog* log) {
  path_.write(sender, channel.sender, place_of_slot(channel, channel.far_slot(slot), bytes), departed, delivered, log);
}

// The channels of a slice stand beside the PE, which is told what has landed there.
void SlotPath::request(const Sender& sender, const Channel& channel, sim::Callback delivered) {
  if (channel.parameters.buffer_kind != BufferKind::sram) return invoke(delivered);
  path_.request(sender, channel.receiver, place_of_slot(channel, channel.slots, Bytes(0)), delivered);
}

void SlotPath::drain(const Sender& sender, const Channel& channel, std::int32_t slot, Bytes bytes,
                     sim::Callback departed, sim::Callback delivered) {
  path_.read(sender, channel.receiver, place_of_slot(channel, channel.slot(slot), bytes), departed, delivered);
}

}  // namespace kernbench::hardware
