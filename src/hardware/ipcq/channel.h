// A channel: a directed queue from one PE to another, with slots at the receiver; and the messages about it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/address.h"
#include "hardware/command.h"
#include "kernbench/coordinates.h"
#include "kernbench/queues.h"
#include "kernbench/units.h"

namespace kernbench::hardware {

/// One row of the neighbour tables at both of its ends. Its slots follow each other from `slots` on; this address names
/// the channel: messages and credits are matched by it, never by direction. As an address belongs to one entry at each
/// end, the simulator takes the entry at once, where the hardware compares.
struct Channel {
  PeCoordinate sender, receiver;   // two different PEs
  std::int32_t send_entry = 0;     // of the sender's table
  std::int32_t receive_entry = 0;  // of the receiver's
  PhysAddr slots;                  // in the receiver's memory that parameters.buffer_kind names
  std::uint32_t epoch = 0;         // of the installation
  QueueParameters parameters;
  // Where devices are alike (mates.h): the slots that the other end knows; or there is no such end.
  std::optional<PhysAddr> mates_slots = {};
  bool has_no_mate = false;

  PhysAddr far_slots() const { return mates_slots.value_or(slots); }
  PhysAddr slot(std::int32_t index) const { return slot_of(slots, index); }
  PhysAddr far_slot(std::int32_t index) const { return slot_of(far_slots(), index); }

 private:
  PhysAddr slot_of(PhysAddr first, std::int32_t index) const {
    return PhysAddr(first.value() +
                    static_cast<std::uint64_t>(index) * static_cast<std::uint64_t>(parameters.slot_size.count()));
  }
};

/// Announces a segment: what follows the payload on its way.
struct SegmentMeta {
  std::int32_t slot = 0;             // by index
  std::uint64_t sequence = 0;        // of the channel's segments
  Bytes bytes;                       // of this segment
  Bytes before;                      // of the message, in the segments before it
  CommandRef message;                // the send: its tag and size
  Time sent;                         // it began to leave the sender
  const TransferLog* way = nullptr;  // of its payload; as long as the slot is not free
};

}  // namespace kernbench::hardware
