// kernbench sweep: what it varies, which runs it makes, what it shows, on a program that the test makes up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/sweep/axes.h"
#include "cli/sweep/output.h"
#include "kernbench/error.h"
#include "report/json/json.h"

namespace kernbench::cli::sweep_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "none";
}

TEST(SweepAxes, AreNamesWithValues) {
  const sweep::Axis axis = sweep::axis_of("pe.gemm.array=[32,32],[64, 64]");
  EXPECT_EQ(axis.name, "pe.gemm.array");
  EXPECT_THAT(axis.values, ElementsAre("[32,32]", "[64, 64]"));
  EXPECT_THAT(sweep::axis_of("M=8").values, ElementsAre("8"));
  EXPECT_THAT(sweep::axis_of("name=a=b,c").values, ElementsAre("a=b", "c"));
}

TEST(SweepAxes, RefuseWhatIsNoneWithTheReason) {
  EXPECT_THAT(error_of([] { sweep::axis_of("M"); }), HasSubstr("there is no name"));
  EXPECT_THAT(error_of([] { sweep::axis_of("=8"); }), HasSubstr("there is no name"));
  EXPECT_THAT(error_of([] { sweep::axis_of("M="); }), HasSubstr("a value is empty"));
  EXPECT_THAT(error_of([] { sweep::axis_of("M=8,,9"); }), HasSubstr("a value is empty"));
  EXPECT_THAT(error_of([] { sweep::axis_of("M=8,9,8"); }), HasSubstr("\"8\" is given twice"));
  EXPECT_THAT(error_of([] { sweep::check_names({{"M", {"1"}}, {"M", {"2"}}}); }), HasSubstr("M is given twice"));
  EXPECT_THAT(error_of([] { sweep::points_of({{"M", {"1", "2", "3"}}, {"N", {"1", "2"}}}, 5); }),
              HasSubstr("more than 5 combinations"));
}

TEST(SweepAxes, HaveAllCombinationsTheLastVariesFastest) {
  const auto points = sweep::points_of({{"M", {"1", "2"}}, {"N", {"3", "4", "5"}}}, 6);
  EXPECT_THAT(points, ElementsAre(ElementsAre("1", "3"), ElementsAre("1", "4"), ElementsAre("1", "5"),
                                  ElementsAre("2", "3"), ElementsAre("2", "4"), ElementsAre("2", "5")));
}

TEST(SweepAxes, AreOptionsOfRun) {
  EXPECT_THAT(sweep::arguments_of({{"M", {}}, {"cube.hbm.bandwidth", {}}, {"topology", {}}, {"seed", {}}},
                                  {"8", "2TB/s", "tiny", "3"}),
              ElementsAre("-p", "M=8", "--set", "cube.hbm.bandwidth=2TB/s", "--topology", "tiny", "--seed", "3"));
}

/// A program whose runs take M microseconds.
class SweepTest : public ::testing::Test {
 protected:
  SweepTest() {
    environment_.benches = {{"gemm", "matrix product", {{"M", "8", "rows of A"}, {"dtype", "f16", "type"}}, {}}};
    environment_.out = [this](std::string_view text) { out_ += text; };
    environment_.err = [this](std::string_view text) { err_ += text; };
    environment_.run_again = [this](const std::vector<std::string>& arguments, const std::string&) {
      return run_one(arguments);
    };
  }
  ChildResult run_one(const std::vector<std::string>& arguments) {
    const std::scoped_lock lock(mutex_);
    runs_.push_back({arguments.begin(), arguments.end() - 1});  // without the file
    std::int64_t m = 8;
    for (const std::string& each : arguments) {
      if (each.starts_with("M=")) m = std::stoll(each.substr(2));
    }
    report::RunResult result;
    result.bench = "gemm";
    result.topology = "tiny";
    result.simulated_time = Time::microseconds(m);
    result.metrics["rows, in all"] = {static_cast<double>(m), ""};
    if (m == 16) result.metrics["time"] = {3.0, "us"};
    if (m == 17) {
      result.metrics["a first one by name"] = {1, ""};
      result.metrics["memory"] = {94, "MiB"};
      result.metrics["rate"] = {5, "1/s"};
      result.metrics["time"] = {61.5, "us"};
    }
    report::LaunchResult launch;
    launch.flops = 2e6;
    result.launches = {launch};
    ChildResult child;
    if (m == 13) {
      result.error = report::ErrorResult{"OutOfMemoryError", "no room for \"x\"", ""};
      child.exit_code = 3;
    }
    if (m == 14) {  // dies without a result
      child.exit_code = 139;
      child.output = "\n  a crash\n";
      return child;
    }
    if (m == 15) {  // a usage error
      child.exit_code = 2;
      child.output = "kernbench: error: what";
      return child;
    }
    std::ofstream(arguments.back()) << report::to_json(result);
    return child;
  }
  int run(const std::vector<std::string>& arguments) { return static_cast<int>(run_program(arguments, environment_)); }

