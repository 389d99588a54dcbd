#include "cli/messages.h"

#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "cli/status_line.h"

namespace kernbench::cli {
namespace {

TEST(MessagesTest, TheKindOfErrorDecidesTheForm) {
  EXPECT_EQ(error_message({"ConfigurationError", "bad", ""}, false), "kernbench: error: bad\n");
  EXPECT_EQ(error_message({"ConfigurationError", "bad", "a.yaml:1:2"}, false), "kernbench: error: a.yaml:1:2: bad\n");
  EXPECT_EQ(error_message({"ValueError", "bad\nworse", "k.cpp:3"}, false),
            "kernbench: ValueError: bad\nworse\n  at k.cpp:3\n");
  EXPECT_EQ(error_message({"Interrupted", "", ""}, false), "kernbench: interrupted\n");
}

TEST(MessagesTest, OfManyProblemsTheFirstTwentyAreToldAndTheOthersCounted) {
  report::RunResult result;
  for (int rank = 0; rank < 64; ++rank) {
    const std::string name = "gradient of rank " + std::to_string(rank);
    result.checks.push_back({name, rank == 3 ? report::CheckStatus::passed : report::CheckStatus::failed, 1, 1});
    result.races.push_back({{"load", "a.cpp:1", "k#0", "pe0"}, {"store", "a.cpp:2", "k#0", "pe1"}, name, Time(), 1});
  }
  const std::string text = problem_messages(result, false);
  EXPECT_NE(text.find("kernbench: check failed: gradient of rank 20:"), std::string::npos);
  EXPECT_EQ(text.find("check failed: gradient of rank 21:"), std::string::npos);
  EXPECT_NE(text.find("kernbench: and 43 more failed checks\n"), std::string::npos);
  EXPECT_NE(text.find("\nkernbench: and 44 more races\n"), std::string::npos);
  EXPECT_EQ(problem_messages(report::RunResult(), false), "");
}

TEST(MessagesTest, ControlCharactersDoNotReachTheTerminal) {
  EXPECT_EQ(error_message({"ValueError", "a\x1b[2Jb\rc", "\n"}, false), "kernbench: ValueError: a?[2Jb?c\n  at ?\n");
}

TEST(MessagesTest, ANoteLeavesTheStatusLineWhereItWas) {
  std::string written;
  StatusLine line([&](std::string_view text) { written += text; }, true);
  line.write_above("note\n");
  EXPECT_EQ(written, "note\n") << "no line is shown";
  line.show("measuring");
  written.clear();
  line.write_above("note\n");
  EXPECT_EQ(written, "\r\x1b[Knote\n\r\x1b[Kmeasuring\r");
}

// As load_state_dict lists what does not fit.
TEST(MessagesTest, TabsIndent) {
  EXPECT_EQ(error_message({"ValueError", "Error(s):\n\tMissing key(s): \"a\". \n\tsize\tmismatch", ""}, false),
            "kernbench: ValueError: Error(s):\n  Missing key(s): \"a\".\n  size  mismatch\n");
}

TEST(MessagesTest, ColourIsOnlyAddedWhenWanted) {
  EXPECT_EQ(error_message({"ConfigurationError", "bad", ""}, true), "\x1b[1;31mkernbench: error: \x1b[0mbad\n");
}

TEST(MessagesTest, TheFirstLineOfAFailedSpawnNamesRankAndCause) {
  report::ErrorResult error{"SpawnException", "-- Process 1 terminated with the following error:\nValueError: no", ""};
  error.rank_errors = {{{1}, Time::zero(), "ValueError", "no", ""}};
  EXPECT_EQ(error_message(error, false),
            "kernbench: SpawnException: rank 1: ValueError\n\n-- Process 1 terminated with the following error:\n"
            "ValueError: no\n");
}

TEST(MessagesTest, ExitCodesOfRanksStandApartFromTheFirstLine) {
  report::ErrorResult error{"ProcessExitedException", "process 1 terminated with exit code 3", ""};
  error.rank_errors = {{{1}, Time::zero(), "ProcessExitedException", "process 1 terminated with exit code 3", ""}};
  EXPECT_EQ(error_message(error, false),
            "kernbench: ProcessExitedException: rank 1: ProcessExitedException\n\n"
            "process 1 terminated with exit code 3\n");
}

TEST(MessagesTest, AHintLeadsToExplainOnlyWhereASendWaitsForASlot) {
  report::ErrorResult error{"DeadlockError", "deadlock at 5 us", ""};
  error.waits = {{"main", "its end", "program 1", false, {}}};
  EXPECT_EQ(slots_hint(error), "");
  error.waits.push_back({"send#1", "a credit", "program 1", true, QueueSlots{"sip0.cube0.pe1.ipcq.receive0", 1}});
  EXPECT_NE(slots_hint(error).find("--explain"), std::string::npos);
  error.slots = report::SlotAdvice{2, 2, "2 slots"};
  EXPECT_EQ(slots_hint(error), "") << "it has been found";
}

TEST(ExitCodeTest, FollowsFromTheError) {
  const auto code = [](const char* type) { return static_cast<int>(exit_code_of(report::ErrorResult{type, "", ""})); };
  EXPECT_EQ(code("ConfigurationError"), 2);
  EXPECT_EQ(code("ValueError"), 3);
  EXPECT_EQ(code("DeadlockError"), 3);
  EXPECT_EQ(code("InternalError"), 4);
  EXPECT_EQ(code("std::runtime_error"), 3);
  EXPECT_EQ(code("Interrupted"), 130);
}

TEST(ExitCodeTest, OfASpawnFollowsFromWhatItsRanksSay) {
  const RankErrorResult usage{{0, 1}, Time::zero(), "ConfigurationError", "bad", ""};
  const RankErrorResult other{{2}, Time::zero(), "ValueError", "worse", ""};
  report::ErrorResult error{"SpawnException", "", ""};
  error.rank_errors = {usage};
  EXPECT_EQ(static_cast<int>(exit_code_of(error)), 2);
  error.rank_errors = {usage, usage};
  EXPECT_EQ(static_cast<int>(exit_code_of(error)), 2);
  error.rank_errors = {usage, other};
  EXPECT_EQ(static_cast<int>(exit_code_of(error)), 3);
}

}  // namespace
}  // namespace kernbench::cli
