// Broken command lines of the real program: one clear error each, on standard error, with exit code 2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process.h"

namespace kernbench::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

struct Broken {
  std::vector<std::string> arguments;
  std::string message;  // part of the first line
};

// Names the cases in the report of the test.
void PrintTo(const Broken& broken, std::ostream* out) {
  for (const std::string& argument : broken.arguments) *out << argument << ' ';
}

class UsageTest : public testing::TestWithParam<Broken> {};

TEST_P(UsageTest, GivesOneClearErrorAndExitCodeTwo) {
  std::vector<std::string> command = GetParam().arguments;
  command.insert(command.begin(), KERNBENCH_PROGRAM);
  const Finished finished = run(command);
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.out, IsEmpty());
  EXPECT_THAT(finished.err, testing::StartsWith("kernbench: error: "));
  EXPECT_THAT(finished.err.substr(0, finished.err.find('\n')), HasSubstr(GetParam().message));
  const auto lines = std::count(finished.err.begin(), finished.err.end(), '\n');
  EXPECT_LE(lines, 2) << finished.err;
}

INSTANTIATE_TEST_SUITE_P(
    BrokenFlags, UsageTest,
    testing::Values(
        Broken{{}, "a command is missing"}, Broken{{"rnu", "gemm"}, "unknown command \"rnu\", did you mean \"run\"?"},
        Broken{{""}, "unknown command \"\""}, Broken{{"-"}, "\"-\""},
        Broken{{"frobnicate"}, "unknown command \"frobnicate\"; there are list, describe, run, sweep, diff and ccl"},
        Broken{{"--vrsion"}, "unknown option \"--vrsion\", did you mean \"--version\"?"},
        Broken{{"diff"}, "diff needs two results"}, Broken{{"diff", "a.json"}, "diff needs two results"},
        Broken{{"diff", "/no/such/file", "/no/such/other"}, "/no/such/file: cannot read it: No such file"},
        Broken{{"diff", "/", "/"}, "/: cannot read it: Is a directory"},
        Broken{{"diff", KERNBENCH_PROGRAM, KERNBENCH_PROGRAM}, "not JSON"},
        Broken{{"diff", "a", "b", "c"}, "unexpected argument \"c\""},
        Broken{{"diff", "a", "b", "--format", "jsn"}, "did you mean \"json\"?"},
        Broken{{"run"}, "a BENCH is missing: one of \"kernbench list\", or a C++ file"}, Broken{{"run", ""}, "BENCH"},
        Broken{{"run", "gemm", "extra"}, "unexpected argument \"extra\""},
        Broken{{"run", "gemm", "list"}, "unexpected argument \"list\""},
        Broken{{"run", "no_such_bench_at_all"},
               "there is no bench \"no_such_bench_at_all\"; \"kernbench list\" shows the built-in ones, and a C++ file "
               "has a '/'"},
        Broken{{"run", "gemm", "--sede", "3"}, "unknown option \"--sede\", did you mean \"--seed\"?"},
        Broken{{"run", "--jsn=x", "gemm"}, "unknown option \"--jsn\", did you mean \"--json\"?"},
        Broken{{"run", "gemm", "-z"}, "unknown option \"-z\""},
        Broken{{"run", "gemm", "--seed"}, "--seed needs a value"},
        Broken{{"run", "gemm", "--seed", "--quiet"}, "--seed needs a value"},
        Broken{{"run", "gemm", "--seed", "seven"}, "--seed \"seven\": expected a whole number"},
        Broken{{"run", "gemm", "--seed", "-1"}, "--seed \"-1\": expected a whole number"},
        Broken{{"run", "gemm", "--seed", "18446744073709551616"}, "expected a whole number from 0"},
        Broken{{"run", "gemm", "--seed", "1", "--seed", "2"}, "--seed is given more than once"},
        Broken{{"run", "gemm", "--out-of-bounds-reads", "raize"},
               "--out-of-bounds-reads \"raize\": expected one of raise, uninitialized; did you mean \"raise\"?"},
        Broken{{"run", "gemm", "--uninitialized-memory", "7"},
               "--uninitialized-memory \"7\": expected one of poison, zero"},
        Broken{{"run", "gemm", "--threads", "1.5"}, "--threads \"1.5\""},
        Broken{{"run", "gemm", "--threads=-2"}, "--threads \"-2\""},
        Broken{{"run", "gemm", "--threads", "100000"}, "--threads \"100000\""},
        Broken{{"run", "gemm", "--watchdog", "soon"}, "--watchdog \"soon\": expected a whole number of seconds"},
        Broken{{"run", "gemm", "--max-time", "10"}, "--max-time: expected a time"},
        Broken{{"run", "gemm", "--max-time", "0ms"}, "--max-time \"0ms\": expected a time of more than zero"},
        Broken{{"run", "gemm", "--max-time", "-5ms"}, "--max-time"},
        Broken{{"run", "gemm", "--max-time", "10GB"}, "--max-time: expected a time"},
        Broken{{"run", "gemm", "--color", "alwys"}, "did you mean \"always\"?"},
        Broken{{"run", "gemm", "--quiet=maybe"}, "--quiet takes no value"},
        Broken{{"run", "gemm", "--no-data=false"}, "--no-data takes no value"},
        Broken{{"run", "gemm", "-p", "M"}, "-p \"M\": expected NAME=VALUE"},
        Broken{{"run", "gemm", "-p", "=4"}, "-p \"=4\": expected NAME=VALUE"},
        Broken{{"run", "gemm", "-p", "M=1", "-p", "M=2"}, "parameter \"M\" is given twice"},
        Broken{{"run", "gemm", "--set", "pe.clock"}, "--set \"pe.clock\": expected PATH=VALUE"},
        Broken{{"run", "gemm", "--json", "--quiet"}, "--json needs a value, found the option \"--quiet\""},
        Broken{{"run", "gemm", "--json", ""}, "--json needs a value"},
        Broken{{"run", "gemm", "--json", "/no/such/directory/r.json"}, "\"/no/such/directory\" does not exist"},
        Broken{{"run", "gemm", "--op-log", "/no/such/directory/l"}, "\"/no/such/directory\" does not exist"},
        Broken{{"describe"}, "describe needs a TOPOLOGY"}, Broken{{"describe", "ahbm-1sp"}, "ahbm-1sip"},
        Broken{{"describe", "tiny", "--format", "ymal"}, "did you mean \"yaml\"?"},
        Broken{{"describe", "tiny", "--set", "pe.clok=2GHz"}, "clock"},
        Broken{{"list", "--verbose"}, "unknown option \"--verbose\""},
        Broken{{"list", "gemm"}, "unexpected argument \"gemm\""}));

