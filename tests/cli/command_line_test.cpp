#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/sanitizers.h"

namespace kernbench::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class C>
C parse(const std::vector<std::string>& arguments) {
  return std::get<C>(parse_command_line(arguments));
}

TEST(CommandLineTest, ARunHasItsDefaults) {
  const auto run = parse<RunCommand>({"run", "gemm"});
  EXPECT_EQ(run.bench, "gemm");
  EXPECT_EQ(run.options.topology, "ahbm-1sip");
  EXPECT_TRUE(run.options.data);
  EXPECT_FALSE(run.options.exact_events);
  EXPECT_TRUE(run.options.explain);
  EXPECT_EQ(run.options.seed, 0u);
  EXPECT_EQ(run.options.out_of_bounds_reads, OutOfBoundsReads::raise);
  EXPECT_EQ(run.options.uninitialized_memory, UninitializedMemory::poison);
  EXPECT_FALSE(run.options.skip_floating_point_ops);
  EXPECT_EQ(run.options.threads, 0);
  EXPECT_EQ(run.options.max_time, Time::max());
  EXPECT_EQ(run.options.operation_log, "");
  EXPECT_EQ(run.json, "");
  EXPECT_FALSE(run.explain);
  EXPECT_FALSE(run.quiet);
  EXPECT_EQ(run.report, report::TableKind::brief);
  EXPECT_FALSE(run.options.whole_run);
  EXPECT_EQ(run.options.detailed_launches, 1'000u);
  EXPECT_EQ(run.colour, ColourMode::automatic);
}

TEST(CommandLineTest, ACollectiveHasTheLimitsOfARun) {
  const auto plain = parse<CclCommand>({"ccl", "all_reduce"});
  EXPECT_EQ(plain.options.watchdog_seconds, parse<RunCommand>({"run", "gemm"}).options.watchdog_seconds);
  EXPECT_EQ(plain.options.watchdog_seconds, 60);
  EXPECT_EQ(plain.options.max_time, Time::max());
  const auto limited = parse<CclCommand>({"ccl", "all_reduce", "--max-time", "10ms", "--watchdog", "4"});
  EXPECT_EQ(limited.options.max_time, Time::microseconds(10'000));
  EXPECT_EQ(limited.options.watchdog_seconds, 4);
}

TEST(CommandLineTest, WhatIsReportedIsChosen) {
  EXPECT_EQ(parse<RunCommand>({"run", "gemm", "--report", "full"}).report, report::TableKind::full);
  EXPECT_EQ(parse<RunCommand>({"run", "gemm", "--report=short"}).report, report::TableKind::brief);
  EXPECT_TRUE(parse<RunCommand>({"run", "gemm", "--whole-run"}).options.whole_run);
  EXPECT_EQ(parse<RunCommand>({"run", "gemm", "--detailed-launches", "5"}).options.detailed_launches, 5u);
}

TEST(CommandLineTest, TheSwitchesOfMemoryArrive) {
  const auto run = parse<RunCommand>(
      {"run", "gemm", "--out-of-bounds-reads", "uninitialized", "--uninitialized-memory=zero", "--random-seed", "7"});
  EXPECT_EQ(run.options.out_of_bounds_reads, OutOfBoundsReads::uninitialized);
  EXPECT_EQ(run.options.uninitialized_memory, UninitializedMemory::zero);
  EXPECT_EQ(run.options.seed, 7u);
  const auto as_before =
      parse<RunCommand>({"run", "gemm", "--out-of-bounds-reads", "raise", "--uninitialized-memory", "poison"});
  EXPECT_EQ(as_before.options.out_of_bounds_reads, OutOfBoundsReads::raise);
  EXPECT_EQ(as_before.options.uninitialized_memory, UninitializedMemory::poison);
}

TEST(CommandLineTest, FloatingPointOperationsAreLeftOutOnRequest) {
  EXPECT_TRUE(parse<RunCommand>({"run", "gemm", "--skip-floating-point-ops"}).options.skip_floating_point_ops);
  EXPECT_THROW(parse<RunCommand>({"run", "gemm", "--skip-floating-point-ops=false"}), UsageError);
}

TEST(CommandLineTest, EveryOptionOfARunArrives) {
  const auto run = parse<RunCommand>({"run",          "-t",         "tiny",
                                      "gemm",         "--set",      "pe.clock=2GHz",
                                      "--set",        "a.b=[1, 2]", "-p",
                                      "M=-5",         "-pN=x=y",    "-p",
                                      "empty=",       "--no-data",  "--exact-events",
                                      "--no-explain", "--seed",     "18446744073709551615",
                                      "--threads=4",  "--max-time", "1.5ms",
                                      "--json",       "-",          "--op-log",
                                      "ops.txt",      "--explain",  "--correlation-id",
                                      "a b",          "-q",         "--color",
                                      "never"});
  EXPECT_EQ(run.bench, "gemm");
  EXPECT_EQ(run.options.topology, "tiny");
  EXPECT_THAT(run.options.overrides, ElementsAre("pe.clock=2GHz", "a.b=[1, 2]"));
  EXPECT_EQ(run.parameters, (std::map<std::string, std::string>{{"M", "-5"}, {"N", "x=y"}, {"empty", ""}}));
  EXPECT_FALSE(run.options.data);
  EXPECT_TRUE(run.options.exact_events);
  EXPECT_FALSE(run.options.explain);
  EXPECT_EQ(run.options.seed, UINT64_MAX);
  EXPECT_EQ(run.options.threads, 4);
  EXPECT_EQ(run.options.max_time, Time::microseconds(1500));
  EXPECT_EQ(run.json, "-");
  EXPECT_EQ(run.options.operation_log, "ops.txt");
  EXPECT_EQ(run.options.correlation_id, "a b");
  EXPECT_TRUE(run.explain);
  EXPECT_TRUE(run.quiet);
  EXPECT_EQ(run.colour, ColourMode::never);
}

TEST(CommandLineTest, OptionsMayStandBeforeTheBench) {
  EXPECT_EQ(parse<RunCommand>({"run", "--set", "a=b", "gemm"}).bench, "gemm");
  EXPECT_EQ(parse<RunCommand>({"run", "-p", "M=1", "gemm"}).bench, "gemm");
}

TEST(CommandLineTest, DescribeAndList) {
  const auto describe = parse<DescribeCommand>({"describe", "tiny", "--format", "yaml", "--set", "x=1"});
  EXPECT_EQ(describe.topology, "tiny");
  EXPECT_EQ(describe.format, DescribeFormat::yaml);
  EXPECT_THAT(describe.overrides, ElementsAre("x=1"));
  EXPECT_EQ(parse<DescribeCommand>({"describe", "--format", "json-schema"}).topology, "");
  EXPECT_EQ(parse<ListCommand>({"list", "--color", "always"}).colour, ColourMode::always);
}

TEST(CommandLineTest, Diff) {
  const auto diff = parse<DiffCommand>({"diff", "a.json", "b.json", "--format", "json", "--exit-code"});
  EXPECT_EQ(diff.a, "a.json");
  EXPECT_EQ(diff.b, "b.json");
  EXPECT_EQ(diff.format, DiffFormat::json);
  EXPECT_TRUE(diff.exit_code);
  EXPECT_FALSE(parse<DiffCommand>({"diff", "a", "b"}).exit_code);
}

TEST(CommandLineTest, AnErrorKnowsItsCommand) {
  try {
    parse_command_line({"run", "gemm", "--seed", "x"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(error.command(), "run");
    EXPECT_THAT(error.what(), HasSubstr("--seed"));
  }
}

// Whatever is typed is either understood or a usage error.
TEST(CommandLineTest, AnyWordsAreUnderstoodOrRejectedCleanly) {
  const std::vector<std::string> words = {"run", "list",   "describe", "gemm",   "--json",   "-",    "--",
                                          "",    "-p",     "M=1",      "-q",     "--set",    "=",    "--help",
                                          "-t",  "--seed", "1",        "help",   "--color",  "auto", "-qp",
                                          "-pq", "--=",    "-=",       "\xff\n", "--no-data"};
  std::mt19937 generator(5);
  for (int i = 0; i < (kSanitized ? 150 : 2000); ++i) {
    std::vector<std::string> arguments;
    for (auto count = generator() % 7; count > 0; --count) arguments.push_back(words[generator() % words.size()]);
    try {
      parse_command_line(arguments);
    } catch (const UsageError& error) {
      EXPECT_STRNE(error.what(), "");
    }
  }
}

}  // namespace
}  // namespace kernbench::cli
