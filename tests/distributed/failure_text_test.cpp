// What the failure of many ranks is called: each thing once.
#include "distributed/ranks/failure_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spawning.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using testing::devices;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace mp = torch::multiprocessing;

TEST(FailureText, AnErrorOfAThousandRanksIsSaidOnceWithTheirSet) {
  EXPECT_EQ(error_of([] { mp::spawn([](int) { throw ValueError("wrong for all"); }, {}, {.nprocs = 1000}); }),
            "SpawnException: -- Process 0 terminated with the following error (on ranks {0-999}):\n"
            "ValueError at 0 ps: wrong for all");
}

TEST(FailureText, ErrorsThatDifferInNumbersAreSaidOnceWithTheirValues) {
  EXPECT_EQ(error_of([] {
              mp::spawn([](int rank) { throw ValueError("rank " + std::to_string(rank + 1024) + " of 1024"); }, {},
                        {.nprocs = 1024});
            }),
            "SpawnException: -- Process 0 terminated with the following error (on ranks {0-1023}):\n"
            "ValueError at 0 ps: rank {1024-2047} of 1024");
}

TEST(FailureText, AnErrorOfSeveralLinesAndTimesIsSaidOnceWithItsPlaces) {
  EXPECT_EQ(distributed::failure_text({{1, Time::nanoseconds(2), "ValueError", "wrong", "b.cpp:2 (send)", nullptr},
                                       {0, Time::nanoseconds(1), "ValueError", "wrong", "a.cpp:1 (send)", nullptr},
                                       {2, Time::nanoseconds(2), "ValueError", "wrong", "a.cpp:1 (send)", nullptr}},
                                      {}),
            "-- Process 0 terminated with the following error (on ranks {0, 1, 2}):\n"
            "ValueError at 1 ns to 2 ns: wrong\n"
            "  at b.cpp:2 (send), on rank 1\n"
            "  at a.cpp:1 (send), on ranks {0, 2}");
}

TEST(FailureText, ManyPlacesAndManyValuesAreCounted) {
  std::vector<mp::RankError> errors;
  for (int rank = 0; rank < 64; ++rank) {
    const auto message = "offset " + std::to_string(rank * rank * 7) + ", 0.5";
    errors.push_back({rank, Time(), "ValueError", message, "a.cpp:" + std::to_string(rank), nullptr});
  }
  const std::string text = distributed::failure_text(errors, {});
  EXPECT_THAT(text,
              HasSubstr("ValueError at 0 ps: offset {64 values from 0 to 27783}, 0.5\n  at a.cpp:0, on rank 0\n"));
  EXPECT_THAT(text, ::testing::EndsWith("\n  at a.cpp:7, on rank 7\n  and in 56 more places"));
}

TEST(FailureText, ARankOfSeveralErrorsIsNamedOnce) {
  EXPECT_EQ(
      distributed::failure_text(
          {{3, {}, "ValueError", "wrong", "on pe0", nullptr}, {3, {}, "ValueError", "wrong", "on pe1", nullptr}}, {}),
      "-- Process 3 terminated with the following error:\n"
      "ValueError at 0 ps: wrong\n  at on pe0, on rank 3\n  at on pe1, on rank 3");
}

TEST(FailureText, NumbersWithAPointAndOfManyDigitsAreWordsOfTheirOwn) {
  const std::string text = distributed::failure_text(
      {{0, {}, "ValueError", "got 0.25", "", nullptr}, {1, {}, "ValueError", "got 0.75", "", nullptr}}, {});
  EXPECT_THAT(text, HasSubstr("got 0.25\n\n-- Process 1 "));
}

TEST(FailureText, TheNumbersOfATensorWithoutANameAreTwoWholeOnes) {
  std::vector<mp::RankError> errors;
  for (int rank = 0; rank < 16; ++rank) {
    errors.push_back(
        {rank, {}, "ValueError", "tensor#" + std::to_string(rank) + ".3 of launch f#1.0 takes 0.5 s", "", nullptr});
  }
  EXPECT_EQ(distributed::failure_text(errors, {}),
            "-- Process 0 terminated with the following error (on ranks {0-15}):\n"
            "ValueError at 0 ps: tensor#{0-15}.3 of launch f#1.0 takes 0.5 s");
}

TEST(FailureText, ManyErrorsInOtherWordsAreCounted) {
  std::vector<mp::RankError> errors;
  for (int rank = 0; rank < 40; ++rank)
    errors.push_back({rank, {}, "ValueError", "no " + std::string(static_cast<std::size_t>(rank), 'x'), "", nullptr});
  const std::string text = distributed::failure_text(errors, {});
  EXPECT_THAT(text, HasSubstr("-- Process 15 "));
  EXPECT_THAT(text, ::testing::EndsWith("\n\nand 24 more errors, of ranks {16-39}"));
  errors.resize(17);
  EXPECT_THAT(distributed::failure_text(errors, {}), ::testing::EndsWith("\n\nand 1 more error, of rank 16"));
}

