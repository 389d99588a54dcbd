// `kernbench ccl`: sizes, values that are checked, columns, and the command as a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/ccl/algorithms.h"
#include "cli/ccl/output.h"
#include "cli/ccl/sweep.h"
#include "cli/ccl/tests.h"
#include "cli/ccl/tune.h"
#include "cli/program.h"
#include "kernbench/error.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"
#include "support/test_files.h"

namespace kernbench::cli::ccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

struct Outcome {
  int code = 0;
  std::string out, err;
};

Outcome run(std::vector<std::string> arguments) {
  Outcome outcome;
  Environment environment;
  environment.out = [&](std::string_view text) { outcome.out += text; };
  environment.err = [&](std::string_view text) { outcome.err += text; };
  arguments.insert(arguments.begin(), "ccl");
  outcome.code = static_cast<int>(run_program(arguments, environment));
  return outcome;
}

const std::vector<std::string> kFourDevices{"--topology", "tiny", "--set", "system.sips.count=4"};

Outcome run_on_four(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), kFourDevices.begin(), kFourDevices.end());
  return run(std::move(arguments));
}

void simulate_plainly(const SimulateOptions& options, const std::function<void()>& program) {
  simulate(options, program);
}

Request small_request() {
  Request request;
  request.sizes = {.least = Bytes(64), .most = Bytes(256), .factor = 4};
  request.iterations = 1;
  request.ranks = 2;
  request.reductions = {reduction_names().front()};
  request.types = {{"float", DType::f32}};
  return request;
}

SimulateOptions two_devices() {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"system.sips.count=2"};
  return options;
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CclTest, SizesGoByFactorOrByStep) {
  EXPECT_THAT((Sizes{.least = Bytes(8), .most = Bytes(100), .factor = 3}).all(),
              ElementsAre(Bytes(8), Bytes(24), Bytes(72)));
  EXPECT_THAT((Sizes{.least = Bytes(8), .most = Bytes(24), .step = Bytes(8)}).all(),
              ElementsAre(Bytes(8), Bytes(16), Bytes(24)));
  EXPECT_THAT((Sizes{.least = Bytes(0), .most = Bytes(24), .factor = 2}).all(), ElementsAre(Bytes(0)));
}

TEST(CclTest, OperationsHaveTheSpellingsOfNcclTests) {
  EXPECT_EQ(find_test("allreduce").name, "all_reduce");
  EXPECT_EQ(find_test("all_reduce_perf").name, "all_reduce");
  EXPECT_EQ(find_test("sendrecv_perf").name, "sendrecv");
  EXPECT_EQ(find_test("hypercube_perf").name, "hypercube");
  try {
    find_test("alreduce");
    FAIL();
  } catch (const ConfigurationError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"allreduce\"?"));
  }
}

// Whatever the order of a fold, every intermediate result is a whole number that each type has.
TEST(CclTest, ValuesAreExactInEveryType) {
  for (const ReductionName& reduction : reduction_names()) {
    const Values values(reduction.op, 16);
    for (std::int64_t element = 0; element < 12; ++element) {
      double sum = 0;
      for (int rank = 0; rank < 16; ++rank) {
        EXPECT_LE(values.of(rank, element), 4);
        sum += values.of(rank, element);
      }
      if (reduction.name == "sum") {
        EXPECT_EQ(values.reduced(element), sum);
      }
      if (reduction.name == "avg") {
        EXPECT_EQ(values.reduced(element), sum / 16);
      }
    }
  }
}

TEST(CclTest, AFigureKeepsItsColumn) {
  EXPECT_EQ(fitted(4.5, 7), "4.50");
  EXPECT_EQ(fitted(12345.678, 7), "12345.7");
  EXPECT_EQ(fitted(1234567.8, 7), "1234568");
  EXPECT_EQ(fitted(123456789.0, 7), "1e+08");
}

TEST(CclTest, BandwidthsAreThoseOfNcclTests) {
  const Sweep all_reduce = sweep(find_test("all_reduce"), small_request(), two_devices(), simulate_plainly);
  ASSERT_EQ(all_reduce.rows.size(), 2u);
  const Row& row = all_reduce.rows[1];
  EXPECT_EQ(row.size, Bytes(256));
  EXPECT_EQ(row.count, 64);
  EXPECT_GT(row.time_us, 0);
  EXPECT_NEAR(row.algorithm_bandwidth, 256e-3 / row.time_us, 1e-9);
  EXPECT_NEAR(row.bus_bandwidth, row.algorithm_bandwidth, 1e-9);  // 2 (n - 1) / n of two
  EXPECT_EQ(row.wrong, 0);
}

TEST(CclTest, WrongElementsAreCounted) {
  ccl::Test broken = find_test("all_reduce");
  broken.run = [](const Call&) {};
  const Sweep sweep_of_broken = sweep(broken, small_request(), two_devices(), simulate_plainly);
  EXPECT_GT(sweep_of_broken.wrong(), 0);
  EXPECT_THAT(to_table(broken, small_request(), sweep_of_broken), HasSubstr(" FAILED\n"));
  EXPECT_EQ(nlohmann::json::parse(to_json(broken, small_request(), sweep_of_broken))["out_of_bounds"]["okay"], false);
}

