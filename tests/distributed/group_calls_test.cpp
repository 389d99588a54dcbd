// Calls on groups: their timeouts and ends, peers as ranks of a group, several tensors at once, sums with factors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/kernbench.h"
#include "kernbench/objects.h"
#include "kernbench/premul_sum.h"
#include "kernbench/subgroups.h"
#include "ranks.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;

torch::Tensor row(double value, DType dtype = DType::f32, std::int64_t elements = 100) {
  return torch::full({elements}, value, torch::dtype(dtype).device("ahbm"));
}
void expect_all(const torch::Tensor& found, double value) {
  EXPECT_TRUE(torch::equal(found.cpu(), torch::full(found.sizes(), value, torch::dtype(found.scalar_type()))));
}

void expect_ok(const RanksResult& outcome) {
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, Each(""));
}

Time runtime_now() {
  return sim::this_fiber::scheduler().now();
}
void wait_until(Time when) {
  sim::this_fiber::sleep_until(when);
}

/// What a call throws, as "Type: message".
std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.type() + ": " + error.what();
  }
  return "";
}

RanksResult on_group(int ranks, const dist::InitOptions& options, const std::function<void(int rank)>& body) {
  return run_ranks(machine_of(ranks), ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, options);
    body(rank);
  });
}

// ---- timeouts

TEST(GroupTimeout, OfACollectiveThatARankNeverCallsEndsTheOthersAtThatTimeWithItsName) {
  const Time timeout = Time::microseconds(50);
  const auto outcome = on_group(3, {.timeout = timeout}, [&](int rank) {
    dist::barrier();
    const Time before = runtime_now();
    if (rank == 2) {
      torch::ahbm::synchronize();
      wait_until(before + Time::microseconds(80));
      return;
    }
    const std::string error = error_of([] {
      dist::all_reduce(row(1));
      torch::ahbm::synchronize();
    });
    EXPECT_THAT(error, HasSubstr("DistributedError: "));
    EXPECT_THAT(error, HasSubstr("Watchdog caught collective operation timeout: ALLREDUCE"));
    EXPECT_THAT(error, HasSubstr("of the default group, called at group_calls_test.cpp:"));
    EXPECT_THAT(error, HasSubstr(", which ranks {2} have not called, ran for 50 us before timing out"));
    EXPECT_GE(runtime_now(), before + timeout);
    EXPECT_LE(runtime_now(), before + timeout + Time::microseconds(10));
  });
  EXPECT_EQ(outcome.errors[0], "");
  EXPECT_EQ(outcome.errors[1], "");
}

TEST(GroupTimeout, ThatIsLongEnoughChangesNothing) {
  const auto time_of = [](const dist::InitOptions& options) {
    const auto outcome = on_group(2, options, [](int) {
      const auto x = row(1);
      for (int i = 0; i < 3; ++i) dist::all_reduce(x);
      expect_all(x, 8);
      if (dist::get_rank() == 0) dist::send(x, 1);
      if (dist::get_rank() == 1) dist::recv(x, 0);
    });
    expect_ok(outcome);
    return outcome.run.simulated_time;
  };
  EXPECT_EQ(time_of({.timeout = Time::milliseconds(5)}), time_of({}));
}

