// Ranks that do not call the same collective: who is to blame, when all are told, and what can be done afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "ranks.h"
#include "spawning.h"
#include "support/sanitizers.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

torch::Tensor ones(std::int64_t n, DType dtype = DType::f32) {
  return torch::ones({n}, torch::dtype(dtype).device("ahbm"));
}

/// What each rank was told, and when; a rank that was told nothing has no text.
struct Told {
  explicit Told(int ranks) : texts(static_cast<std::size_t>(ranks)), times(texts.size()) {}
  std::vector<std::string> texts;
  std::vector<Time> times;

  /// Runs a part of a rank's program, and keeps the error that it ends with.
  void listen(int rank, const std::function<void()>& part) {
    try {
      part();
    } catch (const Error& error) {
      texts[static_cast<std::size_t>(rank)] = error.type() + ": " + error.what();
      times[static_cast<std::size_t>(rank)] = now();
    }
  }
  void expect_all_alike(const std::string& where) const {
    EXPECT_THAT(texts, Each(texts.front())) << where;
    EXPECT_THAT(times, Each(times.front())) << where;
  }
};

enum class Wrong : std::uint8_t { shape, dtype, reduction };

torch::Tensor argument(bool wrong, Wrong how) {
  return ones(wrong && how == Wrong::shape ? 9 : 8, wrong && how == Wrong::dtype ? DType::f16 : DType::f32);
}

void call(const torch::Tensor& x, bool wrong, Wrong how) {
  dist::all_reduce(x, wrong && how == Wrong::reduction ? ReduceOp::MAX : ReduceOp::SUM);
  x[0].item();  // in vain
}

TEST(Culprit, IsTheRankThatDiffersWhicheverItIsAndInWhateverOrderTheyCome) {
  constexpr int kRanks = 4;
  for (const Wrong how : {Wrong::shape, Wrong::dtype, Wrong::reduction}) {
    for (const bool later : {false, true}) {
      for (int wrong = 0; wrong < kRanks; ++wrong) {
        std::string first;
        std::vector<int> order{0, 1, 2, 3};
        for (int i = 0; std::next_permutation(order.begin(), order.end()); ++i) {
          if ((kSanitized || how != Wrong::shape) && i % (kSanitized ? 18 : 6) != 0) continue;
          Told told(kRanks);
          const auto outcome = run_ranks(
              machine_of(kRanks), kRanks,
              [&](int rank) {
                dist::init_process_group("ahbm", rank, kRanks);
                if (later) {
                  const auto x = ones(8);
                  dist::all_reduce(x);
                  x.cpu();
                }
                const auto x = argument(rank == wrong, how);
                const auto place = std::ranges::find(order, rank) - order.begin();
                sim::this_fiber::sleep_until(Time::microseconds(100 + place));
                told.listen(rank, [&] { call(x, rank == wrong, how); });
              },
              order);
          const std::string where = ::testing::PrintToString(order) + ", " + std::to_string(wrong);
          ASSERT_EQ(outcome.error.message, "") << where;
          told.expect_all_alike(where);
          EXPECT_THAT(told.texts[0], HasSubstr(". Culprit rank " + std::to_string(wrong) + ";")) << where;
          EXPECT_EQ(told.times[0], Time::microseconds(103)) << where << ": when the last one has called";
          if (first.empty()) first = told.texts[0];
          EXPECT_EQ(told.texts[0], first) << where;
        }
      }
    }
  }
}

