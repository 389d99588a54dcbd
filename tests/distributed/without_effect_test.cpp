// A collective that is judged to differ has no effect: outputs hold what they held before the call, and what stands
// behind it does not run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "every_algorithm.h"
#include "kernbench/kernbench.h"
#include "kernbench/partials.h"
#include "ranks.h"
#include "spawning.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "tile/program/program.h"
#include "tile/stream/operation_stream.h"

namespace kernbench::testing::without_effect_test {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using distributed::CollectiveAlgorithm;
using distributed::CollectiveOperation;
using ::testing::HasSubstr;
using torch::Tensor;

constexpr int kRanks = 4;
constexpr int kRoot = 1;
constexpr std::int64_t kElements = 48;  // of a block

/// A call on one rank, and all tensors that it could touch.
struct Call {
  std::vector<Tensor> tensors;
  std::function<dist::WorkRef(bool async_op)> run;
};

Tensor pattern(int rank, int number, std::int64_t elements, const DPPolicy& policy = {}) {
  return (torch::arange(elements, torch::dtype(torch::kFloat)) + static_cast<double>(1000 * rank + 10000 * number))
      .to(torch::TensorOptions().device("ahbm").placement(policy));
}

std::vector<Tensor> patterns(int rank, int first, const DPPolicy& policy = {}) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < kRanks; ++i) tensors.push_back(pattern(rank, first + i, kElements, policy));
  return tensors;
}

std::vector<Tensor> joined(std::vector<Tensor> one, const std::vector<Tensor>& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

/// All forms of an operation.
std::vector<Call> calls_of(CollectiveOperation operation, int rank, const DPPolicy& policy = {}) {
  const Tensor one = pattern(rank, 1, kElements, policy), other = pattern(rank, 2, kElements, policy);
  const Tensor all = pattern(rank, 3, kRanks * kElements, policy), more = pattern(rank, 4, kRanks * kElements, policy);
  const auto list = patterns(rank, 5, policy), second = patterns(rank, 5 + kRanks, policy);
  const auto at_root = [&](const std::vector<Tensor>& tensors) {
    return rank == kRoot ? tensors : std::vector<Tensor>();
  };
  switch (operation) {
    case CollectiveOperation::all_reduce:
      return {{{all}, [=](bool async_op) { return dist::all_reduce(all, ReduceOp::SUM, {}, async_op); }}};
    case CollectiveOperation::broadcast:
      return {{{all}, [=](bool async_op) { return dist::broadcast(all, kRoot, {}, async_op); }}};
    case CollectiveOperation::reduce:
      return {{{all}, [=](bool async_op) { return dist::reduce(all, kRoot, ReduceOp::SUM, {}, async_op); }}};
    case CollectiveOperation::all_gather: {
      const auto block = all.narrow(0, rank * kElements, kElements);
      return {{{all, one}, [=](bool async_op) { return dist::all_gather_into_tensor(all, one, {}, async_op); }},
              {{all}, [=](bool async_op) { return dist::all_gather_into_tensor(all, block, {}, async_op); }},
              {joined(list, {one}), [=](bool async_op) { return dist::all_gather(list, one, {}, async_op); }}};
    }
    case CollectiveOperation::reduce_scatter: {
      const auto block = all.narrow(0, rank * kElements, kElements);
      const auto sum = ReduceOp::SUM;
      return {{{all, one}, [=](bool async_op) { return dist::reduce_scatter_tensor(one, all, sum, {}, async_op); }},
              {{all}, [=](bool async_op) { return dist::reduce_scatter_tensor(block, all, sum, {}, async_op); }},
              {joined(list, {one}), [=](bool async_op) { return dist::reduce_scatter(one, list, sum, {}, async_op); }}};
    }
    case CollectiveOperation::gather: {
      const auto outputs = at_root(list);
      return {{joined(list, {one}), [=](bool async_op) { return dist::gather(one, outputs, kRoot, {}, async_op); }}};
    }
    case CollectiveOperation::scatter: {
      const auto inputs = at_root(list);
      return {{joined(list, {one}), [=](bool async_op) { return dist::scatter(one, inputs, kRoot, {}, async_op); }}};
    }
    case CollectiveOperation::all_to_all:
      return {{{all, more}, [=](bool async_op) { return dist::all_to_all_single(all, more, {}, {}, {}, async_op); }},
              {joined(list, second), [=](bool async_op) { return dist::all_to_all(list, second, {}, async_op); }}};
    default:
      return {};
  }
}

std::vector<Tensor> values_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> values;
  for (const auto& each : tensors) values.push_back(each.cpu());
  return values;
}

