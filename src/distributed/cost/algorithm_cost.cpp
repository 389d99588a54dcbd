#include "distributed/cost/algorithm_cost.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <ranges>
#include <utility>

#include "base/nanoseconds.h"
#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/pieces.h"
#include "distributed/cost/step_cost.h"
#include "distributed/ranks/pe_of_rank.h"
#include "hardware/ipcq/installation.h"

namespace kernbench::distributed {
namespace {

using topology::Endpoint;
using topology::Network;
using topology::RouteHop;

/// Of the bytes that all PEs of a rank load and store of a block of each rank, once, and of the own one, twice, by the
/// part of one PE: over 1/pes.
double part_of_slices(std::size_t ranks, double pes) {
  const auto blocks = static_cast<double>(ranks);
  return (blocks + 1) / (std::max(1.0, blocks / pes) + 1) * std::max(1.0, pes / blocks) / pes;
}

bool of_one_sip(std::span<const PeCoordinate> endpoints) {
  return std::ranges::all_of(endpoints, [&](PeCoordinate pe) { return pe.sip == endpoints.front().sip; });
}

/// The PE of each rank that lies furthest from the IO chiplet, where a rank is a SIP: the latest one ends the step.
std::vector<PeCoordinate> endpoints_of(const GroupDescription& group) {
  const auto& machine = group.machine;
  std::vector<PeCoordinate> endpoints;
  for (const int rank : group.members) {
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

/// On the SIP that has most of a group's ranks that are PEs.
std::int64_t ranks_on_a_sip(const GroupDescription& group) {
  std::map<std::int32_t, std::int64_t> ranks_of;  // by SIP
  for (const int rank : group.members) ++ranks_of[pe_of_rank(rank, group.machine).sip.value];
  return std::ranges::max(ranks_of | std::views::values);
}

/// The rows of all rounds' channels on the host's link to a SIP: a channel that a PE has to send, and one to receive.
double rows_ns(const GroupDescription& group, const Network& network) {
  const auto& machine = network.topology();
  const std::int64_t pes = group.rank_per_pe ? ranks_on_a_sip(group) : machine.pes_per_sip();
  const auto bytes = static_cast<double>(hardware::kTableRow.count() * pes * 2 * (group.ranks - 1));
  const auto route = network.route(Endpoint::host(), Endpoint::io_cpu(SipId{0}));
  return bytes / bytes_per_ns(network.link(route.front().link).spec.payload_rate());
}

/// From the first to the last of the ranks that are PEs of one SIP, which begin and are over one after the other: the
/// IO CPU handles a message at a time.
double turns_of_launches_ns(const GroupDescription& group) {
  if (!group.rank_per_pe) return 0;
  return static_cast<double>(ranks_on_a_sip(group) - 1) * nanoseconds(group.machine.sip.io.cpu_latency);
}

/// Of an algorithm whose channels do not fit all at once; else none.
double rounds_ns_of(const CollectiveAlgorithm& algorithm, const GroupDescription& group, const Network& network) {
  const std::size_t rounds = algorithm.in_rounds ? channel_rounds(group, algorithm).size() : 1;
  if (rounds < 2) return 0;
  const double path = launch_path_ns(network), start = nanoseconds(network.topology().pe.control.start_latency);
  return static_cast<double>(rounds - 1) * (path + start + 2 * turns_of_launches_ns(group)) +
         static_cast<double>(rounds) * path + rows_ns(group, network);
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
  step.turns = std::min(1.0, std::max(1.0, ranks / all) / static_cast<double>(step.times));
  step.lanes = std::min(lanes_of(machine), std::max(1.0, step.fresh * blocks) * lanes_of_first(all / ranks, machine));
}

Chain chain_of(std::span<const PeCoordinate> endpoints, bool rank_per_pe, std::int64_t window) {
  return {.rank_per_pe = rank_per_pe, .of_one_sip = of_one_sip(endpoints), .window = window};
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
    most = std::max(most, behind / pes / bytes_per_ns(network.link(link).spec.payload_rate()));
  }
  return most;
}

const std::vector<AlgorithmCost::Step>& AlgorithmCost::steps_of(std::int64_t bytes) const {
  if (steps_of_few.empty()) return steps;
  const double most = static_cast<double>(algorithm->few.count()) * lanes * pes_of_lane;
  return static_cast<double>(bytes) <= most ? steps_of_few : steps;
}

bool AlgorithmCost::has_several_steps(const std::vector<Step>& steps) {
  return steps.size() > 1 || std::ranges::any_of(steps, [](const Step& step) { return step.times > 1; });
}

double AlgorithmCost::of_parts(std::int64_t bytes, double windows) const {
  AlgorithmCost without_slots = *this;
  without_slots.queue = std::numeric_limits<double>::infinity();
  without_slots.load_ns_per_byte = 0;
  double passages = 0, credits = 0;
  for (const Step& step : steps_of(bytes)) {
    const auto times = static_cast<double>(step.times);
    const double own = slot * std::max(lanes_of(step) * step.ns_per_byte, slot_ns_per_byte);
    passages += times * (step.latency_ns + own + slot * folded_ns_per_byte);
    credits = std::max(credits, step.turns * times * (step.credit_ns + slot * slot_ns_per_byte + step.added_ns));
  }
  const double all_there = queue * slot_ns_per_byte, next = std::max(passages + all_there, credits);
  const double one = of(static_cast<std::int64_t>(static_cast<double>(bytes) / windows));
  return std::max(without_slots.of(bytes) + queue * load_ns_per_byte, one + (windows - 1) * next + all_there);
}

double AlgorithmCost::of_a_pe(const Step& step, std::int64_t bytes) const {
  return step.share * static_cast<double>(bytes) / (lanes * pes_of_lane * step.part);
}

double AlgorithmCost::most_of_a_pe(std::int64_t bytes) const {
  double most = 0;
  for (const Step& step : steps_of(bytes)) most = std::max(most, of_a_pe(step, bytes));
  return most;
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
    cost.slot_ns_per_byte =
        1 / bytes_per_ns(network.topology().cube.noc.link.payload_rate()) + 1 / bytes_per_ns(pe.tcm.bandwidth);
    if ((algorithm.in_pieces && reduces(algorithm.operation)) ||
        algorithm.operation == CollectiveOperation::reduce_scatter)
      cost.folded_ns_per_byte = 3 / bytes_per_ns(pe.tcm.bandwidth);
    const auto& cube = network.topology().cube;
    cost.load_ns_per_byte = cube.pes.count() / bytes_per_ns(cube.hbm.efficiency.of(cube.hbm.bandwidth));
    cost.lanes = lanes_of(network.topology());
    cost.pes_of_lane = network.topology().pes_per_sip() / cost.lanes;
  }
  const bool of_blocks = !rank_per_pe && (algorithm.operation == CollectiveOperation::all_gather ||
                                          algorithm.operation == CollectiveOperation::reduce_scatter);
  // What goes on is added to what has come, and loaded meanwhile: in half of the steps of an all-reduce.
  double added = reduces(algorithm.operation) ? load : 0;
  if (algorithm.operation == CollectiveOperation::all_reduce) added /= 2;
  // Of a reduce-scatter a PE has messages for as many ranks as it has blocks, of an all-gather from as many.
  PortUse ports{endpoints.size(), endpoints.size()};
  if (of_blocks)
    (reduces(algorithm.operation) ? ports.targets : ports.lines) =
        static_cast<std::size_t>(tl::cdiv(std::ssize(endpoints), network.topology().pes_per_sip()));
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
      costs.back().loads_before = step.through_memory || step.loaded;
      costs.back().crowded_ns_per_byte = one.crowded_ns_per_byte();
      costs.back().room = one.room();
      costs.back().own_ns_per_byte = one.own_ns_per_byte(costs.back().ns_per_byte);
      if (of_blocks) take_part(costs.back(), static_cast<double>(endpoints.size()), network.topology());
      const double pes = cost.lanes * cost.pes_of_lane;
      const double of_slice =
          of_blocks && algorithm.in_parts ? part_of_slices(endpoints.size(), pes) : costs.back().part;
      costs.back().port_ns_per_byte = one.ns_per_byte_of_a_port(ports) * costs.back().turns / costs.back().part / pes;
      if (!rank_per_pe || algorithm.operation == CollectiveOperation::all_to_all)
        costs.back().pe_ns_per_byte =
            std::max(costs.back().port_ns_per_byte, one.ns_per_byte_of_a_slice(step.memory) / of_slice / pes);
      costs.back().credit_ns = 2 * one.longest_ns() + nanoseconds(pe.ipcq.wake);
      costs.back().added_ns = added;
      costs.back().loads_in_turn = step.through_memory || step.latencies == 0;
      if (!rank_per_pe && algorithm.in_parts && step.latencies > 1)
        costs.back().lead_ns_per_byte =
            static_cast<double>(step.latencies - 1) * one.ns_per_byte_passed_on(reduces(algorithm.operation));
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
  cost.of_blocks_in_parts = of_blocks && algorithm.in_parts && AlgorithmCost::has_several_steps(cost.steps);
  if (algorithm.steps_of_few) cost.steps_of_few = costs_of(algorithm.steps_of_few(shape));
  return cost;
}

GroupCosts::GroupCosts(const GroupDescription& group, const Network& network)
    : group_(group),
      network_(network),
      shape_(group.shape()),
      endpoints_(endpoints_of(group)),
      way_(group.rank_per_pe ? 0 : way_ns_per_byte(network)) {}

AlgorithmCost GroupCosts::of(const CollectiveAlgorithm& algorithm) const {
  AlgorithmCost cost = cost_of(algorithm, shape_, endpoints_, group_.rank_per_pe, way_, group_.spec, network_);
  cost.rounds_ns = rounds_ns_of(algorithm, group_, network_);
  if (algorithm.in_pieces && of_one_sip(endpoints_)) cost.one_by_one_ns = turns_of_launches_ns(group_);
  return cost;
}

}  // namespace kernbench::distributed
