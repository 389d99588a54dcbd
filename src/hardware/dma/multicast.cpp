#include "hardware/dma/multicast.h"

#include <algorithm>
#include <utility>

#include "hardware/dma/dma.h"
#include "topology/router_grid.h"

namespace kernbench::hardware {

std::size_t middle_of(std::span<const PeCoordinate> places, const topology::Topology& topology) {
  // Steps along x and y between two routers are the larger of their distances in x + y and in x - y.
  struct Turned {
    std::int32_t sum, difference;
  };
  std::vector<Turned> turned;
  Turned least{INT32_MAX, INT32_MAX}, most{INT32_MIN, INT32_MIN};
  for (const PeCoordinate at : places) {
    const auto [x, y] = topology::router_place(topology, at.cube, at.pe);
    turned.push_back({x + y, x - y});
    least = {std::min(least.sum, x + y), std::min(least.difference, x - y)};
    most = {std::max(most.sum, x + y), std::max(most.difference, x - y)};
  }
  const auto farthest = [&](const Turned& place) {
    return std::max({place.sum - least.sum, most.sum - place.sum, place.difference - least.difference,
                     most.difference - place.difference});
  };
  return static_cast<std::size_t>(std::ranges::min_element(turned, {}, farthest) - turned.begin());
}

Multicast::Multicast(std::string group, std::vector<PeCoordinate> members, std::vector<DmaLeg> legs,
                     const topology::Topology& topology, Missing missing)
    : group_(std::move(group)),
      members_(std::move(members)),
      reads_(std::move(legs)),
      missing_(std::move(missing)),
      commands_(members_.size()),
      reports_(members_.size()),
      missing_reports_(members_.size()),
      legs_(reads_.size()) {
  if (members_.size() == 1 || reads_.empty()) return;
  std::vector<PeCoordinate> slices;
  for (const DmaLeg& leg : reads_) slices.push_back(leg.slice);
  home_ = &reads_[middle_of(slices, topology)];
}

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
  leg.tree = &transport.tree(transport.memory(reads_[number].memory, reads_[number].slice), members_,
                             VirtualNetwork::response);
  bool watched = false;
  for (const Report& report : reports_) {
    const std::uint64_t part = DmaQueue::part(report.flight, number);
    const Sender of = report.queue->sender(part);
    leg.receivers.push_back({of.agent, of.operation, sim::call<&DmaQueue::leg_done>(report.queue, part)});
    watched = watched || report.queue->command_of(report.flight).watched;
  }
  const Report& first = reports_.front();
  first.queue->command_of(first.flight).count_moved(leg.tree->stages, reads_[number].total());
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
