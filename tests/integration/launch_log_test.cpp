// Launches beyond those that a result has one by one: reports and comparisons show the same figures.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "programs.h"
#include "report/difference/difference.h"
#include "report/json/json.h"
#include "report/json/read_json.h"
#include "report/launch_group.h"
#include "report/sections/table.h"

namespace kernbench {
namespace {

using testing::one_pe;
using testing::tiny;

void busy(tl::Tensor x, std::int64_t times) {
  auto a = tl::load(x, {0}, {512});
  for (std::int64_t i = 0; i < times; ++i) a = a * 1.5f;
  tl::store(x, {0}, a);
}

/// Launches of several kernels, lines, sizes and ranges, on two streams; a library kernel that is planned.
void program() {
  const auto x = torch::zeros({512}, one_pe()), y = torch::zeros({512}, one_pe());
  const auto a = torch::zeros({64, 64}, torch::dtype(torch::kHalf).device("ahbm"));
  const torch::ahbm::Stream other;
  for (int i = 0; i < 30; ++i) {
    torch::launch("even", busy, x, std::int64_t{1 + (i * 7) % 5});
    const torch::ahbm::StreamGuard guard(other);
    torch::launch("other", busy, y, std::int64_t{2});
    if (i % 10 == 0) (void)torch::matmul(a, a);
  }
  {
    const torch::profiler::record_function region("step");
    for (int i = 0; i < 8; ++i) torch::launch("even", busy, x, std::int64_t{3});
  }
}

RunResult run(std::size_t detailed, bool whole_run = false) {
  SimulateOptions options = tiny({});
  options.quick_plans = true;
  options.detailed_launches = detailed;
  options.whole_run = whole_run;
  RunResult result = simulate(options, program);
  result.wall_time_s = 0;
  return result;
}

std::string table(const RunResult& result, report::TableKind kind) {
  return report::to_table(result, {.kind = kind});
}

TEST(LaunchLogTest, ReportsShowTheSameFiguresHoweverManyLaunchesAreKept) {
  for (const bool whole_run : {false, true}) {
    const RunResult all = run(1'000, whole_run);
    ASSERT_TRUE(all.launch_totals.empty());
    const std::size_t count = all.launches.size();
    ASSERT_GT(count, 60u);
    for (const std::size_t detailed : {std::size_t{0}, std::size_t{7}, std::size_t{40}, count - 1}) {
      SCOPED_TRACE(detailed);
      const RunResult some = run(detailed, whole_run);
      EXPECT_EQ(some.launches.size(), detailed);
      EXPECT_EQ(report::launch_count(some), count);
      EXPECT_EQ(some.times_fingerprint, all.times_fingerprint);
      EXPECT_EQ(some.warnings, all.warnings);
      EXPECT_EQ(table(some, report::TableKind::brief), table(all, report::TableKind::brief));
      if (whole_run) {
        EXPECT_EQ(table(some, report::TableKind::full), table(all, report::TableKind::full));
      }
    }
  }
}

TEST(LaunchLogTest, AComparisonFindsNoDifferenceInActivitiesWaitsAndRanges) {
  const RunResult all = run(1'000), some = run(5);
  const report::Difference difference = report::difference(all, some);
  EXPECT_TRUE(difference.activities.empty());
  EXPECT_TRUE(difference.waits.empty());
  EXPECT_TRUE(difference.resources.empty());
  ASSERT_EQ(all.ranges.size(), some.ranges.size());
  EXPECT_EQ(all.ranges[0].launches, some.ranges[0].launches);
  EXPECT_EQ(all.ranges[0].launch_time, some.ranges[0].launch_time);
}

TEST(LaunchLogTest, TotalsTileTheTimesOfTheirLaunches) {
  const RunResult all = run(1'000), none = run(0);
  Time sum, total;
  for (const LaunchResult& launch : all.launches) sum += launch.end - launch.start;
  std::int64_t planned = 0;
  for (const LaunchTotal& each : none.launch_totals) {
    total += each.total;
    planned += each.plan ? each.count : 0;
    Time parts, path;
    for (const auto& [category, time] : each.breakdown) parts += time;
    for (const auto& [activity, time] : each.critical_path) path += time;
    EXPECT_EQ(parts, each.total) << each.name;
    EXPECT_EQ(path, each.total) << each.name;
    EXPECT_EQ(each.longest, each.longest_launch.end - each.longest_launch.start) << each.name;
    EXPECT_LE(each.shortest, each.longest);
  }
  EXPECT_EQ(total, sum);
  EXPECT_EQ(planned, 3);
}

TEST(LaunchLogTest, TheJsonHasTotalsAndIsReadBack) {
  const RunResult some = run(5);
  const std::string text = report::to_json(some);
  EXPECT_NE(text.find("\"launch_totals\""), std::string::npos);
  EXPECT_EQ(report::to_json(report::from_json(text, "some")), text);
  EXPECT_EQ(report::to_json(run(1'000)).find("\"launch_totals\""), std::string::npos);
}

TEST(LaunchLogTest, OnlyLaunchesOfTheRegionAreReported) {
  const RunResult all = run(1'000), some = run(3);
  const auto count = [](const RunResult& result) {
    std::int64_t in_region = 0;
    for (const LaunchResult& launch : result.launches) in_region += launch.in_region ? 1 : 0;
    for (const LaunchTotal& total : result.launch_totals) in_region += total.in_region ? total.count : 0;
    return in_region;
  };
  EXPECT_GT(count(all), 3);
  EXPECT_LT(count(all), 9) << "those of the range";
  EXPECT_EQ(count(some), count(all));
}

}  // namespace
}  // namespace kernbench
