// send and recv: who meets whom, in which order, and what is said when the two sides do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "ranks.h"
#include "sim/fiber.h"
#include "support/sanitizers.h"

namespace kernbench::testing::point_to_point_test {
namespace {

namespace dist = torch::distributed;
using ::testing::AllOf;
using ::testing::HasSubstr;

const auto kDevice = torch::dtype(torch::kFloat).device("ahbm");

torch::Tensor full(std::int64_t n, double value) {
  return torch::full({n}, value, kDevice);
}

RanksResult run(int ranks, const std::function<void(int rank)>& body) {
  return run_ranks(machine_of(ranks), ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    body(rank);
  });
}

void expect_passed(const RanksResult& outcome) {
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each(""));
}

TEST(PointToPoint, ATensorArrivesWhateverItsSize) {
  for (const std::int64_t n : {1, 3, 100, 50000}) {
    expect_passed(run(2, [n](int rank) {
      const auto values = torch::arange(n, torch::kFloat);
      const auto x = rank == 0 ? values.to("ahbm") : torch::zeros({n}, kDevice);
      if (rank == 0) {
        dist::send(x, 1);
      } else {
        EXPECT_EQ(dist::recv(x, 0), 0);
        EXPECT_TRUE(torch::equal(x.cpu(), values));
      }
    }));
  }
}

TEST(PointToPoint, MessagesOfOnePairKeepTheirOrder) {
  expect_passed(run(2, [](int rank) {
    for (int i = 0; i < 6; ++i) {
      const auto x = full(40, rank == 0 ? i : -1);
      if (rank == 0) {
        dist::send(x, 1);
      } else {
        dist::recv(x, 0);
        EXPECT_EQ(x[39].item<float>(), static_cast<float>(i));
      }
    }
  }));
}

TEST(PointToPoint, TagsKeepApartWhatIsReceivedInAnotherOrder) {
  expect_passed(run(2, [](int rank) {
    const auto a = full(20000, rank == 0 ? 1 : 0), b = full(20000, rank == 0 ? 2 : 0);
    std::vector<dist::WorkRef> works;
    if (rank == 0) {
      works = {dist::isend(a, 1, {}, 5), dist::isend(b, 1, {}, 6)};
    } else {
      works = {dist::irecv(b, 0, {}, 6), dist::irecv(a, 0, {}, 5)};
    }
    for (const auto& work : works) work->wait();
    EXPECT_EQ(a[0].item<float>(), 1.0f);
    EXPECT_EQ(b[0].item<float>(), 2.0f);
  }));
}

TEST(PointToPoint, BothDirectionsAtOnce) {
  expect_passed(run(2, [](int rank) {
    const auto mine = full(30000, rank + 1), theirs = full(30000, 0);
    const auto out = dist::isend(mine, 1 - rank), in = dist::irecv(theirs, 1 - rank);
    in->wait();
    out->wait();
    EXPECT_EQ(theirs[29999].item<float>(), static_cast<float>(2 - rank));
    in->synchronize();
    EXPECT_GT(in->get_duration(), 0);
  }));
}

TEST(PointToPoint, ABatchAroundARing) {
  expect_passed(run(3, [](int rank) {
    const auto mine = full(9000, rank), theirs = full(9000, -1);
    const int next = (rank + 1) % 3, previous = (rank + 2) % 3;
    const auto works =
        dist::batch_isend_irecv({{dist::P2POp::isend, mine, next}, {dist::P2POp::irecv, theirs, previous}});
    ASSERT_EQ(works.size(), 2u);
    for (const auto& work : works) work->wait();
    EXPECT_EQ(theirs[0].item<float>(), static_cast<float>(previous));
  }));
}

TEST(PointToPoint, WhoReceivesFromAnyGetsTheSendThatWasCalledFirst) {
  std::vector<int> sources;
  expect_passed(run(4, [&](int rank) {
    dist::barrier();
    const auto x = full(50, rank);
    sim::this_fiber::sleep(Time::milliseconds(rank == 0 ? 10 : 4 - rank));
    if (rank > 0) return dist::send(x, 0, {}, 2);
    for (int i = 0; i < 3; ++i) {
      sources.push_back(dist::recv(x, std::nullopt, {}, 2));
      EXPECT_EQ(x[49].item<float>(), static_cast<float>(sources.back()));
    }
  }));
  EXPECT_THAT(sources, ::testing::ElementsAre(3, 2, 1));
}

// Whether the receive waits for the sends, is called at their instant, or finds them.
TEST(PointToPoint, OfSendsOfOneInstantWhoReceivesFromAnyGetsThatOfTheLowestRank) {
  for (const auto receive_at : {Time::zero(), Time::microseconds(100), Time::microseconds(200)}) {
    if (kSanitized && receive_at != Time::microseconds(100)) continue;
    std::vector<int> order{0, 1, 2, 3};
    do {
      std::vector<int> sources;
      expect_passed(run_ranks(
          machine_of(4), 4,
          [&](int rank) {
            dist::init_process_group("ahbm", rank, 4);
            const auto x = full(50, rank);
            sim::this_fiber::sleep_until(rank == 0 ? receive_at : Time::microseconds(100));
            if (rank > 0) return dist::send(x, 0);
            for (int i = 0; i < 3; ++i) sources.push_back(dist::recv(x));
          },
          order));
      EXPECT_THAT(sources, ::testing::ElementsAre(1, 2, 3)) << receive_at.count() << ::testing::PrintToString(order);
    } while (std::ranges::next_permutation(order).found);
  }
}