TEST(Culprit, OneOfSixteenIsTheOneAlsoAsTheFirstCaller) {
  constexpr int kRanks = 16;
  for (const char* topology : {"tiny", "ahbm-2sip"}) {
    Told told(kRanks);
    auto options = machine_of(kRanks);
    options.topology = topology;
    options.data = false;
    const auto outcome = run_ranks(options, kRanks, [&](int rank) {
      dist::init_process_group("ahbm", rank, kRanks);
      sim::this_fiber::sleep_until(Time::microseconds(10 + rank));
      told.listen(rank, [&] { dist::all_reduce(ones(rank == 0 ? 9 : 8)); });
    });
    const std::string line = std::to_string(__LINE__ - 2);
    EXPECT_EQ(outcome.error.message, "");
    told.expect_all_alike(topology);
    EXPECT_EQ(told.texts[0],
              "DistributedError: Detected mismatch between collectives on ranks. Ranks {1-15} are running "
              "collective: CollectiveFingerPrint(SequenceNumber=1, OpType=ALLREDUCE, TensorShape=[8], "
              "TensorDtypes=Float, ReduceOp=SUM) at culprit_test.cpp:" +
                  line +
                  ", but Rank 0 is running collective: "
                  "CollectiveFingerPrint(SequenceNumber=1, OpType=ALLREDUCE, TensorShape=[9], TensorDtypes=Float, "
                  "ReduceOp=SUM) at culprit_test.cpp:" +
                  line +
                  ". Collectives differ in the following aspects: Tensor shapes: [8] vs [9]. Culprit rank 0; "
                  "Error type: SIZE_OR_SYNTAX_MISMATCH");
  }
}

TEST(Culprit, CallsThatDifferOnEveryRankAreCounted) {
  constexpr int kRanks = 16;
  Told told(kRanks);
  const auto outcome = run_ranks(machine_of(kRanks), kRanks, [&](int rank) {
    dist::init_process_group("ahbm", rank, kRanks);
    told.listen(rank, [&] { dist::all_reduce(ones(8 + rank)); });
  });
  EXPECT_EQ(outcome.error.message, "");
  told.expect_all_alike("");
  EXPECT_THAT(told.texts[0],
              AllOf(HasSubstr("but Rank 7 is running"), HasSubstr(", but ranks {8-15} run 8 more. "),
                    HasSubstr("on rank 7 Tensor shapes: [8] vs [15]; and 8 more. No culprit"), Not(HasSubstr("[16]"))));
}

TEST(Culprit, IsTheRankWithOneBatchLess) {
  for (const bool async : {false, true}) {
    Told told(3);
    const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
      dist::init_process_group("ahbm", rank, 3);
      told.listen(rank, [&] {
        std::vector<dist::WorkRef> works;
        for (int batch = 0; batch < (rank == 1 ? 3 : 4); ++batch) {
          works.push_back(dist::all_reduce(ones(8), ReduceOp::SUM, {}, async));
        }
        dist::barrier();
      });
    });
    EXPECT_EQ(outcome.error.message, "");
    told.expect_all_alike(async ? "asynchronous" : "synchronous");
    EXPECT_THAT(told.texts[0],
                AllOf(HasSubstr("Ranks {0, 2} are running collective: CollectiveFingerPrint(SequenceNumber=4, "
                                "OpType=ALLREDUCE"),
                      HasSubstr("but Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=4, "
                                "OpType=BARRIER)"),
                      HasSubstr("Culprit rank 1; Error type: COLLECTIVE_TYPE_MISMATCH")));
  }
}

