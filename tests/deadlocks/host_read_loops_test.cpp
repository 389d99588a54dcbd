// Host programs that read a device value again and again: a livelock where nothing can change it, and none otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support.h"
#include "support/sanitizers.h"

namespace kernbench::deadlocks_test {
namespace {

namespace dist = torch::distributed;
namespace mp = torch::multiprocessing;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

torch::Tensor value_on(int device, float value = 0, std::int64_t n = 1) {
  return torch::full({n}, value,
                     torch::dtype(DType::f32)
                         .device(torch::Device(torch::kAHBM, device))
                         .placement({.num_cubes = 1, .num_pes = 1})
                         .name("flag"));
}

void set_to(tl::Tensor x, float value, std::int64_t delay) {
  tl::delay(delay);
  tl::store(x, {0}, tl::full({x.numel()}, value, DType::f32));
}

void in_ranks(int count, const std::function<void(int rank)>& worker) {
  mp::spawn(
      [&](int rank) {
        torch::ahbm::set_device(rank);
        worker(rank);
      },
      {}, {.nprocs = count});
}

using Loop = std::function<void(const torch::Tensor&)>;

std::string ending_of(const Loop& loop, bool data = true) {
  auto options = machine(1, 1);
  options.data = data;
  return outcome(try_simulate(options, [&] { loop(value_on(0)); }));
}

class ReadForEver : public ::testing::Test {
 protected:
  void SetUp() override { NOT_UNDER_SANITIZERS("reads by the hundred thousand"); }
};

TEST_F(ReadForEver, OfAnItemNamesTheReaderTheReadAndTheTensor) {
  const std::string error = ending_of([](const torch::Tensor& flag) {
    while (flag.item<float>() == 0) {
    }
  });
  EXPECT_THAT(error, AllOf(HasSubstr("LivelockError: livelock at "),
                           HasSubstr("\n  main is in item at host_read_loops_test.cpp:"),
                           HasSubstr("; it reads tensor flag by item"), HasSubstr("\nnothing else is under way")));
}

/// Rank 1 returns; `several` others ask whether their all-reduce is over.
std::string asked_for_ever(int several) {
  auto options = machine(several + 1, 1);
  options.max_polls = 1000;
  return outcome(try_simulate(options, [several] {
    in_ranks(several + 1, [several](int rank) {
      dist::init_process_group("ahbm", rank, several + 1);
      if (rank == 1) return;
      const auto work = dist::all_reduce(value_on(rank), dist::ReduceOp::SUM, {}, true);
      while (!work->is_completed()) {
      }
    });
  }));
}

TEST(AskForEver, NamesWhoHasEndedWithoutTheCall) {
  for (const int several : {1, 3}) {
    EXPECT_THAT(asked_for_ever(several),
                ContainsRegex("LivelockError: livelock at [^\n]*: rank 1 has ended without calling ALLREDUCE "
                              "\\(sequence number 1\\) of the default group\nafter [0-9]+ polls in vain "));
  }
}

TEST_F(ReadForEver, OfEqualsIsFoundLikewise) {
  const std::string error = ending_of([](const torch::Tensor& flag) {
    while (!torch::equal(flag, torch::ones({1}))) {
    }
  });
  EXPECT_THAT(error, HasSubstr("it reads tensor flag by equal"));
}

TEST_F(ReadForEver, OfSeveralThingsInTurnIsFound) {
  const std::string error = ending_of([](const torch::Tensor&) {
    const auto row = value_on(0, 0, 16);
    for (bool set = false; !set;) {
      for (std::int64_t i = 0; i < row.numel(); ++i) set = set || row[i].item<float>() != 0;
    }
  });
  EXPECT_THAT(error, HasSubstr("it reads tensor flag by item"));
}

TEST_F(ReadForEver, WithoutDataIsFoundLikewise) {
  const auto loop = [](const torch::Tensor& flag) {
    while (flag.item_or<float>(0) == 0) {
    }
  };
  EXPECT_THAT(ending_of(loop, false), HasSubstr("LivelockError"));
}

TEST_F(ReadForEver, WhileAnotherRankWaitsNamesWhatTheOtherWaitsFor) {
  const auto result = try_simulate(machine(2, 1), [] {
    in_ranks(2, [](int rank) {
      dist::init_process_group("ahbm", rank, 2);
      if (rank == 1) dist::barrier();
      const auto flag = value_on(0);
      while (flag.item<float>() == 0) {
      }
    });
  });
  EXPECT_THAT(outcome(result),
              AllOf(HasSubstr("\n  rank 0 is in item at host_read_loops_test.cpp:"),
                    HasSubstr("; it reads tensor flag by item"), HasSubstr("\nfibers that wait for something else:"),
                    HasSubstr("\n  rank 1 waits for BARRIER")));
}

TEST_F(ReadForEver, OnTwoRanksIsFoundOnBoth) {
  const auto result = try_simulate(machine(2, 1), [] {
    in_ranks(2, [](int rank) {
      const auto flag = value_on(rank);
      while (flag.item<float>() == 0) {
      }
    });
  });
  EXPECT_THAT(outcome(result), AllOf(HasSubstr("\n  rank 0 is in item at host_read_loops_test.cpp:"),
                                     ContainsRegex("\n  rank 0 [^\n]*; it reads tensor flag by item\n"),
                                     ContainsRegex("\n  rank 1 [^\n]*; it reads tensor flag by item\n")));
}

// ---- loops that come to an end

TEST_F(ReadForEver, IsNotWhatEndsBehindALongKernelOfAnotherRank) {
  std::int64_t reads = 0;
  const auto result = try_simulate(machine(2, 1), [&] {
    const auto flag = value_on(0);
    torch::ahbm::synchronize();
    in_ranks(2, [&](int rank) {
      if (rank == 0) {
        while (flag.item<float>() == 0) ++reads;
        return;
      }
      const auto mine = value_on(1);
      torch::launch("long", set_to, mine, 1.0F, std::int64_t{500'000'000});
      torch::ahbm::synchronize();
      torch::Tensor(flag).copy_(mine);
    });
  });
  EXPECT_EQ(outcome(result), "ok");
  EXPECT_GT(reads, 110'000) << "more than make a livelock where nothing is under way";
}

TEST(ReadsThatEnd, AWriteOfTheHostOnAnotherRankIsSeen) {
  const auto result = try_simulate(machine(2, 1), [] {
    const auto flag = value_on(0);
    torch::ahbm::synchronize();
    in_ranks(2, [&](int rank) {
      if (rank == 1) {
        const auto mine = value_on(1);
        for (int i = 0; i < 3'000; ++i) mine.item<float>();  // polls, as far as anybody can tell
        torch::Tensor(flag).copy_(torch::ones({1}));
      }
      while (flag.item<float>() == 0) {
      }
    });
  });
  EXPECT_EQ(outcome(result), "ok");
}

TEST_F(ReadForEver, IsNotAReadOfEachElementOfALongTensor) {
  const auto result = try_simulate(machine(1, 1), [] {
    const auto x = torch::zeros({120'000}, torch::dtype(DType::i8).device("ahbm"));
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < x.numel(); ++i) sum += x[i].item<std::int8_t>();
    EXPECT_EQ(sum, 0);
  });
  EXPECT_EQ(outcome(result), "ok");
}

TEST_F(ReadForEver, IsNotALoopThatLaunchesInBetween) {
  const auto result = try_simulate(machine(1, 1), [] {
    const auto flag = value_on(0);
    for (int round = 0; round < 30; ++round) {
      for (int i = 0; i < 4'000; ++i) flag.item<float>();
      torch::launch("set", set_to, flag, static_cast<float>(round), std::int64_t{1});
    }
    EXPECT_EQ(flag.item<float>(), 29);
  });
  EXPECT_EQ(outcome(result), "ok");
}

}  // namespace
}  // namespace kernbench::deadlocks_test
