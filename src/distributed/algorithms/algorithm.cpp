#include "distributed/algorithms/algorithm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/quantity.h"
#include "base/text.h"
#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/own_algorithm.h"
#include "distributed/ranks/pe_of_rank.h"
#include "kernbench/error.h"
#include "topology/describe.h"

namespace kernbench::distributed {
namespace {

using Names = std::vector<std::string_view>;

/// Of all that do the same and can run on the group.
Names that_can_run(CollectiveOperation operation, const GroupDescription& group) {
  // One that fails has its own error, when it is chosen.
  const auto can_run = [&](const CollectiveAlgorithm& each) {
    try {
      return each.refusal(group).empty();
    } catch (const Error&) {
      return false;
    }
  };
  Names names;
  for (const auto& each : group.spec.table->all()) {
    if (each.operation == operation && can_run(each)) names.push_back(each.name);
  }
  return names;
}

}  // namespace

GroupShape GroupDescription::shape() const {
  if (!rank_per_pe) return ranks;
  std::vector<PeCoordinate> pes;
  for (int i = 0; i < ranks; ++i) {
    pes.push_back(pe_of_rank(members.empty() ? i : members[static_cast<std::size_t>(i)], machine));
  }
  return {ranks, levels_of(pes)};
}

collectives::Group GroupDescription::seen() const {
  const auto wiring = topology::kSystemTopologyNames[static_cast<std::size_t>(machine.system.topology)];
  return {shape_of(shape()), rank_per_pe, wiring, spec.n_slots};
}

AlgorithmTable::AlgorithmTable(const CollectiveRegistry& own) : own_(own) {
  all_.assign(collective_algorithms().begin(), collective_algorithms().end());
  for (const auto& each : own_.algorithms()) all_.push_back(own_algorithm(each));
  for (const auto& each : all_) {
    names_[static_cast<std::size_t>(each.operation)].push_back(each.name);
    if (each.operation != CollectiveOperation::all_reduce) continue;
    if (std::ranges::find(topologies_, each.topology) == topologies_.end()) topologies_.push_back(each.topology);
  }
  choices_ = names_;
  for (const CollectiveOperation operation : kCollectiveOperations) {
    if (can_be_automatic(operation)) choices_[static_cast<std::size_t>(operation)].push_back(kAutomatic);
  }
}

const CollectiveAlgorithm& AlgorithmTable::find(CollectiveOperation operation, std::string_view name) const {
  for (const auto& each : all_) {
    if (each.operation == operation && each.name == name) return each;
  }
  const auto known = names(operation);
  const std::string_view near = nearest(name, known);
  throw ConfigurationError(
      fmt::format("there is no algorithm {} for {}{} (known: {})", in_quotes(name), distributed::name(operation),
                  near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near), fmt::join(known, ", ")));
}

const CollectiveAlgorithm* AlgorithmTable::named(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, &CollectiveAlgorithm::name);
  return found == all_.end() ? nullptr : &*found;
}

const AlgorithmTableRef& shipped_algorithms() {
  static const AlgorithmTableRef table = std::make_shared<const AlgorithmTable>();
  return table;
}

bool can_be_automatic(CollectiveOperation operation) {
  const auto has_cost = [&](const CollectiveAlgorithm& each) { return each.operation == operation && each.steps; };
  return std::ranges::count_if(collective_algorithms(), has_cost) > 1;
}

const CollectiveAlgorithm& find_collective_algorithm(CollectiveOperation operation, std::string_view name) {
  return shipped_algorithms()->find(operation, name);
}

const CollectiveAlgorithm& algorithm_for(const AlgorithmSpec& spec, CollectiveOperation operation) {
  if (spec.is_automatic(operation)) return spec.table->find(operation, spec.table->names(operation).front());
  return spec.table->find(operation, spec.algorithm_for(operation));
}

std::vector<RankPair> channels_of(const AlgorithmSpec& spec, const GroupShape& ranks) {
  std::vector<RankPair> channels;
  std::set<RankPair> known;
  for (const CollectiveOperation operation : kCollectiveOperations) {
    if (opens_channels_late(operation)) continue;
    for (const RankPair& pair : algorithm_for(spec, operation).channels(ranks)) {
      if (known.insert(pair).second) channels.push_back(pair);
    }
  }
  return channels;
}

std::vector<ChannelRound> channel_rounds(const GroupDescription& group, const CollectiveAlgorithm& algorithm) {
  const std::int64_t steps = group.ranks - 1;
  const std::int64_t in_one = std::max<std::int64_t>(1, channels_that_fit(group));
  std::vector<ChannelRound> rounds;
  for (std::int64_t step = 1; step <= steps; step += in_one) {
    rounds.push_back({step, std::min(step + in_one - 1, steps), {}});
  }
  for (const RankPair& pair : algorithm.channels(group.ranks)) {
    const std::int64_t step = (pair.second - pair.first + group.ranks) % group.ranks;
    rounds[static_cast<std::size_t>((step - 1) / in_one)].channels.push_back(pair);
  }
  return rounds;
}

void check_can_run(const GroupDescription& group, std::string_view call) {
  if (group.ranks < 2) return;
  for (const CollectiveOperation operation : kCollectiveOperations) {
    const CollectiveAlgorithm& algorithm = algorithm_for(group.spec, operation);
    const std::string reason = algorithm.refusal(group);
    if (reason.empty()) continue;
    const Names others = that_can_run(operation, group);
    throw ConfigurationError(fmt::format("{}: {} cannot run on {} ranks, each {}: {}; for {} of this group there is {}",
                                         call, algorithm.name, group.ranks, group.rank_per_pe ? "a PE" : "a SIP",
                                         reason, name(operation),
                                         others.empty() ? "no algorithm" : fmt::format("{}", fmt::join(others, ", "))));
  }
}

namespace {

/// How many have room in the memory for slots.
std::int64_t channels_with_slots(const GroupDescription& group) {
  const Bytes slots = group.spec.slot_size * group.spec.n_slots;
  if (group.spec.buffer_kind == BufferKind::tcm) return group.machine.pe.ipcq.capacity.count() / slots.count();
  if (group.spec.buffer_kind == BufferKind::sram) {
    return group.machine.cube.sram.capacity.count() / (slots.count() * group.machine.cube.pes.count());
  }
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace

std::int64_t channels_that_fit(const GroupDescription& group) {
  return std::min<std::int64_t>(channels_with_slots(group), group.machine.pe.ipcq.queues);
}

std::string ways_to_channels(const GroupDescription& group, std::int64_t needed) {
  std::vector<std::string> ways;
  if (group.machine.pe.ipcq.queues < needed) ways.emplace_back("raise pe.ipcq.queues");
  if (channels_with_slots(group) < needed) {
    const bool in_tcm = group.spec.buffer_kind == BufferKind::tcm;
    ways.push_back(
        fmt::format("take fewer or smaller slots or raise {}", in_tcm ? "pe.ipcq.capacity" : "cube.sram.capacity"));
  }
  return fmt::format("{}", fmt::join(ways, ", and "));
}

std::string algorithms_reference() {
  std::string table =
      "| name | operation | topology | runs on | how it works | order in which it folds |\n|---|---|---|---|---|---|\n";
  for (const auto& each : collective_algorithms()) {
    table += fmt::format("| `{}` | {} | `{}` | {} | {} | {} |\n", each.name, name(each.operation), each.topology,
                         each.runs_on, each.method, each.fold_order.empty() ? "—" : each.fold_order);
  }
  return table;
}

}  // namespace kernbench::distributed
