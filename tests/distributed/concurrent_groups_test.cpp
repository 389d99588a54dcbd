// Collectives of several groups at one time on a shipped machine: those of disjoint groups overlap as though each were
// alone, and groups whose messages meet on links get equal parts of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "every_algorithm.h"
#include "kernbench/kernbench.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::testing::concurrent {
namespace {

namespace dist = torch::distributed;
using Members = std::vector<int>;

/// From when the first rank's programs left the host until the last rank's were back.
struct Span {
  Time begin, end;
  double us() const { return static_cast<double>((end - begin).count()) * 1e-6; }
};

/// Each of the groups does an all-reduce around its ring, all at one instant; by their places in `groups`. Of those
/// that are not `active` nobody does anything.
std::vector<Span> run(int sips, const std::vector<Members>& groups, const std::vector<bool>& active,
                      std::int64_t elements, const std::vector<std::string>& overrides = {}) {
  SimulateOptions options;
  options.topology = "ahbm-2sip";
  options.overrides = {"system.sips.count=" + std::to_string(sips)};
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  options.data = false;
  std::vector<std::vector<std::size_t>> order(static_cast<std::size_t>(sips));
  const auto outcome = run_ranks(options, sips, [&](int rank) {
    dist::init_process_group("ahbm", rank, sips, {.algorithm = "ring_allreduce"});
    std::vector<dist::ProcessGroup> made;
    for (const Members& members : groups) made.push_back(dist::new_group(members));
    std::vector<torch::Tensor> tensors;
    for (std::size_t i = 0; i < groups.size(); ++i)
      tensors.push_back(torch::empty({elements}, torch::dtype(torch::kFloat).device("ahbm")));
    for (int time = 0; time < 2; ++time) {  // the first one opens the channels
      dist::monitored_barrier();
      std::vector<dist::WorkRef> works;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (!active[i] || dist::get_rank(made[i]) < 0) continue;
        works.push_back(dist::all_reduce(tensors[i], dist::ReduceOp::SUM, made[i], true));
        if (time == 1) order[static_cast<std::size_t>(rank)].push_back(i);
      }
      for (const auto& work : works) work->wait();
      torch::ahbm::synchronize();
    }
  });
  expect_ok(outcome, "groups");
  std::vector<Span> spans(groups.size());
  for (std::size_t device = 0; device < order.size(); ++device) {
    std::vector<const LaunchResult*> launches;
    for (const LaunchResult& launch : outcome.run.launches)
      if (launch.device == static_cast<int>(device) && launch.kernel == "ring_allreduce") launches.push_back(&launch);
    std::ranges::stable_sort(launches, {}, [](const LaunchResult* each) { return each->start; });
    EXPECT_EQ(launches.size(), 2 * order[device].size());
    for (std::size_t i = 0; i < order[device].size(); ++i) {
      const LaunchResult& launch = *launches[order[device].size() + i];
      Span& span = spans[order[device][i]];
      span.begin = span.end == Time::zero() ? launch.start : std::min(span.begin, launch.start);
      span.end = std::max(span.end, launch.end);
    }
  }
  return spans;
}

TEST(ConcurrentGroups, OfDisjointRanksTakeAsLongAsAlone) {
  NOT_UNDER_SANITIZERS("times only");
  constexpr std::int64_t kElements = 1 << 18;
  const std::vector<Members> groups{{0, 1}, {2, 3}};
  const auto first = run(4, groups, {true, false}, kElements), second = run(4, groups, {false, true}, kElements);
  const auto both = run(4, groups, {true, true}, kElements);
  EXPECT_EQ(both[0].us(), first[0].us());
  EXPECT_EQ(both[1].us(), second[1].us());
  EXPECT_LT(both[0].begin, both[1].end);
  EXPECT_LT(both[1].begin, both[0].end);
}

struct Sharing {
  std::string title;
  int sips;
  const char* wiring;
  std::vector<Members> groups;
  double most;  // what the slowest takes over what the fastest does
};

/// All of them are done at about one time, after no longer than one after the other would have taken.
TEST(ConcurrentGroups, WhoseMessagesMeetHaveEqualPartsOfTheLinks) {
  NOT_UNDER_SANITIZERS("times only");
  constexpr std::int64_t kElements = 1 << 20;
  const Sharing cases[] = {{"the same ranks", 4, "ring_1d", {{0, 1, 2, 3}, {0, 1, 2, 3}}, 1.01},
                           {"a rank behind a switch", 3, "switched", {{0, 2}, {1, 2}}, 1.01},
                           {"a rank of three groups", 4, "switched", {{0, 1}, {0, 2}, {0, 3}}, 1.06}};
  std::size_t turn = 0;
  for (const auto& [title, sips, wiring, groups, most] : cases) {
    if (turn++ % one_case_in(2, 1) != 0) continue;
    SCOPED_TRACE(title);
    const std::vector<std::string> overrides{std::string("system.sips.topology=") + wiring};
    std::vector<bool> one(groups.size()), all(groups.size(), true);
    one.front() = true;
    const double alone = run(sips, groups, one, kElements, overrides).front().us();
    std::vector<double> shared;
    for (const Span& span : run(sips, groups, all, kElements, overrides)) shared.push_back(span.us());
    const auto [fastest, slowest] = std::ranges::minmax(shared);
    EXPECT_GT(fastest, 1.5 * alone) << "they do share";
    EXPECT_LE(slowest, most * fastest);
    EXPECT_LE(slowest, 1.02 * static_cast<double>(groups.size()) * alone);
  }
}

/// Of two groups that are each other's by rotation, and of one whose messages pass a SIP that another one sends from:
/// what a SIP sends itself, over all lanes of its mesh, and what only passes through it have a link in turn.
TEST(ConcurrentGroups, WhoseMessagesPassASipOnTheirWayHaveEqualPartsOfTheLinks) {
  NOT_UNDER_SANITIZERS("times only");
  struct Crossing {
    int sips;
    std::vector<Members> groups;
    std::int64_t elements;
  };
  const Crossing cases[] = {
      {4, {{0, 2}, {1, 3}}, 1 << 20}, {4, {{0, 2}, {1, 2}}, 1 << 18}, {8, {{0, 3}, {1, 2}}, 1 << 18}};
  for (const auto& [sips, groups, elements] : cases) {
    SCOPED_TRACE(sips);
    const auto spans = run(sips, groups, {true, true}, elements);
    EXPECT_LE(std::max(spans[0].us(), spans[1].us()), 1.05 * std::min(spans[0].us(), spans[1].us()));
  }
}

/// Ways half round a ring use both of its directions: two groups of opposite SIPs do not share a link.
TEST(ConcurrentGroups, OfOppositeSipsTakeAsLongAsAlone) {
  NOT_UNDER_SANITIZERS("times only");
  const std::vector<Members> groups{{0, 2}, {1, 3}};
  const double alone = run(4, groups, {true, false}, 1 << 18).front().us();
  for (const Span& span : run(4, groups, {true, true}, 1 << 18)) EXPECT_LE(span.us(), 1.05 * alone);
}

}  // namespace
}  // namespace kernbench::testing::concurrent
