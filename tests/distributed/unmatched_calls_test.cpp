// Calls that nobody waits for and that other ranks never make: said at the end of the run, and no false alarm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "spawning.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using ::testing::AllOf;
using ::testing::HasSubstr;

torch::Tensor ones_of_rank() {
  return torch::ones({64}, one_pe());
}

std::string end_of(int ranks, const std::function<void(int rank)>& worker) {
  return error_of(
      [&] {
        mp::spawn(
            [&](int rank) {
              torch::ahbm::set_device(rank);
              dist::init_process_group("ahbm", rank, ranks);
              worker(rank);
            },
            {}, {.nprocs = ranks});
      },
      devices(ranks));
}

TEST(UnmatchedCalls, ACollectiveThatARankNeverCallsIsAnErrorAtTheEnd) {
  const std::string error = end_of(3, [](int rank) {
    if (rank != 1) dist::all_reduce(ones_of_rank(), dist::ReduceOp::SUM, {}, true);
  });
  EXPECT_EQ(error,
            "UnmatchedCallError: the run is over, and 1 call still waits for other ranks, which never made it:\n"
            "  ALLREDUCE (sequence number 1) of the default group: called by ranks {0, 2}, never by ranks {1} "
            "(called at unmatched_calls_test.cpp:37)");
}

TEST(UnmatchedCalls, EachGroupAndCallIsNamed) {
  const std::string error = end_of(3, [](int rank) {
    const auto pair = dist::new_group({0, 2});
    const auto x = ones_of_rank();
    dist::all_reduce(x);
    if (rank == 2) dist::barrier(pair, true);
    if (rank == 0) dist::broadcast(x, 0, {}, true);
  });
  EXPECT_THAT(error,
              AllOf(HasSubstr("2 calls still wait for other ranks, which never made them:"),
                    HasSubstr("\n  BROADCAST (sequence number 2) of the default group: called by ranks {0}, never by "
                              "ranks {1, 2}"),
                    HasSubstr("\n  BARRIER (sequence number 1) of group 1: called by ranks {2}, never by ranks {0}")));
}

TEST(UnmatchedCalls, ASendWithoutAReceiveAndAReceiveWithoutASendAreNamed) {
  const std::string error = end_of(3, [](int rank) {
    const auto x = ones_of_rank();
    dist::all_reduce(x);
    if (rank == 0) dist::isend(x, 1, {}, 5);
    if (rank == 2) dist::irecv(x, 0);
    if (rank == 1) dist::irecv(x, std::nullopt, {}, 7);
  });
  EXPECT_THAT(
      error,
      AllOf(HasSubstr("3 calls still wait"),
            HasSubstr("\n  transfer from rank 0 to rank 1 (tag 5) in the default group: sent, never received"),
            HasSubstr("\n  transfer from rank 0 to rank 2 (tag 0) in the default group: never sent"),
            HasSubstr("\n  transfer from any rank of {0, 2} to rank 1 (tag 7) in the default group: never sent")));
}

TEST(UnmatchedCalls, WhatAllCallIsNone) {
  EXPECT_EQ(end_of(3,
                   [](int rank) {
                     const auto x = ones_of_rank();
                     dist::all_reduce(x, dist::ReduceOp::SUM, {}, true);
                     if (rank == 0) dist::isend(x, 1);
                     if (rank == 1) dist::irecv(x, 0);
                   }),
            "no error");
}

TEST(UnmatchedCalls, OfRanksThatFailedAreNotToldOf) {
  const auto program = [](bool caught) {
    return [caught] {
      try {
        mp::spawn(
            [](int rank) {
              torch::ahbm::set_device(rank);
              dist::init_process_group("ahbm", rank, 2);
              if (rank == 1) throw ValueError("no more samples");
              dist::all_reduce(ones_of_rank(), dist::ReduceOp::SUM, {}, true);
            },
            {}, {.nprocs = 2});
      } catch (const mp::SpawnException&) {
        if (!caught) throw;
      }
    };
  };
  EXPECT_THAT(error_of(program(false)), AllOf(HasSubstr("SpawnException"), HasSubstr("no more samples")));
  EXPECT_EQ(error_of(program(true)), "no error");
}

TEST(UnmatchedCalls, OfACallThatDidNotFitAreNotToldOf) {
  EXPECT_EQ(end_of(2,
                   [](int rank) {
                     if (rank == 1) sleep(50'000);
                     const auto call = [&] {
                       dist::all_reduce(torch::ones({64 + rank}, one_pe()), dist::ReduceOp::SUM, {}, true);
                     };
                     if (rank == 0) return call();
                     EXPECT_THROW(call(), ProgramError);
                   }),
            "no error");
}

}  // namespace
}  // namespace kernbench::testing
