#include "distributed/algorithm_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "base/nanoseconds.h"
#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/pieces.h"
#include "distributed/ranks/pe_of_rank.h"
#include "distributed/tuning.h"
#include "hardware/ipcq/installation.h"
#include "kernbench/error.h"
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

double use_of_line(std::size_t outputs) {
  return outputs <= kSharedLines.size() ? kSharedLines[std::max<std::size_t>(outputs, 1) - 1] : kSharedLineOfMany;
}

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

/// Another algorithm has to be so much better than the first one.
constexpr double kMargin = 0.98;

/// In place of a link: messages end there.
constexpr std::int64_t kEnd = -1;

/// What messages do on one link.
struct Load {
  double weight = 0;                    // of the messages
  std::map<int, double> ways = {};      // of those of each way
  std::map<std::int64_t, double> next;  // by the links that they take from there, or kEnd
  std::map<std::int64_t, double> from;  // by the links that they have taken before; not: those that begin
};

topology::LinkId id_of(std::int64_t link) {
  return {static_cast<std::uint32_t>(link)};
}

/// Between the mesh of a SIP and its IO chiplet.
double lanes_of(const topology::Topology& machine) {
  const bool edge = machine.sip.io.attachment == topology::IoAttachment::west_edge;
  return edge ? machine.sip.cubes.height * machine.cube.pes.height : 1;
}

/// Those of so many PEs that follow each other.
double lanes_of_first(double pes, const topology::Topology& machine) {
  if (lanes_of(machine) == 1) return 1;
  const double cubes = std::ceil(pes / machine.cube.pes.count());
  if (cubes == 1) return std::ceil(pes / machine.cube.pes.width);
  return std::ceil(cubes / machine.sip.cubes.width) * machine.cube.pes.height;
}

