// Collectives as users meet them: order, handles, groups, and what is said when ranks do not do the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "distributed/spawning.h"
#include "kernbench/kernbench.h"
#include "ranks.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using ::testing::AllOf;
using ::testing::HasSubstr;

const auto kDevice = torch::dtype(torch::kFloat).device("ahbm");

std::string all_errors(const RanksResult& outcome) {
  std::string text;
  for (const auto& error : outcome.errors) text += error + "\n";
  return text + outcome.error.type + ": " + outcome.error.message;
}

TEST(Broadcast, GivesAllRanksTheRootsElements) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (int root = 0; root < ranks; ++root) {
      std::vector<float> got(static_cast<std::size_t>(ranks));
      const auto outcome = run_ranks(machine_of(ranks), ranks, [&](int rank) {
        dist::init_process_group("ahbm", rank, ranks);
        const auto x = torch::full({9000}, static_cast<float>(rank), kDevice);
        dist::broadcast(x, root);
        EXPECT_TRUE(torch::equal(x.cpu(), torch::full({9000}, static_cast<float>(root))));
      });
      ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
      EXPECT_THAT(outcome.errors, ::testing::Each(""));
    }
  }
}

TEST(Barrier, NobodyLeavesBeforeTheLastOneHasCome) {
  std::vector<Time> left(3);
  const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    dist::barrier();  // sets up the channels
    if (rank == 1) sim::this_fiber::sleep(Time::milliseconds(1));
    const Time came = now();
    dist::barrier();
    left[static_cast<std::size_t>(rank)] = now();
    if (rank == 1) {
      EXPECT_LT((now() - came).count(), Time::microseconds(100).count());
    }
  });
  ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  for (const Time time : left) EXPECT_GT(time, Time::milliseconds(1));
}

TEST(Work, OrdersTheCurrentStreamAndNotTheHost) {
  const auto outcome = run_ranks(machine_of(2), 2, [](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    const auto x = torch::ones({4000}, kDevice);
    dist::barrier();
    const auto work = dist::all_reduce(x, ReduceOp::SUM, {}, true);
    ASSERT_NE(work, nullptr);
    EXPECT_EQ(work->get_sequence_number(), 2u);
    EXPECT_FALSE(work->is_completed());
    const Time before = now();
    EXPECT_TRUE(work->wait());
    EXPECT_EQ(now(), before);
    const auto y = x + 1.0f;  // behind the collective
    EXPECT_EQ(y.sum().item<float>(), 3.0f * 4000);
    EXPECT_TRUE(work->is_completed());
    EXPECT_GT(work->get_duration(), 0.001);
  });
  ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each(""));
}

TEST(Work, HasTheErrorOfARankWhoseCallDoesNotFit) {
  const auto outcome = run_ranks(machine_of(2), 2, [](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    dist::barrier();
    if (rank == 1) sim::this_fiber::sleep(Time::milliseconds(1));
    const auto work = dist::all_reduce(torch::ones({4 + rank}, kDevice), ReduceOp::SUM, {}, true);
    sim::this_fiber::sleep(Time::milliseconds(2));
    EXPECT_FALSE(work->is_success());
    work->synchronize();
  });
  EXPECT_THAT(outcome.errors[1], HasSubstr("Detected mismatch between collectives on ranks."));
  EXPECT_EQ(outcome.errors[0], outcome.errors[1]);
}

// c10d's numbers.
static_assert(static_cast<int>(ReduceOp::SUM) == 0 && static_cast<int>(ReduceOp::AVG) == 1 &&
              static_cast<int>(ReduceOp::PRODUCT) == 2 && static_cast<int>(ReduceOp::MIN) == 3 &&
              static_cast<int>(ReduceOp::MAX) == 4 && static_cast<int>(ReduceOp::BAND) == 5 &&
              static_cast<int>(ReduceOp::BOR) == 6 && static_cast<int>(ReduceOp::BXOR) == 7 &&
              static_cast<int>(ReduceOp::PREMUL_SUM) == 8);

