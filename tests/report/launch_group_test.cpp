#include "report/launch_group.h"

#include <gtest/gtest.h>

#include <random>

#include "report/json/kernel_name.h"
#include "sample_results.h"

namespace kernbench::report {
namespace {

TEST(LaunchGroupTest, GroupsByNameHoldExactlyAllLaunches) {
  const RunResult result = samples::thousand_launches();
  const std::vector<LaunchGroup> groups = launches_by_name(result);
  ASSERT_EQ(groups.size(), 30u);
  Time total;
  for (const LaunchResult& launch : result.launches) total += launch.end - launch.start;
  const LaunchGroup sum = sum_of(groups);
  EXPECT_EQ(sum.count, 1000);
  EXPECT_EQ(sum.total, total);
  Time parts;
  for (const auto& [category, time] : sum.breakdown) parts += time;
  EXPECT_EQ(parts, total) << "the categories tile the launches, so their sums tile the sum";
  for (std::size_t i = 1; i < groups.size(); ++i) EXPECT_GE(groups[i - 1].total, groups[i].total);
}

TEST(LaunchGroupTest, ShortestAndLongestAreThoseOfTheLaunches) {
  std::mt19937_64 generator(3);
  RunResult result;
  auto& launches = result.launches;
  launches.resize(50);
  for (LaunchResult& launch : launches) {
    launch.name = launch.kernel = "k";
    launch.end = Time::picoseconds(static_cast<std::int64_t>(generator() % 1000 + 5));
  }
  launches[17].end = Time::picoseconds(2);
  launches[31].end = Time::picoseconds(2000);
  const std::vector<LaunchGroup> groups = launches_by_name(result);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].shortest, Time::picoseconds(2));
  EXPECT_EQ(groups[0].longest, Time::picoseconds(2000));
}

TEST(LaunchGroupTest, LaunchesOfSeveralDevicesAtATimeAreSharesOfTheMeanDevice) {
  RunResult result;
  result.launches.resize(6);  // two on each of three devices, one after the other
  for (std::size_t i = 0; i < result.launches.size(); ++i) {
    LaunchResult& launch = result.launches[i];
    launch.name = launch.kernel = "k";
    launch.device = static_cast<std::int32_t>(i / 2);
    launch.start = Time::picoseconds(static_cast<std::int64_t>(i % 2) * 100);
    launch.end = launch.start + Time::picoseconds(100);
  }
  const std::vector<LaunchGroup> groups = launches_by_name(result);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].total, Time::picoseconds(600));
  EXPECT_EQ(groups[0].time_of_a_device(), Time::picoseconds(200));
  EXPECT_EQ(sum_of(groups).time_of_a_device(), Time::picoseconds(200));
}

TEST(LaunchGroupTest, LaunchesThatAnErrorHasCutShortAreInNoShareAndAreNamed) {
  RunResult result;
  result.launches.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    LaunchResult& launch = result.launches[i];
    launch.name = launch.kernel = "step";
    launch.device = static_cast<std::int32_t>(i);
    launch.end = Time::picoseconds(100);
  }
  const auto took = [](const char* name, std::int64_t time) { return KernelTime{name, "", Time::picoseconds(time)}; };
  result.devices = {{0, Time::picoseconds(900), {}, {}, {took("step", 300), took("stuck", 600)}},
                    {1, Time::picoseconds(100), {}, {}, {took("step", 100)}}};
  EXPECT_EQ(launches_by_name(result)[0].time_of_a_device(), Time::picoseconds(100));
  EXPECT_TRUE(kernels_cut_short(result).empty()) << "of a run without an error nothing is cut short";
  result.error = ErrorResult{"DeadlockError", "stuck", ""};
  EXPECT_EQ(kernels_cut_short(result), (std::vector<std::string>{"stuck", "step"}));
  result.devices[0].kernels.pop_back();
  result.devices[0].kernels[0].time = Time::picoseconds(90);
  EXPECT_TRUE(kernels_cut_short(result).empty()) << "those that overlap take less";
  result.devices[0].kernels[0].time = Time::picoseconds(300);
  result.switches["alike_devices"] = "true";
  EXPECT_TRUE(kernels_cut_short(result).empty()) << "the launches of one device stand for all";
  result.switches.clear();
  EXPECT_FALSE(kernels_cut_short(result).empty());
  result.region = RegionResult{1, Time::picoseconds(100), Time(), Time::picoseconds(100)};
  EXPECT_TRUE(kernels_cut_short(result).empty()) << "a region may begin within a launch";
}