  Environment environment_;
  std::mutex mutex_;
  std::vector<std::vector<std::string>> runs_;
  std::string out_, err_;
};

TEST_F(SweepTest, RunsAllCombinationsAndShowsThemInOrder) {
  EXPECT_EQ(
      run({"sweep", "gemm", "--no-data", "--over", "M=4,8", "-t", "tiny", "--over", "dtype=f16,f32", "--jobs", "3"}),
      0);
  std::ranges::sort(runs_);
  const auto expected = [](const std::string& m, const std::string& dtype) {
    return std::vector<std::string>{"run",    "gemm", "--no-data",      "-t",      "tiny",  "-p",
                                    "M=" + m, "-p",   "dtype=" + dtype, "--quiet", "--json"};
  };
  EXPECT_THAT(runs_,
              ElementsAre(expected("4", "f16"), expected("4", "f32"), expected("8", "f16"), expected("8", "f32")));
  EXPECT_EQ(out_,
            "gemm on tiny, 4 runs\n"
            "  M  dtype      time  speed           GEMM  HBM  rows, in all  result\n"
            "  4    f16  4.000 us  1.000  500.0 GFLOP/s    -             4  ok\n"
            "  4    f32  4.000 us  1.000  500.0 GFLOP/s    -             4  ok\n"
            "  8    f16  8.000 us  0.500  250.0 GFLOP/s    -             8  ok\n"
            "  8    f32  8.000 us  0.500  250.0 GFLOP/s    -             8  ok\n");
  EXPECT_THAT(err_, IsEmpty());
}

TEST_F(SweepTest, NamesAMetricAsTheColumnOfTheReportSo) {
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=16", "-t", "tiny"}), 0);
  EXPECT_EQ(out_,
            "gemm on tiny, 1 run\n"
            "   M       time  speed           GEMM  HBM  rows, in all  metric time  result\n"
            "  16  16.000 us  1.000  125.0 GFLOP/s    -            16         3 us  ok\n");
}

TEST_F(SweepTest, ShowsTheMetricsThatAreAskedFor) {
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=16", "-t", "tiny", "--metric", "time"}), 0);
  EXPECT_EQ(out_,
            "gemm on tiny, 1 run\n"
            "   M       time  speed           GEMM  HBM  metric time  result\n"
            "  16  16.000 us  1.000  125.0 GFLOP/s    -         3 us  ok\n"
            "  and 1 more metric (--metric NAME shows them, --csv has all)\n");
  out_.clear();
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=16", "-t", "tiny", "--metric", "rows"}), 0);
  EXPECT_THAT(out_, ::testing::EndsWith("  no run has a metric \"rows\"; there are: rows, in all, time\n"));
}

TEST_F(SweepTest, ShowsTimesAndRatesFirstAndTheirUnitsInTheCsv) {
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=17", "-t", "tiny"}), 0);
  EXPECT_THAT(out_, HasSubstr("  a first one by name   rate  metric time  result\n"));
  out_.clear();
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=17,16", "--csv", "-"}), 0);
  EXPECT_THAT(out_, AllOf(HasSubstr(",a first one by name,memory (MiB),rate (1/s),\"rows, in all\",time (us),error\n"),
                          HasSubstr(",1,94,5,17,61.5,\n"), HasSubstr(",,,,16,3,\n")));
}

TEST_F(SweepTest, WritesCsvInBaseUnits) {
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=4,13", "--csv", "-"}), 3);
  EXPECT_EQ(out_,
            "M,result,time_ps,simulated_time_ps,flops_per_s,hbm_bytes_per_s,launches,events,wall_time_s,\"rows, in "
            "all\",error\n"
            "4,ok,4000000,4000000,5e+11,0,1,0,0,4,\n"
            "13,error,13000000,13000000,1.53846e+11,0,1,0,0,13,\"OutOfMemoryError: no room for \"\"x\"\"\"\n");
}

TEST_F(SweepTest, GoesOnBehindRunsThatFailAndEndsWithTheWorstCode) {
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=14,13,4", "--jobs", "1"}), 3);
  EXPECT_EQ(runs_.size(), 3u);
  EXPECT_THAT(out_, AllOf(HasSubstr("exit code 139: a crash"), HasSubstr("OutOfMemoryError"), HasSubstr("4.000 us")));
}

