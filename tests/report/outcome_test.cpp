#include "report/outcome.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "kernbench/error.h"

namespace kernbench::report {
namespace {

TEST(OutcomeTest, UserErrorsKeepTypeMessageAndPlace) {
  const ErrorResult error =
      error_result(std::make_exception_ptr(OutOfMemoryError("TCM is full", "sip0.cube0.pe1 gemm.cpp:12")));
  EXPECT_EQ(error.type, "OutOfMemoryError");
  EXPECT_EQ(error.message, "TCM is full");
  EXPECT_EQ(error.where, "sip0.cube0.pe1 gemm.cpp:12");
}

TEST(OutcomeTest, EverythingElseIsAnInternalError) {
  EXPECT_EQ(error_result(std::make_exception_ptr(std::logic_error("oops"))).type, kInternalError);
  EXPECT_EQ(error_result(std::make_exception_ptr(std::logic_error("oops"))).message, "oops");
  EXPECT_EQ(error_result(std::make_exception_ptr(std::bad_alloc())).type, kInternalError);
  EXPECT_EQ(error_result(std::make_exception_ptr(Cancelled{})).type, kInternalError);
  EXPECT_EQ(error_result(std::make_exception_ptr(42)).type, kInternalError);
}

TEST(OutcomeTest, AnErrorOutweighsAFailedCheckAndThatASkippedOne) {
  RunResult result;
  EXPECT_EQ(status_of(result), RunStatus::ok);
  result.checks = {{"a", CheckStatus::passed, 0, 0}, {"b", CheckStatus::skipped, 0, 0}};
  EXPECT_EQ(status_of(result), RunStatus::ok);
  result.checks.push_back({"c", CheckStatus::failed, 1, 1});
  EXPECT_EQ(status_of(result), RunStatus::check_failed);
  result.error = ErrorResult{};
  EXPECT_EQ(status_of(result), RunStatus::error);
}

TEST(OutcomeTest, RacesAreLikeAFailedCheckAndReadAsOneSentence) {
  RunResult result;
  result.races = {{{"store", "halo.cpp:9", "halo#0", "sip0.cube0.pe0"},
                   {"load", "halo.cpp:11", "halo#1", "sip0.cube0.pe1"},
                   "element [1, 0] of x",
                   Time::microseconds(3),
                   1}};
  EXPECT_EQ(status_of(result), RunStatus::check_failed);
  EXPECT_EQ(
      race_text(result.races.front()),
      "store at halo.cpp:9 and load at halo.cpp:11 touch the same bytes, and nothing orders them: element [1, 0] of "
      "x, halo#0 on sip0.cube0.pe0 and halo#1 on sip0.cube0.pe1");
  result.races.front().count = 1200;
  EXPECT_TRUE(race_text(result.races.front()).ends_with("sip0.cube0.pe1; 1,200 times"));
}

TEST(OutcomeTest, AnErrorInOneLineNamesTheFirstRankThatFailed) {
  EXPECT_EQ(headline({"DeadlockError", "deadlock at 2 us: who\nand more", ""}), "DeadlockError: deadlock at 2 us: who");
  EXPECT_EQ(headline({"TimeLimitError", "beyond 1 ms (the next event is at 2 ms); fibers then:\n  main waits", ""}),
            "TimeLimitError: beyond 1 ms (the next event is at 2 ms)");
  EXPECT_EQ(headline({"OutOfMemoryError", "too small; use smaller tiles. Live tiles:\n  tile 1", ""}),
            "OutOfMemoryError: too small; use smaller tiles");
  EXPECT_EQ(headline({"Error", "2 are left; call recv for each:\n  one", ""}), "Error: 2 are left; call recv for each");
  EXPECT_EQ(headline({"std::runtime_error", "", ""}), "std::runtime_error");
  ErrorResult error{"SpawnException", "-- Process 1 terminated with the following error:\n", ""};
  error.rank_errors = {{{1}, Time::zero(), "ValueError", "no more\nsamples", ""}};
  EXPECT_EQ(headline(error), "SpawnException: rank 1: ValueError: no more");
  error.rank_errors.push_back(error.rank_errors.front());
  error.rank_errors.front().ranks = {0, 2};
  EXPECT_EQ(headline(error), "SpawnException: ranks {0, 1, 2}: ValueError: no more") << "one cause in two places";
  error.rank_errors.back().message = "too many";
  EXPECT_EQ(headline(error), "SpawnException: ranks {0, 2}: ValueError: no more (and 1 more cause)");
}

}  // namespace
}  // namespace kernbench::report