TEST(LaunchGroupTest, LaunchesThatOverlapTakeTheTimeInWhichAnyIsUnderWay) {
  RunResult result;
  result.launches.resize(4);  // two on each of two devices, the second begins in the middle of the first
  for (std::size_t i = 0; i < result.launches.size(); ++i) {
    LaunchResult& launch = result.launches[i];
    launch.name = launch.kernel = "k";
    launch.device = static_cast<std::int32_t>(i / 2);
    launch.start = Time::picoseconds(static_cast<std::int64_t>(i % 2) * 50);
    launch.end = launch.start + Time::picoseconds(100);
  }
  for (const std::int32_t device : {0, 1})
    result.devices.push_back({device, Time::picoseconds(150), Time(), {}, {{"k", "", Time::picoseconds(150)}}});
  const std::vector<LaunchGroup> groups = launches_by_name(result);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].total, Time::picoseconds(400));
  EXPECT_EQ(groups[0].time_of_a_device(), Time::picoseconds(150));
}

TEST(LaunchGroupTest, TheCountOfALaunchIsNoPartOfItsName) {
  EXPECT_EQ(kernel_name("gemm#0"), "gemm");
  EXPECT_EQ(kernel_name("a#b#12"), "a#b");
  EXPECT_EQ(kernel_name("gemm#1.0"), "gemm") << "of rank 1";
  EXPECT_EQ(kernel_name("gemm"), "gemm");
  EXPECT_EQ(kernel_name("gemm#"), "gemm#");
  EXPECT_EQ(kernel_name("#x1"), "#x1");
  RunResult result;
  auto& launches = result.launches;
  launches.resize(2);
  launches[0].name = "fill#0";
  launches[1].name = "fill#1";
  launches[0].kernel = launches[1].kernel = "fill";
  EXPECT_EQ(launches_by_name(result).size(), 1u);
}

TEST(LaunchGroupTest, ASingleLaunchIsNamedWithItsDevice) {
  const std::vector<LaunchGroup> groups = each_launch(samples::gemm().launches);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].label, "gemm on sip0");
}

TEST(LaunchGroupTest, LaunchesOfOneNameFromSeveralLinesAreSeveralGroups) {
  RunResult result;
  auto& launches = result.launches;
  launches.resize(4);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    launches[i].kernel = i < 3 ? "matmul" : "fill";
    launches[i].name = launches[i].kernel + "#" + std::to_string(i);
    launches[i].where = i == 1 ? "train.cpp:20" : "train.cpp:12";
    launches[i].end = Time::picoseconds(static_cast<std::int64_t>(10 - i));
  }
  const std::vector<LaunchGroup> groups = launches_by_name(result);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].label, "matmul at train.cpp:12");
  EXPECT_EQ(groups[0].count, 2);
  EXPECT_EQ(groups[0].name, "matmul");
  EXPECT_EQ(groups[0].label_with_line(), "matmul at train.cpp:12") << "once";
  EXPECT_EQ(groups[1].label, "matmul at train.cpp:20");
  EXPECT_EQ(groups[2].label, "fill") << "one line: the name says enough";
  EXPECT_EQ(groups[2].label_with_line(), "fill at train.cpp:12");
}

}  // namespace
}  // namespace kernbench::report
