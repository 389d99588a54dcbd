#include "report/difference/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "report/difference/difference_text.h"
#include "report/text/utf8.h"
#include "sample_results.h"
#include "support/all_cases.h"
#include "support/source_tree.h"

namespace kernbench::report {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

/// gemm() on a machine with half the HBM bandwidth, which DMA pays for.
RunResult slower() {
  RunResult result = samples::gemm();
  result.machine[1].second = "600GB/s";
  const Time more = Time::nanoseconds(5'210);
  result.simulated_time += more;
  result.times_fingerprint = 1;
  LaunchResult& launch = result.launches[0];
  launch.end += more;
  launch.critical_path[1].time += more;
  launch.waits[0].time += 100 * more;
  for (ResourceResult& resource : result.resources) {
    if (resource.name.find(".hbm.") != std::string::npos) resource.busy += resource.busy;
  }
  return result;
}

TEST(DifferenceTest, OfEqualResultsIsNothing) {
  const Difference same = difference(samples::gemm(), samples::gemm());
  EXPECT_TRUE(same.same_outcome());
  EXPECT_TRUE(same.inputs.empty());
  EXPECT_THAT(to_table(same, "a", "b", false), HasSubstr("Nothing differs."));
}

TEST(DifferenceTest, ManyLaunchesAreSummedUpByKernelToo) {
  RunResult one = samples::gemm(), other = samples::gemm();
  const auto fill = [](RunResult& result, const std::string& kernel, std::int64_t microseconds) {
    const LaunchResult pattern = result.launches[0];
    result.launches.clear();
    for (int device = 0; device < 8; ++device) {
      for (const std::string& name : {kernel, std::string("sum")}) {
        LaunchResult& launch = result.launches.emplace_back(pattern);
        launch.kernel = name;
        launch.name = name + "#" + std::to_string(device) + ".0";
        launch.device = device;
        launch.end = launch.start + Time::microseconds(name == "sum" ? microseconds : 2 * microseconds);
      }
    }
  };
  fill(one, "ring", 1);
  fill(other, "grid", 3);
  const std::string table = to_table(difference(one, other), "a", "b", false);
  EXPECT_THAT(table, HasSubstr("Launches that differ, by kernel, of all devices together\n"));
  EXPECT_THAT(table, ContainsRegex("  grid +- +48.000 us +.48.000 us +-\n"
                                   "  (ring +16.000 us +- +-16.000 us +-100.0 %|sum +8.000 us +24.000 us)"));
  EXPECT_THAT(to_table(difference(samples::gemm(), slower()), "a", "b", false), Not(HasSubstr("by kernel")));
}

TEST(DifferenceTest, WallClockFiguresAreNotCompared) {
  RunResult other = samples::gemm();
  other.wall_time_s = 99;
  other.events += 1;
  EXPECT_TRUE(difference(samples::gemm(), other).same_outcome());
}

TEST(DifferenceTest, NamesOverridesOfSingleParts) {
  RunResult other = samples::gemm();
  other.machine.emplace_back("overrides.sip0.cube0.pe1.clock", "500MHz");
  other.machine.emplace_back("overrides.sip0.io.to_host.latency", "2us");
  other.machine.emplace_back("overrides.sip0.io.to_sip1.bandwidth", "50GB/s");
  const Difference changed = difference(samples::gemm(), other);
  std::vector<std::pair<std::string, std::string>> parts;
  for (const auto& input : changed.inputs) parts.emplace_back(input.key, input.part);
  std::ranges::sort(parts);
  EXPECT_THAT(parts, testing::ElementsAre(testing::Pair("overrides.sip0.cube0.pe1.clock", "GEMM engines"),
                                          testing::Pair("overrides.sip0.io.to_host.latency", "host links"),
                                          testing::Pair("overrides.sip0.io.to_sip1.bandwidth", "links")));
}

// Of two overrides of one part the later one counts.
TEST(DifferenceTest, NamesAnotherOrderOfTheOverrides) {
  RunResult a = samples::gemm(), b = samples::gemm();
  const std::pair<std::string, std::string> all{"overrides.*.clock", "1GHz"}, one{"overrides.*.pe1.clock", "2GHz"};
  a.machine.insert(a.machine.end(), {all, one});
  b.machine.insert(b.machine.end(), {one, all});
  const Difference changed = difference(a, b);
  ASSERT_EQ(changed.inputs.size(), 1u);
  EXPECT_EQ(changed.inputs[0].key, "order of the overrides");
  EXPECT_EQ(changed.inputs[0].a, "*.clock first");
  EXPECT_EQ(changed.inputs[0].b, "*.pe1.clock first");
}

TEST(DifferenceTest, NamesTheChangedKeyAndWhereTheTimeWent) {
  const Difference changed = difference(samples::gemm(), slower());
  EXPECT_FALSE(changed.same_outcome());
  ASSERT_EQ(changed.inputs.size(), 1u);
  EXPECT_EQ(changed.inputs[0].key, "cube.hbm.bandwidth");
  EXPECT_EQ(changed.inputs[0].part, "HBM channels");
  EXPECT_EQ(changed.inputs[0].busy_b, 2 * changed.inputs[0].busy_a);
  ASSERT_EQ(changed.activities.size(), 1u);
  EXPECT_EQ(changed.activities[0].name, "dma data");
  ASSERT_EQ(changed.launches.size(), 1u);
  EXPECT_EQ(changed.launches[0].name, "gemm on sip0");
  ASSERT_EQ(changed.resources.size(), 1u);
  EXPECT_EQ(changed.resources[0].kind, "sip*.cube*.pe*.hbm.channel*");
  source_tree::expect_golden("tests/report/golden/slower.txt", to_table(changed, "before.json", "after.json", false));
  source_tree::expect_golden("tests/report/golden/slower.json", to_json(changed, "before.json", "after.json"));
}

TEST(DifferenceTest, ParametersComeFirstThenKeysByTheBusyTimeThatTheyChange) {
  RunResult a = samples::gemm(), b = slower();
  a.machine.emplace_back("cube.m_cpu.latency", "50ns");
  b.machine.emplace_back("cube.m_cpu.latency", "60ns");
  a.machine.emplace_back("cube.aaa", "1");
  b.parameters["M"] = "4096";
  b.seed = 7;
  const Difference changed = difference(a, b);
  std::vector<std::string> keys;
  for (const InputChange& input : changed.inputs) keys.push_back(input.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"M", "cube.hbm.bandwidth", "cube.aaa", "cube.m_cpu.latency", "seed"}));
  EXPECT_EQ(changed.inputs[2].b, "") << "the other machine lacks it";
}

