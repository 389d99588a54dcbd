#include "distributed/algorithm_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "distributed/collectives_file.h"
#include "distributed/cost/algorithm_cost.h"
#include "distributed/cost/automatic_choice.h"
#include "distributed/ranks/pe_of_rank.h"
#include "kernbench/error.h"
#include "topology/network.h"

namespace kernbench::distributed {
namespace {

using topology::Endpoint;
using topology::LinkKind;
using topology::Network;

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string_view near = nearest(word, known);
  return fmt::format("{} (known: {})", near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near),
                     fmt::join(known, ", "));
}

CollectiveOperation operation_named(std::string_view text) {
  for (const CollectiveOperation each : kCollectiveOperations) {
    if (name(each) == text) return each;
  }
  const std::vector<std::string_view> known(kCollectiveOperationNames.begin(), kCollectiveOperationNames.end());
  throw ConfigurationError(fmt::format("no operation is named {}{}", in_quotes(text), did_you_mean(text, known)));
}

/// Entry and operation of the name.
std::pair<AlgorithmSpec, CollectiveOperation> resolve(const DescriptionRequest& request,
                                                      const Collectives& collectives) {
  const AlgorithmTable& table = *collectives.defaults.table;
  check_unambiguous(collectives, request.name);
  if (const CollectiveAlgorithm* named = table.named(request.name)) {
    if (!request.operation.empty() && operation_named(request.operation) != named->operation) {
      throw ConfigurationError(
          fmt::format("{} is an algorithm of {}, not of {}", named->name, name(named->operation), request.operation));
    }
    // An entry of its name may have other queues than the file's own choice.
    const auto entry = collectives.algorithms.find(request.name);
    AlgorithmSpec spec = entry == collectives.algorithms.end() ? collectives.defaults : entry->second;
    spec.take(*named);
    return {std::move(spec), named->operation};
  }
  if (!collectives.algorithms.contains(request.name)) {
    std::vector<std::string_view> known;
    for (const CollectiveAlgorithm& each : table.all()) known.push_back(each.name);
    for (const auto& [entry, spec] : collectives.algorithms) {
      if (table.named(entry) == nullptr) known.emplace_back(entry);
    }
    throw ConfigurationError(
        fmt::format("no algorithm is named {}{}", in_quotes(request.name), did_you_mean(request.name, known)));
  }
  return {find_algorithm(collectives, request.name),
          request.operation.empty() ? CollectiveOperation::all_reduce : operation_named(request.operation)};
}

void check_ranks(int ranks, const topology::Topology& machine) {
  const std::int64_t most = machine.system.sips * machine.pes_per_sip();
  if (ranks >= 2 && ranks <= most) return;
  throw ConfigurationError(
      fmt::format("{} rank{}: an algorithm needs 2 or more, and the machine has {} SIP{} and {} PEs; name their number "
                  "with --ranks, or more SIPs with --set system.sips.count=N",
                  ranks, ranks == 1 ? "" : "s", machine.system.sips, machine.system.sips == 1 ? "" : "s", most));
}

PeCoordinate last_pe(SipId sip, const topology::Topology& machine) {
  return {sip, CubeId{machine.sip.cubes.count() - 1}, PeId{machine.cube.pes.count() - 1}};
}

class Describer {
 public:
  Describer(AlgorithmDescription& out, const Network& network) : out_(out), network_(network) {}

  void add_channel(const RankPair& pair) {
    ChannelDescription channel{.from = pair.first, .to = pair.second, .links = {}, .latency = {}};
    const auto route = network_.route(endpoint(pair.first), endpoint(pair.second));
    channel.latency = network_.latency(route);
    for (const topology::RouteHop& hop : route) {
      const topology::Link& link = network_.link(hop.link);
      if (out_.rank_per_pe || link.kind == LinkKind::sip) channel.links.push_back(link.name);
    }
    out_.channels.push_back(std::move(channel));
  }
  void add_step(const CostStep& step) {
    StepDescription described{
        .times = step.times, .latencies = step.latencies, .loaded = step.loaded || step.through_memory, .messages = {}};
    for (const CostStep::Message& message : step.messages) {
      described.messages.push_back({message.from, message.to, bytes_of(message.weight * step.share)});
    }
    out_.steps.push_back(std::move(described));
  }

 private:
  /// Of a message with such a share of the tensor; a barrier has none, and signals of one byte.
  Bytes bytes_of(double share) const {
    if (out_.algorithm->operation == CollectiveOperation::barrier) return Bytes(1);
    return Bytes(std::llround(share * static_cast<double>(out_.bytes.count())));
  }
  Endpoint endpoint(int rank) const {
    const PeCoordinate first = out_.first_pes[static_cast<std::size_t>(rank)];
    return Endpoint::pe_port(out_.rank_per_pe ? first : last_pe(first.sip, network_.topology()));
  }

  AlgorithmDescription& out_;
  const Network& network_;
};

}  // namespace

AlgorithmDescription describe_algorithm(const DescriptionRequest& request, const Collectives& collectives,
                                        const topology::Topology& machine) {
  auto [spec, operation] = resolve(request, collectives);
  AlgorithmDescription out;
  out.spec = std::move(spec);
  out.bytes = request.bytes;
  out.ranks = request.ranks > 0 ? request.ranks : machine.system.sips;
  check_ranks(out.ranks, machine);
  out.rank_per_pe = out.ranks > machine.system.sips;
  out.pes = out.rank_per_pe ? 1 : machine.pes_per_sip();
  for (int rank = 0; rank < out.ranks; ++rank) {
    out.first_pes.push_back(out.rank_per_pe ? pe_of_rank(rank, machine)
                                            : PeCoordinate{SipId{rank}, CubeId{0}, PeId{0}});
  }
  std::vector<int> members(static_cast<std::size_t>(out.ranks));
  std::iota(members.begin(), members.end(), 0);
  const GroupDescription group{out.ranks, out.rank_per_pe, out.spec, machine, members};
  const Network network(machine);
  if (out.spec.is_automatic(operation)) {
    const AutomaticChoice choice(operation, group, members, network);
    out.algorithm = &choice.of(out.bytes.count());
    out.reason = choice.reason(out.bytes.count(), *out.algorithm);
  } else {
    out.algorithm = &out.spec.table->find(operation, out.spec.algorithm_for(operation));
  }
  if (const std::string refusal = out.algorithm->refusal(group); !refusal.empty())
    throw ConfigurationError(fmt::format("{} cannot run on this group: {}", out.algorithm->name, refusal));

  Describer describer(out, network);
  for (const RankPair& pair : out.algorithm->channels(group.shape())) describer.add_channel(pair);
  std::ranges::stable_sort(out.channels, {}, &ChannelDescription::from);
  if (!out.algorithm->steps) return out;
  for (const CostStep& step : out.algorithm->steps(group.shape())) describer.add_step(step);
  out.cost_ns = GroupCosts(group, network).of(*out.algorithm).of(out.bytes.count());
  return out;
}

}  // namespace kernbench::distributed
