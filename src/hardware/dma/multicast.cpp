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
      reports_(members_.size()),
      missing_reports_(members_.size()),
      legs_(reads_.size()) {}

void Multicast::reported(std::size_t member, DmaQueue& queue, std::uint64_t flight) {
  reports_[member] = {&queue, flight, queue.now()};
  if (--missing_reports_ > 0 || abandoned_) return;
  slowest_ = queue.id();
  for (const Report& report : reports_) {
    report.queue->command_of(report.flight).times.waited = queue.now() - report.at;
  }
  reports_.front().queue->ask_slices(reports_.front().flight);
}

void Multicast::begin(Transport& transport, std::size_t number) {
  Leg& leg = legs_[number];
  leg.tree = &transport.tree(transport.slice(reads_[number].slice), members_, VirtualNetwork::response);
  bool watched = false;
  for (const Report& report : reports_) {
    const std::uint64_t part = DmaQueue::part(report.flight, number);
    const Sender of = report.queue->sender(part);
    leg.receivers.push_back({of.agent, of.operation, sim::call<&DmaQueue::leg_done>(report.queue, part)});
    watched = watched || report.queue->command_of(report.flight).watched;
  }
  const Report& first = reports_.front();
  transport.multicast(first.queue->sender(DmaQueue::part(first.flight, number)), *leg.tree, leg.receivers,
                      reads_[number].ranges, sim::call<&Multicast::left_memory>(this, number),
                      watched ? &leg.log : nullptr);
}

// One instant at which the bytes are read, for all.
void Multicast::left_memory(std::uint64_t leg) {
  for (const Report& report : reports_) report.queue->left_memory(DmaQueue::part(report.flight, leg));
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