TEST(DifferenceTest, NamesEveryChangedSwitchAndWhatItMayExplain) {
  RunResult a = samples::gemm(), b = slower();
  a.switches = {{"data", "true"}, {"exact_events", "false"}, {"uninitialized_memory", "poison"}};
  b.switches = {{"data", "true"}, {"exact_events", "true"}, {"uninitialized_memory", "zero"}};
  b.parameters["M"] = "4096";
  const Difference changed = difference(a, b);
  ASSERT_EQ(changed.inputs.size(), 4u);
  EXPECT_EQ(changed.inputs[0].key, "M");
  EXPECT_EQ(changed.inputs[1].kind, "switch");
  EXPECT_EQ(changed.inputs[1].key, "exact_events");
  EXPECT_EQ(changed.inputs[2].key, "uninitialized_memory");
  EXPECT_EQ(changed.inputs[2].a, "poison");
  EXPECT_EQ(changed.inputs[2].b, "zero");
  EXPECT_EQ(changed.inputs[3].key, "cube.hbm.bandwidth");
  const std::string table = to_table(changed, "a", "b", false);
  EXPECT_THAT(table, ContainsRegex("exact_events +false +-> +true +changes no result"));
  EXPECT_THAT(table, ContainsRegex("uninitialized_memory +poison +-> +zero +may explain other values"));
}

TEST(DifferenceTest, AResultOfAnEarlierVersionHasNoSwitchesToCompare) {
  RunResult earlier = samples::gemm();
  earlier.switches.clear();
  EXPECT_TRUE(difference(earlier, samples::gemm()).inputs.empty());
}

TEST(DifferenceTest, ALaunchOfOneRunOnlyHasNoTimeInTheOther) {
  RunResult b = samples::gemm();
  b.launches.clear();
  const Difference changed = difference(samples::gemm(), b);
  ASSERT_EQ(changed.launches.size(), 1u);
  EXPECT_TRUE(changed.launches[0].a.has_value());
  EXPECT_FALSE(changed.launches[0].b.has_value());
  EXPECT_TRUE(Json::parse(to_json(changed, "a", "b"))["launches"][0]["b_ps"].is_null());
}

TEST(DifferenceTest, WhatOnlyOneOfTwoRunsOfTheSameShowsIsNotCompared) {
  RunResult explained = samples::gemm(), not_explained = samples::gemm();
  not_explained.switches["explain"] = "false";
  for (LaunchResult& launch : not_explained.launches) launch.critical_path.clear(), launch.waits.clear();
  const Difference changed = difference(explained, not_explained);
  EXPECT_TRUE(changed.same_outcome());
  EXPECT_THAT(to_table(changed, "a", "b", false),
              AllOf(ContainsRegex("explain +- +-> +false +changes what is shown"),
                    HasSubstr("Not compared: waits and critical paths: one run was not explained (--no-explain)")));

  RunResult of_region = samples::gemm(), of_all = samples::gemm();
  of_region.region = RegionResult{1, Time::nanoseconds(5), {}, Time::nanoseconds(5)};
  of_all.switches["whole_run"] = "true";
  for (ResourceResult& resource : of_all.resources) resource.busy += Time::nanoseconds(1);
  EXPECT_TRUE(difference(of_region, of_all).same_outcome());
  EXPECT_FALSE(difference(of_region, of_all).region_b.has_value());
  of_all.switches.clear();
  EXPECT_FALSE(difference(of_region, of_all).same_outcome());
}

