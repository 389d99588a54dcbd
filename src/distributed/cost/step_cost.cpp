#include "distributed/cost/step_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "base/nanoseconds.h"
#include "topology/buffers.h"

namespace kernbench::distributed {
namespace {

using topology::Endpoint;
using topology::LinkKind;
using topology::Network;
using topology::RouteHop;

/// What passes of saturated traffic through a switch of n inputs where each has one line for n outputs (Karol, Hluchyj,
/// Morgan, 1987, table I), by n from 1 on.
constexpr std::array kSharedLines{1.0, 0.75, 0.6825, 0.6553, 0.6399, 0.6302, 0.6234, 0.6184};
constexpr double kSharedLineOfMany = 2 - std::numbers::sqrt2;

/// The same of so many lines for fewer outputs: with h heads of lines for each output, of which by chance rho + (1 -
/// 1/n) rho^2 / (2 (1 - rho)) wait for it.
double use_of_lanes(double lanes, double outputs) {
  const double each = lanes / outputs, chance = (1 - 1 / lanes) / 2;
  return (1 + each - std::sqrt((1 + each) * (1 + each) - 4 * (1 - chance) * each)) / (2 * (1 - chance));
}

/// How full the lines are of ranks that pass on what comes in two ways: as full as their traffic, which is half of the
/// way that they share with the root, whose line is full.
constexpr double kLineOfAChain = 0.5;

/// Of the turns of a link, what begins there has half while something that passes waits, too. So a place that a message
/// frees where it ends is taken by one that begins after two moves on the average, and the rest of the way stands.
constexpr double kBothTakeTurns = 0.5, kMovesOfAPlace = 2;

topology::LinkId id_of(std::int64_t link) {
  return {static_cast<std::uint32_t>(link)};
}

}  // namespace

double use_of_line(std::size_t outputs) {
  return outputs <= kSharedLines.size() ? kSharedLines[std::max<std::size_t>(outputs, 1) - 1] : kSharedLineOfMany;
}

double lanes_of(const topology::Topology& machine) {
  const bool edge = machine.sip.io.attachment == topology::IoAttachment::west_edge;
  return edge ? machine.sip.cubes.height * machine.cube.pes.height : 1;
}

double lanes_of_first(double pes, const topology::Topology& machine) {
  if (lanes_of(machine) == 1) return 1;
  const double cubes = std::ceil(pes / machine.cube.pes.count());
  if (cubes == 1) return std::ceil(pes / machine.cube.pes.width);
  return std::ceil(cubes / machine.sip.cubes.width) * machine.cube.pes.height;
}

StepCost::StepCost(const CostStep& step, std::span<const PeCoordinate> endpoints, bool rank_per_pe, double way,
                   const Network& network)
    : network_(network),
      way_(way),
      lanes_(lanes_of(network.topology())),
      between_sips_(!rank_per_pe),
      in_turn_(step.in_turn),
      chain_(step.latencies > 1),
      ranks_(endpoints.size()) {
  for (const CostStep::Message& message : step.messages) {
    const auto from = static_cast<std::size_t>(message.from), to = static_cast<std::size_t>(message.to);
    ranks_[from].sent += message.weight;
    ranks_[to].received += message.weight;
    latencies_[message.way].push_back({from, to, add(endpoints[from], endpoints[to], message.weight, message.way)});
    ranks_[from].others[message.way].insert(to);
    if (first_link_) ranks_[from].links[message.way].insert(*first_link_);
  }
  for (const auto& [link, load] : loads_) most_ = std::max(most_, load.weight);
  for (const std::vector<std::int64_t>& route : routes_) begins_ = std::max(begins_, begins_on(route));
}

void StepCost::pass_latency(std::vector<double>& ready, std::int64_t times, double each) const {
  const std::vector<double> begun = ready;
  for (const auto& [way, messages] : latencies_) {
    std::vector<double> now = begun;
    const std::vector<bool> begin = outermost(messages, true), end = outermost(messages, false);
    for (std::size_t rank = 0; chain_ && rank < now.size(); ++rank) {
      if (!begin[rank]) now[rank] = -std::numeric_limits<double>::infinity();
    }
    std::vector<double> before = now;
    for (std::int64_t time = 0; time < times; ++time) {
      before = now;
      for (const auto& [from, to, latency] : messages) now[to] = std::max(now[to], before[from] + latency + each);
    }
    // What the last step brings to others is on no way to an end, if so many steps lead to one.
    const auto is_reached = [&](const Latency& message) { return end[message.to] && std::isfinite(now[message.to]); };
    const bool to_the_end = chain_ && std::ranges::any_of(messages, is_reached);
    for (std::size_t rank = 0; to_the_end && rank < now.size(); ++rank) {
      if (!end[rank]) now[rank] = before[rank];
    }
    for (std::size_t rank = 0; rank < ready.size(); ++rank) ready[rank] = std::max(ready[rank], now[rank]);
  }
}

std::vector<bool> StepCost::outermost(const std::vector<Latency>& messages, bool begin) const {
  std::vector<bool> inner(ranks_.size());
  for (const auto& [from, to, ns] : messages) inner[begin ? to : from] = true;
  const bool none =
      std::ranges::all_of(messages, [&](const Latency& each) { return inner[begin ? each.from : each.to]; });
  std::vector<bool> found(ranks_.size(), true);
  for (std::size_t rank = 0; rank < found.size(); ++rank) found[rank] = none || !inner[rank];
  return found;
}

bool StepCost::goes_other_ways_than(const StepCost& other) const {
  return std::ranges::any_of(loads_, [&](const auto& entry) {
    const auto& [link, load] = entry;
    const auto there = other.loads_.find(link);
    if (there == other.loads_.end() || load.weight < most_ || there->second.weight < other.most_) return false;
    const auto &mine = load.next, &theirs = there->second.next;
    return mine.size() == 1 && theirs.size() == 1 && mine.begin()->first != theirs.begin()->first;
  });
}

bool StepCost::shares_a_link_with(const StepCost& other) const {
  return std::ranges::any_of(loads_, [&](const auto& entry) { return other.loads_.contains(entry.first); });
}

double StepCost::ns_per_byte() const {
  double most = 0;
  for (const auto& [link, load] : loads_) {
    const double use = in_turn_ ? 1 : 1 - (1 - use_of_line(load.next.size())) * competition(link, load);
    most = std::max(most, load.weight / (use * rate_of(link)));
  }
  for (const Traffic& rank : ranks_) most = std::max(most, ns_per_byte_from_lanes(rank));
  for (const Traffic& rank : ranks_) most = std::max(most, std::max(rank.sent, rank.received) * way_);
  return most;
}

double StepCost::ns_per_byte_of_a_port(const PortUse& ports) const {
  double most = 0;
  for (const Traffic& rank : ranks_)
    most = std::max(most, std::max(rank.sent, rank.received) / use_of_port(rank, ports));
  return most / bytes_per_ns(network_.topology().cube.noc.link.payload_rate());
}

double StepCost::ns_per_byte_of_a_slice(double memory) const {
  const auto& cube = network_.topology().cube;
  return memory / (bytes_per_ns(cube.hbm.efficiency.of(cube.hbm.bandwidth)) / cube.pes.count());
}

double StepCost::ns_per_byte_passed_on(bool folded) const {
  double most = 0;
  for (const Traffic& rank : ranks_) most = std::max(most, std::min(rank.sent, rank.received));
  const auto& machine = network_.topology();
  const double folds = folded ? 3 / bytes_per_ns(machine.pe.tcm.bandwidth) : 0;
  return most * (1 / bytes_per_ns(machine.cube.noc.link.payload_rate()) + folds);
}

double StepCost::longest_ns() const {
  double longest = 0;
  for (const auto& [way, messages] : latencies_) {
    for (const Latency& message : messages) longest = std::max(longest, message.ns);
  }
  return longest;
}

double StepCost::use_of_port(const Traffic& rank, const PortUse& ports) const {
  std::size_t most = 1;
  for (const auto& [way, others] : rank.others) most = std::max(most, others.size());
  const auto ways = static_cast<double>(std::min(most, ports.targets));
  if (!between_sips_ || ways < 2) return 1;
  const double others = static_cast<double>(ports.lines - 1) / static_cast<double>(ranks_.size() - 1);
  const double full = ways / static_cast<double>(most);
  return 1 - (1 - use_of_line(std::min(most, ports.targets))) * full * std::min(1.0, others / ((ways - 1) / ways));
}

double StepCost::crowded_ns_per_byte() const {
  const double use = std::max(kBothTakeTurns, kMovesOfAPlace / static_cast<double>(std::max<std::size_t>(begins_, 1)));
  return use < 1 ? most_ / (use * rate_of(loads_.begin()->first)) : 0;
}

double StepCost::room() const {
  if (!between_sips_ || loads_.empty()) return 0;
  const auto& link = network_.link(id_of(loads_.begin()->first));
  return static_cast<double>(topology::buffer_of(link.spec, network_.topology().cube).count());
}

double StepCost::own_ns_per_byte(double all) const {
  if (!goes_ways_of_a_chain()) return all;
  double most = 0;
  for (const auto& [link, load] : loads_) {
    for (const auto& [way, weight] : load.ways) most = std::max(most, weight / rate_of(link));
  }
  return most;
}

double StepCost::rate_of(std::int64_t link) const {
  return bytes_per_ns(network_.link(id_of(link)).spec.payload_rate());
}

double StepCost::add(PeCoordinate from, PeCoordinate to, double weight, int way) {
  const auto route = network_.route(Endpoint::pe_port(from), Endpoint::pe_port(to));
  std::int64_t before = kEnd;
  first_link_.reset();
  std::vector<std::int64_t> links;
  for (const RouteHop& hop : route) {
    if (between_sips_ && network_.link(hop.link).kind != LinkKind::sip) continue;
    const std::int64_t link = hop.link.value;
    if (!first_link_) first_link_ = link;
    Load& load = loads_[link];
    load.weight += weight;
    load.ways[way] += weight;
    if (before != kEnd) {
      load.from[before] += weight;
      loads_[before].next[link] += weight;
    }
    before = link;
    links.push_back(link);
  }
  if (between_sips_) routes_.push_back(std::move(links));
  if (before != kEnd) loads_[before].next[kEnd] += weight;
  return nanoseconds(network_.latency(route));
}

/// On how many links of a way messages begin, if all of the way is as full as any link.
std::size_t StepCost::begins_on(const std::vector<std::int64_t>& route) const {
  std::size_t begins = 0;
  for (const std::int64_t link : route) {
    const Load& load = loads_.at(link);
    if (load.weight < most_) return 0;
    double passes_on = 0;
    for (const auto& [from, weight] : load.from) passes_on += weight;
    if (passes_on < load.weight) ++begins;
  }
  return begins;
}

/// Of what n lines that are full bring before each other, how much is brought before what waits on this link.
double StepCost::competition(std::int64_t link, const Load& load) const {
  const auto ways = static_cast<double>(load.next.size());
  if (ways < 2) return 1;
  const double all = most_ * (ways - 1) / ways;
  double sum = 0;
  for (const auto& [next, weight] : load.next)
    sum += weight * (next == kEnd ? 1 : std::min(1.0, brought_by_others(next, link) / all));
  return (goes_ways_of_a_chain() ? kLineOfAChain : 1) * sum / load.weight;
}

/// What comes to a link from elsewhere than one link: all of what begins there, which waits in lines that are full,
/// and of what comes from a link as much as that one is full.
double StepCost::brought_by_others(std::int64_t next, std::int64_t link) const {
  const Load& there = loads_.at(next);
  double brought = there.weight;
  for (const auto& [from, weight] : there.from)
    brought -= from == link ? weight : weight * (1 - loads_.at(from).weight / most_);
  return brought;
}

/// On links that lead straight to other ranks, which a rank's lanes share.
double StepCost::ns_per_byte_from_lanes(const Traffic& rank) const {
  double most = 0;
  std::set<std::int64_t> links;
  for (const auto& [way, taken] : rank.links) links.insert(taken.begin(), taken.end());
  const double use = use_of_lanes_to(rank, links);
  for (const std::int64_t link : links) {
    const Load& load = loads_.at(link);
    if (!load.from.empty() || load.next.size() > 1 || !load.next.contains(kEnd)) continue;
    most = std::max(most, load.weight / (use * rate_of(link)));
  }
  return most;
}

/// Lanes have messages to all links, or of several ways to one or two each.
double StepCost::use_of_lanes_to(const Traffic& rank, const std::set<std::int64_t>& links) const {
  const auto ways = static_cast<std::int64_t>(rank.links.size()), lanes = static_cast<std::int64_t>(lanes_);
  const auto outputs = static_cast<std::int64_t>(links.size());
  if (!between_sips_ || outputs < 2 || lanes <= std::max(outputs, ways)) return 1;
  if (ways == 1) return use_of_lanes(lanes_, static_cast<double>(outputs));
  const auto shared = static_cast<double>(ways - std::gcd(ways, lanes));  // lanes at the borders of two ways
  return 1 - (1 - use_of_line(2)) * shared / lanes_;
}

}  // namespace kernbench::distributed