class StepCost {
 public:
  StepCost(const CostStep& step, std::span<const PeCoordinate> endpoints, bool rank_per_pe, double way,
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
      if (first_link_) ranks_[from].links[message.way].insert(*first_link_);
    }
    for (const auto& [link, load] : loads_) most_ = std::max(most_, load.weight);
    for (const std::vector<std::int64_t>& route : routes_) begins_ = std::max(begins_, begins_on(route));
  }

  /// By when each rank has its messages after so many of these steps, if it sends in each when it has those of the one
  /// before that go its way; from when it has those, and besides the latency so much for each message.
  void pass_latency(std::vector<double>& ready, std::int64_t times, double each) const {
    const std::vector<double> begun = ready;
    for (const auto& [way, messages] : latencies_) {
      std::vector<double> now = begun;
      for (std::int64_t time = 0; time < times; ++time) {
        std::vector<double> after = now;
        for (const auto& [from, to, latency] : messages) after[to] = std::max(after[to], now[from] + latency + each);
        now = std::move(after);
      }
      for (std::size_t rank = 0; rank < ready.size(); ++rank) ready[rank] = std::max(ready[rank], now[rank]);
    }
  }
  /// Messages of both go one way from a link on which most of either meet, and not the same one.
  bool goes_other_ways_than(const StepCost& other) const {
    return std::ranges::any_of(loads_, [&](const auto& entry) {
      const auto& [link, load] = entry;
      const auto there = other.loads_.find(link);
      if (there == other.loads_.end() || load.weight < most_ || there->second.weight < other.most_) return false;
      const auto &mine = load.next, &theirs = there->second.next;
      return mine.size() == 1 && theirs.size() == 1 && mine.begin()->first != theirs.begin()->first;
    });
  }
  bool shares_a_link_with(const StepCost& other) const {
    return std::ranges::any_of(loads_, [&](const auto& entry) { return other.loads_.contains(entry.first); });
  }
  /// For each byte of a message of weight 1, on the busiest link.
  double ns_per_byte() const {
    double most = 0;
    for (const auto& [link, load] : loads_) {
      const double use = in_turn_ ? 1 : 1 - (1 - use_of_line(load.next.size())) * competition(link, load);
      most = std::max(most, load.weight / (use * rate_of(link)));
    }
    for (const Traffic& rank : ranks_) most = std::max(most, ns_per_byte_from_lanes(rank));
    for (const Traffic& rank : ranks_) most = std::max(most, std::max(rank.sent, rank.received) * way_);
    return most;
  }
  /// Of a rank with one PE: what that one sends or receives passes its port, and its slice of the HBM moves so many
  /// bytes for each byte of a message of weight 1.
  double ns_per_byte_of_a_pe(double memory) const {
    const auto& cube = network_.topology().cube;
    const auto per_ns = [](Bandwidth rate) { return static_cast<double>(rate.count()) * 1e-9; };
    double most = memory / (per_ns(cube.hbm.efficiency.of(cube.hbm.bandwidth)) / cube.pes.count());
    for (const Traffic& rank : ranks_)
      most = std::max(most, std::max(rank.sent, rank.received) / per_ns(cube.noc.link.payload_rate()));
    return most;
  }
  /// The same of more bytes than the buffers behind links hold, where messages begin on more than two links of a way.
  double crowded_ns_per_byte() const {
    const double use =
        std::max(kBothTakeTurns, kMovesOfAPlace / static_cast<double>(std::max<std::size_t>(begins_, 1)));
    return use < 1 ? most_ / (use * rate_of(loads_.begin()->first)) : 0;
  }
  /// Of a link between SIPs; 0 where none is used.
  double room() const {
    if (!between_sips_ || loads_.empty()) return 0;
    const auto& link = network_.link(id_of(loads_.begin()->first));
    return static_cast<double>(topology::buffer_of(link.spec, network_.topology().cube).count());
  }
  /// The same while a message passes, `all` but of a chain, whose messages of another way are elsewhere then.
  double own_ns_per_byte(double all) const {
    if (!goes_ways_of_a_chain()) return all;
    double most = 0;
    for (const auto& [link, load] : loads_) {
      for (const auto& [way, weight] : load.ways) most = std::max(most, weight / rate_of(link));
    }
    return most;
  }

 private:
  /// Of a rank that is a SIP.
  struct Traffic {
    double sent = 0, received = 0;                     // weight
    std::map<int, std::set<std::int64_t>> links = {};  // that messages of a way take first
  };

  struct Latency {
    std::size_t from, to;
    double ns;
  };

  double rate_of(std::int64_t link) const {
    return static_cast<double>(network_.link(id_of(link)).spec.payload_rate().count()) * 1e-9;
  }
  /// Each rank passes on what comes, and the ways meet on their links.
  bool goes_ways_of_a_chain() const { return chain_ && latencies_.size() > 1; }

  /// Yields its latency.
  double add(PeCoordinate from, PeCoordinate to, double weight, int way) {
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
  std::size_t begins_on(const std::vector<std::int64_t>& route) const {
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
  double competition(std::int64_t link, const Load& load) const {
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
  double brought_by_others(std::int64_t next, std::int64_t link) const {
    const Load& there = loads_.at(next);
    double brought = there.weight;
    for (const auto& [from, weight] : there.from)
      brought -= from == link ? weight : weight * (1 - loads_.at(from).weight / most_);
    return brought;
  }

  /// On links that lead straight to other ranks, which a rank's lanes share.
  double ns_per_byte_from_lanes(const Traffic& rank) const {
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
  double use_of_lanes_to(const Traffic& rank, const std::set<std::int64_t>& links) const {
    const auto ways = static_cast<std::int64_t>(rank.links.size()), lanes = static_cast<std::int64_t>(lanes_);
    const auto outputs = static_cast<std::int64_t>(links.size());
    if (!between_sips_ || outputs < 2 || lanes <= std::max(outputs, ways)) return 1;
    if (ways == 1) return use_of_lanes(lanes_, static_cast<double>(outputs));
    const auto shared = static_cast<double>(ways - std::gcd(ways, lanes));  // lanes at the borders of two ways
    return 1 - (1 - use_of_line(2)) * shared / lanes_;
  }

  const Network& network_;
  double way_, lanes_;
  bool between_sips_, in_turn_, chain_;
  std::optional<std::int64_t> first_link_;         // of the message that was added last
  std::map<int, std::vector<Latency>> latencies_;  // by way
  std::vector<Traffic> ranks_;
  std::map<std::int64_t, Load> loads_;             // by link
  double most_ = 0;                                // weight on a link
  std::vector<std::vector<std::int64_t>> routes_;  // between SIPs, of the messages
  std::size_t begins_ = 0;                         // the most links of one on which messages begin, of full ways
};

std::int64_t degree_of(const std::vector<RankPair>& channels, int ranks) {
  std::vector<std::int64_t> sends(static_cast<std::size_t>(ranks)), receives = sends;
  for (const auto& [from, to] : channels) {
    ++sends[static_cast<std::size_t>(from)];
    ++receives[static_cast<std::size_t>(to)];
  }
  return std::max(*std::ranges::max_element(sends), *std::ranges::max_element(receives));
}

/// Of the group's own algorithms, and of this one if it brings channels of its own.
bool fits_beside(const CollectiveAlgorithm& algorithm, const GroupDescription& group) {
  const auto own = channels_of(group.spec, group.shape()), more = algorithm.channels(group.shape());
  const std::set<RankPair> known(own.begin(), own.end());
  if (std::ranges::all_of(more, [&](const RankPair& pair) { return known.contains(pair); })) return true;
  return degree_of(own, group.ranks) + degree_of(more, group.ranks) <= channels_that_fit(group);
}

/// The PE of each rank that lies furthest from the IO chiplet, where a rank is a SIP: the latest one ends the step.
std::vector<PeCoordinate> endpoints_of(const GroupDescription& group, std::span<const int> ranks) {
  const auto& machine = group.machine;
  std::vector<PeCoordinate> endpoints;
  for (const int rank : ranks) {
    if (group.rank_per_pe) {
      endpoints.push_back(pe_of_rank(rank, machine));
    } else {
      endpoints.push_back({SipId{rank}, CubeId{machine.sip.cubes.count() - 1}, PeId{machine.cube.pes.count() - 1}});
    }
  }
  return endpoints;
}

/// Of the PE of a SIP that is furthest from the host: a launch of one program, or an installation of one row, but for
/// what messages wait for on their links.
double launch_path_ns(const Network& network) {
  const auto& machine = network.topology();
  const SipId sip{0};
  const CubeCoordinate cube{sip, CubeId{machine.sip.cubes.count() - 1}};
  const PeCoordinate pe{cube.sip, cube.cube, PeId{machine.cube.pes.count() - 1}};
  const Endpoint way[] = {Endpoint::host(), Endpoint::io_cpu(sip), Endpoint::m_cpu(cube), Endpoint::pe_port(pe)};
  Time sum = machine.cube.m_cpu.counter_write + machine.sip.io.counter_write;
  for (std::size_t leg = 0; leg + 1 < std::size(way); ++leg) {
    sum += network.latency(network.route(way[leg], way[leg + 1]));
    sum += network.latency(network.route(way[leg + 1], way[leg]));
  }
  for (int direction = 0; direction < 2; ++direction) sum += machine.sip.io.cpu_latency + machine.cube.m_cpu.latency;
  return nanoseconds(sum);
}

/// The rows of all rounds' channels on the host's link to a SIP: a channel that a PE has to send, and one to receive.
double rows_ns(const GroupDescription& group, const Network& network) {
  const auto& machine = network.topology();
  std::map<std::int32_t, std::int64_t> ranks_of;  // by SIP
  for (const int rank : group.members) ++ranks_of[group.rank_per_pe ? pe_of_rank(rank, machine).sip.value : rank];
  std::int64_t pes = machine.pes_per_sip();
  if (group.rank_per_pe) pes = std::ranges::max(ranks_of | std::views::values);
  const auto bytes = static_cast<double>(hardware::kTableRow.count() * pes * 2 * (group.ranks - 1));
  const auto route = network.route(Endpoint::host(), Endpoint::io_cpu(SipId{0}));
  return bytes / (static_cast<double>(network.link(route.front().link).spec.payload_rate().count()) * 1e-9);
}

/// Of an algorithm whose channels do not fit all at once; else none.
double rounds_ns_of(const CollectiveAlgorithm& algorithm, const GroupDescription& group, const Network& network) {
  const std::size_t rounds = algorithm.in_rounds ? channel_rounds(group, algorithm).size() : 1;
  if (rounds < 2) return 0;
  const double path = launch_path_ns(network), start = nanoseconds(network.topology().pe.control.start_latency);
  return static_cast<double>(rounds - 1) * (path + start) + static_cast<double>(rounds) * path +
         rows_ns(group, network);
}

/// There and back between the corners of a SIP's mesh: what a PE shares of a block of an all-to-all lies anywhere.
double across_sip_ns(const Network& network) {
  const auto& machine = network.topology();
  const Endpoint near = Endpoint::pe_port({SipId{0}, CubeId{0}, PeId{0}});
  const Endpoint far =
      Endpoint::pe_port({SipId{0}, CubeId{machine.sip.cubes.count() - 1}, PeId{machine.cube.pes.count() - 1}});
  return nanoseconds(network.latency(network.route(near, far)) + network.latency(network.route(far, near)));
}

/// The PEs of the blocks that a step moves at one time, of a block for each rank.
void take_part(AlgorithmCost::Step& step, double ranks, const topology::Topology& machine) {
  const double blocks = step.share * ranks, all = machine.pes_per_sip();
  step.part = std::clamp(std::max(1.0, blocks) / ranks, 1 / all, 1.0);
  step.lanes = std::min(lanes_of(machine), std::max(1.0, step.fresh * blocks) * lanes_of_first(all / ranks, machine));
}

Chain chain_of(std::span<const PeCoordinate> endpoints, bool rank_per_pe, std::int64_t window) {
  const auto sip_of = [](PeCoordinate pe) { return pe.sip; };
  const bool of_one_sip = std::ranges::count(endpoints, endpoints.front().sip, sip_of) == std::ssize(endpoints);
  return {.rank_per_pe = rank_per_pe, .of_one_sip = of_one_sip, .window = window};
}

double way_of(const GroupDescription& group, const Network& network) {
  return group.rank_per_pe ? 0 : way_ns_per_byte(network);
}

}  // namespace

double way_ns_per_byte(const Network& network) {
  const auto& sip = network.topology().sip;
  const Endpoint chiplet = Endpoint::io_cpu(SipId{0});
  std::map<topology::LinkId, double> users;
  for (std::int32_t cube = 0; cube < sip.cubes.count(); ++cube) {
    for (std::int32_t pe = 0; pe < network.topology().cube.pes.count(); ++pe) {
      const Endpoint port = Endpoint::pe_port({SipId{0}, CubeId{cube}, PeId{pe}});
      for (const auto& route : {network.route(port, chiplet), network.route(chiplet, port)})
        for (const RouteHop& hop : route) users[hop.link] += 1;
    }
  }
  double most = 0;
  const auto pes = static_cast<double>(network.topology().pes_per_sip());
  for (const auto& [link, behind] : users) {
    const auto rate = static_cast<double>(network.link(link).spec.payload_rate().count()) * 1e-9;
    most = std::max(most, behind / pes / rate);
  }
  return most;
}

const std::vector<AlgorithmCost::Step>& AlgorithmCost::steps_of(std::int64_t bytes) const {
  if (steps_of_few.empty()) return steps;
  const double most = static_cast<double>(algorithm->few.count()) * lanes * pes_of_lane;
  return static_cast<double>(bytes) <= most ? steps_of_few : steps;
}

double AlgorithmCost::of(std::int64_t bytes) const {
  double first = 0, last = 0;  // PE that is at its step's links
  double through = 0;          // of the step before: latency and own service
  double busy = 0;             // until when a PE is, whatever the links do
  const bool in_parts = algorithm != nullptr && algorithm->in_parts;
  bool begun = false;
  std::vector<double> left;  // by step: when the last PE leaves its links
  for (const Step& step : steps_of(bytes)) {
    double idle = 0;  // since when its links are
    for (std::size_t other = 0; other < left.size(); ++other) {
      if (std::ranges::find(step.apart, other) == step.apart.end()) idle = std::max(idle, left[other]);
    }
    const double share = step.share * static_cast<double>(bytes);
    const double of_pe = share / (lanes * pes_of_lane * step.part), message = message_of(of_pe);
    const double ns_per_byte =
        share > step.room ? std::max(step.ns_per_byte, step.crowded_ns_per_byte) : step.ns_per_byte;
    const double per_byte = step.own_ns_per_byte > 0 ? step.own_ns_per_byte : step.ns_per_byte;
    const double own = message * (step.lanes > 0 ? step.lanes : lanes) * per_byte;
    const auto hops = static_cast<double>(std::max<std::int64_t>(step.latencies, 1));
    const double parts = std::max(1.0, std::ceil(of_pe / queue));
    for (std::int64_t time = 0; time < step.times; ++time) {
      const double all = share * ns_per_byte * step.slowed(time), service = step.fresh * all;
      idle += all - service;
      if (begun) through += step.memory_ns;
      first += through;
      const double moving = share * step.pe_ns_per_byte, passage = step.latency_ns + hops * own;
      const double waiting = (parts - 1) * 2 * step.latency_ns / hops;
      busy = std::max(first, busy) + (in_parts ? std::max(moving, parts * passage) : moving + waiting);
      last = std::max(
          {begun ? last + through : 0, std::max(first, idle) + service - own, busy - (in_parts ? passage : own)});
      idle = last + own;
      through = passage;
      begun = true;
    }
    left.push_back(idle);
  }
  return last + through + rounds_ns;
}

double AlgorithmCost::message_of(double bytes) const {
  if (algorithm == nullptr || !algorithm->in_pieces) return std::min(bytes, slot);
  return std::min(bytes,
                  static_cast<double>(piece_of(std::llround(bytes), std::llround(least_piece), std::llround(slot))));
}

double AlgorithmCost::latency_ns() const {
  return of(0);
}

double AlgorithmCost::ns_per_byte() const {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  return (of(2 * kMany) - of(kMany)) / static_cast<double>(kMany);
}

AlgorithmCost cost_of(const CollectiveAlgorithm& algorithm, const GroupShape& shape,
                      std::span<const PeCoordinate> endpoints, bool rank_per_pe, double way, const AlgorithmSpec& spec,
                      const Network& network) {
  const auto& pe = network.topology().pe;
  const double each = 3 * nanoseconds(pe.control.issue) + nanoseconds(pe.ipcq.meta_latency);
  double load = nanoseconds(pe.dma.setup) + nanoseconds(network.topology().cube.hbm.latency);
  const bool across_sip = !rank_per_pe && algorithm.operation == CollectiveOperation::all_to_all;
  if (across_sip) load += across_sip_ns(network);
  AlgorithmCost cost{.algorithm = &algorithm, .slot = static_cast<double>(spec.slot_size.count())};
  if (!rank_per_pe) cost.queue = cost.slot * static_cast<double>(spec.n_slots);
  if (algorithm.in_pieces)
    cost.least_piece =
        static_cast<double>(least_piece(chain_of(endpoints, rank_per_pe, spec.n_slots), network.topology()));
  if (!rank_per_pe) {
    cost.lanes = lanes_of(network.topology());
    cost.pes_of_lane = network.topology().pes_per_sip() / cost.lanes;
  }
  const bool of_blocks = !rank_per_pe && (algorithm.operation == CollectiveOperation::all_gather ||
                                          algorithm.operation == CollectiveOperation::reduce_scatter);
  const auto costs_of = [&](const std::vector<CostStep>& steps) {
    std::vector<AlgorithmCost::Step> costs;
    std::vector<double> ready(endpoints.size());  // by rank
    std::vector<StepCost> before;
    for (const CostStep& step : steps) {
      StepCost one(step, endpoints, rank_per_pe, way, network);
      const double begun = *std::ranges::max_element(ready);
      one.pass_latency(ready, step.times * step.latencies, each);
      const double latency = (*std::ranges::max_element(ready) - begun) / static_cast<double>(step.times);
      const double memory = step.through_memory ? 2 * load : step.loaded ? load : 0;
      costs.push_back({latency, memory, step.latencies, step.times, step.share, one.ns_per_byte()});
      costs.back().fresh = step.fresh;
      costs.back().crowded_ns_per_byte = one.crowded_ns_per_byte();
      costs.back().room = one.room();
      costs.back().own_ns_per_byte = one.own_ns_per_byte(costs.back().ns_per_byte);
      if (of_blocks) take_part(costs.back(), static_cast<double>(endpoints.size()), network.topology());
      if (!rank_per_pe)
        costs.back().pe_ns_per_byte =
            one.ns_per_byte_of_a_pe(step.memory) / (cost.lanes * cost.pes_of_lane * costs.back().part);
      if (cost.lanes * cost.pes_of_lane > 1 && !before.empty() && before.back().goes_other_ways_than(one))
        costs[costs.size() - 2].after = costs.back().before = 1 / use_of_line(2);
      for (std::size_t other = 0; other < before.size(); ++other) {
        if (!across_sip && !one.shares_a_link_with(before[other])) costs.back().apart.push_back(other);
      }
      before.push_back(std::move(one));
    }
    return costs;
  };
  cost.steps = costs_of(algorithm.steps(shape));
  if (algorithm.steps_of_few) cost.steps_of_few = costs_of(algorithm.steps_of_few(shape));
  return cost;
}

AlgorithmCost cost_of(const CollectiveAlgorithm& algorithm, const GroupDescription& group, const Network& network) {
  const double way = way_of(group, network);
  AlgorithmCost cost = cost_of(algorithm, group.shape(), endpoints_of(group, group.members), group.rank_per_pe, way,
                               group.spec, network);
  cost.rounds_ns = rounds_ns_of(algorithm, group, network);
  return cost;
}

AutomaticChoice::AutomaticChoice(CollectiveOperation operation, const GroupDescription& of, std::span<const int> ranks,
                                 const Network& network) {
  GroupDescription group = of;
  group.members = ranks;
  const GroupShape shape = group.shape();
  const auto endpoints = endpoints_of(group, ranks);
  std::vector<std::string_view> candidates;
  for (const std::string_view each : group.spec.table->names(operation)) {
    if (std::ranges::find(group.spec.candidates, each) != group.spec.candidates.end()) candidates.push_back(each);
  }
  const double way = way_of(group, network);
  std::vector<AlgorithmCost> crowded;  // whose channels take turns with the group's own
  for (const CollectiveAlgorithm& algorithm : group.spec.table->all()) {
    if (algorithm.operation != operation || !algorithm.steps || !algorithm.refusal(group).empty()) continue;
    if (!candidates.empty() && std::ranges::find(candidates, algorithm.name) == candidates.end()) continue;
    auto& into = opens_channels_late(operation) || fits_beside(algorithm, group) ? costs_ : crowded;
    into.push_back(cost_of(algorithm, shape, endpoints, group.rank_per_pe, way, group.spec, network));
    into.back().rounds_ns = rounds_ns_of(algorithm, group, network);
  }
  if (costs_.empty()) costs_ = std::move(crowded);
  take_measured(operation, group);
}

void AutomaticChoice::take_measured(CollectiveOperation operation, const GroupDescription& group) {
  const auto& spec = group.spec;
  const Tuning::Sizes* sizes = spec.tuning ? spec.tuning->sizes_of(operation, group.ranks, group.rank_per_pe) : nullptr;
  if (sizes == nullptr) return;
  std::map<std::int64_t, const CollectiveAlgorithm*> measured;
  for (const auto& [from, name] : *sizes) {
    const CollectiveAlgorithm& algorithm = spec.table->find(operation, name);
    const bool narrowed = std::ranges::any_of(
        spec.candidates, [&](std::string_view each) { return spec.table->named(each)->operation == operation; });
    if (narrowed && std::ranges::find(spec.candidates, name) == spec.candidates.end()) return;
    const std::string reason = algorithm.refusal(group);
    if (!reason.empty())
      throw ConfigurationError(fmt::format("{} has {} for {}, which cannot run on this group: {}; measure anew",
                                           spec.tuning->file(), name, distributed::name(operation), reason));
    measured[from] = &algorithm;
  }
  measured_ = std::move(measured);
  file_ = spec.tuning->file();
}

const CollectiveAlgorithm* AutomaticChoice::measured_of(std::int64_t bytes) const {
  const auto after = measured_.upper_bound(bytes);
  return after == measured_.begin() ? nullptr : std::prev(after)->second;
}

std::string AutomaticChoice::reason(std::int64_t bytes, const CollectiveAlgorithm& taken) const {
  if (measured_of(bytes) == &taken) return "best by measurement in " + file_;
  return costs_.size() == 1 ? "only candidate" : "least cost";
}

const CollectiveAlgorithm* AutomaticChoice::of(std::int64_t bytes, const Accepts& accepts) const {
  const CollectiveAlgorithm* measured = measured_of(bytes);
  if (measured != nullptr && accepts(*measured)) return measured;
  const AlgorithmCost* best = nullptr;
  for (const AlgorithmCost& cost : costs_) {
    if (best != nullptr && cost.of(bytes) >= kMargin * best->of(bytes)) continue;
    if (accepts(*cost.algorithm)) best = &cost;
  }
  return best == nullptr ? nullptr : best->algorithm;
}

const CollectiveAlgorithm& AutomaticChoice::of(std::int64_t bytes) const {
  return *of(bytes, [](const CollectiveAlgorithm&) { return true; });
}

}  // namespace kernbench::distributed