TEST(CclTest, TheTableHasTheColumnsOfNcclTests) {
  const Outcome outcome = run_on_four({"all_reduce", "-b", "1K", "-e", "4K", "-f", "4", "-n", "2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("# Collective test starting: all_reduce_perf\n"));
  EXPECT_THAT(
      outcome.out,
      HasSubstr("#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   "
                "algbw   busbw  #wrong \n"));
  EXPECT_THAT(outcome.out,
              HasSubstr("        1024           256     float     sum      -1      N/A     N/A     N/A     "
                        "N/A  "));
  EXPECT_THAT(outcome.out, HasSubstr("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : "));
  EXPECT_EQ(run_on_four({"all_reduce", "-b", "1K", "-e", "4K", "-f", "4", "-n", "2"}).out, outcome.out);
}

TEST(CclTest, TheTableSaysWhatWasTakenAutomaticallyWhereItChanges) {
  const auto row = [](const std::string& algorithm, const std::string& taken, const std::string& reason) {
    Row made;
    made.algorithm = algorithm;
    made.taken = taken;
    made.reason = reason;
    made.type = "float";
    return made;
  };
  Sweep sweep;
  sweep.ranks = 4;
  sweep.rows = {row("auto", "tree", "least cost"), row("auto", "tree", "least cost"), row("auto", "ring", "least cost"),
                row("ring", "ring", "named"), row("", "", "")};
  std::istringstream lines(to_table(find_test("all_reduce"), small_request(), sweep));
  std::vector<std::string> said;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# Taken") || line.starts_with("# Algorithm")) said.push_back(line);
    if (!line.starts_with("#")) said.emplace_back("row");
  }
  EXPECT_THAT(said,
              ElementsAre("# Algorithm: auto", "# Taken: tree, least cost", "row", "row", "# Taken: ring, least cost",
                          "row", "# Algorithm: ring", "row", "# Algorithm: ", "row"));
}

TEST(CclTest, EveryOperationIsRightForEveryTypeAndRoot) {
  std::size_t turn = 0;
  for (const ccl::Test& test : tests()) {
    if (turn++ % one_case_in(1, 3) != 0) continue;
    const Outcome outcome = run_on_four({std::string(test.name), "-b", "520", "-e", "520", "-n", "1", "-w", "0", "-d",
                                         test.reduces ? "half" : "all", "-o", "all", "-r", "all", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << test.name << outcome.err;
    const auto document = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(document["ranks"], 4);
    EXPECT_TRUE(document["out_of_bounds"]["okay"]) << test.name;
    const std::size_t types = test.reduces ? reduction_names().size() : test.has_elements ? type_names().size() : 1;
    EXPECT_EQ(document["results"].size(), types * (test.has_root ? 4 : 1)) << test.name;
  }
}

TEST(CclTest, AHypercubeHasAPowerOfTwoOfRanks) {
  const Outcome three = run_on_four({"hypercube", "-g", "3", "-b", "64", "-e", "64"});
  EXPECT_NE(three.code, 0);
  EXPECT_THAT(three.err, HasSubstr("hypercube: there are 3 ranks, and it takes a power of two; say how many by -g"));
  EXPECT_EQ(run_on_four({"hypercube", "-g", "2", "-b", "64", "-e", "64", "-n", "1"}).code, 0);
}

/// Payload alone, in one call of several, after warm-ups.
TEST(CclTest, PayloadOfARankIsWhatTheAlgorithmSends) {
  const auto sent = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"-b", "64K", "-e", "64K", "-n", "3", "-m", "2", "-w", "1", "-c", "0", "-J", "-"};
    arguments.insert(arguments.begin(), more.begin(), more.end());
    return nlohmann::json::parse(run_on_four(arguments).out)["results"][0]["sent"].get<std::int64_t>();
  };
  EXPECT_EQ(sent({"all_reduce", "--algo", "ring_allreduce"}), 2 * 3 * (65536 / 4));
  EXPECT_EQ(sent({"all_gather", "--algo", "ring"}), 3 * (65536 / 4));
  EXPECT_EQ(sent({"broadcast", "--algo", "ring"}), 65536);
  EXPECT_EQ(sent({"sendrecv"}), 65536);
  EXPECT_EQ(sent({"hypercube"}), 3 * (65536 / 4));
}

TEST(CclTest, AlgorithmsStandSideBySide) {
  const Outcome outcome = run_on_four({"all_reduce", "-b", "64", "-e", "64", "-n", "1", "-c", "0", "--algo",
                                       "ring_allreduce", "--algo", "direct_allreduce", "--compare"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("ring_allreduce      direct_allreduce"));
  EXPECT_THAT(outcome.out, HasSubstr("*"));
}

TEST(CclTest, WithoutAlgorithmsAllThatRunAreCompared) {
  const std::vector<std::string> small{"-b", "64", "-e", "64", "-n", "1", "-c", "0"};
  const auto compared = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), small.begin(), small.end());
    return run_on_four(arguments);
  };
  const Outcome all = compared({"all_reduce", "--compare", "--bound"});
  EXPECT_EQ(all.code, 0) << all.err;
  for (const char* name : {"auto", "ring_allreduce", "direct_allreduce", "halving_doubling_allreduce", "bound\n"})
    EXPECT_THAT(all.out, HasSubstr(name));
  EXPECT_THAT(compared({"all_reduce", "--compare", "--set", "pe.ipcq.queues=2"}).err,
              HasSubstr("note: left out: direct_allreduce: a PE needs 3 channels to send and 3 to receive"));
  EXPECT_THAT(compared({"all_gather", "--algo", "all", "--compare"}).out, HasSubstr(" ring_all_gather "));
  EXPECT_THAT(compared({"all_reduce", "--algo", "ring_allreduce", "--compare"}).err, HasSubstr("two or more --algo"));
  EXPECT_THAT(compared({"sendrecv", "--compare"}).err, HasSubstr("sendrecv: there is one algorithm"));
}

