// Graphs of ranks: each captures its own, collectives run between replays and are refused within.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kernbench/kernbench.h"
#include "ranks.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using ::testing::AllOf;
using ::testing::HasSubstr;
using torch::ahbm::Graph;

const auto kFloatsOnDevice = torch::dtype(torch::kFloat).device("ahbm");

RanksResult run(int ranks, const std::function<void(int rank)>& body) {
  return run_ranks(machine_of(ranks), ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    body(rank);
  });
}

TEST(CapturedGraphs, RanksReplayTheirGraphsWithCollectivesBetweenThem) {
  const auto outcome = run(2, [](int rank) {
    auto x = torch::full({1000}, rank + 1.0, kFloatsOnDevice);
    Graph doubled, next;
    {
      const auto scope = torch::ahbm::graph(doubled);
      x.mul_(2.0f);
    }
    {
      const auto scope = torch::ahbm::graph(next);
      x.add_(1.0f);
    }
    for (int step = 0; step < 3; ++step) {
      doubled.replay();
      dist::all_reduce(x);
      next.replay();
    }
    // Sums of both ranks from the first step on: 2 (1 + 2) + 1 = 7, then twice 4 x + 1.
    EXPECT_TRUE(torch::equal(x.cpu(), torch::full({1000}, 4.0 * (4.0 * 7.0 + 1.0) + 1.0, torch::kFloat)));
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each(""));
}

TEST(CapturedGraphs, CommunicationWhileARankCapturesIsRefusedByName) {
  const auto refused = [](const std::function<void(torch::Tensor & x)>& call) {
    return run(2,
               [&](int) {
                 auto x = torch::ones({1000}, kFloatsOnDevice);
                 Graph g;
                 const auto scope = torch::ahbm::graph(g);
                 call(x);
               })
        .errors[0];
  };
  const auto during = "operation not permitted when stream is capturing (sip";
  EXPECT_THAT(refused([](auto& x) { dist::all_reduce(x); }),
              AllOf(HasSubstr("all_reduce of the default group: "), HasSubstr(during),
                    HasSubstr("call it between the replays of two graphs")));
  EXPECT_THAT(refused([](auto&) { dist::barrier(); }), AllOf(HasSubstr("barrier of"), HasSubstr(during)));
  EXPECT_THAT(refused([](auto& x) { dist::send(x, 1 - dist::get_rank()); }),
              AllOf(HasSubstr("send of"), HasSubstr(during)));
  const auto waited = run(2, [&](int) {
    auto x = torch::ones({1000}, kFloatsOnDevice);
    const auto reduced = dist::all_reduce(x, dist::ReduceOp::SUM, {}, true);
    Graph g;
    const auto scope = torch::ahbm::graph(g);
    reduced->wait();
  });
  EXPECT_THAT(waited.errors[0], AllOf(HasSubstr("Work::wait"), HasSubstr(during)));
}

}  // namespace
}  // namespace kernbench::testing