TEST(Work, AHostReadWaitsForTheCollective) {
  const auto outcome = run_ranks(machine_of(3), 3, [](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    const auto x = torch::full({100}, static_cast<float>(rank + 1), kDevice);
    dist::all_reduce(x, ReduceOp::SUM, {}, true);  // nobody waits for it
    EXPECT_EQ(x[99].item<float>(), 6.0f);
  });
  ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
}

TEST(Work, AHostReadWhoseProducerNeedsALaterRankSucceeds) {
  const auto outcome = run_ranks(machine_of(2), 2, [](int rank) {
    if (rank == 1) sim::this_fiber::sleep(Time::milliseconds(2));
    dist::init_process_group("ahbm", rank, 2);
    if (rank == 1) sim::this_fiber::sleep(Time::milliseconds(2));
    const auto x = torch::ones({16}, kDevice);
    dist::all_reduce(x);
    EXPECT_EQ(x[0].item<float>(), 2.0f);
  });
  ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
}

// A collective that waits for another rank leaves the DMA engine to the others on its PE.
TEST(Work, ACollectiveUnderWayDoesNotHoldUpWhatTheOtherRankNeedsFirst) {
  for (const bool broadcast : {false, true}) {
    const auto outcome = run_ranks(machine_of(2), 2, [&](int rank) {
      dist::init_process_group("ahbm", rank, 2);
      const auto x = torch::full({20000}, static_cast<float>(rank + 1), kDevice);
      const auto message = torch::full({20000}, static_cast<float>(rank), kDevice);
      dist::barrier();
      dist::WorkRef work;
      const auto collective = [&] {
        return broadcast ? dist::broadcast(x, 1, {}, true) : dist::all_reduce(x, ReduceOp::SUM, {}, true);
      };
      if (rank == 0) {
        work = collective();
        const auto doubled = message + torch::ones({20000}, kDevice);
        EXPECT_EQ(doubled[19999].item<float>(), 1.0f);
        dist::send(doubled, 1);
      } else {
        dist::recv(message, 0);
        EXPECT_EQ(message[19999].item<float>(), 1.0f);
        work = collective();
      }
      work->wait();
      EXPECT_EQ(x[0].item<float>(), broadcast ? 2.0f : 3.0f);
    });
    EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
    EXPECT_THAT(outcome.errors, ::testing::Each(""));
  }
}

TEST(Groups, CollectivesOfSeveralGroupsKeepApart) {
  const auto outcome = run_ranks(machine_of(4), 4, [](int rank) {
    dist::init_process_group("ahbm", rank, 4);
    const auto even = dist::new_group({0, 2}), odd = dist::new_group({1, 3});
    const auto x = torch::full({2000}, static_cast<float>(rank), kDevice);
    dist::all_reduce(x, ReduceOp::SUM, rank % 2 == 0 ? even : odd);
    EXPECT_EQ(x[0].item<float>(), rank % 2 == 0 ? 2.0f : 4.0f);
    dist::all_reduce(x);
    EXPECT_EQ(x[1999].item<float>(), 12.0f);
    EXPECT_EQ(dist::all_reduce(x, ReduceOp::SUM, rank % 2 == 0 ? odd : even), nullptr);  // warns
  });
  ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each(""));
}

TEST(Identity, EveryRankIsStillItselfAfterFiftyInterleavedCollectives) {
  std::vector<std::vector<float>> drawn(3);
  const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    torch::manual_seed(static_cast<std::uint64_t>(rank));
    const torch::ahbm::Stream side;
    torch::ahbm::set_stream(side);
    const auto x = torch::ones({64}, kDevice), y = torch::ones({32}, kDevice);
    for (int i = 0; i < 25; ++i) {
      const auto work = dist::all_reduce(x, ReduceOp::MAX, {}, true);
      dist::broadcast(y, i % 3);
      work->wait();
      drawn[static_cast<std::size_t>(rank)].push_back(torch::rand({1}).item<float>());
      ASSERT_EQ(torch::ahbm::current_device(), rank);
      ASSERT_TRUE(torch::ahbm::current_stream() == side);
      ASSERT_EQ(dist::get_rank(), rank);
    }
    torch::ahbm::synchronize();
  });
  ASSERT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  simulate(machine_of(1), [&] {
    for (int rank = 0; rank < 3; ++rank) {
      torch::manual_seed(static_cast<std::uint64_t>(rank));
      for (const float value : drawn[static_cast<std::size_t>(rank)]) {
        ASSERT_EQ(torch::rand({1}).item<float>(), value);
      }
    }
  });
}

