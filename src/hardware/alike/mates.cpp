#include "hardware/alike/mates.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace kernbench::hardware {
namespace {

/// What the channels have in common that are like one: the PEs at their ends, and how far apart the SIPs are.
using Ends = std::tuple<CubeId, PeId, SipId, CubeId, PeId>;

Ends ends_of(const Channel& channel, SipId distance) {
  return {channel.sender.cube, channel.sender.pe, distance, channel.receiver.cube, channel.receiver.pe};
}

void join(Channel& sent, Channel& received) {
  sent.receive_entry = received.receive_entry;
  sent.mates_slots = received.slots;
  received.send_entry = sent.send_entry;
  received.mates_slots = sent.slots;
  sent.has_no_mate = received.has_no_mate = false;
}

}  // namespace

void join_mates(InstallRequest& request, const topology::AlikeSips& sips) {
  const SipId here{0};
  std::map<Ends, std::vector<Channel*>> sent, received;
  for (Channel& channel : request.channels) {
    if (channel.sender.sip == channel.receiver.sip) continue;
    channel.has_no_mate = true;
    const SipId distance = sips.seen_from(channel.sender.sip, channel.receiver.sip);
    if (!sips.ways_are_alike(distance)) continue;
    (channel.sender.sip == here ? sent : received)[ends_of(channel, distance)].push_back(&channel);
  }
  for (auto& [ends, from_here] : sent) {
    const auto& to_here = received[ends];
    for (std::size_t i = 0; i < std::min(from_here.size(), to_here.size()); ++i) join(*from_here[i], *to_here[i]);
  }
}

}  // namespace kernbench::hardware
