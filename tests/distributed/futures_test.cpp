// Futures of operations: what they give, when it may be used, what follows them, and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "every_algorithm.h"
#include "kernbench/kernbench.h"
#include "kernbench/subgroups.h"
#include "ranks.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using ::testing::Each;
using ::testing::HasSubstr;
using torch::futures::Future;

constexpr std::int64_t kLong = 1 << 20;  // elements: an all-reduce that takes tens of microseconds

Time host_now() {
  return sim::this_fiber::scheduler().now();
}

TEST(Futures, GiveTheTensorsThatTheOperationWrites) {
  const auto outcome = run_ranks(machine_of(2), 2, [](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    const auto on = torch::device("ahbm");
    const auto x = torch::ones({8}, on), all = torch::zeros({16}, on), half = torch::zeros({4}, on);
    const auto same = [](const Future& future, const std::vector<torch::Tensor>& tensors) {
      const auto& values = future.value();
      ASSERT_EQ(values.size(), tensors.size());
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(values[i].is_same(tensors[i]));
    };
    same(dist::all_reduce(x, ReduceOp::SUM, {}, true)->get_future(), {x});
    same(dist::all_gather_into_tensor(all, x, {}, true)->get_future(), {all});
    same(dist::reduce_scatter_tensor(half, x, ReduceOp::SUM, {}, true)->get_future(), {half});
    const std::vector<torch::Tensor> list{torch::zeros({4}, on), torch::zeros({4}, on)};
    same(dist::all_gather(list, half, {}, true)->get_future(), list);
    same(dist::all_reduce_coalesced(list, ReduceOp::SUM, {}, true)->get_future(), list);
    same(dist::barrier({}, true)->get_future(), {});
    EXPECT_EQ(all[15].item<float>(), 2.F);
  });
  expect_ok(outcome, "futures");
}

TEST(Futures, OrderTheStreamThatWaitsAndDoNotHoldUpTheHost) {
  const auto outcome = run_ranks(machine_of(2), 2, [](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    dist::barrier();
    const auto x = torch::full({kLong}, rank + 1, torch::dtype(torch::kFloat).device("ahbm"));
    auto future = dist::all_reduce(x, ReduceOp::SUM, {}, true)->get_future();
    EXPECT_FALSE(future.done());
    const Time before = host_now();
    const auto sum = future.wait().front() * 2;
    EXPECT_LT((host_now() - before).count(), Time::microseconds(10).count()) << "a launch, and no wait";
    EXPECT_FALSE(future.completed());
    EXPECT_EQ(sum[7].item<float>(), 6.F);
    EXPECT_TRUE(future.done());
    EXPECT_FALSE(future.has_error());
  });
  expect_ok(outcome, "futures");
}

/// The callbacks' kernels run behind the sum and beside the current stream, in the same order in every run.
TEST(Futures, AreFollowedByWhatCallbacksGiveToAStreamOfTheirOwn) {
  std::vector<Time> ends;
  for (int run = 0; run < 2; ++run) {
    const auto outcome = run_ranks(machine_of(2), 2, [](int rank) {
      dist::init_process_group("ahbm", rank, 2);
      const auto x = torch::full({kLong}, rank + 1, torch::dtype(torch::kFloat).device("ahbm"));
      const auto work = dist::all_reduce(x, ReduceOp::SUM, {}, true);
      const auto before = torch::ahbm::current_stream();
      int called = 0;
      auto halved = work->get_future().then([&](Future& sum) {
        ++called;
        EXPECT_FALSE(torch::ahbm::current_stream() == before);
        return std::vector{sum.value().front() * 0.5};
      });
      EXPECT_EQ(called, 1);
      EXPECT_TRUE(torch::ahbm::current_stream() == before);
      EXPECT_FALSE(halved.done());
      auto plus = halved.then([](Future& half) { return std::vector{half.value().front() + 1}; });
      EXPECT_EQ(plus.wait().front()[kLong - 1].item<float>(), 2.5F);
      EXPECT_TRUE(halved.done());
    });
    expect_ok(outcome, "then");
    ends.push_back(outcome.run.launches.back().end);
  }
  EXPECT_EQ(ends.front(), ends.back());
}

TEST(Futures, HaveWhatACallbackThrows) {
  const auto outcome = run_ranks(machine_of(2), 2, [](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    const auto x = torch::ones({8}, torch::device("ahbm"));
    auto failed = dist::all_reduce(x, ReduceOp::SUM, {}, true)->get_future().then([](Future&) -> Future::Tensors {
      throw std::runtime_error("no half of it");
    });
    EXPECT_TRUE(failed.has_error());
    EXPECT_TRUE(failed.done());
    EXPECT_THROW(failed.wait(), std::runtime_error);
    auto after = failed.then([](Future& before) { return before.value(); });
    EXPECT_THROW(after.value(), std::runtime_error) << "the callback has met it";
    EXPECT_EQ(x[0].item<float>(), 2.F) << "the operation is what it was";
  });
  expect_ok(outcome, "a callback that throws");
}

TEST(Futures, HaveTheErrorOfCallsThatDoNotFit) {
  const auto outcome = run_ranks(machine_of(2), 2, [](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    const auto x = torch::ones({rank + 8}, torch::device("ahbm"));
    dist::all_reduce(x, ReduceOp::SUM, {}, true)->get_future().wait();
  });
  EXPECT_THAT(outcome.errors, Each(HasSubstr("Tensor shapes: [8] vs [9]")));
}

}  // namespace
}  // namespace kernbench::testing