// ---- what goes wrong ---------------------------------------------------------------------------------------------

struct Seeded {
  std::string title;
  std::function<void(int rank)> program;  // of three ranks
  std::vector<std::string> expected;      // in the errors of ranks, or of the run
};

TEST(Scorecard, EverySeededBugIsFoundWithItsCulprit) {
  const auto x = [](std::int64_t n, torch::ScalarType type = torch::kFloat) {
    return torch::ones({n}, torch::dtype(type).device("ahbm"));
  };
  const std::vector<Seeded> bugs{
      {"size",
       [&](int rank) { dist::all_reduce(x(rank == 1 ? 5 : 4)); },
       {"Tensor shapes: ", "SIZE_OR_SYNTAX_MISMATCH", "[5]"}},
      {"dtype",
       [&](int rank) { dist::all_reduce(x(4, rank == 2 ? torch::kHalf : torch::kFloat)); },
       {"Tensor dtypes: Float vs Half", "Culprit rank 2; Error type: COLLECTIVE_DTYPE_MISMATCH"}},
      {"operation",
       [&](int rank) {
         if (rank == 0)
           dist::broadcast(x(4), 0);
         else
           dist::all_reduce(x(4));
       },
       {"Op type: ", "COLLECTIVE_TYPE_MISMATCH", "OpType=BROADCAST"}},
      {"reduction",
       [&](int rank) { dist::all_reduce(x(4), rank == 1 ? ReduceOp::MAX : ReduceOp::SUM); },
       {"Reduce op: ", "SIZE_OR_SYNTAX_MISMATCH"}},
      {"root", [&](int rank) { dist::broadcast(x(4), rank); }, {"Root: ", "SIZE_OR_SYNTAX_MISMATCH"}},
      {"order",
       [&](int rank) {
         const auto a = x(4), b = x(8);
         dist::all_reduce(rank == 1 ? b : a);
         dist::all_reduce(rank == 1 ? a : b);
       },
       {"SequenceNumber=1", "Tensor shapes: "}},
      {"placement",
       [&](int rank) {
         const DPPolicy one{.num_cubes = 1, .num_pes = 1};
         dist::all_reduce(torch::ones({8}, kDevice.placement(rank == 1 ? one : DPPolicy{})));
       },
       {"Tensor placement: ", "balanced over 1 PE of each"}},
      {"group",
       [&](int rank) {
         const auto pair = dist::new_group({0, 1});
         const auto y = x(4);
         if (rank == 0)
           dist::all_reduce(y, ReduceOp::SUM, pair);
         else
           dist::all_reduce(y);
       },
       {"DeadlockError", "missing ranks: {1}", "missing ranks: {0}"}},
      {"missing collective",
       [&](int rank) {
         const auto y = x(4);
         dist::all_reduce(y);
         if (rank != 1) dist::all_reduce(y);
         if (rank != 1) y.cpu();
       },
       {"DeadlockError",
        "needs the call of ALLREDUCE (sequence number 2) of the default group on rank 1, which ended"}},
      {"rank that returns early",
       [&](int rank) {
         if (rank == 2) return;
         dist::all_reduce(x(4));
       },
       {"DeadlockError", "ALLREDUCE (sequence number 1) of the default group, missing ranks: {2}"}},
      {"one device for two ranks",
       [&](int rank) {
         torch::ahbm::set_device(rank == 2 ? 1 : rank);
         dist::all_reduce(x(4));
       },
       {"Duplicate device detected: rank 1 and rank 2 both on ahbm:1"}},
  };
  for (const Seeded& bug : bugs) {
    const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
      dist::init_process_group("ahbm", rank, 3);
      bug.program(rank);
    });
    for (const auto& text : bug.expected) EXPECT_THAT(all_errors(outcome), HasSubstr(text)) << bug.title;
  }
}

}  // namespace
}  // namespace kernbench::testing