TEST(ProgramTest, EveryHelpIsOnStandardOutputAndShort) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{{"--help"},
                                                                                         {"-h"},
                                                                                         {"help"},
                                                                                         {"help", "run"},
                                                                                         {"run", "--help"},
                                                                                         {"describe", "-h"},
                                                                                         {"list", "--help"},
                                                                                         {"sweep", "--help"},
                                                                                         {"ccl", "--help"}}) {
    std::vector<std::string> command = arguments;
    command.insert(command.begin(), KERNBENCH_PROGRAM);
    const Finished finished = run(command);
    EXPECT_EQ(finished.code, 0);
    EXPECT_THAT(finished.err, IsEmpty());
    EXPECT_THAT(finished.out, HasSubstr("--help"));
    EXPECT_LE(std::count(finished.out.begin(), finished.out.end(), '\n'), 42) << "fits one screen";
    std::size_t start = 0;
    for (std::size_t end; (end = finished.out.find('\n', start)) != std::string::npos; start = end + 1) {
      EXPECT_LE(end - start, 100u) << finished.out.substr(start, end - start);
    }
  }
}

TEST(ProgramTest, VersionIsOneLine) {
  const Finished finished = run({KERNBENCH_PROGRAM, "--version"});
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.out, testing::MatchesRegex("kernbench [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(ProgramTest, ListShowsTheTopologies) {
  const Finished finished = run({KERNBENCH_PROGRAM, "list"});
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.out, AllOf(HasSubstr("tiny"), HasSubstr("ahbm-1sip"), HasSubstr("ahbm-2sip")));
  EXPECT_THAT(finished.err, IsEmpty());
}

TEST(ProgramTest, DescribeShowsWhatTheFormatPromises) {
  const auto describe = [](const std::string& format) {
    const Finished finished =
        run({KERNBENCH_PROGRAM, "describe", "ahbm-1sip", "--format", format, "--set", "pe.clock=2GHz"});
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished.out;
  };
  EXPECT_THAT(describe("table"), AllOf(HasSubstr("2GHz"), HasSubstr("128 in a SIP")));
  EXPECT_THAT(describe("keys"), AllOf(HasSubstr("pe.clock"), HasSubstr("2GHz")));
  EXPECT_THAT(describe("yaml"), AllOf(HasSubstr("name: ahbm-1sip"), HasSubstr("clock: 2GHz")));
  EXPECT_THAT(describe("json-schema"), HasSubstr("\"$schema\""));
}

TEST(ProgramTest, TheYamlOfDescribeIsATopology) {
  const TemporaryDirectory directory;
  const std::string file = directory.path("machine.yaml");
  ASSERT_EQ(run({KERNBENCH_PROGRAM, "describe", "ahbm-2sip", "--format", "yaml"}, file).code, 0);
  const Finished again = run({KERNBENCH_PROGRAM, "describe", file, "--format", "yaml"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, contents_of(file));
}

TEST(ProgramTest, DiffTellsWhatChangedBetweenTwoRuns) {
  const TemporaryDirectory directory;
  const auto run_gemm = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> command{KERNBENCH_PROGRAM,
                                     "run",
                                     "gemm",
                                     "-t",
                                     "tiny",
                                     "-p",
                                     "M=128",
                                     "-p",
                                     "N=128",
                                     "-p",
                                     "K=128",
                                     "--no-data",
                                     "--quiet",
                                     "--json",
                                     directory.path(name)};
    command.insert(command.end(), more.begin(), more.end());
    EXPECT_EQ(run(command).code, 0);
    return directory.path(name);
  };
  const std::string a = run_gemm("a.json", {}), b = run_gemm("b.json", {"--set", "cube.hbm.bandwidth=20GB/s"});
  const Finished differs = run({KERNBENCH_PROGRAM, "diff", a, b});
  EXPECT_EQ(differs.code, 0) << differs.err;
  const std::size_t changed = differs.out.find("What changed\n");
  ASSERT_NE(changed, std::string::npos) << differs.out;
  EXPECT_THAT(differs.out.substr(changed), testing::StartsWith("What changed\n  cube.hbm.bandwidth"));
  EXPECT_THAT(differs.out, AllOf(HasSubstr("HBM channels busy +"), HasSubstr("Simulated time")));
  EXPECT_EQ(run({KERNBENCH_PROGRAM, "diff", a, b, "--exit-code", "--format", "json"}).code, 1);
  EXPECT_EQ(run({KERNBENCH_PROGRAM, "diff", a, a, "--exit-code"}).code, 0);
  EXPECT_THAT(run({KERNBENCH_PROGRAM, "diff", a, a}).out, HasSubstr("Nothing differs."));
}

}  // namespace
}  // namespace kernbench::cli
