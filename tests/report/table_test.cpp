#include "report/sections/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "report/text/utf8.h"
#include "sample_results.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
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
  const auto brief = [](const RunResult& result) { return to_table(result, {.kind = TableKind::brief, .cuts = true}); };
  source_tree::expect_golden("tests/report/golden/gemm_brief.txt", brief(samples::gemm()));
  source_tree::expect_golden("tests/report/golden/training_step_brief.txt", brief(samples::training_step()));
  source_tree::expect_golden("tests/report/golden/thousand_launches_brief.txt", brief(samples::thousand_launches()));
}

TEST(TableTest, NoResultCanCommandTheTerminal) {
  std::mt19937_64 generator(11);
  for (int i = 0; i < number_of_cases(500, 170, 20); ++i) {
    const RunResult result = samples::random(generator);
    const std::string table = to_table(result);
    ASSERT_EQ(table, to_table(result));
    for (const std::string& line : lines_of(table)) {
      ASSERT_EQ(one_line(line), line) << "no control characters, valid UTF-8";
      ASSERT_FALSE(line.ends_with(' ')) << line;
    }
  }
}

TEST(TableTest, ColourChangesNothingButColour) {
  std::mt19937_64 generator(13);
  for (int i = 0; i < number_of_cases(100, 50, 10); ++i) {
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

TEST(TableTest, OfANaNTheBriefReportSaysWhatWasExpectedInItsPlace) {
  RunResult result = samples::empty();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  result.checks = {{"loss", CheckStatus::failed, kInfinity, kInfinity, "train.cpp:7", 64, 1, "[5]", std::nan(""), 16}};
  EXPECT_THAT(to_table(result, {.kind = TableKind::brief}),
              HasSubstr("  failed: loss, [5] is nan, expected 16 at train.cpp:7\n"));
  result.checks.front().max_abs_error = 0.5;
  EXPECT_THAT(to_table(result, {.kind = TableKind::brief}),
              HasSubstr("  failed: loss, max abs error 0.5 at train.cpp:7\n"));
}

TEST(TableTest, IdleDevicesStandBelowTheirLaunches) {
  RunResult result = samples::gemm();
  const auto us = [](std::int64_t count) { return Time::microseconds(count); };
  result.region = RegionResult{1, us(40), us(2), us(42)};
  const WaitResult after{"host wait", "synchronize", "train.cpp:9", "", "", us(9), 50},
      end{"end", "", "", "", "", us(1), 1};
  result.devices = {{0, us(28), us(2), {after, end}, {}}};
  const TableOptions brief{.kind = TableKind::brief};
  EXPECT_THAT(to_table(result, brief),
              HasSubstr("  device busy 75.0 %, idle 25.0 %: 10.000 us, of that 9.000 us after synchronize\n"
                        "  at train.cpp:9 (50 times)\n"));
  EXPECT_THAT(to_table(result), HasSubstr("after synchronize at train.cpp:9"));
  result.devices.front().idle = {{"host call", "add_", "train.cpp:8", "", "", us(6), 50},
                                 {"channels", "", "", "", "", us(4), 1}};
  EXPECT_THAT(to_table(result), ::testing::AllOf(HasSubstr("until the call of add_ at train.cpp:8"),
                                                 HasSubstr("while channels are installed")));
  result.devices.push_back({3, us(10), us(0), {{"end", "", "", "", "", us(30), 1}}, {}});
  EXPECT_THAT(to_table(result, brief), HasSubstr("2 devices busy 50.0 % on average, sip3 25.0 %, idle 50.0 %"));
  result.devices = {{0, us(39), us(0), {{"end", "", "", "", "", us(1), 1}}, {}}};
  EXPECT_THAT(to_table(result, brief), Not(HasSubstr("device busy")));
}

TEST(TableTest, OfManyDevicesTheBusiestAndTheLeastBusyAreShown) {
  RunResult result = samples::empty();
  for (std::int32_t i = 0; i < 64; ++i) {
    const Time launches = Time::microseconds(i == 50 ? 9 : i == 60 ? 1 : 5);
    result.devices.push_back({i, launches, Time(), {}, {}});
  }
  const std::string table = to_table(result);
  for (const char* text :
       {"\n  sip0 ", "\n  sip50 ", "\n  sip60 ", "and 44 more, between the ten busiest and the ten"}) {
    EXPECT_THAT(table, HasSubstr(text));
  }
  EXPECT_THAT(table, Not(HasSubstr("\n  sip30 ")));
  EXPECT_LT(table.find("\n  sip50 "), table.find("\n  sip60 ")) << "in the order of all";
  result.devices.resize(20);
  EXPECT_THAT(to_table(result), ::testing::AllOf(HasSubstr("\n  sip19 "), Not(HasSubstr("between the ten"))));
}

TEST(TableTest, ALaunchThatBeganBeforeTheRegionIsMarked) {
  RunResult result = samples::gemm();
  const LaunchResult& launch = result.launches[0];
  const Time before = Time::nanoseconds(600);
  result.region = RegionResult{1, launch.end - launch.start - before, launch.start + before, launch.end};
  for (const TableKind kind : {TableKind::brief, TableKind::full}) {
    EXPECT_THAT(to_table(result, {.kind = kind}),
                HasSubstr("600.000 ns of gemm is outside of the region and in no share"));
  }
  result.region->start = launch.start;
  result.region->time += before;
  EXPECT_THAT(to_table(result), Not(HasSubstr("outside of the region")));
}

TEST(TableTest, RacesAreShownAndThatThereAreNone) {
  RunResult result = samples::gemm();
  EXPECT_THAT(to_table(result), Not(HasSubstr("no races")));
  result.switches["detect_races"] = "true";
  EXPECT_THAT(to_table(result), HasSubstr("ok; checks: 1 passed; no races"));
  for (int line = 0; line < 25; ++line) {
    const RaceAccess access{"store", "halo.cpp:" + std::to_string(line), "halo#0", "sip0.cube0.pe0"};
    result.races.push_back({access, access, "element [1] of x", Time::microseconds(1), 2});
  }
  const std::string full = to_table(result), brief = to_table(result, {.kind = TableKind::brief});
  EXPECT_THAT(full, HasSubstr("Races: accesses to the same bytes that nothing orders"));
  EXPECT_THAT(full, HasSubstr("store at halo.cpp:19 and"));
  EXPECT_THAT(full, Not(HasSubstr("halo.cpp:20")));
  EXPECT_THAT(full, HasSubstr("and 5 more"));
  EXPECT_THAT(full, HasSubstr("25 races; checks: 1 passed"));
  EXPECT_THAT(brief, HasSubstr("race: store halo.cpp:2, store halo.cpp:2: element [1] of x"));
  EXPECT_THAT(brief, Not(HasSubstr("halo.cpp:3")));
}

TEST(TableTest, TheBusiestLinkStandsAmongThePeaksAndInTheShortReportWhereItBounds) {
  RunResult result = samples::gemm();
  LaunchResult& launch = result.launches[0];
  launch.engines.push_back({"link", "sip0.io.to_sip1", 1e6, Time::microseconds(9), 150e9, 200e9, 200e9});
  const TableOptions brief{.kind = TableKind::brief};
  EXPECT_THAT(to_table(result), testing::ContainsRegex("  link sip0.io.to_sip1 +[0-9.]+ %"));
  EXPECT_THAT(to_table(result, brief), Not(HasSubstr("to_sip1")));
  launch.bound_by = "link";
  EXPECT_THAT(to_table(result, brief), HasSubstr("link sip0.io.to_sip1 75.0 %"));
  result.launches = std::vector<LaunchResult>(11, LaunchResult(launch));
  EXPECT_THAT(to_table(result), HasSubstr("link sip0.io.to_sip1"));
  result.launches.back().engines.back().types = "sip1.io.to_sip0";
  EXPECT_THAT(to_table(result), testing::ContainsRegex("  busiest links +[0-9.]+ %"));
}

TEST(TableTest, ShortAccessesStandBesideTheBytes) {
  RunResult result = samples::gemm();
  LaunchResult& launch = result.launches[0];
  const TableOptions brief{.kind = TableKind::brief};
  launch.hbm_occupied = launch.hbm_bytes * 2;
  EXPECT_THAT(to_table(result, brief), Not(HasSubstr("in accesses of")));
  launch.hbm_bytes = Bytes(2 << 20);
  launch.hbm_occupied = Bytes(64 << 20);
  EXPECT_THAT(to_table(result, brief), HasSubstr(" of 2.00 MiB, in accesses of 64.00 MiB"));
}

TEST(TableTest, WorkOverTimeStandsBesideThePeakOfItsOwnEngine) {
  RunResult result = samples::empty();
  LaunchResult launch;
  launch.name = launch.kernel = "half";
  launch.end = Time::microseconds(10);
  launch.engines = {{"gemm", "f8", 5e6, Time::microseconds(6), 5e11, 1e12, 5e11},
                    {"vector", "f32, i64, bool", 1e6, Time::microseconds(1), 1e11, 4e11, 2e11},
                    {"hbm", "", 250'000, Time::microseconds(3), 25e9, 0, 0}};
  result.launches = {launch};
  const std::string table = to_table(result);
  EXPECT_THAT(table, testing::ContainsRegex("gemm f8 +60.0 % +500.0 GFLOP/s +1.00 TFLOP/s +50.0 % +100.0 %"));
  EXPECT_THAT(table, testing::ContainsRegex("vector f32, i64, .. +10.0 % +100.0 Gop/s +400.0 Gop/s +25.0 % +50.0 %"));
  EXPECT_THAT(table, testing::ContainsRegex("HBM +30.0 % +25.0 GB/s +- +- +-")) << "a model of the user's";
  EXPECT_THAT(table, HasSubstr("20.0 FLOP/B"));
}

TEST(TableTest, TheEnginesOfManyLaunchesAreAddedUp) {
  RunResult result = samples::empty();
  for (int i = 0; i < 10; ++i) {
    LaunchResult launch;
    launch.name = "step#" + std::to_string(i);
    launch.kernel = "step";
    launch.end = Time::microseconds(10);
    launch.engines = {{"gemm", "f16", 1e6 * (i + 1), Time::microseconds(1), 1e11 * (i + 1), 1e12, 1e12}};
    result.launches.push_back(launch);
  }
  EXPECT_THAT(to_table(result),
              testing::ContainsRegex("gemm f16 +10.0 % +550.0 GFLOP/s +1.00 TFLOP/s +55.0 % +55.0 %"));
}

TEST(TableTest, LongNamesAreWholeUnlessTheTableCuts) {
  RunResult result = samples::gemm();
  const std::string name(120, 'x');
  result.launches[0].name = result.launches[0].kernel = result.checks[0].name = name;
  for (const TableKind kind : {TableKind::brief, TableKind::full}) {
    EXPECT_THAT(to_table(result, {.kind = kind}), HasSubstr(name));
    EXPECT_THAT(to_table(result, {.kind = kind, .cuts = true}), Not(HasSubstr(name)));
  }
}

TEST(TableTest, TheBriefReportOfAnyResultFitsOneScreen) {
  std::mt19937_64 generator(12);
  for (int i = 0; i < number_of_cases(2000, 700, 70); ++i) {
    const RunResult result = samples::random(generator);
    const auto lines = lines_of(to_table(result, {.kind = TableKind::brief, .cuts = true}));
    ASSERT_LE(lines.size(), 40u) << i;
    for (const std::string& line : lines) ASSERT_LE(display_width(line), 80u) << line;
  }
}

TEST(TableTest, TheBriefReportHasTheResultTheTotalsAndTheWarnings) {
  const std::string table = to_table(samples::training_step(), {.kind = TableKind::brief});
  for (const char* text :
       {"training_step on machines/two_sips.yaml", "check failed; checks: 1 failed, 1 passed",
        "failed: gradient of attention.query", "700.000 us in the region, 1.900 ms in all",
        "times 0123456789abcdef, values fedcba9876543210", "mlp_up runs on 32 of 128 PEs", "--report full"}) {
    EXPECT_THAT(table, HasSubstr(text));
  }
  EXPECT_THAT(table, Not(HasSubstr("optimizer_step"))) << "it is not in the region";
}

TEST(TableTest, TheBriefReportHasTheMainMetricsHoweverLittleRoomThereIs) {
  RunResult result = samples::training_step();
  for (int i = 0; i < 9; ++i) result.parameters["parameter " + std::to_string(i)] = "1";
  for (int i = 0; i < 9; ++i) result.metrics["bytes, of item " + std::to_string(i)] = {1, "B"};
  result.metrics["tokens per second"] = {16358, "1/s"};
  result.metrics["time to the first token"] = {98.5, "us"};
  for (int i = 0; i < 6; ++i) result.warnings.push_back("warning " + std::to_string(i));
  const std::string table = to_table(result, {.kind = TableKind::brief});
  for (const char* text : {"time to the first token     98.5 us\n", "tokens per second        16,358 1/s\n"}) {
    EXPECT_THAT(table, HasSubstr(text));
  }
  EXPECT_THAT(table, testing::ContainsRegex("and [0-9]+ more metrics\n"));
  EXPECT_LE(lines_of(table).size(), 40u);
}

TEST(TableTest, TheBriefReportHasALoneMetricInTheLastLineThatThereIs) {
  RunResult result = samples::training_step();
  result.metrics = {{"tokens per second", {16358, "1/s"}}};
  for (int i = 0; i < 9; ++i) {
    result.parameters["parameter " + std::to_string(i)] = "1";
    result.warnings.push_back("warning " + std::to_string(i));
    EXPECT_THAT(to_table(result, {.kind = TableKind::brief}), HasSubstr("tokens per second  16,358 1/s\n")) << i;
  }
}

TEST(TableTest, TheBriefReportShowsWholeWarningsAndCountsThoseThatDoNotFit) {
  RunResult result = samples::gemm();
  for (int i = 0; i < 3; ++i) {
    CopyTotal copy;
    copy.direction = "to";
    copy.count = 1;
    copy.time = copy.longest = result.simulated_time;
    copy.where = "train.cpp:" + std::to_string(i);
    result.copies.push_back(copy);
  }
  std::string words;
  for (int i = 0; i < 24; ++i) words += " word" + std::to_string(i);
  for (int count = 1; count <= 5; ++count) {
    result.warnings.push_back("warning " + std::to_string(count) + ":" + words + " end" + std::to_string(count));
    const std::string table = to_table(result, {.kind = TableKind::brief});
    EXPECT_LE(lines_of(table).size(), 40u);
    int whole = 0;
    for (int i = 1; i <= count; ++i) {
      const bool begins = table.find("warning " + std::to_string(i) + ":") != std::string::npos;
      const bool ends = table.find("end" + std::to_string(i) + "\n") != std::string::npos;
      EXPECT_EQ(begins, ends) << i << " of " << count << "\n" << table;
      whole += ends ? 1 : 0;
    }
    EXPECT_EQ(table.find("Warnings\n") != std::string::npos, whole > 0) << table;
    EXPECT_GE(whole, 1) << table;
    const int left = count - whole;
    const std::string rest = "has " + std::to_string(left) + (left == 1 ? " more warning," : " more warnings,");
    EXPECT_EQ(table.find(rest) != std::string::npos, left > 0) << table;
  }
}

TEST(TableTest, TheBriefReportShowsAFirstWarningOfManyLinesWhole) {
  RunResult result = samples::gemm();
  result.parameters.clear();
  std::string words;
  for (int i = 0; i < 64; ++i) words += " a_word";
  result.warnings = {"warning:" + words + " end1", "another"};
  const std::string table = to_table(result, {.kind = TableKind::brief});
  EXPECT_LE(lines_of(table).size(), 40u);
  EXPECT_THAT(table, HasSubstr("warning: a_word"));
  EXPECT_THAT(table, HasSubstr("end1"));
}

// It waits for its turn behind launches that are not in the region, which begins when these are over.
TEST(TableTest, ALaunchThatBeginsBeforeTheRegionIsAtMostAllOfIt) {
  RunResult result = samples::gemm();
  result.launches.resize(1);
  LaunchResult& launch = result.launches[0];
  launch.in_region = true;
  const Time half = Time::picoseconds((launch.end - launch.start).count() / 2), middle = launch.start + half;
  for (const auto& [begin, end] : {std::pair(middle, launch.end), std::pair(launch.start, middle)}) {
    result.region = RegionResult{1, end - begin, begin, end};
    for (const TableKind kind : {TableKind::brief, TableKind::full}) {
      for (const std::string& line : lines_of(to_table(result, {.kind = kind}))) {
        if (!line.starts_with("  " + launch.name + " ")) continue;
        EXPECT_THAT(line, HasSubstr("   100.0 %")) << line;
        break;
      }
    }
  }
}

TEST(TableTest, MetricsTakeTheLinesThatAreLeft) {
  RunResult result = samples::empty();
  for (int i = 0; i < 100; ++i) result.metrics["metric " + std::to_string(100 + i)] = {static_cast<double>(i), "ns"};
  const std::string table = to_table(result, {.kind = TableKind::brief});
  EXPECT_EQ(lines_of(table).size(), 40u);
  EXPECT_THAT(table, HasSubstr("metric 100"));
  EXPECT_THAT(table, HasSubstr("more metrics"));
}

TEST(TableTest, TheResourcesOfOneKindAreOneRowWithItsBusiest) {
  const std::string table = to_table(samples::gemm());
  EXPECT_THAT(table, testing::ContainsRegex("sip\\*.cube\\*.pe\\*.gemm +128 .*sip0.cube0.pe7.gemm"));
  EXPECT_THAT(table, Not(HasSubstr(".vector"))) << "what was never busy is no news";
}

TEST(TableTest, QueuesThatMayOnlyWaitAreNotRankedAmongTheBusiestResources) {
  RunResult result = samples::empty();
  const auto add = [&](const std::string& name, const std::string& kind, double utilisation) {
    ResourceResult& resource = result.resources.emplace_back();
    resource.name = name;
    resource.busy = Time::microseconds(1);
    resource.utilisation = utilisation;
    resource.kind = kind;
  };
  add("sip0.cube0.pe7.ipcq.receive0", "sip*.cube*.pe*.ipcq.receive*", 0.985);
  add("sip0.cube0.pe7.ipcq.send0", "sip*.cube*.pe*.ipcq.send*", 0.98);
  add("sip0.cube0.pe7.ipcq.window", "sip*.cube*.pe*.ipcq.window", 0.97);
  add("sip0.cube0.pe7.dma.queue0", "sip*.cube*.pe*.dma.queue*", 0.96);
  add("sip0.io.to_sip1", "sip*.io.to_sip*", 0.9);
  add("sip0.cube0.pe7.hbm.channel3", "sip*.cube*.pe*.hbm.channel*", 0.5);
  const std::string table = to_table(result);
  const std::size_t queues = table.find("Occupied queues\n");
  ASSERT_NE(queues, std::string::npos);
  for (const char* resource : {"sip0.io.to_sip1", "sip0.cube0.pe7.hbm.channel3"})
    EXPECT_LT(table.find(resource), queues) << resource;
  for (const char* queue : {"ipcq.receive0", "ipcq.send0", "ipcq.window", "dma.queue0"}) {
    ASSERT_NE(table.find(queue), std::string::npos) << queue;
    EXPECT_GT(table.find(queue), queues) << queue;
  }
}

TEST(TableTest, TheLinesOfTheProgramStandBesideTheLaunches) {
  RunResult result = samples::gemm();
  LaunchResult& launch = result.launches.front();
  launch.where = "train.cpp:12";
  launch.critical_path.front().where = "neighbours.cpp:17";
  launch.critical_path[1].where = "train.cpp:40";
  const std::string table = to_table(result, {});
  EXPECT_THAT(table, HasSubstr("train.cpp:12  " + launch.name));
  EXPECT_THAT(table, HasSubstr(" of " + launch.name + " (train.cpp:12) on sip0\n"));
  EXPECT_THAT(table, HasSubstr(" at neighbours.cpp:17 (train.cpp:12)")) << "a line of the library's";
  EXPECT_THAT(table, HasSubstr(" at train.cpp:40\n")) << "a kernel beside its call";
}

TEST(TableTest, APartOfTheCriticalPathNamesTheServerOrThePeThatItIsDueTo) {
  RunResult result = samples::gemm();
  LaunchResult& launch = result.launches.front();
  launch.last_pe = "sip0.cube3.pe1";
  launch.critical_path[0].instance = "sip0.cube3.pe1";
  launch.critical_path[1].instance = "sip0.cube3.pe4";
  launch.critical_path[2].instance = "sip0.cube3.pe7.router.east";
  const std::string full = to_table(result), brief = to_table(result, {.kind = TableKind::brief});
  for (const std::string& table : {full, brief}) {
    EXPECT_THAT(table, HasSubstr("gemm of dot at gemm.cpp:29\n")) << "where the launch ended";
    EXPECT_THAT(table, HasSubstr("dma data of load at gemm.cpp:27, sip0.cube3.pe4\n"));
  }
  EXPECT_THAT(full, HasSubstr("contention of load at gemm.cpp:27, sip0.cube3.pe7.router.east\n"));
  EXPECT_THAT(brief, testing::ContainsRegex("contention of load at gemm.cpp:27,\n +sip0.cube3.pe7.router.east\n"));
  launch.critical_path[2].instance.clear();
  EXPECT_THAT(to_table(result), HasSubstr("contention of load at gemm.cpp:27, router.east\n")) << "several";
}

TEST(TableTest, TheBriefReportHasTheLinesOfTheProgramThatLaunched) {
  RunResult result = samples::gemm();
  EXPECT_THAT(to_table(result, {.kind = TableKind::brief}), Not(testing::ContainsRegex(" line\n")));
  result.launches.push_back(result.launches.front());
  result.launches[0].where = "train.cpp:12";
  result.launches[1].where = "train.cpp:40";
  for (const int copies : {0, 10}) {  // each launch, and their sums
    for (int i = 0; i < copies; ++i) result.launches.push_back(result.launches[1]);
    const std::string table = to_table(result, {.kind = TableKind::brief, .cuts = true});
    EXPECT_THAT(table, testing::ContainsRegex(" line\n"));
    EXPECT_THAT(table, testing::ContainsRegex("\n  gemm +[^\n]* train.cpp:12\n"));
    EXPECT_THAT(table, testing::ContainsRegex("\n  gemm +[^\n]* train.cpp:40\n"));
    EXPECT_THAT(table, HasSubstr(copies == 0 ? "went in gemm at train.cpp" : "went in gemm at train.cpp:40 (all 11)"));
  }
}

TEST(TableTest, BothReportsHaveThePlanOfALibraryKernel) {
  const std::string full = to_table(samples::gemm());
  for (const char* text : {"Plans of library kernels", "gemm: tile_m 128,", "depth 3,", "b_from cube 100 %,"})
    EXPECT_THAT(full, HasSubstr(text));
  const std::string brief = to_table(samples::gemm(), {.kind = TableKind::brief});
  EXPECT_THAT(brief, HasSubstr("\n  plan       tile 128x128x128 (m x n x k), depth 3, cubes m 4 x n 4, PEs n 8\n"));
  EXPECT_THAT(brief, HasSubstr("\n  operands   A own slice 1 %, cube 5 %, SIP 94 %; B cube 100 %\n"));
  RunResult shallow = samples::gemm();
  for (auto& [name, value] : shallow.launches[0].plan->choices) value = name == "depth" ? "1" : value;
  EXPECT_THAT(to_table(shallow, {.kind = TableKind::brief}), HasSubstr("(m x n x k), depth 1, cubes"));
  RunResult unplanned = samples::gemm();
  unplanned.launches[0].plan.reset();
  EXPECT_THAT(to_table(unplanned), Not(HasSubstr("Plans")));
  EXPECT_THAT(to_table(unplanned, {.kind = TableKind::brief}), Not(HasSubstr("plan ")));
}

TEST(TableTest, TheFullReportHasTheFoldOrderOfCollectivesInWholeWords) {
  RunResult result = samples::gemm();
  LaunchResult reduction = result.launches[0];
  reduction.name = reduction.kernel = "bidirectional_ring_allreduce";
  reduction.plan = PlanResult{
      .of = "collective",
      .choices = {{"fold order",
                   "as `ring_allreduce`; of PEs in odd rows of the mesh, with the ranks in the opposite order"},
                  {"chosen", "least cost"}},
      .estimated = {}};
  reduction.end += Time::milliseconds(1);
  result.launches.push_back(reduction);
  result.launches.push_back(reduction);
  EXPECT_THAT(to_table(result),
              HasSubstr("Reductions of collectives\n"
                        "  bidirectional_ring_allreduce: fold order as `ring_allreduce`; of PEs in odd\n"
                        "    rows of the mesh, with the ranks in the opposite order; chosen least cost\n"
                        "    (2 launches)\n"));
  EXPECT_THAT(to_table(result), HasSubstr("Plans of library kernels\n  gemm: tile_m 128,"));
  const std::string brief = to_table(result, {.kind = TableKind::brief});
  EXPECT_THAT(brief, Not(HasSubstr("fold order")));
  EXPECT_THAT(brief, HasSubstr("plan       gemm: tile 128x128x128"));
}

TEST(TableTest, ThePlanOfAKernelBehindALongerOneHasItsName) {
  RunResult result = samples::gemm();
  LaunchResult longer = result.launches[0];
  longer.name = longer.kernel = "softmax";
  longer.plan.reset();
  longer.end += Time::milliseconds(1);
  result.launches.push_back(longer);
  EXPECT_THAT(to_table(result, {.kind = TableKind::brief}), HasSubstr("plan       gemm: tile 128x128x128"));
}

TEST(TableTest, LaunchesOfOnePlanAreOneAndOtherPlansAreOthers) {
  RunResult result = samples::gemm();
  result.launches.resize(3, result.launches[0]);
  EXPECT_THAT(to_table(result), HasSubstr("(3 launches)"));
  result.launches[1].plan->choices[2].second = "64";
  EXPECT_THAT(to_table(result), testing::ContainsRegex("tile_k 128,(.|\n)*\\(2 launches\\)(.|\n)*tile_k 64,"));
}

}  // namespace
}  // namespace kernbench::report