TEST(CclTest, AComparisonIsWrittenForAutoWithoutAuto) {
  const std::string file = test_files::folder() + "compared.yaml";
  std::filesystem::remove(file);
  const std::vector<std::string> compared{"all_reduce", "-b", "64", "-e",        "64",     "-n",
                                          "1",          "-c", "0",  "--compare", "--tune", file};
  for (int again = 0; again < 2; ++again) EXPECT_EQ(run_on_four(compared).code, 0) << "it is read when it is there";
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_THAT(text.str(), testing::Not(HasSubstr("auto")));
  EXPECT_THAT(run_on_four({"all_reduce", "-b", "64", "-e", "64", "--algo", "auto", "--tune", file}).err,
              HasSubstr("--tune: auto reads what is written"));
}

TEST(CclTest, AnAlgorithmThatIsNamedTwiceIsMeasuredOnce) {
  const Outcome outcome = run_on_four({"all_gather", "-b", "64", "-e", "64", "-n", "1", "-c", "0", "--algo",
                                       "bruck_all_gather", "--algo", "all", "--algo", "all", "--csv", "-"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto first = outcome.out.find("bruck_all_gather");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(outcome.out.find("bruck_all_gather", first + 1), std::string::npos);
  EXPECT_LT(first, outcome.out.find("ring_all_gather"));
}

TEST(CclTest, WhatIsWrongWithOneOfSeveralAlgorithmsIsSaidBeforeAnyIsMeasured) {
  // So many ranks are PEs.
  for (const char* wrong : {"ring_alreduce", "bidirectional_ring_allreduce"}) {
    const Outcome outcome =
        run_on_four({"all_reduce", "-b", "64", "-e", "64", "-g", "8", "--algo", "direct_allreduce", "--algo", wrong});
    EXPECT_EQ(outcome.code, 2) << wrong;
    EXPECT_EQ(outcome.out, "") << wrong;
    EXPECT_THAT(outcome.err, HasSubstr(wrong));
  }
  EXPECT_THAT(run_on_four({"all_reduce", "-b", "64", "-e", "64", "--algo", "intercube_allreduce"}).err,
              HasSubstr("this is an algorithm of all_reduce_partials, not of all_reduce"));
}

TEST(CclTest, AnAlgorithmWithoutARowLeavesItsPlaceEmpty) {
  ccl::Sweep sweep;
  for (const char* name : {"ring", "an_algorithm_with_a_rather_long_name"}) {
    for (const int size : {64, 128}) {
      if (size == 128 && name[0] == 'a') continue;
      ccl::Row& row = sweep.rows.emplace_back();
      row.algorithm = name;
      row.size = Bytes(size);
      row.bus_bandwidth = size;
      row.time_us = 3;
      row.bound_us = 1.5;
    }
  }
  const std::string text = ccl::to_comparison(sweep);
  EXPECT_THAT(text, HasSubstr("                64.00*                                64.00*      128.00\n"));
  EXPECT_THAT(text, HasSubstr("               128.00*                                    -       256.00\n"));
}

TEST(CclTest, RefusesAnAlgorithmOfAnotherOperation) {
  const Outcome outcome = run_on_four({"all_reduce", "-b", "64", "-e", "64", "--algo", "ring_broadcast"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--algo ring_broadcast: this is an algorithm of broadcast, not of all_reduce"));
}

/// The rows of a sweep with bounds, a large size and a small one, over so many SIPs.
std::vector<Row> rows_with_bounds(const ccl::Test& test, int sips, const std::vector<std::string>& overrides, int ranks,
                                  const char* topology = "tiny") {
  Request request = small_request();
  request.sizes = {.least = Bytes(4096), .most = Bytes(1 << 20), .factor = 256};
  request.ranks = ranks;
  request.check = false;
  request.bound = true;
  SimulateOptions options;
  options.topology = topology;
  options.overrides = overrides;
  options.overrides.push_back("system.sips.count=" + std::to_string(sips));
  return sweep(test, request, options, simulate_plainly).rows;
}

TEST(CclBound, NoOperationTakesLessOnAnyWiring) {
  NOT_UNDER_SANITIZERS("times only");
  for (const auto& test : tests()) {
    for (const char* wiring : {"ring_1d", "fully_connected", "switched", "torus_2d"}) {
      for (const int sips : {2, 4}) {
        const auto rows = rows_with_bounds(test, sips, {"system.sips.topology=" + std::string(wiring)}, sips);
        for (const Row& row : rows)
          EXPECT_LE(*row.bound_us, row.time_us) << test.name << " on " << sips << ", " << wiring;
      }
    }
    for (const Row& row : rows_with_bounds(test, 2, {"cube.pes.mesh=[2, 2]"}, 8)) {
      EXPECT_LE(*row.bound_us, row.time_us) << test.name << " on PEs";
    }
  }
}

// 200 GB/s of links between SIPs, of which packets of 256 bytes with headers of 16 leave 188.2 to payload; 500 ns.
TEST(CclBound, IsThatOfTheNarrowestCutOrTheLongestPath) {
  NOT_UNDER_SANITIZERS("long");
  const double rate = 200e3 * 256 / 272;  // bytes in a microsecond
  const auto bound = [&](const char* name, int sips, std::size_t row, const char* wiring = "ring_1d") {
    return *rows_with_bounds(find_test(name), sips, {"system.sips.topology=" + std::string(wiring)}, sips,
                             "ahbm-2sip")[row]
                .bound_us;
  };
  constexpr double kSize = 1 << 20;
  EXPECT_NEAR(bound("all_reduce", 2, 1), kSize / rate, 1e-3) << "all of it over the one link each way";
  EXPECT_NEAR(bound("all_reduce", 4, 1), 2 * 3 * kSize / (8 * rate), 1e-3) << "by eight links";
  EXPECT_NEAR(bound("all_reduce", 4, 1, "switched"), 2 * 3 * kSize / (4 * rate), 1e-3)
      << "by four links up to the switch, and by as many down";
  if (takes_all_cases()) {
    EXPECT_NEAR(bound("all_gather", 4, 1), 3 * kSize / 4 / (2 * rate), 1e-3) << "into a SIP by two links";
  }
  EXPECT_NEAR(bound("broadcast", 4, 1), kSize / (2 * rate), 1e-3) << "out of the root by two links";
  EXPECT_NEAR(bound("alltoall", 4, 1), 4 * kSize / 4 / (2 * rate), 1e-3)
      << "four pairs across the middle, by two links";
  EXPECT_GE(bound("all_reduce", 2, 0), 0.5) << "the latency of the link";
  EXPECT_LE(bound("all_reduce", 2, 0), 0.6);
}

TEST(CclBound, IsInTheTableAndInTheFilesOnlyWhereItIsAskedFor) {
  std::vector<std::string> arguments{"all_reduce", "-b", "1M", "-e", "1M", "-n", "1", "-c", "0"};
  EXPECT_EQ(run_on_four(arguments).out.find("bound"), std::string::npos);
  arguments.emplace_back("--bound");
  EXPECT_THAT(run_on_four(arguments).out, HasSubstr("#wrong     bound  of it"));
  arguments.insert(arguments.end(), {"--csv", "-"});
  EXPECT_THAT(run_on_four(arguments).out, HasSubstr("busbw,wrong,bound_us\n"));
}

TEST(CclTest, RowsAreWrittenAsCsv) {
  const Outcome outcome = run_on_four({"broadcast", "-b", "64", "-e", "64", "-n", "1", "-c", "0", "--csv", "-"});
  EXPECT_THAT(outcome.out, testing::StartsWith("operation,algorithm,ranks,size,count,type,redop,root,form,"));
  EXPECT_THAT(outcome.out, HasSubstr("broadcast,,4,64,16,float,none,0,in_place,"));
}

TEST(CclTest, ATimeIsThatOfTheRanksThatIsAskedFor) {
  const auto time = [](const char* number) {
    const std::string text = run_on_four({"broadcast", "-b", "1M", "-e", "1M", "-n", "1", "-c", "0", "--algo",
                                          "ring_broadcast", "-a", number, "--csv", "-"})
                                 .out;
    const std::string row = text.substr(text.find("in_place,") + 9);
    return std::stod(row);
  };
  const double root = time("0"), mean = time("1"), least = time("2"), most = time("3");
  EXPECT_LE(least, root);
  EXPECT_LT(root, mean) << "the root is through before the ranks behind it";
  EXPECT_LT(mean, most);
  EXPECT_THAT(run_on_four({"broadcast", "-a", "4"}).err, HasSubstr("-a"));
}

/// Neighbour registers are written once for an algorithm, before the first call of all sizes; direct exchange has more.
TEST(CclTest, SetupIsShownApartAndPaidOnce) {
  const auto setup_of = [](const char* algorithm, const char* largest, std::size_t rows) {
    const Outcome outcome = run_on_four(
        {"all_reduce", "-b", "1K", "-e", largest, "-f", "4", "-n", "1", "-c", "0", "--algo", algorithm, "-J", "-"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto results = nlohmann::json::parse(outcome.out)["results"];
    EXPECT_EQ(results.size(), rows);
    for (const auto& row : results) EXPECT_EQ(row["setup"], results[0]["setup"]);
    return results[0]["setup"].get<double>();
  };
  const double ring = setup_of("ring_allreduce", "1K", 1);
  EXPECT_GT(ring, 2 * 0.6) << "there and back over the link to the host";
  EXPECT_EQ(setup_of("ring_allreduce", "16K", 3), ring);
  EXPECT_GT(setup_of("direct_allreduce", "1K", 1), ring);
  EXPECT_THAT(run_on_four({"all_reduce", "-b", "1K", "-e", "1K", "-n", "1", "-c", "0"}).out,
              HasSubstr(" us for neighbour registers, once, in no time above\n"));
}

/// By algorithm and size.
using Times = std::map<std::string, std::map<std::int64_t, double>>;

/// Of one iteration: of the rank that is through last.
Times times_on(const SimulateOptions& options, int ranks, const char* operation, Sizes sizes,
               std::vector<std::string> algorithms = {}) {
  Request request = small_request();
  request.sizes = sizes;
  request.ranks = ranks;
  request.check = false;
  request.average = Average::most;
  const ccl::Test& test = find_test(operation);
  if (algorithms.empty()) algorithms = algorithms_of_test(test, ranks, options, simulate_plainly).run;
  request.algorithms = std::move(algorithms);
  request.algorithms.emplace_back("auto");
  Times times;
  for (const Row& row : sweep(test, request, options, simulate_plainly).rows)
    times[row.algorithm][row.size.count()] = row.time_us;
  return times;
}

SimulateOptions sips_of(const char* topology, int sips, const char* wiring) {
  SimulateOptions options;
  options.topology = topology;
  options.overrides = {"system.sips.count=" + std::to_string(sips), std::string("system.sips.topology=") + wiring};
  return options;
}

Times times_on_four_sips(const char* wiring, const char* operation, Sizes sizes,
                         std::vector<std::string> algorithms = {}) {
  return times_on(sips_of("ahbm-2sip", 4, wiring), 4, operation, sizes, std::move(algorithms));
}

TEST(CclTest, ALongMeasurementSaysOnceWhatWouldMakeItSooner) {
  const auto said = [](std::vector<std::string> arguments) {
    std::string err;
    Environment environment;
    environment.out = [](std::string_view) {};
    environment.err = [&](std::string_view text) { err += text; };
    environment.slow_run = std::chrono::milliseconds(0);
    arguments.insert(arguments.begin(), "ccl");
    arguments.insert(arguments.end(), kFourDevices.begin(), kFourDevices.end());
    EXPECT_EQ(run_program(arguments, environment), ExitCode::ok) << err;
    return err;
  };
  const std::string alike = "--alike-devices simulates one of the 4 SIPs, where all do the same";
  EXPECT_EQ(said({"all_reduce", "-b", "1K", "-e", "2K", "-f", "2", "-n", "2"}),
            "note: to have it sooner: -n 1 times one call of each row, not 2; -c 0 checks no values; " + alike + "\n");

  const auto said_of_one_call = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-n", "1", "-c", "0"});
    return said(std::move(arguments));
  };
  const auto is_simulated = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-n", "1", "-c", "0", "--alike-devices"});
    return run_on_four(std::move(arguments)).code == 0;
  };
  const std::vector<std::string> whole{"all_reduce", "-b", "2K", "-e", "2K"};
  EXPECT_THAT(said_of_one_call(whole), HasSubstr(alike));
  EXPECT_TRUE(is_simulated(whole));
  for (const std::vector<std::string>& refused :
       {std::vector<std::string>{"all_reduce", "-b", "2K", "-e", "2K", "-g", "2"},
        {"all_reduce", "-b", "40", "-e", "40"},
        {"all_reduce", "-b", "2K", "-e", "2K", "--algo", "double_tree_allreduce"},
        {"all_gather", "-b", "2K", "-e", "2K"},
        {"broadcast", "-b", "2K", "-e", "2K"},
        {"sendrecv", "-b", "2K", "-e", "2K"},
        {"hypercube", "-b", "2K", "-e", "2K"}}) {
    EXPECT_EQ(said_of_one_call(refused), "") << refused.front();
    EXPECT_FALSE(is_simulated(refused)) << refused.front();
  }
}

/// From the ring barrier of a 2 x 2 torus ranks would go on half a microsecond one after the other.
TEST(CclTest, RanksBeginAtOneInstant) {
  NOT_UNDER_SANITIZERS("times only");
  const Sizes size{.least = Bytes(2048), .most = Bytes(2048), .factor = 2};
  const double torus = times_on_four_sips("torus_2d", "all_gather", size, {"direct_all_gather"}).at("auto").at(2048);
  const double ring = times_on_four_sips("ring_1d", "all_gather", size, {"direct_all_gather"}).at("auto").at(2048);
  EXPECT_NEAR(torus, ring, 0.01 * ring) << "two links are the longest way on both";
}

struct Cell {
  const char *wiring, *operation;
  Sizes sizes;
};

/// Cells in which a simpler formula errs: without the start at one instant, without the steps of PEs that overlap, with
/// lines that are held up though messages go different ways in turn, without the loads between steps.
TEST(CclTest, AutoIsNearTheBestAlgorithmAndTakesNoLessForMore) {
  NOT_UNDER_SANITIZERS("60 sweeps of times only");
  const Cell cells[] = {
      {"torus_2d", "all_gather", {.least = Bytes(128), .most = Bytes(32768), .factor = 16}},
      {"torus_2d", "reduce_scatter", {.least = Bytes(128), .most = Bytes(32768), .factor = 16}},
      {"switched", "all_gather", {.least = Bytes(131072), .most = Bytes(524288), .factor = 4}},
      {"switched", "reduce_scatter", {.least = Bytes(131072), .most = Bytes(524288), .factor = 4}},
      {"switched", "all_reduce", {.least = Bytes(524288), .most = Bytes(524288), .factor = 2}},
      {"ring_1d", "all_to_all", {.least = Bytes(65536), .most = Bytes(131072), .factor = 2}},
      {"fully_connected", "all_to_all", {.least = Bytes(131072), .most = Bytes(262144), .factor = 2}}};
  std::size_t turn = 0;
  for (const auto& [wiring, operation, sizes] : cells) {
    if (turn++ % one_case_in(4, 1) != 0) continue;
    SCOPED_TRACE(std::string(wiring) + ", " + operation);
    auto times = times_on_four_sips(wiring, operation, sizes);
    const auto automatic = times.extract("auto").mapped();
    ASSERT_GE(times.size(), 2u);
    double before = 0;
    for (const auto& [size, us] : automatic) {
      for (const auto& [algorithm, each] : times) EXPECT_LE(us, 1.05 * each.at(size)) << algorithm << ", " << size;
      EXPECT_GE(us, 0.99 * before) << size;
      before = us;
    }
  }
}

void expect_near_the_best(Times times) {
  const auto automatic = times.extract("auto").mapped();
  ASSERT_GE(times.size(), 2u);
  for (const auto& [size, us] : automatic) {
    for (const auto& [algorithm, each] : times) EXPECT_LE(us, 1.05 * each.at(size)) << algorithm << ", " << size;
  }
}

struct CellOfFewPes {
  int sips;
  const char *wiring, *operation;
  std::int64_t bytes;
};

/// Cells in which a simpler formula errs: with slots whose credits nobody waits for, with chains that begin at all
/// ranks, with ports of PEs that are never held up.
TEST(CclTest, AutoIsNearTheBestAlgorithmOfFewPes) {
  NOT_UNDER_SANITIZERS("times only");
  const CellOfFewPes cells[] = {{4, "torus_2d", "all_reduce", 2 << 20},
                                {4, "fully_connected", "broadcast", 2 << 20},
                                {8, "ring_1d", "broadcast", 8},
                                {8, "ring_1d", "reduce", 32768},
                                {4, "switched", "all_reduce", 2 << 20},
                                {4, "switched", "all_gather", 2 << 20},
                                {4, "switched", "reduce_scatter", 2 << 20},
                                {8, "fully_connected", "reduce", 2 << 20},
                                {4, "ring_1d", "broadcast", 2 << 20}};
  std::size_t turn = 0;
  for (const auto& [sips, wiring, operation, bytes] : cells) {
    if (turn++ % one_case_in(3, 1) != 0) continue;
    SCOPED_TRACE(std::to_string(sips) + " SIPs, " + wiring + ", " + operation);
    expect_near_the_best(times_on(sips_of("tiny", sips, wiring), sips, operation,
                                  {.least = Bytes(bytes), .most = Bytes(bytes), .factor = 2}));
  }
}

TEST(CclTest, AutoIsNearTheBestAlgorithmOfRanksThatArePes) {
  NOT_UNDER_SANITIZERS("times only");
  SimulateOptions options;
  options.topology = "ahbm-2sip";
  for (const char* operation : {"broadcast", "reduce"}) {
    SCOPED_TRACE(operation);
    expect_near_the_best(times_on(options, 8, operation, {.least = Bytes(512), .most = Bytes(32768), .factor = 64}));
  }
}

TEST(CclTest, ABarrierHasOneRowAndTheBoundOfTheLongestPath) {
  const Outcome outcome = run_on_four({"barrier", "-b", "8", "-e", "1K", "-f", "2", "-d", "all", "-n", "2", "--algo",
                                       "ring", "--algo", "auto", "--bound", "--csv", "-"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\nbarrier,ring,4,0,0,none,none,-1,"));
  EXPECT_THAT(outcome.out, HasSubstr("\nbarrier,auto,4,0,0,none,none,-1,"));
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 3) << outcome.out;
  Request request = small_request();
  request.ranks = 4;
  request.bound = true;
  request.algorithms = {"ring", "auto"};
  SimulateOptions options = two_devices();
  options.overrides = {"system.sips.count=4"};
  const auto rows = sweep(find_test("barrier"), request, options, simulate_plainly).rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].taken, "ring_barrier");
  EXPECT_EQ(rows[1].taken, "direct_barrier");
  EXPECT_EQ(rows[0].sent, 3) << "bytes";
  EXPECT_GT(rows[1].bound_us, 0.5);
  EXPECT_LT(rows[1].bound_us, rows[1].time_us);
  EXPECT_LT(rows[1].time_us, rows[0].time_us);
}

TEST(CclTest, ASweepThatFailsShowsTheRowsBefore) {
  const std::string csv = test_files::folder() + "ccl_failed.csv";
  const Outcome failed =
      run_on_four({"all_reduce", "-b", "1M", "-e", "1T", "-f", "1048576", "-n", "1", "-c", "0", "--csv", csv});
  EXPECT_EQ(failed.code, 3);
  EXPECT_THAT(failed.out, HasSubstr("\n     1048576        262144     float     sum"));
  EXPECT_THAT(failed.err, HasSubstr("OutOfMemoryError"));
  EXPECT_THAT(read(csv), HasSubstr("\nall_reduce,,4,1048576,262144,float,sum,-1,in_place,"));
  const Outcome nothing = run_on_four({"all_reduce", "-b", "1T", "-e", "1T", "-n", "1", "-c", "0"});
  EXPECT_EQ(nothing.code, 3);
  EXPECT_EQ(nothing.out, "");
  EXPECT_THAT(nothing.err, HasSubstr("OutOfMemoryError"));
}

TEST(CclTest, OfAllTypesAndReductionsThoseAreLeftOutThatDoNotGoTogether) {
  const auto run = [](std::vector<std::string> more) {
    std::vector<std::string> arguments{"all_reduce", "-b", "1K", "-e", "1K", "-n", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_on_four(arguments);
  };
  const Outcome types = run({"-d", "all"});
  EXPECT_EQ(types.code, 0) << types.err;
  EXPECT_THAT(types.out, HasSubstr("bfloat16     sum"));
  EXPECT_THAT(types.err, HasSubstr("note: left out, for there are none: sum of f8e4m3, sum of f8e5m2\n"));
  const Outcome reductions = run({"-o", "all", "-d", "int32"});
  EXPECT_EQ(reductions.code, 0) << reductions.err;
  EXPECT_THAT(reductions.out, HasSubstr("int32     max"));
  EXPECT_THAT(reductions.out, HasSubstr("int32     avg"));
  EXPECT_THAT(reductions.err, Not(HasSubstr("left out")));
  const Outcome one = run({"-o", "avg", "-d", "f8e4m3"});
  EXPECT_EQ(one.code, 2);
  EXPECT_THAT(one.err, HasSubstr("-o avg -d f8e4m3: there is no avg of f8e4m3"));
}

TEST(CclTest, WrongAlgorithmsAndSizesAreErrorsOfUsage) {
  const Outcome unknown = run_on_four({"all_reduce", "-b", "8", "-e", "8", "--algo", "foo"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, StartsWith("kernbench: error: no algorithm is named \"foo\" (known: "));
  EXPECT_EQ(std::ranges::count(unknown.err, '\n'), 1) << "no matter of the ranks: " << unknown.err;
  EXPECT_THAT(run_on_four({"all_reduce", "-b", "64", "-e", "8"}).err, HasSubstr("-e 8 is below -b 64"));
  EXPECT_THAT(run_on_four({"all_reduce", "-b", "-8"}).err, HasSubstr("-b: expected an amount of data"));
  EXPECT_THAT(run_on_four({"all_reduce", "-b", "1X"}).err, HasSubstr("PiB; or 8, 32K, 128M, 1G, as nccl-tests"));
}

TEST(CclTest, WhatItReadsIsNotOverwritten) {
  const std::string file = source_tree::path("collectives/msccl/allpairs_allreduce_4.xml");
  const std::string before = source_tree::read("collectives/msccl/allpairs_allreduce_4.xml");
  for (const char* option : {"--json", "--csv"}) {
    const Outcome outcome = run_on_four({"all_reduce", "--msccl", file, option, file});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(std::string(option) + " would overwrite"));
  }
  EXPECT_EQ(source_tree::read("collectives/msccl/allpairs_allreduce_4.xml"), before);
}

TEST(CclTest, OptionsOfNcclTestsThatMeanNothingHereAreTakenAndSaySo) {
  const Outcome outcome = run_on_four({"all_reduce", "-b", "8",  "-e", "8",  "-n", "1",  "-z", "0",  "-R", "1",
                                       "-p",         "1",  "-C", "1",  "-T", "60", "-G", "2",  "-N", "3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* option : {"-z", "-R", "-p", "-C", "-T", "-G", "-N"})
    EXPECT_THAT(outcome.err, HasSubstr(std::string("note: ") + option + " changes nothing: "));
}

TEST(CclTest, SchedulesAreMeasuredBesideAlgorithms) {
  const auto file = [](const char* name) {
    return source_tree::path(std::string("collectives/msccl/") + name + ".xml");
  };
  std::vector<std::string> small{"-b", "4K", "-e", "4K", "-n", "1"};
  std::vector<std::string> arguments{"allreduce", "--algo", "ring_allreduce", "--msccl", file("allpairs_allreduce_4")};
  arguments.insert(arguments.end(), small.begin(), small.end());
  const Outcome outcome = run_on_four(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("# Algorithm: allpairs_allreduce_4\n"));
  EXPECT_THAT(outcome.out, HasSubstr("# Out of bounds values : 0 OK"));
  EXPECT_EQ(run_on_four({"alltoall", "--msccl", file("pairwise_alltoall_4"), "-b", "4K", "-e", "4K", "-n", "1"}).code,
            0);
  EXPECT_THAT(run_on_four({"all_gather", "--msccl", file("ring_allreduce_4")}).err,
              HasSubstr("ring_allreduce_4.xml: it is a schedule of all_reduce, not of all_gather"));
  EXPECT_THAT(run_on_four({"all_reduce", "--msccl", file("ring_allreduce_4"), "--msccl", file("ring_allreduce_4")}).err,
              HasSubstr("is registered twice"));
  EXPECT_THAT(run_on_four({"all_reduce", "--load", "mine.cpp"}).err, HasSubstr("this program loads no files"));
}

TEST(CclTest, TheBestAlgorithmOfEachSizeIsWrittenForAutoWhichSaysSo) {
  NOT_UNDER_SANITIZERS("two sweeps of times");
  const std::string tuned = test_files::folder() + "ccl_tuned.yaml",
                    collectives = test_files::folder() + "ccl_auto.yaml";
  std::filesystem::remove(tuned);
  const auto tune = [&](const char* operation, const char* size) {
    return run_on_four({operation, "-b", "256", "-e", size, "-f", "16384", "-n", "1", "-w", "0", "-c", "0", "--csv",
                        "-", "--tune", tuned});
  };
  const Outcome reduce = tune("all_reduce", "4M");
  EXPECT_EQ(reduce.code, 0) << reduce.err;
  // The least time of a size in the rows: its algorithm has to be in the file.
  std::map<std::string, std::pair<double, std::string>> best;
  std::istringstream rows(reduce.out);
  for (std::string row; std::getline(rows, row);) {
    std::vector<std::string> cells(1);
    for (const char c : row) c == ',' ? void(cells.emplace_back()) : cells.back().push_back(c);
    if (cells[0] != "all_reduce") continue;
    const std::pair mine{std::stod(cells[9]), cells[1]};
    const auto [found, is_new] = best.emplace(cells[3], mine);
    if (!is_new && mine.first < found->second.first) found->second = mine;
  }
  ASSERT_EQ(best.size(), 2u);
  ASSERT_NE(best["256"].second, best["4194304"].second);
  std::string text = read(tuned);
  EXPECT_THAT(text, HasSubstr("all_reduce:\n  4_sips:\n    0B: " + best["256"].second +
                              "\n    32768B: " + best["4194304"].second + "\n"));
  EXPECT_EQ(tune("broadcast", "256").code, 0);
  EXPECT_THAT(read(tuned), testing::AllOf(HasSubstr(text.substr(text.find("all_reduce"))), HasSubstr("broadcast:\n")));
  EXPECT_THAT(tune("gather", "256").err, HasSubstr("gather: there is one algorithm"));

  std::ofstream(collectives) << "defaults: {algorithm: a, tune: ccl_tuned.yaml}\nalgorithms: {a: {module: auto}}\n";
  Request request = small_request();
  request.ranks = 4;
  request.check = false;
  SimulateOptions options = two_devices();
  options.overrides = {"system.sips.count=4"};
  const auto row_of = [&] { return sweep(find_test("all_reduce"), request, options, simulate_plainly).rows.front(); };
  EXPECT_EQ(row_of().reason, "least cost");
  request.algorithms = {"ring"};
  EXPECT_EQ(row_of().reason, "named");
  EXPECT_EQ(row_of().fold_order, "of chunk c of a shard: ((x[c+1] ∘ x[c+2]) ∘ …) ∘ x[c]");
  request.algorithms = {};
  options.collectives = collectives;
  EXPECT_EQ(row_of().taken, best["256"].second);
  EXPECT_EQ(row_of().reason, "best by measurement in " + tuned);
}

TEST(CclTest, ALimitOfSimulatedTimeStopsTheMeasurement) {
  const Outcome outcome =
      run_on_four({"all_reduce", "-b", "64", "-e", "64", "-n", "1", "-w", "0", "--max-time", "1ns"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("simulated time would pass the limit of 1 ns"));
}

TEST(CclTest, UsageErrorsNameTheOptionAndTheFix) {
  const auto error_of = [](std::vector<std::string> arguments) {
    const Outcome outcome = run(std::move(arguments));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_THAT(error_of({}), HasSubstr("ccl needs an OPERATION"));
  EXPECT_THAT(error_of({"all_reduce", "-b", "64", "-e", "32"}), HasSubstr("-e 32 is below -b 64"));
  EXPECT_THAT(error_of({"all_reduce", "-b", "many"}), HasSubstr("many"));
  EXPECT_THAT(error_of({"all_reduce", "-b", "9999999999G"}), HasSubstr("up to 1T"));
  EXPECT_THAT(error_of({"all_reduce", "-i", "0"}), HasSubstr("-i 0: expected a size above 0"));
  EXPECT_THAT(error_of({"all_reduce", "-n", "0"}), HasSubstr("a whole number from 1"));
  EXPECT_THAT(error_of({"all_reduce", "-o", "summ"}), HasSubstr("did you mean \"sum\"?"));
  EXPECT_THAT(error_of({"all_reduce", "-d", "flaot"}), HasSubstr("did you mean \"float\"?"));
  EXPECT_THAT(error_of({"broadcast", "-r", "7", "--topology", "tiny"}), HasSubstr("-r 7: there"));
}

}  // namespace
}  // namespace kernbench::cli::ccl