TEST(FailureText, VictimsThatWaitAlikeAreOneSet) {
  std::vector<distributed::Victim> victims;
  for (int rank = 0; rank < 64; ++rank) {
    const std::string number = std::to_string(rank);
    if (rank == 7) victims.push_back({7, "sleeps until 1 us"});
    if (rank != 7 && rank != 35) victims.push_back({rank, "waits for launch f#" + number + ".0 on sip" + number});
  }
  EXPECT_THAT(distributed::failure_text({{35, {}, "ValueError", "wrong", "", nullptr}}, victims),
              ::testing::EndsWith("\n\nUnwound because of it: ranks {0-6, 8-34, 36-63} (each waits for launch "
                                  "f#{0-6, 8-34, 36-63}.0 on sip{0-6, 8-34, 36-63}), rank 7 (sleeps until 1 us)"));
}

TEST(FailureText, VictimsThatWaitForManyThingsAreCounted) {
  std::vector<distributed::Victim> victims;
  for (int rank = 1; rank <= 20; ++rank)
    victims.push_back({rank, "waits for " + std::string(static_cast<std::size_t>(rank), 'x')});
  EXPECT_THAT(distributed::failure_text({{0, {}, "ValueError", "wrong", "", nullptr}}, victims),
              ::testing::EndsWith(", rank 16 (waits for xxxxxxxxxxxxxxxx) and 4 more"));
}

TEST(FailureText, ErrorsInOtherWordsStandApart) {
  const std::string error = error_of(
      [] { mp::spawn([](int rank) { throw ValueError(rank == 3 ? "of one" : "of most"); }, {}, {.nprocs = 8}); });
  EXPECT_THAT(error, HasSubstr("-- Process 0 terminated with the following error (on ranks {0, 1, 2, 4, 5, 6, 7}):\n"
                               "ValueError at 0 ps: of most\n\n-- Process 3 terminated with the following error:\n"
                               "ValueError at 0 ps: of one"));
}

TEST(FailureText, EveryExitCodeIsListedByRank) {
  simulate(devices(1), [] {
    try {
      mp::spawn([](int rank) { mp::exit(rank == 2 ? 0 : rank + 1); }, {}, {.nprocs = 4});
      ADD_FAILURE();
    } catch (const mp::ProcessExitedException& exited) {
      EXPECT_STREQ(exited.what(),
                   "process 0 terminated with exit code 1\n"
                   "process 1 terminated with exit code 2\n"
                   "process 3 terminated with exit code 4");
      EXPECT_EQ(exited.exit_code, 1);
      EXPECT_EQ(exited.error_index, 0);
      EXPECT_THAT(exited.errors, SizeIs(3));
    }
  });
}

TEST(FailureText, TheResultListsRanksErrorsAndVictims) {
  sim::Completion never;
  const auto result = try_simulate(devices(1), [&] {
    mp::spawn(
        [&](int rank) {
          testing::sleep(1000);
          if (rank == 1) throw ValueError("other", "here");
          if (rank == 0 || rank == 3) throw ValueError("same");
          never.wait();
        },
        {}, {.nprocs = 5});
  });
  ASSERT_TRUE(result.error);
  ASSERT_THAT(result.error->rank_errors, SizeIs(2));
  const auto &same = result.error->rank_errors[0], &other = result.error->rank_errors[1];
  EXPECT_THAT(same.ranks, ElementsAre(0, 3));
  EXPECT_EQ(same.message, "same");
  EXPECT_EQ(same.time, Time::nanoseconds(1000));
  EXPECT_THAT(other.ranks, ElementsAre(1));
  EXPECT_EQ(other.type, "ValueError");
  EXPECT_EQ(other.where, "here");
  EXPECT_THAT(result.error->victims, ElementsAre(2, 4));
}

TEST(FailureText, WhoSwallowsCancelledForEverIsAVictimAndItsMessagesAreNotMissed) {
  const LeaksExpected leaks;
  namespace dist = torch::distributed;
  const auto result = try_simulate(devices(3), [&] {
    try {
      mp::spawn(
          [&](int rank) {
            torch::ahbm::set_device(rank);
            dist::init_process_group();
            const auto x = torch::ones({1 << 16}, torch::dtype(torch::kFloat).device("ahbm"));
            dist::all_reduce(x);
            x.cpu();
            if (rank == 1) testing::sleep(100'000);
            if (rank == 1) throw ValueError("the cause");
            dist::all_reduce(x);
            for (;;) {
              try {
                dist::all_reduce(x);
                x.cpu();
              } catch (...) {  // NOLINT(bugprone-empty-catch): what must not be done
              }
            }
          },
          {}, {.nprocs = 3});
      ADD_FAILURE();
    } catch (const mp::SpawnException& failure) {
      EXPECT_THAT(failure.errors, SizeIs(1));
      EXPECT_EQ(failure.error_index, 1);
      EXPECT_THAT(failure.victims, ElementsAre(0, 2));
      EXPECT_THAT(failure.what(), HasSubstr("it caught Cancelled again and again, and was left behind"));
    }
  });
  EXPECT_FALSE(result.error) << result.error->message;
}

}  // namespace
}  // namespace kernbench