TEST_F(SweepTest, KeepsResultsWhereAsked) {
  const std::string folder = ::testing::TempDir() + "kernbench_sweep_results";
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=4,8", "--results", folder}), 0);
  for (const char* name : {"/1.json", "/2.json"}) EXPECT_TRUE(std::ifstream(folder + name).good()) << name;
  // Nothing of an earlier sweep is taken for a result, or left beside those of this one.
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=15", "--results", folder}), 2);
  EXPECT_THAT(out_, HasSubstr("exit code 2: kernbench: error: what"));
  for (const char* name : {"/1.json", "/2.json"}) EXPECT_FALSE(std::ifstream(folder + name).good()) << name;
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=4", "--results", "/proc"}), 2);
  EXPECT_THAT(err_, HasSubstr("--results \"/proc\": cannot write into this folder"));
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=4", "--results", "/dev/null/x"}), 2);
  EXPECT_THAT(err_, HasSubstr("--results \"/dev/null/x\": cannot make the folder"));
}

TEST_F(SweepTest, StopsWhenAskedAndShowsWhatItHas) {
  std::atomic<bool> stop = false;
  environment_.stop_requested = &stop;
  environment_.run_again = [&](const std::vector<std::string>& arguments, const std::string&) {
    ChildResult child = run_one(arguments);
    if (runs_.size() == 2) stop = true;
    return child;
  };
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=4,5,6,7", "--jobs", "1"}), 130);
  EXPECT_EQ(runs_.size(), 2u);
  EXPECT_THAT(out_, AllOf(HasSubstr("gemm on tiny, 2 runs"), Not(HasSubstr("6.000 us"))));
  EXPECT_EQ(err_, "kernbench: interrupted: 2 of 4 runs done\n");
}

TEST_F(SweepTest, GoesOnWithTheResultsOfTheSameRunsThatTheFolderHas) {
  const std::string folder = ::testing::TempDir() + "kernbench_sweep_resumed";
  std::atomic<bool> stop = false;
  environment_.stop_requested = &stop;
  const auto run_again = environment_.run_again;
  environment_.run_again = [&](const std::vector<std::string>& arguments, const std::string&) {
    ChildResult child = run_one(arguments);
    if (runs_.size() == 2) stop = true;
    return child;
  };
  const std::vector<std::string> sweep{"sweep", "gemm", "--over", "M=4,5,6", "--jobs", "1", "--results", folder};
  EXPECT_EQ(run(sweep), 130);
  EXPECT_EQ(err_, "kernbench: interrupted: 2 of 3 runs done; --resume goes on with the others\n");
  stop = false;
  environment_.run_again = run_again;
  const auto resumed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), sweep.begin(), sweep.end());
    more.emplace_back("--resume");
    runs_.clear(), out_.clear(), err_.clear();
    EXPECT_EQ(run(more), 0);
    return runs_.size();
  };
  EXPECT_EQ(resumed({}), 1u);
  EXPECT_THAT(runs_.front(), ::testing::Contains("M=6"));
  EXPECT_THAT(out_, AllOf(HasSubstr("gemm on tiny, 3 runs"), HasSubstr("  5  5.000 us")));
  EXPECT_THAT(err_, HasSubstr("2 of 3 results are those that " + folder + " had\n"));
  EXPECT_EQ(resumed({}), 0u);
  std::filesystem::remove(folder + "/1.json");
  std::ofstream(folder + "/2.json") << "{\"kernbench\": ";
  EXPECT_EQ(resumed({}), 2u) << "one result is gone, one cut off";
  EXPECT_THAT(err_, HasSubstr("1 of 3 results are those that " + folder + " had\n"));
  EXPECT_EQ(resumed({"--no-data"}), 3u) << "other runs";
  runs_.clear();
  EXPECT_EQ(run(sweep), 0);
  EXPECT_EQ(runs_.size(), 3u) << "all of them anew";
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=4", "--resume"}), 2);
  EXPECT_THAT(err_, HasSubstr("--resume needs the folder of the results: --results FOLDER"));
}

TEST_F(SweepTest, RefusesWhatRunWouldRefuseBeforeItBegins) {
  EXPECT_EQ(run({"sweep", "gemm"}), 2);
  EXPECT_THAT(err_, HasSubstr("sweep needs something to vary: --over M=512,1024"));
  err_.clear();
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=1,2", "--no-dta"}), 2);
  EXPECT_THAT(err_, HasSubstr("unknown option \"--no-dta\", did you mean \"--no-data\"?"));
  err_.clear();
  EXPECT_EQ(run({"sweep", "--over", "M=1,2"}), 2);
  EXPECT_THAT(err_, HasSubstr("error: a BENCH is missing: one of \"kernbench list\", or a C++ file"));
  err_.clear();
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=1,2", "-p", "M=3"}), 2);
  EXPECT_THAT(err_, HasSubstr("M"));
  err_.clear();
  EXPECT_EQ(run({"sweep", "gemm", "--over", "M=1,2", "--json", "x"}), 2);
  EXPECT_THAT(err_, HasSubstr("--json is for a single run; --results FOLDER keeps all of a sweep"));
  EXPECT_THAT(runs_, IsEmpty());
}

}  // namespace
}  // namespace kernbench::cli::sweep_test
