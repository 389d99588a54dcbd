// The scorecard of bugs in programs of several devices: the program itself finds each, names the culprit and ends with
// an exit code of its own; docs/misuse-devices.md shows what it says.
#include "scorecard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "../cli/process.h"
#include "support/all_cases.h"
#include "support/source_tree.h"

namespace kernbench::deadlocks_test {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr int kProgramFailed = 3;  // docs/cli.md

cli::Finished run_bug(const std::string& bench, const std::vector<std::string>& more) {
  std::vector<std::string> command{
      KERNBENCH_SCORECARD_PROGRAM, "run", bench, "-t", "tiny", "--explain", "--max-polls", "100000"};
  command.insert(command.end(), {"--set", "system.sips.count=" + std::to_string(kScorecardDevices)});
  command.insert(command.end(), more.begin(), more.end());
  return cli::run(command);
}

/// As in the documentation: lines of the programs' file are lines of "program.cpp", and lines and times have no
/// numbers.
std::string documented(const std::string& text) {
  const std::string named = std::regex_replace(text, std::regex("scorecard\\.cpp"), "program.cpp");
  const std::string lines = std::regex_replace(named, std::regex("\\.cpp:[0-9]+"), ".cpp:LINE");
  return std::regex_replace(lines, std::regex("(at|until) [0-9.]+ [pnum]s"), "$1 TIME");
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of('\n');
  return first == std::string::npos ? "" : text.substr(first);
}

struct Told {
  std::string text, slots;
};

/// Runs a bug and holds the program to what it must say of it.
Told found(const SeededBug& bug) {
  const cli::Finished finished = run_bug(bug.bench, {"--json", "-"});
  EXPECT_EQ(finished.code, kProgramFailed) << finished.err;
  const Json result = Json::parse(finished.out, nullptr, false);
  if (result.is_discarded() || result["error"].is_null()) {
    ADD_FAILURE() << "no error: " << finished.out << finished.err;
    return {};
  }
  const Json& error = result["error"];
  EXPECT_EQ(result["status"], "error");
  EXPECT_EQ(error["type"], bug.type);
  const std::string where = error["where"];
  const std::string text = trimmed(error["message"]) + (where.empty() ? "" : "\n  at " + where);
  for (const std::string& part : bug.culprit) EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(finished.err, HasSubstr("kernbench: " + bug.type)) << "standard error says it too";
  return {documented(text), error.contains("slots") ? std::string(error["slots"]["text"]) : ""};
}

std::string section(const SeededBug& bug, const Told& told) {
  std::string text = "\n**" + bug.what + "** (`" + bug.type + "`)\n\n```\n" + told.text + "\n";
  if (!told.slots.empty()) text += "  slots: " + told.slots + "\n";
  return text + "```\n";
}

TEST(DeviceScorecard, EachBugIsFoundWithItsCulpritAndAnExitCode) {
  std::string document =
      "# Errors between devices and their messages\n\n"
      "Each of these programs has one bug. `kernbench run` ends with exit code 3 and prints the text that follows: who "
      "is at\n"
      "fault, and for a deadlock who waits for whom. A test runs each one (`tests/deadlocks/scorecard_test.cpp`) and "
      "compares\n"
      "this page with the actual output. Other tests run all built-in benches and 1,000 random programs without a bug; "
      "none\n"
      "may be reported. Collectives that differ are judged when every rank has called, or can no longer call: the call "
      "of\n"
      "more than half of the ranks is right ([host API](host-api.md)). The lines with `slots` are what `--explain` "
      "adds.\n"
      "[Kernel errors](misuse.md) have a page of their own. Programs that poll run with `--max-polls 100000`.\n";
  std::size_t turn = 0;
  for (const SeededBug& bug : seeded_bugs()) {
    if (turn++ % one_case_in(1, 6) != 0) continue;
    SCOPED_TRACE(bug.bench);
    document += section(bug, found(bug));
  }
  if (one_case_in(1, 6) == 1) source_tree::expect_golden("docs/misuse-devices.md", document);
}

TEST(DeviceScorecard, ExplainSaysWithHowManySlotsARingWouldTurn) {
  const cli::Finished finished = run_bug("credits", {});
  EXPECT_EQ(finished.code, kProgramFailed);
  EXPECT_THAT(finished.err, HasSubstr("\n  slots: 2 slots in every queue would break it; with 1 slot the program gets "
                                      "stuck\n"));
}

}  // namespace
}  // namespace kernbench::deadlocks_test
