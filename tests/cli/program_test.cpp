// Commands within the test's own process, on benches and topologies that the test makes up.
#include "cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "cli/commands.h"
#include "kernbench/error.h"

namespace kernbench::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    environment_.benches = {{"gemm", "matrix product", {{"M", "2048", "rows of A"}, {"dtype", "f16", "type"}}, {}},
                            {"vector_add", "x + y", {}, {}}};
    environment_.execute = [this](const Bench& bench, const SimulateOptions& options) {
      bench_ = bench.name;
      options_ = options;
      return result_;
    };
    environment_.topologies = [] { return std::vector<TopologyEntry>{{"tiny", "1 SIP of 1 cube of 2 PEs"}}; };
    environment_.describe = [this](const DescribeCommand& command, bool colour) {
      described_colour_ = colour;
      return "topology " + command.topology + "\n";
    };
    environment_.out = [this](std::string_view text) { out_ += text; };
    environment_.err = [this](std::string_view text) { err_ += text; };
  }

  int run(const std::vector<std::string>& arguments) {
    out_.clear();
    err_.clear();
    return static_cast<int>(run_program(arguments, environment_));
  }

  Environment environment_;
  report::RunResult result_;
  SimulateOptions options_;
  std::string bench_, out_, err_;
  bool described_colour_ = false;
};

// A deadlock that three slots would break.
TEST_F(ProgramTest, ExplainRunsAgainInSilenceAndLeavesTheResultAsItWas) {
  std::vector<SimulateOptions> runs;
  environment_.execute = [&](const Bench&, const SimulateOptions& options) {
    runs.push_back(options);
    report::RunResult result;
    result.simulated_time = Time::microseconds(5);
    if (options.least_slots >= 3) return result;
    result.error = report::ErrorResult{"DeadlockError", "deadlock at 5 us", ""};
    result.error->waits = {
        {"send#1", "a credit of sip0.cube0.pe1.ipcq.receive0", "program 1", true, QueueSlots{{}, options.least_slots}}};
    return result;
  };
  EXPECT_EQ(run({"run", "gemm", "--explain", "--trace", "/dev/null", "--op-log", "/dev/null"}), 3);
  EXPECT_THAT(err_, HasSubstr("deadlock at 5 us\n  slots: 3 slots in every queue would break it; with 2 slots the "
                              "program gets stuck\n"));
  EXPECT_THAT(err_, testing::Not(HasSubstr("--explain")));
  ASSERT_EQ(runs.size(), 5u);  // itself; with 1, 2, 4 and 3 slots
  EXPECT_FALSE(runs[0].print);
  EXPECT_EQ(runs[0].trace, "/dev/null");
  for (std::size_t i = 1; i < runs.size(); ++i) {
    EXPECT_TRUE(runs[i].print && runs[i].warn);
    EXPECT_EQ(runs[i].trace + runs[i].operation_log, "");
    EXPECT_FALSE(runs[i].on_progress);
  }
  runs.clear();
  EXPECT_EQ(run({"run", "gemm"}), 3);
  EXPECT_EQ(runs.size(), 1u);
  EXPECT_THAT(err_, testing::Not(HasSubstr("slots:")));
  EXPECT_THAT(err_, HasSubstr("deadlock at 5 us\n  a send waits for a free slot: --explain finds how many"));
}

TEST_F(ProgramTest, ListCutsNothingInAPipeAndWrapsHelpOnATerminal) {
  const std::string help =
      "where B lies: a copy in each cube, cut over its PEs by columns, or by rows, or one, cut over all PEs by rows; A "
      "and C are cut by rows";
  environment_.benches = {{"gemm", "matrix product", {{"b", "columns", help}}, {}, {}}};
  EXPECT_EQ(run({"list"}), 0);
  EXPECT_THAT(out_, HasSubstr("    b  columns  " + help + "\n"));
  out_.clear();
  environment_.out_is_terminal = true;
  EXPECT_EQ(run({"list", "--color", "never"}), 0);
  std::istringstream lines(out_);
  std::string words;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
    words += line.substr(std::min(line.find_first_not_of(' '), line.size())) + " ";
  }
  EXPECT_THAT(words, HasSubstr(help.substr(0, 30)));
  EXPECT_THAT(words, HasSubstr("cut over all PEs by rows; A and C are cut by rows"));
}

TEST_F(ProgramTest, ListNamesBenchesWithParametersAndTopologies) {
  EXPECT_EQ(run({"list"}), 0);
  EXPECT_EQ(out_,
            "Benches\n"
            "  gemm  matrix product\n"
            "    M      2048  rows of A\n"
            "    dtype  f16   type\n"
            "  vector_add  x + y\n"
            "\n"
            "Topologies\n"
            "  tiny  1 SIP of 1 cube of 2 PEs\n"
            "\n"
            "Run one with \"kernbench run BENCH [-t TOPOLOGY] [-p NAME=VALUE]\".\n");
}

TEST_F(ProgramTest, TheRunGetsWhatTheCommandLineSays) {
  EXPECT_EQ(run({"run", "gemm", "-p", "M=4", "--no-data", "--set", "a=b"}), 0);
  EXPECT_EQ(bench_, "gemm");
  EXPECT_EQ(options_.parameters.values(), (std::map<std::string, std::string>{{"M", "4"}, {"dtype", "f16"}}));
  EXPECT_FALSE(options_.data);
  EXPECT_EQ(options_.overrides, (std::vector<std::string>{"a=b"}));
  EXPECT_THAT(out_, HasSubstr("M=4 dtype=f16"));
}

