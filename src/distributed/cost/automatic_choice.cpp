#include "distributed/cost/automatic_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/degree.h"
#include "distributed/tuning.h"
#include "kernbench/error.h"

namespace kernbench::distributed {
namespace {

/// Another algorithm has to be so much better than the first one.
constexpr double kMargin = 0.98;

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

}  // namespace

AutomaticChoice::AutomaticChoice(CollectiveOperation operation, const GroupDescription& of, std::span<const int> ranks,
                                 const topology::Network& network) {
  GroupDescription group = of;
  group.members = ranks;
  const GroupCosts costs(group, network);
  std::vector<std::string_view> candidates;
  for (const std::string_view each : group.spec.table->names(operation)) {
    if (std::ranges::find(group.spec.candidates, each) != group.spec.candidates.end()) candidates.push_back(each);
  }
  std::vector<AlgorithmCost> crowded;  // whose channels take turns with the group's own
  for (const CollectiveAlgorithm& algorithm : group.spec.table->all()) {
    if (algorithm.operation != operation || !algorithm.steps || !algorithm.refusal(group).empty()) continue;
    if (!candidates.empty() && std::ranges::find(candidates, algorithm.name) == candidates.end()) continue;
    auto& into = opens_channels_late(operation) || fits_beside(algorithm, group) ? costs_ : crowded;
    into.push_back(costs.of(algorithm));
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
