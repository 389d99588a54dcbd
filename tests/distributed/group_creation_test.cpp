// Ranks that do not ask for the same new group: who is to blame, and what can be done afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "distributed/agreement/judgement.h"
#include "kernbench/kernbench.h"
#include "ranks.h"
#include "spawning.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

/// What new_group threw; empty when it did not.
std::string made(const std::vector<int>& ranks, const dist::InitOptions& options = {}) {
  try {
    (void)dist::new_group(ranks, options);
  } catch (const Error& error) {
    return error.type() + ": " + error.what();
  }
  return {};
}

TEST(Judgement, TheSideOfMoreThanHalfIsRightWhateverTheirOrder) {
  std::vector<std::vector<int>> sides{{1, 4}, {0}, {2, 3, 5, 6}};
  do {
    const auto judgement = distributed::judge(sides);
    std::vector<int> first;
    for (const std::size_t side : judgement.order) first.push_back(sides[side].front());
    EXPECT_THAT(first, ElementsAre(2, 0, 1));
    EXPECT_EQ(judgement.culprits, "Culprit ranks {0, 1, 4}");
  } while (std::next_permutation(sides.begin(), sides.end()));
}

TEST(Judgement, HalfIsNoMajority) {
  const auto judgement = distributed::judge({{2, 3}, {1}, {0}});
  EXPECT_THAT(judgement.order, ElementsAre(2, 1, 0));
  EXPECT_THAT(judgement.culprits, HasSubstr("No culprit"));
}

TEST(NewGroup, TheRankThatDiffersIsToBlameInWhateverOrderTheyCome) {
  for (int wrong = 0; wrong < 3; ++wrong) {
    std::vector<int> order{0, 1, 2};
    std::string first;
    do {
      std::vector<std::string> told(3);
      std::vector<float> sums(3);
      const auto outcome = run_ranks(
          machine_of(3), 3,
          [&](int rank) {
            dist::init_process_group("ahbm", rank, 3);
            const auto place = std::ranges::find(order, rank) - order.begin();
            sim::this_fiber::sleep_until(Time::microseconds(10 + place));
            told[static_cast<std::size_t>(rank)] = made(rank == wrong ? std::vector{0, 1, 2} : std::vector{0, 1});
            EXPECT_EQ(now(), Time::microseconds(12)) << "when the last one has called";
            const auto group = dist::new_group();
            const auto x = torch::ones({8}, torch::dtype(torch::kFloat).device("ahbm"));
            dist::all_reduce(x, dist::ReduceOp::SUM, group);
            sums[static_cast<std::size_t>(rank)] = x[0].item<float>();
          },
          order);
      EXPECT_EQ(outcome.error.message, "");
      EXPECT_THAT(outcome.errors, Each(""));
      EXPECT_THAT(sums, Each(3.0f)) << "the next group works";
      EXPECT_THAT(told, Each(told[0]));
      if (first.empty()) first = told[0];
      EXPECT_EQ(told[0], first);
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_THAT(first, MatchesRegex("DistributedError: Detected mismatch between calls of new_group \\(number 1\\): "
                                    "ranks \\{[0-9], [0-9]\\} gave the ranks \\{0, 1\\} at .*, but rank " +
                                    std::to_string(wrong) +
                                    " gave the ranks \\{0, 1, 2\\} at .*; all ranks must make the same groups in the "
                                    "same order. Culprit rank " +
                                    std::to_string(wrong)));
  }
}

TEST(NewGroup, NobodyIsToBlameWithoutAMajority) {
  const auto outcome = run_ranks(machine_of(2), 2, [](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    dist::new_group({rank});
  });
  EXPECT_THAT(outcome.errors, Each(AllOf(HasSubstr("rank 0 gave the ranks {0}"), HasSubstr("but rank 1 gave"),
                                         HasSubstr("No culprit"), Not(HasSubstr("missing")))));
}

TEST(NewGroup, RanksThatCanNoLongerCallAreMissingRanks) {
  for (const bool ends : {false, true}) {
    sim::Completion go_on;
    const auto outcome = run_ranks(machine_of(4), 4, [&](int rank) {
      dist::init_process_group("ahbm", rank, 4);
      if (rank == 3 && ends) return;
      if (rank == 3) return go_on.wait();  // nothing is left that could happen but for the others' error
      EXPECT_THAT(made(rank == 1 ? std::vector{1} : std::vector{0}),
                  AllOf(HasSubstr("Culprit rank 1; missing ranks: {3}"), HasSubstr("ranks {0, 2} gave")));
      go_on.set();
    });
    EXPECT_EQ(outcome.error.message, "");
  }
}

TEST(NewGroup, ARankThatEndsLaterLetsTheOthersBeJudged) {
  const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    if (rank == 2) return sleep(50'000);
    EXPECT_THAT(made({rank}), HasSubstr("missing ranks: {2}"));
  });
  EXPECT_EQ(outcome.error.message, "");
}

}  // namespace
}  // namespace kernbench::testing