TEST(GroupTimeout, OfANewGroupIsThatOfTheDefaultGroupUnlessItHasOne) {
  const auto outcome = on_group(2, {.timeout = Time::microseconds(40)}, [](int rank) {
    const auto own = dist::new_group({0, 1}, {.timeout = Time::milliseconds(1)});
    const auto inherited = dist::new_group({0, 1});
    const auto late_in = [&](const dist::ProcessGroup& group) {
      dist::barrier(group);
      if (rank == 1) wait_until(runtime_now() + Time::microseconds(100));
      return error_of([&] {
        dist::all_reduce(row(1), ReduceOp::SUM, group);
        torch::ahbm::synchronize();
      });
    };
    EXPECT_EQ(late_in(own), "");
    EXPECT_THAT(late_in(inherited), HasSubstr("ran for 40 us before timing out"));
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(GroupTimeout, OfAnOperationThatAllHaveCalledIsAnErrorOfItsWork) {
  const auto outcome = on_group(2, {.timeout = Time::microseconds(5)}, [](int) {
    const auto x = row(1, DType::f32, 1 << 18);
    torch::ahbm::synchronize();
    const auto work = dist::all_reduce(x, ReduceOp::SUM, {}, true);
    EXPECT_THAT(error_of([&] { work->synchronize(); }), HasSubstr("Watchdog caught"));
    EXPECT_FALSE(work->is_success());
    EXPECT_NE(work->exception(), nullptr);
    EXPECT_TRUE(work->get_future().has_error());
    EXPECT_THAT(error_of([&] { work->wait(); }), HasSubstr("Watchdog caught"));
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(WorkAbort, OfAnOperationThatAllHaveCalledIsItsError) {
  const auto outcome = on_group(2, {}, [](int rank) {
    const auto x = row(1, DType::f32, 1 << 18);
    dist::all_reduce(x);
    torch::ahbm::synchronize();
    const auto work = dist::all_reduce(x, ReduceOp::SUM, {}, true);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(work->is_completed());  // both have called
    if (rank == 1) work->abort();
    EXPECT_THAT(error_of([&] { work->synchronize(); }), HasSubstr("was aborted by Work::abort"));
    EXPECT_FALSE(work->is_success());
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(GroupTimeout, OfAReceiveWithoutItsSendNamesIt) {
  const auto outcome = on_group(2, {.timeout = Time::microseconds(30)}, [](int rank) {
    dist::barrier();
    if (rank == 1) {
      EXPECT_THAT(error_of([] {
                    dist::recv(row(0), 0);
                    torch::ahbm::synchronize();
                  }),
                  HasSubstr("Watchdog caught collective operation timeout: "));
    } else {
      wait_until(runtime_now() + Time::microseconds(60));
    }
  });
  EXPECT_EQ(outcome.errors[1], "");
}

TEST(GroupTimeout, MustBeMoreThanZero) {
  const auto outcome =
      run_ranks(machine_of(1), 1, [](int) { dist::init_process_group("ahbm", 0, 1, {.timeout = Time::zero()}); });
  EXPECT_EQ(outcome.errors[0], "ValueError: init_process_group: the timeout must be more than 0");
}

// ---- Work

TEST(WorkWait, WithATimeoutWaitsOnTheHostAndSaysWhenItIsOver) {
  const auto outcome = on_group(2, {}, [](int rank) {
    dist::all_reduce(row(1));
    torch::ahbm::synchronize();
    if (rank == 1) wait_until(runtime_now() + Time::microseconds(100));
    const auto x = row(rank + 1);
    const auto work = dist::all_reduce(x, ReduceOp::SUM, {}, true);
    if (rank == 0) {
      const Time before = runtime_now();
      EXPECT_THAT(error_of([&] { work->wait(Time::microseconds(20)); }),
                  HasSubstr("DistributedError: Operation timed out! It has not ended within 20 us of the wait"));
      EXPECT_EQ(runtime_now(), before + Time::microseconds(20));
      EXPECT_FALSE(work->is_completed());
    }
    EXPECT_TRUE(work->wait(Time::milliseconds(1)));
    EXPECT_TRUE(work->is_completed());
    EXPECT_TRUE(work->is_success());
    expect_all(x, 3);
    EXPECT_EQ(error_of([&] { work->wait(Time::zero()); }), "ValueError: Work::wait: the timeout must be more than 0");
  });
  expect_ok(outcome);
}

TEST(WorkAbort, EndsTheGroupOnAllRanks) {
  const auto outcome = on_group(2, {}, [](int rank) {
    dist::all_reduce(row(1));
    torch::ahbm::synchronize();
    if (rank == 1) {
      wait_until(runtime_now() + Time::microseconds(50));
      EXPECT_THAT(error_of([] {
                    dist::all_reduce(row(1));
                    torch::ahbm::synchronize();
                  }),
                  HasSubstr("aborted by Work::abort"));
      return;
    }
    const auto work = dist::all_reduce(row(1), ReduceOp::SUM, {}, true);
    work->abort();
    EXPECT_FALSE(work->is_success());
    EXPECT_THAT(error_of([&] { work->wait(); }), HasSubstr("of the default group was aborted by Work::abort"));
    EXPECT_THAT(error_of([] { dist::all_reduce(row(1)); }), HasSubstr("has failed and cannot be used any more"));
    dist::destroy_process_group();
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

// What async_op returns to a rank outside of the group is None in PyTorch.
TEST(NoWork, OfARankThatIsNoMemberSaysSoWithTheCallWhenItIsUsed) {
  expect_ok(on_group(3, {}, [](int rank) {
    const auto group = dist::new_group({0, 1});
    const auto x = row(1), y = row(1), whole = row(1, DType::f32, 200);
    const std::vector<dist::WorkRef> works{dist::all_reduce(x, ReduceOp::SUM, group, true),
                                           dist::broadcast(x, 0, group, true),
                                           dist::reduce(x, 0, ReduceOp::SUM, group, true),
                                           dist::all_reduce(x, dist::_make_nccl_premul_sum(1.0), group, true),
                                           dist::all_gather_into_tensor(whole, x, group, true),
                                           dist::reduce_scatter_tensor(x, whole, ReduceOp::SUM, group, true),
                                           dist::all_reduce_coalesced({x}, ReduceOp::SUM, group, true),
                                           dist::barrier(group, true),
                                           rank == 1 ? dist::irecv(y, 0, group) : dist::isend(y, 1, group)};
    for (const dist::WorkRef& work : works) {
      if (rank < 2) {
        work->wait();
        continue;
      }
      EXPECT_EQ(work, nullptr);
      EXPECT_THAT(error_of([&] { work->wait(); }),
                  HasSubstr("AttributeError: there is no Work: rank 2 is not a member of the group of the call at "
                            "group_calls_test.cpp:"));
    }
  }));
}

TEST(NoWork, OfACallWithoutAsyncOpSaysSoWhenItIsUsed) {
  expect_ok(on_group(2, {}, [](int) {
    EXPECT_EQ(error_of([] { dist::all_reduce(row(1))->wait(); }),
              "AttributeError: there is no Work: only a call with async_op returns one");
  }));
}

TEST(WorkAbort, IsNotForSendsAndReceives) {
  expect_ok(on_group(2, {}, [](int rank) {
    const auto x = row(rank);
    const auto work = rank == 0 ? dist::isend(x, 1) : dist::irecv(x, 0);
    EXPECT_THAT(error_of([&] { work->abort(); }), HasSubstr("NotImplementedError: Work::abort not implemented"));
    work->wait();
  }));
}

// ---- ranks of a group

TEST(DefaultGroup, OfRanksThatGiveDifferentAlgorithmsIsRefused) {
  const auto outcome = run_ranks(machine_of(3), 3, [](int rank) {
    dist::init_process_group("ahbm", rank, 3, {.algorithm = rank == 1 ? "direct" : "ring"});
  });
  EXPECT_THAT(
      outcome.error.message + outcome.errors[0] + outcome.errors[1] + outcome.errors[2],
      HasSubstr("init_process_group: rank 1 gave the algorithm \"direct\", but a rank before it gave \"ring\""));
}

TEST(ObjectLists, OfNothingAreBroadcast) {
  expect_ok(run_ranks(machine_of(4), 4, [](int rank) {
    dist::init_process_group("ahbm", rank, 4);
    std::vector<std::string> all(4), none;
    dist::all_gather_object(all, "");
    dist::broadcast_object_list(none, 0);
    EXPECT_TRUE(none.empty());
    std::vector<std::string> some{rank == 1 ? "x" : "y"};
    dist::broadcast_object_list(some, 1);
    EXPECT_EQ(some.front(), "x");
  }));
}

TEST(AllToAllSingle, WithoutSplitSizesGetsAsManyElementsAsItGives) {
  const auto outcome = run_ranks(machine_of(4), 4, [](int rank) {
    dist::init_process_group("ahbm", rank, 4);
    const auto x = row(rank, DType::f32, 8);
    try {
      dist::all_to_all_single(row(0, DType::f32, 4), x);
      ADD_FAILURE() << "it was taken";
    } catch (const ValueError& error) {
      EXPECT_THAT(error.what(), HasSubstr("all_to_all_single: output has 4 elements and input has 8"));
    }
    dist::all_reduce(x);  // the group goes on
    expect_all(x, 6);
  });
  expect_ok(outcome);
}

TEST(GroupRanks, ArePeersOfSendAndReceive) {
  expect_ok(on_group(3, {}, [](int rank) {
    const auto group = dist::new_group({1, 2});
    if (rank == 0) return;
    const auto x = row(rank);
    if (rank == 1) {
      dist::send(x, {}, group, 0, 1);
      dist::isend(x, {}, group, 1, 1)->wait();
      for (const auto& work : dist::batch_isend_irecv({{dist::P2POp::isend, x, {}, group, 2, 1}})) work->wait();
    } else {
      EXPECT_EQ(dist::recv(x, {}, group, 0, 0), 1);
      expect_all(x, 1);
      dist::irecv(x, {}, group, 1, 0)->wait();
      for (const auto& work : dist::batch_isend_irecv({{dist::P2POp::irecv, x, {}, group, 2, 0}})) work->wait();
      expect_all(x, 1);
    }
    EXPECT_EQ(error_of([&] { dist::send(x, 1, group, 0, 1); }),
              "ValueError: send: Can't specify both group_rank and global_rank");
    EXPECT_EQ(error_of([&] { dist::send(x, {}, group); }), "ValueError: send: Must specify global_rank or group_rank");
    EXPECT_THAT(error_of([&] { dist::irecv(x, {}, group, 0, 2); }), HasSubstr("irecv: Group rank 2 is not part of"));
  }));
}

TEST(GroupRanks, OfABroadcastOrReduceMustBeGiven) {
  expect_ok(on_group(2, {}, [](int) {
    const auto x = row(1);
    EXPECT_EQ(error_of([&] { dist::broadcast(x, {}); }),
              "ValueError: broadcast: Must specify global_rank or group_rank");
    EXPECT_EQ(error_of([&] { dist::reduce(x, {}); }), "ValueError: reduce: Must specify global_rank or group_rank");
  }));
}

// ---- several tensors

TEST(Coalesced, GathersAndScattersSeveralTensors) {
  expect_ok(on_group(2, {}, [](int rank) {
    const std::vector<torch::Tensor> in{row(rank + 1, DType::f32, 10), row(rank + 5, DType::f32, 3)};
    const std::vector<torch::Tensor> all{row(0, DType::f32, 20), row(0, DType::f32, 6)};
    const auto work = dist::all_gather_into_tensor_coalesced(all, in, {}, true);
    work->wait();
    expect_all(all[0].narrow(0, 10, 10), 2);
    expect_all(all[1].narrow(0, 0, 3), 5);
    const std::vector<torch::Tensor> out{row(0, DType::f32, 10), row(0, DType::f32, 3)};
    EXPECT_EQ(dist::reduce_scatter_tensor_coalesced(out, all, ReduceOp::MAX), nullptr);
    expect_all(out[0], rank + 1);
    expect_all(out[1], rank + 5);
    EXPECT_EQ(error_of([&] { dist::all_gather_into_tensor_coalesced({all[0]}, in); }),
              "ValueError: all_gather_into_tensor_coalesced: Expected as many outputs as inputs, found 1 and 2");
  }));
}

TEST(Coalesced, OfListsOfDifferentLengthsIsAnErrorThatNamesThem) {
  using Call = std::function<void(const std::vector<torch::Tensor>& blocks, const std::vector<torch::Tensor>& wholes)>;
  const std::vector<std::pair<std::string, Call>> calls{
      {"all_reduce_coalesced", [](const auto& blocks, const auto&) { dist::all_reduce_coalesced(blocks); }},
      {"all_gather_into_tensor_coalesced",
       [](const auto& blocks, const auto& wholes) { dist::all_gather_into_tensor_coalesced(wholes, blocks); }},
      {"reduce_scatter_tensor_coalesced",
       [](const auto& blocks, const auto& wholes) { dist::reduce_scatter_tensor_coalesced(blocks, wholes); }},
      {"all_gather_coalesced", [](const auto& blocks, const auto&) {
         std::vector<std::vector<torch::Tensor>> gathered(3);
         for (auto& of_rank : gathered) {
           for (const auto& block : blocks) of_rank.push_back(torch::empty_like(block));
         }
         dist::all_gather_coalesced(gathered, blocks);
       }}};
  for (const auto& [name, call] : calls) {
    const auto outcome = on_group(3, {}, [&](int rank) {
      std::vector<torch::Tensor> blocks, wholes;
      for (int i = 0; i < (rank == 1 ? 1 : 2); ++i) {
        blocks.push_back(row(rank, DType::f32, 4));
        wholes.push_back(row(rank, DType::f32, 12));
      }
      const std::string error = error_of([&] {
        call(blocks, wholes);
        torch::ahbm::synchronize();
      });
      EXPECT_THAT(error, HasSubstr("DistributedError: "));
      EXPECT_THAT(error, HasSubstr("ank 1"));
      EXPECT_THAT(error, HasSubstr(name + " of 1 tensor"));
      EXPECT_THAT(error, HasSubstr(name + " of 2 tensors"));
    });
    EXPECT_THAT(outcome.errors, Each("")) << name;
  }
}

// ---- sends and receives without a wait

TEST(AsyncTransfers, LetTheHostMakeGroupsAndCallCollectivesBeforeTheOtherSideComes) {
  expect_ok(on_group(3, {}, [](int rank) {
    const auto x = row(7), y = row(0);
    const auto work = rank == 0 ? dist::isend(x, 1) : nullptr;
    const auto pair = dist::new_group({0, 1});
    if (rank == 1) dist::recv(y, 0);
    if (work) work->wait();
    const auto again = rank == 0 ? dist::isend(x, 1, pair) : nullptr;
    const auto sum = row(1);
    dist::all_reduce(sum);
    expect_all(sum, 3);
    const auto late = rank == 2 ? dist::irecv(y, 0, {}, 5) : nullptr;
    dist::monitored_barrier();
    if (rank == 1) {
      expect_all(y, 7);
      y.zero_();
      EXPECT_EQ(dist::recv(y, 0, pair), 0);
    }
    if (rank == 0) dist::send(x, 2, {}, 5);
    if (again) again->wait();
    if (late) {
      late->synchronize();
      EXPECT_EQ(late->source_rank(), 0);
    }
    if (rank > 0) expect_all(y, 7);
  }));
}

TEST(AsyncTransfers, OfTwoGroupsMayBeCalledInAnyOrder) {
  expect_ok(on_group(2, {}, [](int rank) {
    const auto group = dist::new_group({0, 1});
    const auto a = row(1), b = row(2), p = row(0), q = row(0);
    std::vector<dist::WorkRef> works;
    if (rank == 0) works = {dist::isend(a, 1, group), dist::isend(b, 1)};
    if (rank == 1) works = {dist::irecv(q, 0), dist::irecv(p, 0, group)};
    for (const auto& work : works) work->wait();
    EXPECT_EQ(works.front()->source_rank(), rank == 0 ? -1 : 0);
    if (rank == 1) {
      expect_all(p, 1);
      expect_all(q, 2);
    }
  }));
}

TEST(AnyReceive, ThatNoneSendsToNamesTheTagsOfTheSends) {
  const auto outcome = on_group(3, {}, [](int rank) {
    const auto x = row(1);
    if (rank == 0) dist::recv(x);
    if (rank == 1) dist::send(x, 0, {}, 7);
    torch::ahbm::synchronize();
  });
  const std::string& report = outcome.error.message;
  EXPECT_THAT(report, HasSubstr("(it has called send with tag 7 at group_calls_test.cpp:"));
  std::size_t lines = 0;
  const std::string line = " waits for rank 1 (the call of send to rank 0 (tag 0)";
  for (std::size_t at = report.find(line); at != std::string::npos; at = report.find(line, at + 1)) ++lines;
  EXPECT_EQ(lines, 1U) << report;
}

TEST(AnyReceive, FromRanksThatEndedSaysSoOfAllOfThem) {
  const auto outcome = on_group(3, {}, [](int rank) {
    if (rank == 0) dist::recv(row(1));
  });
  EXPECT_THAT(outcome.error.message, HasSubstr("on ranks {1, 2}, which ended: nobody left that could provide it"));
}

// ---- sums with factors

TEST(PremulSum, AddsWhatEachRankHasMultiplied) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    expect_ok(on_group(2, {}, [&](int rank) {
      const auto half = dist::_make_nccl_premul_sum(rank == 0 ? 0.5 : 2.0);
      const auto x = row(4, dtype);
      dist::all_reduce(x, half);
      expect_all(x, 10);  // 4 * 0.5 + 4 * 2
      const auto tensor = dist::_make_nccl_premul_sum(row(rank + 1, dtype, 1));
      const auto y = row(3, dtype);
      dist::reduce(y, 1, tensor);
      expect_all(y, rank == 1 ? 9 : 3);
      const auto whole = row(2, dtype, 20), block = row(0, dtype, 10), again = row(0, dtype, 10);
      dist::reduce_scatter_tensor(block, whole, tensor);
      expect_all(block, 6);
      expect_all(whole, 2);
      dist::reduce_scatter(again, {whole.narrow(0, 0, 10), whole.narrow(0, 10, 10)}, half);
      expect_all(again, 5);
    }));
  }
}

TEST(Average, IsTheSumWithTheFactorOneOverTheRanks) {
  expect_ok(on_group(3, {}, [](int rank) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      torch::manual_seed(static_cast<std::uint64_t>(rank + 1));
      const auto values = torch::randn({1000}).to(dtype);
      const auto average = values.to("ahbm"), sum = values.to("ahbm");
      dist::all_reduce(average, ReduceOp::AVG);
      // A factor on the host is computed with in f32, one on the device in the type of the tensor, as NCCL does.
      dist::all_reduce(sum, dist::_make_nccl_premul_sum(row(1.0 / 3, dtype, 1)));
      EXPECT_TRUE(torch::equal(average.cpu(), sum.cpu())) << name(dtype);
    }
  }));
}

TEST(Average, LeavesTheTensorsOfOthersThanTheRoot) {
  expect_ok(on_group(2, {}, [](int rank) {
    const auto x = row(rank + 1), whole = row(rank + 1, DType::f32, 8), block = row(0, DType::f32, 4);
    dist::reduce(x, 1, ReduceOp::AVG);
    expect_all(x, rank == 1 ? 1.5 : 1);
    dist::reduce_scatter_tensor(block, whole, ReduceOp::AVG);
    expect_all(block, 1.5);
    expect_all(whole, rank + 1);
  }));
}

TEST(Average, OfIntegersIsTheirSumDividedTowardZero) {
  for (const char* algorithm : {"ring", "direct"}) {
    expect_ok(on_group(3, {.algorithm = algorithm}, [](int rank) {
      for (const DType dtype : {DType::i8, DType::i32, DType::i64}) {
        const auto x = row(rank == 0 ? -20 : 3, dtype);
        dist::all_reduce(x, ReduceOp::AVG);
        expect_all(x, -4);  // -14 / 3
      }
      const auto bytes = row(80, DType::u8);
      dist::all_reduce(bytes, ReduceOp::AVG);
      expect_all(bytes, 80);
      const auto wrapped = row(100, DType::u8);
      dist::all_reduce(wrapped, ReduceOp::AVG);
      expect_all(wrapped, 14);  // the sum is 300 - 256
      const auto large = row(1LL << 52, DType::i64);
      dist::all_reduce(large, ReduceOp::AVG);
      expect_all(large, 1LL << 52);
    }));
  }
}

TEST(Booleans, AddAsOrAndMultiplyAsAnd) {
  expect_ok(on_group(2, {}, [](int rank) {
    const std::vector<double> mine = rank == 0 ? std::vector<double>{0, 0, 1, 1} : std::vector<double>{0, 1, 0, 1};
    const auto reduced = [&](ReduceOp op) {
      const auto x = torch::tensor(mine, torch::dtype(torch::kBool)).to("ahbm");
      dist::all_reduce(x, op);
      const auto host = x.cpu().to(torch::kDouble);
      return std::vector<double>(host.data_ptr<double>(), host.data_ptr<double>() + host.numel());
    };
    for (const ReduceOp op : {ReduceOp::SUM, ReduceOp::MAX, ReduceOp::BOR})
      EXPECT_EQ(reduced(op), (std::vector<double>{0, 1, 1, 1}));
    for (const ReduceOp op : {ReduceOp::PRODUCT, ReduceOp::MIN, ReduceOp::BAND})
      EXPECT_EQ(reduced(op), (std::vector<double>{0, 0, 0, 1}));
    EXPECT_THAT(error_of([&] { reduced(ReduceOp::AVG); }), HasSubstr("Cannot use ReduceOp.AVG with a tensor of Bool"));
  }));
}

TEST(PremulSum, OfPartsOfTensorsAndWithoutAWait) {
  expect_ok(on_group(4, {}, [](int rank) {
    const auto factor = dist::_make_nccl_premul_sum(2.0);
    for (const bool async_op : {false, true}) {
      const auto whole = row(rank + 1, DType::f32, 11), part = whole.narrow(0, 2, 6);
      auto work = dist::reduce(part, 1, factor, {}, async_op);
      if (work) work->wait();
      expect_all(part, rank == 1 ? 20 : rank + 1);
      expect_all(whole.narrow(0, 8, 3), rank + 1);
      work = dist::all_reduce(part, factor, {}, async_op);
      if (work) work->wait();
      expect_all(part, 2 * (1 + 20 + 3 + 4));
      expect_all(whole.narrow(0, 0, 2), rank + 1);
    }
  }));
}

TEST(PremulSum, ThatThrowsHasMultipliedNothing) {
  const auto outcome = on_group(2, {}, [](int) {
    const auto whole = torch::ones({4, 4}, torch::device("ahbm"));
    EXPECT_THAT(error_of([&] { dist::all_reduce(whole.t().narrow(0, 1, 2), dist::_make_nccl_premul_sum(2.0)); }),
                HasSubstr("ValueError"));
    expect_all(whole, 1);
  });
  expect_ok(outcome);
}

TEST(PremulSum, IsNoSum) {
  const auto outcome = on_group(2, {}, [](int rank) {
    const auto x = row(1);
    const std::string error = error_of([&] {
      if (rank == 0) {
        dist::all_reduce(x);
      } else {
        dist::all_reduce(x, dist::_make_nccl_premul_sum(2.0));
      }
      torch::ahbm::synchronize();
    });
    EXPECT_THAT(error, AnyOf(HasSubstr("Arguments: none vs PREMUL_SUM"), HasSubstr("Arguments: PREMUL_SUM vs none")));
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(PremulSum, OfOtherTypesAndFactorsIsRefused) {
  expect_ok(on_group(1, {}, [](int) {
    EXPECT_THAT(error_of([] { dist::all_reduce(row(1, DType::i32), dist::_make_nccl_premul_sum(2.0)); }),
                HasSubstr("PreMulSum Data type must be half, float, bfloat16 or double"));
    EXPECT_THAT(error_of([] { dist::all_reduce(row(1), dist::_make_nccl_premul_sum(row(2, DType::f16, 1))); }),
                HasSubstr("PreMulSum factor type must match input data type"));
    EXPECT_THAT(error_of([] { dist::all_reduce(row(1), dist::_make_nccl_premul_sum(torch::ones({1}))); }),
                HasSubstr("the factor of PreMulSum is on cpu"));
    EXPECT_THAT(error_of([] { dist::_make_nccl_premul_sum(row(1)); }), HasSubstr("a tensor of one element"));
    EXPECT_THAT(error_of([] { dist::all_reduce(row(1), ReduceOp::PREMUL_SUM); }), HasSubstr("_make_nccl_premul_sum"));
  }));
}

}  // namespace
}  // namespace kernbench::testing
