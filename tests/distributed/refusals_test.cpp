// Arguments that process groups refuse, and in which words; which device a barrier uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "ranks.h"
#include "spawning.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using ::testing::HasSubstr;

/// What rank 0 of two says to `call` on a tensor of this type.
std::string refusal(const std::function<void(const torch::Tensor&)>& call, DType dtype = DType::f32) {
  return run_ranks(machine_of(2), 2,
                   [&](int rank) {
                     dist::init_process_group("ahbm", rank, 2);
                     if (rank == 0) call(torch::empty({4}, torch::dtype(dtype).device("ahbm")));
                   })
      .errors[0];
}

TEST(Refusals, AReductionThatDoesNotExistIsNotASum) {
  EXPECT_EQ(
      refusal([](const auto& x) { dist::all_reduce(x, static_cast<ReduceOp>(77)); }),
      "ValueError: all_reduce: Invalid ReduceOp: 77; the reductions are SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR and "
      "BXOR");
}

TEST(Refusals, ReductionsThatATypeCannotHaveSayWhyAndWhatToDo) {
  const auto of = [](ReduceOp op, DType dtype) {
    return refusal([op](const auto& x) { dist::all_reduce(x, op); }, dtype);
  };
  for (const auto& [op, name] : {std::pair(ReduceOp::BAND, "BAND"), {ReduceOp::BOR, "BOR"}, {ReduceOp::BXOR, "BXOR"}}) {
    EXPECT_EQ(of(op, DType::f32),
              "ValueError: all_reduce: Cannot use ReduceOp." + std::string(name) +
                  " with non-integral dtype: it combines bits, and the tensor is of Float; reduce a "
                  "tensor of integers or of Bool");
  }
  EXPECT_THAT(of(ReduceOp::AVG, DType::boolean), HasSubstr("Cannot use ReduceOp.AVG with a tensor of Bool"));
  EXPECT_THAT(of(ReduceOp::PREMUL_SUM, DType::f32), HasSubstr("ReduceOp.PREMUL_SUM has no factor here"));
}

TEST(Refusals, ATagBelowZero) {
  EXPECT_EQ(refusal([](const auto& x) { dist::send(x, 1, {}, -1); }),
            "ValueError: send: Tag must be nonnegative, got -1");
  EXPECT_EQ(refusal([](const auto& x) { dist::isend(x, 1, {}, -7); }),
            "ValueError: isend: Tag must be nonnegative, got -7");
  EXPECT_EQ(refusal([](const auto& x) { dist::recv(x, 1, {}, -1); }),
            "ValueError: recv: Tag must be nonnegative, got -1");
  EXPECT_EQ(refusal([](const auto& x) { dist::irecv(x, {}, {}, -1); }),
            "ValueError: irecv: Tag must be nonnegative, got -1");
}

TEST(Refusals, AMonitoredBarrierSaysItsTimeoutInItsUnit) {
  const auto error = [](Time timeout) {
    return refusal([timeout](const auto&) { dist::monitored_barrier({}, timeout); });
  };
  EXPECT_THAT(error(Time::microseconds(500)), HasSubstr("failed to pass monitoredBarrier in 500 us"));
  EXPECT_THAT(error(Time::milliseconds(20)), HasSubstr("failed to pass monitoredBarrier in 20 ms"));
}

TEST(Refusals, ABarrierIsOnTheDeviceOfTheGroupWhicheverIsCurrent) {
  std::vector<Time> passed(2);
  const auto outcome = run_ranks(machine_of(3), 2, [&](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    const auto x = torch::ones({4}, torch::dtype(torch::kFloat).device("ahbm"));
    dist::all_reduce(x);
    torch::ahbm::set_device(2 - 2 * rank);  // rank 0: a third one; rank 1: that of rank 0
    if (rank == 0) sleep(100'000);
    dist::barrier();
    passed[static_cast<std::size_t>(rank)] = now();
    EXPECT_EQ(torch::ahbm::current_device(), 2 - 2 * rank);
  });
  EXPECT_EQ(outcome.error.message, "");
  EXPECT_EQ(outcome.errors, std::vector<std::string>(2));
  EXPECT_GT(passed[1], Time::nanoseconds(100'000));
}

TEST(Refusals, AFirstBarrierIsOnTheDevicesThatTheRanksMadeTheWorldWith) {
  for (const bool of_new_group : {false, true}) {
    std::vector<Time> passed(3);
    const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
      torch::ahbm::set_device(rank);
      dist::init_process_group("ahbm", rank, 3);
      torch::ahbm::set_device(0);
      const auto group = of_new_group ? dist::new_group({0, 1, 2}) : dist::ProcessGroup();
      if (rank == 1) sleep(100'000);
      dist::barrier(group);
      passed[static_cast<std::size_t>(rank)] = now();
      EXPECT_EQ(torch::ahbm::current_device(), 0);
      const auto x = torch::ones({4}, torch::dtype(torch::kFloat).device(torch::Device(torch::kAHBM, rank)));
      dist::all_reduce(x, dist::ReduceOp::SUM, group);
      EXPECT_EQ(x[0].item<float>(), 3);
    });
    EXPECT_EQ(outcome.error.message, "");
    EXPECT_EQ(outcome.errors, std::vector<std::string>(3));
    for (const Time time : passed) EXPECT_GT(time, Time::nanoseconds(100'000));
  }
}

TEST(Refusals, AFirstBarrierIsOnTheCurrentDevicesWhereTheRanksMadeTheWorldOnOne) {
  const auto outcome = run_ranks(machine_of(2), 2, [&](int rank) {
    dist::init_process_group("ahbm", rank, 2);  // both on device 0
    torch::ahbm::set_device(rank);
    dist::barrier();
  });
  EXPECT_EQ(outcome.errors, std::vector<std::string>(2));
}

TEST(Refusals, AReceiveFromAnyTakesTheLowestRankOfOneInstantHoweverTheRanksWereStarted) {
  // Which worker has which rank: workers act in their own order.
  for (const std::vector<int>& rank_of : {std::vector<int>{0, 1, 2}, {0, 2, 1}, {2, 1, 0}, {1, 2, 0}}) {
    std::vector<int> senders;
    std::vector<float> values;
    const auto outcome = run_ranks(machine_of(3), 3, [&](int worker) {
      const int rank = rank_of[static_cast<std::size_t>(worker)];
      torch::ahbm::set_device(rank);
      dist::init_process_group("ahbm", rank, 3);
      const auto x = torch::full({4}, static_cast<float>(rank), torch::dtype(torch::kFloat).device("ahbm"));
      sim::this_fiber::sleep_until(Time::microseconds(50));
      if (rank != 0) dist::send(x, 0);
      if (rank != 0) return;
      sleep(10'000);
      for (int i = 0; i < 2; ++i) {
        senders.push_back(dist::recv(x));
        values.push_back(x[0].item<float>());
      }
    });
    EXPECT_EQ(outcome.error.message, "");
    EXPECT_EQ(senders, (std::vector<int>{1, 2}));
    EXPECT_EQ(values, (std::vector<float>{1, 2}));
  }
}

}  // namespace
}  // namespace kernbench::testing