TEST(Culprit, IsNobodyWithoutAMajority) {
  std::string first;
  std::vector<int> order{0, 1, 2, 3};
  do {
    Told told(4);
    run_ranks(
        machine_of(4), 4,
        [&](int rank) {
          dist::init_process_group("ahbm", rank, 4);
          sim::this_fiber::sleep_until(Time::microseconds(10 + order[static_cast<std::size_t>(rank)]));
          told.listen(rank, [&] { dist::all_reduce(ones(rank == 0 || rank == 3 ? 8 : 9)); });
        },
        order);
    told.expect_all_alike("");
    if (first.empty()) first = told.texts[0];
    EXPECT_EQ(told.texts[0], first);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_THAT(first, AllOf(HasSubstr("Ranks {0, 3} are running"), HasSubstr("but Ranks {1, 2} are running"),
                           HasSubstr("No culprit: none of the calls is that of more than half of the ranks"),
                           Not(HasSubstr("Culprit rank"))));
}

TEST(Culprit, TheLineOfTheLowestRankStandsForASide) {
  for (const bool rank_0_first : {false, true}) {
    Told told(3);
    run_ranks(machine_of(3), 3, [&](int rank) {
      dist::init_process_group("ahbm", rank, 3);
      sleep((rank == 0) == rank_0_first ? 1'000 : 2'000);
      told.listen(rank, [&] {
        if (rank == 0) dist::all_reduce(ones(8));
        if (rank != 0) dist::all_reduce(ones(rank == 1 ? 9 : 8));
      });
    });
    EXPECT_THAT(told.texts[0], HasSubstr("ReduceOp=SUM) at culprit_test.cpp:" + std::to_string(__LINE__ - 4) +
                                         ", but Rank 1 is running"));
  }
}

TEST(Culprit, EveryWayToDifferIsListedWithItsRanks) {
  Told told(5);
  run_ranks(machine_of(5), 5, [&](int rank) {
    dist::init_process_group("ahbm", rank, 5);
    told.listen(rank, [&] {
      if (rank == 1) dist::barrier();
      dist::all_reduce(ones(rank == 3 ? 9 : 8));
    });
  });
  told.expect_all_alike("");
  EXPECT_THAT(told.texts[0],
              AllOf(HasSubstr("Ranks {0, 2, 4} are running collective"), HasSubstr("but Rank 1 is running collective"),
                    HasSubstr("but Rank 3 is running collective"),
                    HasSubstr("aspects: on rank 1 Op type: ALLREDUCE vs BARRIER, Reduce op: SUM vs none; on rank 3 "
                              "Tensor shapes: [8] vs [9]. Culprit ranks {1, 3}")));
}

TEST(Culprit, RanksThatCanNoLongerCallAreMissingRanks) {
  for (const bool ends : {false, true}) {
    sim::Completion go_on;
    Told told(4);
    const auto outcome = run_ranks(machine_of(4), 4, [&](int rank) {
      dist::init_process_group("ahbm", rank, 4);
      if (rank == 3 && ends) return;
      if (rank == 3) return go_on.wait();  // nothing is left that could happen but for the others' error
      told.listen(rank, [&] { dist::all_reduce(ones(rank == 1 ? 9 : 8)); });
      go_on.set();
    });
    EXPECT_EQ(outcome.error.message, "");
    for (const int rank : {0, 1, 2}) {
      EXPECT_THAT(told.texts[static_cast<std::size_t>(rank)],
                  AllOf(HasSubstr("Ranks {0, 2} are running"), HasSubstr("Culprit rank 1;"),
                        HasSubstr("; missing ranks: {3}")));
    }
  }
}

TEST(Culprit, RanksThatOnlyPollForADifferingCallAreToldThatNobodyElseComes) {
  sim::Completion go_on;
  Told told(3);
  auto options = machine_of(3);
  options.max_polls = 1'000;
  const auto outcome = run_ranks(options, 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    if (rank == 2) return go_on.wait();
    told.listen(rank, [&] {
      const auto work = dist::all_reduce(ones(rank == 0 ? 9 : 8), ReduceOp::SUM, {}, true);
      while (!work->is_completed()) {
      }
      work->wait();
    });
    go_on.set();
  });
  EXPECT_EQ(outcome.error.message, "");
  EXPECT_THAT(told.texts[0], HasSubstr("; missing ranks: {2}"));
  EXPECT_EQ(told.texts[1], told.texts[0]);
}

TEST(Culprit, ErrorsThatAllRanksHaveHandledLeaveNothingBehind) {
  for (const bool later : {false, true}) {
    for (const bool async : {false, true}) {
      for (const bool read : {false, true}) {
        const std::string where = std::string(later ? "later" : "first") + (async ? ", async" : ", sync");
        Told told(3);
        std::vector<float> sums(3);
        const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
          dist::init_process_group("ahbm", rank, 3);
          const auto x = ones(1 << 14);
          if (later) dist::all_reduce(x);
          if (later && read) x.cpu();
          told.listen(rank, [&] {
            const auto work = dist::all_reduce(rank == 2 ? ones(5) : x, ReduceOp::SUM, {}, async);
            if (work && rank == 1) work->synchronize();
            if (work && rank != 1) work->wait();
            x.cpu();
          });
          dist::destroy_process_group();
          dist::init_process_group("ahbm", rank, 3);
          const auto y = torch::full({1000}, static_cast<float>(rank), torch::dtype(torch::kFloat).device("ahbm"));
          dist::all_reduce(y);
          sums[static_cast<std::size_t>(rank)] = y[999].item<float>();
        });
        EXPECT_EQ(outcome.error.message, "") << where;
        EXPECT_EQ(outcome.errors, std::vector<std::string>(3)) << where;
        EXPECT_THAT(told.texts, Each(HasSubstr("Culprit rank 2;"))) << where;
        EXPECT_THAT(sums, Each(3.0f)) << where;
      }
    }
  }
}