/// Rank `wrong` calls something else; the ranks call in this order, so far apart that all that can be sent has arrived.
struct Trial {
  int wrong = 0;
  bool descending = false;
  bool wrong_is_last = false;
  std::int64_t place(int rank) const {
    if (wrong_is_last && rank == wrong) return kRanks;
    return descending ? kRanks - 1 - rank : rank;
  }
};

/// Every rank is wrong in turn; the orders take turns, unless all are asked for.
std::vector<Trial> trials(std::size_t turn) {
  std::vector<Trial> all;
  for (int wrong = 0; wrong < kRanks; ++wrong) {
    const Trial ascending{wrong, false, true}, descending{wrong, true, wrong % 2 == 0};
    const bool first = turn++ % 2 == 0;
    if (first || takes_all_cases()) all.push_back(ascending);
    if (!first || takes_all_cases()) all.push_back(descending);
  }
  return all;
}

/// Each trial with a group of its own, in which a call of all ranks goes before.
void expect_no_effect(const CollectiveAlgorithm& algorithm, const SimulateOptions& options, const DPPolicy& policy,
                      std::size_t turn, std::size_t most_forms = 9) {
  std::size_t told = 0, expected = 0;
  const auto outcome = run_ranks(options, kRanks, [&](int rank) {
    const auto forms = std::min(most_forms, calls_of(algorithm.operation, rank, policy).size());
    for (std::size_t form = 0; form < forms; ++form) {
      for (const Trial& trial : trials(turn + form)) {
        const std::string title = std::string(algorithm.name) + ", form " + std::to_string(form) + ", wrong rank " +
                                  std::to_string(trial.wrong) + ", rank " + std::to_string(rank) +
                                  (trial.descending ? ", descending" : ", ascending");
        dist::init_process_group("ahbm", rank, kRanks);
        calls_of(algorithm.operation, rank, policy)[form].run(false);
        const Call call = calls_of(algorithm.operation, rank, policy)[form];
        const auto before = values_of(call.tensors);
        dist::barrier();
        sleep(20'000 * (trial.place(rank) + 1));
        ++expected;
        try {
          if (rank == trial.wrong) {
            dist::all_gather_into_tensor(torch::zeros({kRanks * 3}, torch::device("ahbm")),
                                         torch::zeros({3}, torch::device("ahbm")));
          } else {
            call.run(false);
          }
          sleep(200'000);
          (void)call.tensors.front().cpu();
        } catch (const ProgramError&) {
          ++told;
        }
        const auto after = values_of(call.tensors);
        for (std::size_t i = 0; i < before.size(); ++i) {
          EXPECT_TRUE(torch::equal(before[i], after[i])) << title << ", tensor " << i << ":\n" << before[i] << after[i];
        }
        dist::destroy_process_group();
      }
    }
  });
  expect_ok(outcome, std::string(algorithm.name));
  EXPECT_EQ(told, expected) << algorithm.name;
}

TEST(WithoutEffect, IsAJudgedCollectiveOfEveryAlgorithmWhicheverRankIsWrong) {
  std::size_t turn = 0;
  for (const auto& algorithm : distributed::collective_algorithms()) {
    if (turn++ % one_case_in(1, 9) == 0) expect_no_effect(algorithm, machine_with(algorithm, kRanks), {}, turn);
  }
}

/// One of each operation, and the ways of a collective of blocks to store replicas.
TEST(WithoutEffect, IsAJudgedCollectiveOfReplicasAndOfRanksOfOnePe) {
  const DPPolicy replicated{.cube = Placement::replicate, .pe = Placement::replicate};
  const DPPolicy mixed{.cube = Placement::row_wise, .pe = Placement::replicate};
  std::vector<CollectiveOperation> seen;
  for (const auto& algorithm : distributed::collective_algorithms()) {
    if (std::ranges::find(seen, algorithm.operation) != seen.end()) continue;
    seen.push_back(algorithm.operation);
    if (seen.size() % one_case_in(1, 5) != 0) continue;
    expect_no_effect(algorithm, machine_with(algorithm, kRanks), replicated, 0);
    expect_no_effect(algorithm, machine_with(algorithm, kRanks), mixed, 1, 1);
    SimulateOptions pes = machine_with(algorithm, 1);
    pes.topology = "ahbm-2sip";
    pes.overrides.clear();
    expect_no_effect(algorithm, pes, {}, 0, 1);
  }
}

/// What rank 1 has of a broadcast of rank 0 when rank 2 calls something else after `delay`.
struct Interrupted {
  explicit Interrupted(Time delay, const SimulateOptions& options = machine_of(3)) {
    outcome = run_ranks(options, 3, [&](int rank) {
      if (rank == 0) simulation().operations().subscribe(stores, {tile::Topic::operations});
      dist::init_process_group("ahbm", rank, 3);
      const Tensor x = pattern(rank, 1, kMany), y = pattern(rank, 2, kMany);
      dist::broadcast(y, 0);
      y.cpu();
      const auto before = x.cpu();
      dist::barrier();
      const auto work = rank == 2 ? nullptr : dist::broadcast(x, 0, {}, true);
      if (rank == 2) {
        stores.begin = now();
        sim::this_fiber::sleep(delay);
      }
      try {
        if (rank == 2) dist::barrier();
        if (rank != 2) work->synchronize();
        sleep(100'000);
        x.cpu();
      } catch (const Error& error) {
        if (rank == 1) text = error.what();
      }
      if (rank != 1) return;
      unchanged = torch::equal(before, x.cpu());
      when = now();
    });
  }
  /// When stores of a SIP's PEs have landed, from the time on at which rank 2 waits.
  struct Stores final : tile::OperationConsumer {
    void on_operation(const tile::OperationRecord& operation) override {
      if (operation.program().coordinate().sip.value != 1 || operation.kind() != std::string("store")) return;
      if (begin > Time::zero()) landed.push_back(operation.times().effect - begin);
    }
    Time begin;
    std::vector<Time> landed;
  };
  static constexpr std::int64_t kMany = 1 << 15;
  Stores stores;
  RanksResult outcome;
  std::string text;
  bool unchanged = false;
  Time when;
};

TEST(WithoutEffect, IsWhatIsOnItsWayWhenACollectiveIsJudged) {
  for (int tenths = 0; tenths <= 300; tenths += kSanitized ? 75 : 15) {
    const Time delay = Time::nanoseconds(100 * tenths);
    const Interrupted fast(delay);
    EXPECT_EQ(fast.outcome.error.message, "");
    EXPECT_THAT(fast.text, HasSubstr("Culprit rank 2;")) << to_text(delay);
    EXPECT_TRUE(fast.unchanged) << to_text(delay);
  }
  for (const Time delay : {Time::microseconds(8), Time::microseconds(16)}) {
    const Interrupted fast(delay);
    SimulateOptions options = machine_of(3);
    options.exact_events = true;
    options.threads = 2;
    const Interrupted exact(delay, options);
    EXPECT_TRUE(exact.unchanged) << to_text(delay);
    EXPECT_EQ(exact.when, fast.when);
    EXPECT_EQ(exact.text, fast.text);
  }
}

/// Programs are cancelled one picosecond after the judgement, and a store may land before they are.
TEST(WithoutEffect, IsAStoreThatLandsBeforeItsProgramIsCancelled) {
  const Interrupted late(Time::microseconds(500));
  ASSERT_GE(late.stores.landed.size(), 2u);
  for (const Time landed : {late.stores.landed.front(), late.stores.landed.back()}) {
    const Interrupted just_before(landed - Time::picoseconds(1));
    EXPECT_THAT(just_before.text, HasSubstr("Culprit rank 2;"));
    EXPECT_TRUE(just_before.unchanged);
  }
}

TEST(WithoutEffect, IsAViewThatWasWrittenAndNothingBesideIt) {
  const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    Tensor x = pattern(rank, 0, 300);
    const auto middle = x.narrow(0, 70, 100), beside = x.narrow(0, 170, 50);
    dist::broadcast(middle, 0);
    x.zero_();
    dist::barrier();
    try {
      if (rank == 2) sleep(100'000);
      if (rank == 2) dist::barrier();
      dist::broadcast(middle, 0);
      beside.fill_(7);  // of a host that goes on
      sleep(200'000);
      dist::barrier();
    } catch (const Error&) {
    }
    const auto wanted = torch::zeros({300});
    if (rank == 1) wanted.narrow(0, 170, 50).fill_(7);
    EXPECT_TRUE(rank == 0 || torch::equal(x.cpu(), wanted)) << rank;
  });
  expect_ok(outcome, "a view");
}

TEST(WithoutEffect, IsNoReasonToTouchMemoryThatBelongsToOthersMeanwhile) {
  bool seen = false;
  const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    Tensor x = pattern(rank, 0, 1000);
    dist::broadcast(x, 0);
    x.cpu();
    dist::barrier();
    try {
      if (rank == 2) sleep(100'000);
      if (rank == 2) dist::barrier();
      dist::broadcast(x, 0);
      x.cpu();
      x = Tensor();  // for rank 1 the broadcast is over
      const Tensor next = torch::full({1000}, 3.0, torch::device("ahbm"));
      sleep(200'000);
      try {
        dist::barrier();
      } catch (const Error&) {
      }
      if (rank == 1) seen = true;
      EXPECT_TRUE(torch::equal(next.cpu(), torch::full({1000}, 3.0)));
    } catch (const Error&) {
    }
  });
  expect_ok(outcome, "memory of others");
  EXPECT_TRUE(seen);
}

/// An output that nobody has written is as unwritten afterwards.
TEST(WithoutEffect, LeavesAnEmptyTensorWithoutValues) {
  std::string text;
  const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    const Tensor y = pattern(rank, 0, 1000);
    dist::broadcast(y, 0);
    const Tensor x = rank == 0 ? y : torch::empty({1000}, torch::device("ahbm"));
    dist::barrier();
    try {
      if (rank == 2) sleep(100'000);
      if (rank == 2) dist::barrier();
      dist::broadcast(x, 0);
      sleep(200'000);
      dist::barrier();
    } catch (const Error&) {
    }
    if (rank != 1) return;
    try {
      x.cpu();
    } catch (const Error& error) {
      text = error.what();
    }
  });
  EXPECT_EQ(outcome.error.message, "");
  EXPECT_THAT(text, HasSubstr("never written"));
}

TEST(WithoutEffect, IsAKernelBehindAJudgedCollective) {
  for (const bool async_op : {false, true}) {
    const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
      dist::init_process_group("ahbm", rank, 3);
      const Tensor x = torch::ones({1000}, torch::device("ahbm")), y = torch::zeros({1000}, torch::device("ahbm"));
      dist::all_reduce(x);
      x.fill_(1);
      dist::barrier();
      try {
        if (rank == 2) sleep(100'000);
        if (rank == 2) dist::barrier();
        const auto work = dist::all_reduce(x, ReduceOp::SUM, {}, async_op);
        if (work) work->wait();
        y.add_(x);
        y.cpu();
      } catch (const Error&) {
      }
      EXPECT_TRUE(torch::equal(y.cpu(), torch::zeros({1000}))) << rank;
      y.add_(x);  // the stream goes on
      EXPECT_TRUE(torch::equal(y.cpu(), torch::ones({1000}))) << rank;
    });
    expect_ok(outcome, "a kernel behind");
  }
}

TEST(WithoutEffect, IsAKernelBehindAReceiveThatDoesNotFit) {
  const auto outcome = run_ranks(machine_of(2), 2, [&](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    const Tensor x = torch::ones({rank == 0 ? 8 : 9}, torch::device("ahbm")), y = torch::zeros_like(x);
    try {
      if (rank == 0) sleep(50'000);
      if (rank == 0) dist::send(x, 1);
      if (rank == 1) dist::recv(x, 0);
      Tensor(y).add_(x);
      y.cpu();
    } catch (const Error&) {
    }
    EXPECT_TRUE(rank == 0 || torch::equal(y.cpu(), torch::zeros({9})));
  });
  expect_ok(outcome, "a kernel behind a receive");
}

TEST(WithoutEffect, CostsNothingWhereAllCallAtOnce) {
  std::vector<std::uint64_t> tasks;
  for (const std::int64_t late : {0, 100'000}) {
    const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
      dist::init_process_group("ahbm", rank, 3);
      const Tensor x = pattern(rank, 0, 1000);
      dist::broadcast(x, 0);
      x.cpu();
      dist::barrier();
      const std::uint64_t before = simulation().executor().submitted();
      if (rank == 2) sleep(late);
      dist::broadcast(x, 0);
      dist::barrier();
      if (rank == 0) tasks.push_back(simulation().executor().submitted() - before);
    });
    expect_ok(outcome, "all at once");
  }
  EXPECT_EQ(tasks[0] + 2, tasks[1]) << "of two ranks the output is kept until the third one calls";
}

TEST(WithoutEffect, AreAllThatCanNoLongerBeCalledTheLatestFirst) {
  const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    const Tensor x = pattern(rank, 0, 1000), y = pattern(rank, 1, 1000);
    dist::broadcast(x, 0);
    x.fill_(rank);
    dist::barrier();
    try {
      if (rank == 2) sleep(100'000);
      if (rank == 2) dist::barrier();
      dist::broadcast(x, 0);  // rank 1 gets 0
      if (rank == 0) dist::broadcast(y, 0);
      if (rank == 1) dist::broadcast(x, 0);
      sleep(200'000);
      dist::barrier();
    } catch (const Error&) {
    }
    EXPECT_TRUE(torch::equal(x.cpu(), torch::full({1000}, rank))) << rank;
  });
  expect_ok(outcome, "several");
}

}  // namespace
}  // namespace kernbench::testing::without_effect_test
