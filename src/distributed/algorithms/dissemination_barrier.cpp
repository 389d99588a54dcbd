// Barriers by dissemination (Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988).
//
// In one direction a rank that has heard of the d - 1 ranks before it signals the one d places behind it, d = 1, 2, 4,
// … < n, and hears of d more.
//
// In both directions, two signals in a round (as in Hoefler, Mehlan, Mietke and Rehm, "Fast barrier synchronization for
// InfiniBand", 2006): one that has heard of the h ranks before it and the h behind it signals those d <= 2 h + 1 places
// away, and hears of d more on each side. h is 1, 4, 13, … after a round, and n / 2 after the last one, whose distance
// is what is missing. So signals go n / 2 places in all, as far as on the shortest way around a ring.
#include <algorithm>
#include <array>
#include <set>

#include "distributed/algorithms/barrier_signals.h"
#include "distributed/algorithms/bruck.h"
#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {
namespace {

void signal_behind(const RankView& ranks, const CollectiveArguments&) {
  for (std::int64_t distance = 1; distance < ranks.size; distance *= 2) {
    signal(ranks, ranks.after(distance));
    hear(ranks, ranks.before(distance));
  }
  finish_sending();
}

std::vector<CostStep> one_way_steps(const GroupShape& ranks) {
  std::vector<CostStep> steps;
  for (int distance = 1; distance < ranks; distance *= 2) steps.push_back(bruck_step(ranks, distance, 0));
  return steps;
}

/// Of the rounds in both directions.
std::vector<int> distances(int ranks) {
  std::vector<int> distances;
  for (int known = 0, half = ranks / 2; known < half; known += distances.back())
    distances.push_back(std::min(2 * known + 1, half - known));
  return distances;
}

void signal_both_sides(const RankView& ranks, const CollectiveArguments&) {
  for (const int distance : distances(static_cast<int>(ranks.size))) {
    const std::int64_t after = ranks.after(distance), before = ranks.before(distance);
    signal(ranks, after);
    if (before != after) signal(ranks, before);
    hear(ranks, before);
    if (before != after) hear(ranks, after);
  }
  finish_sending();
}

std::array<int, 2> both_sides(int rank, int distance, int ranks) {
  return {(rank + distance) % ranks, (rank + ranks - distance) % ranks};
}

std::vector<RankPair> two_way_channels(const GroupShape& ranks) {
  std::vector<RankPair> channels;
  std::set<RankPair> known;
  for (const int distance : distances(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (const int to : both_sides(rank, distance, ranks)) {
        if (known.insert({rank, to}).second) channels.emplace_back(rank, to);
      }
    }
  }
  return channels;
}

std::string two_way_refusal(const GroupDescription& group) {
  return more_channels_than_fit(group, two_way_channels(group.ranks));
}

std::vector<CostStep> two_way_steps(const GroupShape& ranks) {
  std::vector<CostStep> steps;
  for (const int distance : distances(ranks)) {
    CostStep step;
    for (int rank = 0; rank < ranks; ++rank) {
      for (const int to : both_sides(rank, distance, ranks)) step.messages.push_back({rank, to});
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

CollectiveAlgorithm dissemination_barrier() {
  return {.name = "dissemination_barrier",
          .operation = CollectiveOperation::barrier,
          .topology = kBruck,
          .method = "signals to the ranks 1, 2, 4, … places behind: ceil(log2 n) steps",
          .fold_order = "",
          .runs_on = kRunsWhereChannelsFit,
          .refusal = bruck_refusal,
          .channels = bruck_channels,
          .kernel = signal_behind,
          .steps = one_way_steps};
}

CollectiveAlgorithm bidirectional_dissemination_barrier() {
  return {.name = "bidirectional_dissemination_barrier",
          .operation = CollectiveOperation::barrier,
          .topology = "bidirectional_dissemination",
          .method =
              "signals to the ranks 1, 3, 9, … places away in both directions, the last time those that are missing: "
              "ceil(log3 n) steps",
          .fold_order = "",
          .runs_on = kRunsWhereChannelsFit,
          .refusal = two_way_refusal,
          .channels = two_way_channels,
          .kernel = signal_both_sides,
          .steps = two_way_steps};
}

}  // namespace kernbench::distributed