TEST(Culprit, LaterCallsOnTheGroupQuoteTheFirstError) {
  Told first(3), second(3), third(3);
  const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    const auto x = ones(8);
    first.listen(rank, [&] { dist::all_reduce(rank == 2 ? ones(5) : x); });
    second.listen(rank, [&] { dist::broadcast(x, 0); });
    third.listen(rank, [&] { rank == 0 ? dist::send(x, 1) : dist::monitored_barrier(); });
  });
  EXPECT_EQ(outcome.error.message, "");
  const std::string error = first.texts[0].substr(first.texts[0].find(": ") + 2);
  EXPECT_THAT(second.texts, Each("DistributedError: broadcast: the default group has failed and cannot be used any "
                                 "more: destroy it, and make a new one. The first error was: " +
                                 error));
  EXPECT_THAT(third.texts, Each(HasSubstr("The first error was: " + error)));
}

TEST(Culprit, AnEarlierCollectiveOfAllRanksStillEnds) {
  Told told(2);
  std::vector<float> sums(2);
  run_ranks(machine_of(2), 2, [&](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    const auto x = ones(1 << 18), y = ones(8);
    dist::all_reduce(x);  // takes longer than what follows
    told.listen(rank, [&] {
      dist::all_reduce(rank == 1 ? ones(9) : y);
      y.cpu();
    });
    sums[static_cast<std::size_t>(rank)] = x[(1 << 18) - 1].item<float>();
  });
  EXPECT_THAT(told.texts, Each(HasSubstr("No culprit")));
  EXPECT_THAT(sums, Each(2.0f));
}