TEST(PointToPoint, ReceivesFromAnyAndFromOneKeepTheOrderOfTheSender) {
  expect_passed(run(3, [](int rank) {
    std::vector<torch::Tensor> xs;
    std::vector<dist::WorkRef> works;
    for (int i = 0; i < 6; ++i) {
      xs.push_back(full(3000, rank == 1 ? i : -1));
      if (rank == 1) works.push_back(dist::isend(xs.back(), 0));
      if (rank == 0) works.push_back(i % 2 == 0 ? dist::irecv(xs.back()) : dist::irecv(xs.back(), 1));
    }
    if (rank == 0) {
      EXPECT_EQ(works.back()->source_rank(), 1);
      for (int i = 0; i < 6; ++i) EXPECT_EQ(xs[static_cast<std::size_t>(i)][2999].item<float>(), static_cast<float>(i));
      EXPECT_EQ(works.front()->source_rank(), 1);
    }
  }));
}

TEST(PointToPoint, AReceiveFromAnyThatNobodyServesNamesAllWhoCould) {
  const auto outcome = run(3, [](int rank) {
    const auto x = full(100, rank);
    if (rank == 1) dist::recv(x);
  });
  EXPECT_EQ(outcome.error.type, "DeadlockError");
  EXPECT_THAT(outcome.error.message,
              HasSubstr("ranks {0, 2} have ended without calling send to rank 1 (tag 0) of the default group, "
                        "for which rank 1 waits"));
}

TEST(PointToPoint, TheWorkOfASideThatDoesNotFitHasTheErrorOfTheOther) {
  const auto outcome = run(2, [](int rank) {
    dist::barrier();
    if (rank == 1) {
      sim::this_fiber::sleep(Time::milliseconds(1));
      dist::recv(full(5, 0), 0);
      return;
    }
    const auto work = dist::isend(full(4, 0), 1);
    EXPECT_TRUE(work->is_success());
    sim::this_fiber::sleep(Time::milliseconds(2));
    EXPECT_FALSE(work->is_success());
    EXPECT_NE(work->exception(), nullptr);
    work->wait();
  });
  EXPECT_THAT(outcome.errors[0], HasSubstr("Detected mismatch in the transfer from rank 0 to rank 1"));
  EXPECT_EQ(outcome.errors[0], outcome.errors[1]);
}

TEST(PointToPoint, ReceiveBeforeSendInARingIsADeadlockThatNamesTheCycle) {
  const auto outcome = run(3, [](int rank) {
    const auto x = full(100, rank), y = full(100, 0);
    dist::recv(y, (rank + 2) % 3);
    dist::send(x, (rank + 1) % 3);
    y.cpu();
  });
  EXPECT_EQ(outcome.error.type, "DeadlockError");
  EXPECT_THAT(outcome.error.message,
              AllOf(HasSubstr("[cycle]"), HasSubstr("cycle: "),
                    HasSubstr("rank 0's recv from rank 2 (tag 0) of the default group, called at ")));
}

TEST(PointToPoint, ASideThatIsMissingIsNamed) {
  const auto outcome = run(3, [](int rank) {
    const auto x = full(100, rank);
    dist::barrier();
    if (rank == 0) {
      dist::recv(x, 2, {}, 4);
      x.cpu();
    }
  });
  EXPECT_EQ(outcome.error.type, "DeadlockError");
  EXPECT_THAT(
      outcome.error.message,
      HasSubstr(
          "rank 2 has ended without calling send to rank 0 (tag 4) of the default group, for which rank 0 waits"));
  EXPECT_THAT(outcome.error.message, HasSubstr("on rank 2, which ended"));
}

TEST(PointToPoint, TensorsThatDoNotFitAreRefused) {
  const int send_line = __LINE__ + 2;
  const auto outcome = run(2, [](int rank) {
    if (rank == 0) dist::send(full(4, 0), 1);
    if (rank == 1) dist::recv(full(5, 0), 0);
  });
  const auto at = [](int line) { return "at point_to_point_test.cpp:" + std::to_string(line); };
  EXPECT_THAT(
      outcome.errors[0] + outcome.errors[1],
      HasSubstr("DistributedError: Detected mismatch in the transfer from rank 0 to rank 1 (tag 0): rank 0 sends "
                "TensorShape=[4], TensorDtypes=Float " +
                at(send_line) + ", but rank 1 receives TensorShape=[5], TensorDtypes=Float " + at(send_line + 1) +
                ". They differ in the following aspects: Tensor shapes: [4] vs [5]; Error type: "
                "SIZE_OR_SYNTAX_MISMATCH"));
}

TEST(PointToPoint, PeersThatCannotBeAreRefused) {
  const auto outcome = run(2, [](int rank) {
    if (rank == 0) dist::send(full(4, 0), 0);
    if (rank == 1) dist::recv(full(4, 0), 2);
  });
  EXPECT_EQ(outcome.errors[0],
            "ValueError: Invalid destination rank: destination rank should not be the same as the rank of the current "
            "process.");
  EXPECT_EQ(outcome.errors[1],
            "ValueError: Invalid source rank: rank 2 is not part of the default group, whose ranks are {0, 1}");
}

}  // namespace
}  // namespace kernbench::testing::point_to_point_test
