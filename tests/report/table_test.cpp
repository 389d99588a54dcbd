#include "report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "report/utf8.h"
#include "sample_results.h"
#include "support/source_tree.h"

namespace kernbench::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string without_colours(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\x1b') {
      at = text.find('m', at) + 1;
    } else {
      out += text[at++];
    }
  }
  return out;
}

TEST(TableTest, MatchesTheGoldenFiles) {
  source_tree::expect_golden("tests/report/golden/gemm.txt", to_table(samples::gemm()));
  source_tree::expect_golden("tests/report/golden/gemm_colour.txt", to_table(samples::gemm(), {.colour = true}));
  source_tree::expect_golden("tests/report/golden/training_step.txt", to_table(samples::training_step()));
  source_tree::expect_golden("tests/report/golden/thousand_launches.txt", to_table(samples::thousand_launches()));
  source_tree::expect_golden("tests/report/golden/deadlock.txt", to_table(samples::deadlock()));
  source_tree::expect_golden("tests/report/golden/empty.txt", to_table(samples::empty()));
}

TEST(TableTest, AnyResultFitsAHundredColumnsAndCannotCommandTheTerminal) {
  std::mt19937_64 generator(11);
  for (int i = 0; i < 500; ++i) {
    const RunResult result = samples::random(generator);
    const std::string table = to_table(result);
    ASSERT_EQ(table, to_table(result));
    for (const std::string& line : lines_of(table)) {
      ASSERT_LE(display_width(line), 100u) << line;
      ASSERT_EQ(one_line(line), line) << "no control characters, valid UTF-8";
      ASSERT_FALSE(line.ends_with(' ')) << line;
    }
  }
}

TEST(TableTest, ColourChangesNothingButColour) {
  std::mt19937_64 generator(13);
  for (int i = 0; i < 100; ++i) {
    const RunResult result = samples::random(generator);
    ASSERT_EQ(without_colours(to_table(result, {.colour = true})), to_table(result));
  }
  EXPECT_THAT(to_table(samples::gemm(), {.colour = true}), HasSubstr("\x1b[32mpassed"));
}

TEST(TableTest, SectionsThatHaveNothingToShowAreLeftOut) {
  const std::string table = to_table(samples::empty());
  for (const char* title : {"Launches", "Where", "Achieved", "Checks", "Metrics", "resources"}) {
    EXPECT_THAT(table, Not(HasSubstr(title)));
  }
  EXPECT_THAT(table, HasSubstr("ok; no checks"));
}

TEST(TableTest, TwentyLaunchesAreListedAndTwentyOneAreSummedUp) {
  RunResult result = samples::thousand_launches();
  result.launches.resize(20);
  EXPECT_THAT(to_table(result), Not(HasSubstr("by name")));
  result.launches.push_back(result.launches.back());
  EXPECT_THAT(to_table(result), HasSubstr("Launches (21, by name)"));
}

TEST(TableTest, AFailedCheckIsShownHoweverManyPassed) {
  RunResult result = samples::empty();
  result.checks.assign(1000, {"fine", CheckStatus::passed, 0, 0});
  result.checks.push_back({"the one that failed", CheckStatus::failed, 1, 1});
  const std::string table = to_table(result);
  EXPECT_THAT(table, HasSubstr("the one that failed"));
  EXPECT_THAT(table, HasSubstr("check failed; checks: 1 failed, 1,000 passed"));
}

TEST(TableTest, AchievedIsWorkOverTimeAgainstThePeak) {
  RunResult result = samples::empty();
  LaunchResult launch;
  launch.name = "half";
  launch.end = Time::microseconds(10);
  launch.flops = 5e6;                 // 500 GFLOP/s
  launch.hbm_bytes = Bytes(250'000);  // 25 GB/s
  result.launches = {launch};
  result.peak_flops = 1e12;
  result.peak_hbm_bandwidth = Bandwidth::gigabytes_per_second(100);
  const std::string table = to_table(result);
  EXPECT_THAT(table, HasSubstr("1.00 TFLOP/s, 100.0 GB/s, balanced at 10.0 FLOP/B"));
  EXPECT_THAT(table, testing::ContainsRegex("500.0 GFLOP/s +50.0 % +25.0 GB/s +25.0 % +20.0 +compute"));
  result.peak_hbm_bandwidth = Bandwidth::gigabytes_per_second(40);
  EXPECT_THAT(to_table(result), testing::ContainsRegex("62.5 % +20.0 +HBM"));
}

TEST(TableTest, TheResourcesOfOneKindAreOneRowWithItsBusiest) {
  const std::string table = to_table(samples::gemm());
  EXPECT_THAT(table, testing::ContainsRegex("sip\\*.cube\\*.pe\\*.gemm +128 .*sip0.cube0.pe7.gemm"));
  EXPECT_THAT(table, Not(HasSubstr(".vector"))) << "what was never busy is no news";
}

}  // namespace
}  // namespace kernbench::report
