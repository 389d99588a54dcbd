// What the tests of inter-PE queues share: channels on small machines, and their law, worked out apart from the queues.
#pragma once

#include <cstdint>
#include <vector>

#include "bench.h"
#include "hardware/ipcq/channel.h"

namespace kernbench::hardware {

/// A channel whose slots begin at `offset` of the memory of its kind.
Channel channel(const topology::Topology& topology, PeCoordinate sender, PeCoordinate receiver,
                const QueueParameters& parameters, std::int32_t send_entry = 0, std::int32_t receive_entry = 0,
                std::uint64_t offset = 0);

/// The memory of a channel's slots: in the network, as a stage, and the address of a slot that selects servers of it.
topology::Endpoint memory_of(const Bench& bench, const Channel& channel);
Stage stage_of(const Bench& bench, const Channel& channel);
std::uint64_t address_of(const Bench& bench, const Channel& channel, std::int32_t slot);
/// From the sender into a slot.
std::vector<Stage> fill_route(const Bench& bench, const Channel& channel);
/// When the header arrives that follows one chunk over the links of its route: it waits behind it on the links that
/// they share.
Time announced(const Bench& bench, const Channel& channel, Bytes bytes, Time start, Time departed);

struct SegmentTimes {
  Time started, departed, arrived, drained, credit_home;
};

/// The times of a message of `segments` segments of one chunk each through one slot, alone, whose receive has waited
/// since before `start`: closed forms only.
std::vector<SegmentTimes> one_slot_law(const Bench& bench, const Channel& channel, std::int64_t segments, Time start);

struct SendReceiveTimes {
  Time sent, received;  // the ends of the send and of the receive
};

/// The times of one message by the law of the queues, its transfers driven by hand through the fabric of a fresh
/// machine; the receive begins at `receive`.
SendReceiveTimes message_law(const topology::Topology& topology, const Channel& channel, Bytes message, Time send,
                             Time receive);

}  // namespace kernbench::hardware