TEST_F(ProgramTest, UnknownBenchesAndParametersGetASuggestionAndAreNotRun) {
  EXPECT_EQ(run({"run", "gem"}), 2);
  EXPECT_EQ(err_, "kernbench: error: there is no bench \"gem\", did you mean \"gemm\"?\n");
  EXPECT_EQ(run({"run", "gemm", "-p", "dtyp=f16"}), 2);
  EXPECT_THAT(err_, HasSubstr("did you mean \"dtype\"?"));
  EXPECT_EQ(bench_, "");
}

TEST_F(ProgramTest, WhatWouldWriteToAFileNamedDashIsRefused) {
  for (const std::string option : {"--trace", "--op-log", "--wait-graph"}) {
    EXPECT_EQ(run({"run", "gemm", option, "-"}), 2) << option;
    EXPECT_THAT(err_, HasSubstr(option + ": expected a file, but found \"-\": only --json writes to standard output"));
  }
}

TEST_F(ProgramTest, ATopologyGivenAsNcclsThreadsIsPointedOut) {
  EXPECT_EQ(run({"ccl", "all_reduce", "-t", "ahbm-1sip"}), 2);
  EXPECT_THAT(err_, HasSubstr("-t gives nccl-tests' threads here; a topology is given with --topology ahbm-1sip"));
}

TEST_F(ProgramTest, TheStatusFollowsFromTheChecksWhateverTheRunSays) {
  result_.checks = {{"c", report::CheckStatus::failed, 1, 1}};
  result_.status = report::RunStatus::ok;
  EXPECT_EQ(run({"run", "gemm", "--json", "-"}), 1);
  EXPECT_EQ(nlohmann::json::parse(out_)["status"], "check_failed");
}

TEST_F(ProgramTest, AWallTimeIsMeasuredWhenTheRunHasNone) {
  run({"run", "gemm", "--json", "-"});
  EXPECT_GT(nlohmann::json::parse(out_)["wall_time_s"].get<double>(), 0);
  result_.wall_time_s = 5;
  run({"run", "gemm", "--json", "-"});
  EXPECT_EQ(nlohmann::json::parse(out_)["wall_time_s"].get<double>(), 5);
}

TEST_F(ProgramTest, ALongRunOnAlikeDevicesSaysOnceWhatWouldMakeItSooner) {
  environment_.slow_run = std::chrono::milliseconds(0);
  std::size_t devices = 4;
  environment_.execute = [&](const Bench&, const SimulateOptions& options) {
    if (options.on_progress) options.on_progress({.simulated_time = {}, .devices = devices});
    if (options.on_progress) options.on_progress({.simulated_time = {}, .devices = devices});
    return result_;
  };
  const std::string alike =
      "note: to have it sooner: --alike-devices simulates one of the 4 SIPs, where all do the same";
  const auto said = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "gemm", "-t", "tiny", "--set", "system.sips.count=4"});
    EXPECT_EQ(run(more), 0);
    return err_;
  };
  const std::string quick = "--quick-plans measures no plans of matrix products\n";
  EXPECT_EQ(said({}), alike + ", and computes no values (--no-data); " + quick);
  EXPECT_EQ(said({"--no-data", "--quick-plans", "--json", "-"}), alike + "\n");
  EXPECT_EQ(said({"--no-data", "--alike-devices"}), "note: to have it sooner: " + quick);
  EXPECT_EQ(said({"--set", "system.sips.count=1"}), "note: to have it sooner: " + quick);
  EXPECT_EQ(said({"--set", "system.sips.topology=mesh_2d"}), "note: to have it sooner: " + quick);
  EXPECT_EQ(said({"--set", "system.sips.topology=mesh_2d", "--quick-plans"}), "");
  EXPECT_EQ(said({"-q"}), "");
  devices = 1;
  EXPECT_EQ(said({}), "note: to have it sooner: " + quick) << "a program of one device on a machine of four";
  environment_.slow_run = std::chrono::hours(1);
  EXPECT_EQ(said({}), "");
}

TEST_F(ProgramTest, NothingEscapes) {
  environment_.execute = [](const Bench&, const SimulateOptions&) -> report::RunResult { throw 42; };
  EXPECT_EQ(run({"run", "gemm"}), 4);
  environment_.topologies = []() -> std::vector<TopologyEntry> { throw std::runtime_error("torn"); };
  EXPECT_EQ(run({"list"}), 4);
  EXPECT_THAT(err_, AllOf(HasSubstr("internal error: torn"), HasSubstr("report it")));
  environment_.describe = [](const DescribeCommand&, bool) -> std::string { throw ValueError("no"); };
  EXPECT_EQ(run({"describe", "tiny"}), 3);
}

TEST_F(ProgramTest, ColourIsForTerminalsThatHaveItAndWantIt) {
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "xterm", 1);
  EXPECT_FALSE(use_colour(ColourMode::automatic, false));
  EXPECT_TRUE(use_colour(ColourMode::automatic, true));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(use_colour(ColourMode::automatic, true));
  EXPECT_TRUE(use_colour(ColourMode::always, false));
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(use_colour(ColourMode::automatic, true));
  EXPECT_FALSE(use_colour(ColourMode::never, true));
  run({"describe", "tiny", "--color", "always"});
  EXPECT_TRUE(described_colour_);
}

}  // namespace
}  // namespace kernbench::cli
