// Groups of which one has some ranks of another, and not all: a rank may be ahead in one while others are still in the
// other one, and what it holds there must not be what they wait for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ranks.h"
#include "spawning.h"
#include "support/sanitizers.h"

namespace kernbench::testing::crossing_groups_test {
namespace {

namespace dist = torch::distributed;

/// tiny as it is shipped, with so many SIPs, and the shipped collectives file.
SimulateOptions machine(int sips, std::vector<std::string> overrides = {}) {
  return devices(sips, std::move(overrides));
}

torch::Tensor filled(float value, std::int64_t elements) {
  return torch::full({elements}, value, torch::device("ahbm"));
}

void expect_passed(const SimulateOptions& options, int ranks, const std::function<void(int rank)>& body,
                   const std::string& what = {}) {
  const auto outcome = run_ranks(options, ranks, body);
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << what << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each("")) << what;
}

float first(const torch::Tensor& x) {
  return x.cpu()[0].item<float>();
}

/// Ranks 1, 3 and 5 are in the second all-reduce, with most entries of all PEs, while the others gather.
TEST(CrossingGroups, RanksThatAreAheadLeaveEntriesToThoseThatAreNot) {
  for (const char* topology : {"tiny", "ahbm-2sip"}) {
    if (kSanitized && topology != std::string("tiny")) continue;
    SimulateOptions options = machine(8);
    options.topology = topology;
    expect_passed(options, 8, [](int rank) {
      torch::ahbm::set_device(rank);
      dist::init_process_group("ahbm", rank, 8);
      const auto some = dist::new_group({0, 2, 4, 6, 7});
      const auto x = filled(1, 297), y = filled(static_cast<float>(rank), 1024);
      dist::all_reduce(x);
      torch::ahbm::synchronize();
      if (dist::get_rank(some) >= 0) {
        std::vector<torch::Tensor> all;
        for (int i = 0; rank == 4 && i < 5; ++i) all.push_back(filled(-1, 1024));
        dist::gather(y, all, 4, some);
        for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(first(all[i]), (std::vector{0, 2, 4, 6, 7}[i]));
      }
      dist::all_reduce(x);
      EXPECT_EQ(first(x), 64) << rank;
    });
  }
}

/// Nine ranks need all entries of a PE for a direct exchange.
TEST(CrossingGroups, TwoRanksExchangeWhileTheOthersAreAhead) {
  expect_passed(machine(9), 9, [](int rank) {
    torch::ahbm::set_device(rank);
    dist::init_process_group("ahbm", rank, 9);
    const auto x = filled(1, 1000), y = filled(static_cast<float>(rank), 100);
    dist::all_reduce(x);
    torch::ahbm::synchronize();
    if (rank == 2) dist::send(y, 5);
    if (rank == 5) dist::recv(y, 2);
    dist::all_reduce(x);
    EXPECT_EQ(first(x), 81);
    EXPECT_EQ(first(y), rank == 5 ? 2 : rank);
  });
}

/// Which of a group's operations may begin early depends on what is under way in the other one. Whoever has come before
/// there was room for that goes on when somebody begins.
TEST(CrossingGroups, WhoWaitsForAllGoesOnWhenSomebodyBeginsEarly) {
  for (const int late : {0, 3, 7}) {
    if (kSanitized && late != 3) continue;
    expect_passed(machine(8, {"system.sips.topology=fully_connected"}), 8, [=](int rank) {
      torch::ahbm::set_device(rank);
      dist::init_process_group("ahbm", rank, 8, {.algorithm = "direct"});
      const auto around = dist::new_group({}, {.algorithm = "ring"});
      const auto x = filled(1, 3000), y = filled(1, 3000), z = filled(0, 3000);
      for (int round = 0; round < 12; ++round) {
        if (rank == late || round % 3 == rank % 3) z.add_(1);
        const auto one = dist::all_reduce(x, dist::ReduceOp::AVG, {}, true);
        const auto other = dist::all_reduce(y, dist::ReduceOp::AVG, around, round % 2 == 0);
        if (round % 4 == rank % 4) z.mul_(2);
        dist::barrier();
        one->wait();
        if (other) other->wait();
        if (round % 5 == rank % 5) torch::ahbm::synchronize();
      }
      EXPECT_EQ(first(x), 1);
      EXPECT_EQ(first(y), 1);
    });
  }
}

/// What a program does, in the order of all ranks: each does that part in which it is.
struct Step {
  std::size_t group = 0;
  int kind = 0;  // all_reduce, broadcast, all_gather, gather, all_to_all, or from one member to the next
  int root = 0;  // place in the group
  std::int64_t elements = 1;
  bool waits = false;  // until the device has done all
};

struct RandomProgram {
  int ranks;
  std::vector<std::vector<int>> groups;  // the first one has all ranks
  std::vector<Step> steps;
};

RandomProgram random_program(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  RandomProgram program{.ranks = 4 + below(6), .groups = {}, .steps = {}};
  std::vector<int> all(static_cast<std::size_t>(program.ranks));
  std::iota(all.begin(), all.end(), 0);
  program.groups.push_back(all);
  for (int count = 1 + below(3); count > 0; --count) {
    std::vector<int> some = all;
    std::ranges::shuffle(some, random);
    some.resize(static_cast<std::size_t>(2 + below(program.ranks - 1)));
    std::ranges::sort(some);
    program.groups.push_back(some);
  }
  for (int count = 6 + below(6); count > 0; --count) {
    Step step;
    step.group = static_cast<std::size_t>(below(static_cast<int>(program.groups.size())));
    step.kind = below(6);
    step.root = below(static_cast<int>(program.groups[step.group].size()));
    step.elements = 1 + below(600);
    step.waits = below(3) == 0;
    program.steps.push_back(step);
  }
  return program;
}

/// Does a step on one of its ranks, and says what it ends with, and what it must be.
std::pair<float, float> do_step(const Step& step, const std::vector<int>& members, int rank,
                                const dist::ProcessGroup& group) {
  const int size = static_cast<int>(members.size());
  const int place = static_cast<int>(std::ranges::find(members, rank) - members.begin());
  const int root = members[static_cast<std::size_t>(step.root)];
  const auto mine = filled(static_cast<float>(rank + 1), step.elements);
  const auto sum = [&] { return static_cast<float>(std::accumulate(members.begin(), members.end(), size)); };
  const auto block = [&](const torch::Tensor& all, int of) { return all.cpu()[of * step.elements].item<float>(); };
  switch (step.kind) {
    case 0:
      dist::all_reduce(mine, dist::ReduceOp::SUM, group);
      return {first(mine), sum()};
    case 1:
      dist::broadcast(mine, root, group);
      return {first(mine), static_cast<float>(root + 1)};
    case 2: {
      const auto all = filled(-1, step.elements * size);
      dist::all_gather_into_tensor(all, mine, group);
      return {block(all, step.root), static_cast<float>(root + 1)};
    }
    case 3: {
      std::vector<torch::Tensor> all;
      for (int i = 0; rank == root && i < size; ++i) all.push_back(filled(-1, step.elements));
      dist::gather(mine, all, root, group);
      return {rank == root ? first(all.back()) : 0, rank == root ? static_cast<float>(members.back() + 1) : 0};
    }
    case 4: {
      const auto out = filled(-1, step.elements * size),
                 in = filled(static_cast<float>(rank + 1), step.elements * size);
      dist::all_to_all_single(out, in, {}, {}, group);
      return {block(out, step.root), static_cast<float>(root + 1)};
    }
    default: {
      const int to = (step.root + 1) % size;
      if (place == step.root) dist::send(mine, members[static_cast<std::size_t>(to)], group);
      if (place == to) dist::recv(mine, root, group);
      return {first(mine), static_cast<float>(place == to ? root + 1 : rank + 1)};
    }
  }
}

/// Of groups that overlap at random, in an order in which they can all be done. Ranks go ahead as far as they can.
TEST(CrossingGroups, EveryProgramThatCanBeDoneInOneOrderEnds) {
  constexpr unsigned kPrograms = kSanitized ? 3 : 60;
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    const RandomProgram program = random_program(seed);
    expect_passed(
        machine(program.ranks), program.ranks,
        [&](int rank) {
          torch::ahbm::set_device(rank);
          dist::init_process_group("ahbm", rank, program.ranks);
          std::vector<dist::ProcessGroup> groups;
          for (const auto& members : program.groups)
            groups.push_back(groups.empty() ? dist::ProcessGroup() : dist::new_group(members));
          for (std::size_t i = 0; i < program.steps.size(); ++i) {
            const Step& step = program.steps[i];
            const auto& members = program.groups[step.group];
            if (std::ranges::find(members, rank) == members.end()) continue;
            const auto [is, expected] = do_step(step, members, rank, groups[step.group]);
            EXPECT_EQ(is, expected) << "program " << seed << ", step " << i << ", rank " << rank;
            if (step.waits) torch::ahbm::synchronize();
          }
        },
        "program " + std::to_string(seed) + ": ");
  }
}

}  // namespace
}  // namespace kernbench::testing::crossing_groups_test
