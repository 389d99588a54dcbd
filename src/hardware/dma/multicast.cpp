#include "hardware/dma/multicast.h"

#include <algorithm>
#include <utility>

#include "hardware/dma/dma.h"

namespace kernbench::hardware {

Multicast::Multicast(std::string group, std::vector<PeCoordinate> members, std::vector<DmaLeg> legs, Missing missing)
    : group_(std::move(group)),
      members_(std::move(members)),
      reads_(std::move(legs)),
      missing_(std::move(missing)),
      commands_(members_.size()),
      legs_(reads_.size()),
      unbegun_(reads_.size()) {
  for (Leg& leg : legs_) {
    leg.requests.resize(members_.size());
    leg.missing = members_.size();
  }
}

/// When the last request of a member arrived.
Time Multicast::asked(std::size_t member) const {
  Time last;
  for (const Leg& leg : legs_) last = std::max(last, leg.requests[member].at);
  return last;
}

void Multicast::request_arrived(Transport& transport, std::size_t member, std::size_t leg, DmaQueue& queue,
                                std::uint64_t part) {
  legs_[leg].requests[member] = {&queue, part, queue.now()};
  if (--legs_[leg].missing > 0 || abandoned_) return;
  slowest_ = queue.id();
  begin(transport, leg);
}

void Multicast::begin(Transport& transport, std::size_t number) {
  Leg& leg = legs_[number];
  leg.tree = &transport.tree(transport.slice(reads_[number].slice), members_, VirtualNetwork::response);
  bool watched = false;
  --unbegun_;
  for (std::size_t member = 0; member < members_.size(); ++member) {
    const Request& request = leg.requests[member];
    const Sender of = request.queue->sender(request.part);
    leg.receivers.push_back({of.agent, of.operation, sim::call<&DmaQueue::leg_done>(request.queue, request.part)});
    Command& command = request.queue->command_of(request.part);
    watched = watched || command.watched;
    if (begun()) command.times.waited = request.queue->now() - asked(member);
  }
  const Request& first = leg.requests.front();
  transport.multicast(first.queue->sender(first.part), *leg.tree, leg.receivers, reads_[number].ranges,
                      sim::call<&Multicast::left_memory>(this, number), watched ? &leg.log : nullptr);
}

// One instant at which the bytes are read, for all.
void Multicast::left_memory(std::uint64_t leg) {
  for (const Request& request : legs_[leg].requests) request.queue->left_memory(request.part);
}

ServerTime Multicast::most_starved_to(std::size_t member, std::size_t leg) const {
  ServerTime most;
  for (const std::uint16_t stage : legs_[leg].tree->paths[member]) {
    const TransferLog::Hop& hop = legs_[leg].log.hops[stage];
    if (hop.starved > most.time) most = {hop.server, hop.starved};
  }
  return most;
}

void Multicast::needs(std::vector<sim::WaitEdge>& edges) const {
  for (std::size_t member = 0; member < members_.size(); ++member) {
    const Command* const command = commands_[member];
    if (command == nullptr)
      missing_(member, edges);
    else if (!command->under_way && !command->done.is_set())
      edges.push_back({command, "its part of the multicast"});
  }
}

}  // namespace kernbench::hardware