TEST(Culprit, AWaitForAnAsynchronousFirstCollectiveThrowsWhatItsExceptionHolds) {
  std::vector<std::string> held(4);
  Told told(4);
  const auto outcome = run_ranks(machine_of(4), 4, [&](int rank) {
    dist::init_process_group("ahbm", rank, 4);
    const auto x = ones(rank == 1 ? 65 : 64);
    if (rank == 3) {  // the last one, whose call throws
      told.listen(rank, [&] { (void)dist::all_reduce(x, ReduceOp::SUM, {}, true); });
      held[3] = told.texts[3];
      return;
    }
    const auto work = dist::all_reduce(x, ReduceOp::SUM, {}, true);
    sleep(20'000);
    ASSERT_NE(work->exception(), nullptr);
    EXPECT_FALSE(work->is_success());
    try {
      std::rethrow_exception(work->exception());
    } catch (const Error& error) {
      held[static_cast<std::size_t>(rank)] = error.type() + ": " + error.what();
    }
    told.listen(rank, [&] { work->wait(); });
  });
  EXPECT_EQ(outcome.error.message, "");
  EXPECT_THAT(told.texts, Each(HasSubstr("Culprit rank 1;")));
  EXPECT_EQ(told.texts, held);
}

TEST(Culprit, ATransferThatDoesNotFitIsToldToBothAndLeavesNothingBehind) {
  for (const bool sender_first : {false, true}) {
    Told told(2);
    std::vector<float> received(2);
    const auto outcome = run_ranks(machine_of(2), 2, [&](int rank) {
      dist::init_process_group("ahbm", rank, 2);
      const auto x = ones(rank == 0 ? 8 : 9), y = ones(4);
      if ((rank == 0) != sender_first) sleep(50'000);
      told.listen(rank, [&] {
        if (rank == 0) dist::send(x, 1);
        if (rank == 1) dist::recv(x, 0);
        x.cpu();
      });
      if (rank == 0) dist::send(y, 1);
      if (rank == 1) dist::recv(y, 0);
      received[static_cast<std::size_t>(rank)] = y[0].item<float>();
    });
    EXPECT_EQ(outcome.error.message, "");
    EXPECT_EQ(outcome.errors, std::vector<std::string>(2));
    EXPECT_THAT(told.texts, Each(HasSubstr("Detected mismatch in the transfer from rank 0 to rank 1")));
    EXPECT_THAT(received, Each(1.0f));
  }
}

TEST(Culprit, AMismatchThatNobodyWaitsForIsTheErrorOfTheRun) {
  const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    if (rank == 2) return sleep(50'000);
    const auto x = ones(rank == 0 ? 8 : 9);
    (void)dist::all_reduce(x, ReduceOp::SUM, {}, true);
  });
  EXPECT_EQ(outcome.errors, std::vector<std::string>(3));
  EXPECT_THAT(outcome.error.message, HasSubstr("Detected mismatch between collectives on ranks"));
}

// With one entry for each PE the channels of the group that has failed have to make room for those of the others.
TEST(Culprit, AFailedGroupLeavesTheTablesToOthers) {
  for (const bool async : {false, true}) {
    auto options = machine_of(3);
    options.overrides.push_back("pe.ipcq.queues=1");
    Told told(3);
    std::vector<float> sums(3);
    const auto outcome = run_ranks(options, 3, [&](int rank) {
      dist::init_process_group("ahbm", rank, 3);
      const auto first = dist::new_group(), second = dist::new_group();
      const auto x = ones(1 << 12), y = ones(8);
      dist::all_reduce(x, ReduceOp::SUM, first);
      dist::all_reduce(y, ReduceOp::SUM, second);
      x.cpu();
      told.listen(rank, [&] {
        const auto work = dist::all_reduce(rank == 1 ? ones(5) : x, ReduceOp::SUM, first, async);
        if (work) work->synchronize();
        x.cpu();
      });
      for (int i = 0; i < 3; ++i) dist::all_reduce(y, ReduceOp::SUM, second);
      dist::all_reduce(y);
      sums[static_cast<std::size_t>(rank)] = y[7].item<float>();
    });
    EXPECT_EQ(outcome.error.message, "");
    EXPECT_EQ(outcome.errors, std::vector<std::string>(3));
    EXPECT_THAT(told.texts, Each(HasSubstr("Culprit rank 1;")));
    EXPECT_THAT(sums, Each(243.0f));
  }
}

TEST(Culprit, ACallInADestructorOfARankThatUnwindsEndsWithTheOthers) {
  struct Last {
    explicit Last(std::string& error) : text(error) {}
    ~Last() {
      try {
        dist::all_reduce(ones(9));
      } catch (const Error& error) {
        text = error.what();
      }
    }
    std::string& text;
  };
  Told told(3);
  std::string last;
  const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    if (rank == 2) sleep(50'000);
    told.listen(rank, [&] {
      if (rank != 0) return (void)dist::all_reduce(ones(8));
      const Last call(last);
      throw ValueError("of its own");
    });
  });
  EXPECT_EQ(outcome.error.message, "");
  EXPECT_EQ(told.texts[0], "ValueError: of its own");
  EXPECT_THAT(told.texts[1], HasSubstr("Culprit rank 0;"));
  EXPECT_EQ("DistributedError: " + last, told.texts[1]);
}

TEST(Culprit, ARunThatIsStoppedBeforeTheJudgementSaysWhyItWasStopped) {
  auto options = machine_of(3);
  options.max_time = Time::microseconds(30);
  const auto outcome = run_ranks(options, 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    if (rank == 2) sleep(50'000);
    dist::all_reduce(ones(rank == 0 ? 9 : 8));
  });
  EXPECT_EQ(outcome.error.type, "TimeLimitError");
}

TEST(Culprit, ASpawnSaysTheErrorOfAllItsRanksOnce) {
  for (const bool later : {false, true}) {
    const std::string error = error_of(
        [&] {
          mp::spawn(
              [&](int rank) {
                torch::ahbm::set_device(rank);
                dist::init_process_group();
                const auto x = ones(8);
                if (later) dist::all_reduce(x);
                dist::all_reduce(rank == 0 ? ones(9) : x);
                x.cpu();
              },
              {}, {.nprocs = 8});
        },
        devices(8));
    EXPECT_THAT(error, StartsWith("SpawnException: -- Process 0 terminated with the following error (on ranks "
                                  "{0-7}):\nDistributedError at "));
    EXPECT_THAT(error,
                AllOf(HasSubstr("Ranks {1-7} are running"), HasSubstr("Culprit rank 0;"), Not(HasSubstr("Unwound"))));
  }
}

}  // namespace
}  // namespace kernbench::testing