TEST(DifferenceTest, ShowsTheTimesOfRegions) {
  RunResult a = samples::gemm(), b = samples::gemm();
  a.region = RegionResult{1, Time::nanoseconds(10), {}, Time::nanoseconds(10)};
  b.region = RegionResult{1, Time::nanoseconds(25), {}, Time::nanoseconds(25)};
  const Difference changed = difference(a, b);
  EXPECT_THAT(to_table(changed, "a", "b", false),
              ContainsRegex("Region +10.000 ns -> 25.000 ns \\(\\+15.000 ns, \\+150.0 %\\)"));
  EXPECT_EQ(Json::parse(to_json(changed, "a", "b"))["b"]["region_time_ps"], 25'000);
  EXPECT_FALSE(changed.same_outcome());
}

TEST(DifferenceTest, WhatTheRegionConsistsOfAddsUpToItsChange) {
  const auto us = [](std::int64_t count) { return Time::microseconds(count); };
  const auto of = [&](Time region, Time copies, Time idle) {
    RunResult result = samples::empty();
    result.region = RegionResult{1, region, Time(), region};
    result.devices = {{0, us(10), copies, {{"host wait", "synchronize", "a.cpp:7", "", "", idle, 3}}, {}}};
    result.copies = {{"to", 0, "a.cpp:5", true, 1, Bytes(64), copies, copies}};
    return result;
  };
  const Difference changed = difference(of(us(60), us(20), us(30)), of(us(25), us(5), us(10)));
  std::int64_t sum = 0;
  for (const TimeChange& change : changed.devices) sum += (change.b.value_or(Time()) - *change.a).count();
  EXPECT_EQ(Time::picoseconds(-sum), us(35));
  ASSERT_EQ(changed.copies.size(), 1u);
  EXPECT_EQ(changed.copies[0].name, "to sip0 at a.cpp:5");
  EXPECT_FALSE(changed.same_outcome());
  const std::string table = to_table(changed, "a", "b", false);
  EXPECT_THAT(table, ContainsRegex("to sip0 at a.cpp:5 +20.000 us +5.000 us +-15.000 us"));
  EXPECT_THAT(table, ContainsRegex("idle after synchronize at a.cpp:7 +30.000 us +10.000 us +-20.000 us"));
}

TEST(DifferenceTest, WhatDevicesDidIsNotComparedWhereOneResultDoesNotHaveIt) {
  RunResult with = samples::gemm();
  with.devices = {{0, Time::microseconds(1), Time(), {}, {}}};
  const Difference changed = difference(samples::gemm(), with);
  EXPECT_TRUE(changed.devices.empty());
  EXPECT_THAT(changed.not_compared, testing::Contains(HasSubstr("what devices did")));
}

TEST(DifferenceTest, NamesTheChoicesOfAPlanThatDiffer) {
  RunResult one = samples::gemm(), other = samples::gemm();
  for (RunResult* result : {&one, &other}) result->launches.resize(2, result->launches[0]);
  one.launches[1].name = other.launches[1].name = "gemm#1";
  for (LaunchResult& launch : other.launches) {
    launch.plan->choices[2].second = "256";
    launch.plan->estimated += Time::nanoseconds(1);
  }
  other.launches[1].plan->choices.emplace_back("swizzle", "2");
  const Difference changed = difference(one, other);
  EXPECT_FALSE(changed.same_outcome());
  ASSERT_EQ(changed.plans.size(), 2u) << "the estimate is no choice";
  EXPECT_EQ(changed.plans[0].choice, "tile_k");
  EXPECT_EQ(changed.plans[0].count, 2);
  const std::string text = to_table(changed, "a", "b", false);
  EXPECT_THAT(text, HasSubstr("plan of gemm: tile_k 128 -> 256 (2 launches)\n"));
  EXPECT_THAT(text, HasSubstr("plan of gemm: swizzle - -> 2\n"));
  const Json json = Json::parse(to_json(changed, "a", "b"));
  EXPECT_EQ(json["plans"][0],
            (Json{{"launch", "gemm"}, {"choice", "tile_k"}, {"a", "128"}, {"b", "256"}, {"count", 2}}));
}

TEST(DifferenceTest, OfAnyTwoResultsFitsAHundredColumnsAndIsValidJson) {
  std::mt19937_64 generator(17);
  for (int i = 0; i < number_of_cases(300, 100, 20); ++i) {
    const RunResult a = samples::random(generator);
    const RunResult b = generator() % 5 == 0 ? a : samples::random(generator);
    const Difference changed = difference(a, b);
    const Json json = Json::parse(to_json(changed, "a", "b"));
    ASSERT_EQ(json["inputs"].size(), changed.inputs.size());
    std::istringstream lines(to_table(changed, "a", "b", false, true));
    for (std::string line; std::getline(lines, line);) {
      ASSERT_LE(display_width(line), 100u) << line;
      ASSERT_EQ(one_line(line), line);
    }
  }
}

}  // namespace
}  // namespace kernbench::report
