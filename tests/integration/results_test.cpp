// What is left of a run: results up to an error, the operation log, which error is reported, deadlock reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <source_location>
#include <sstream>
#include <string>

#include "programs.h"
#include "report/difference/difference.h"
#include "runtime/context.h"
#include "tile/program/launch.h"

namespace kernbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using testing::error_type_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using testing::one_pe;
using ::testing::StartsWith;
using testing::tiny;

TEST(Results, AfterAnErrorKeepWhatWasMeasuredBeforeIt) {
  const RunResult result = try_simulate(tiny(), [] {
    auto x = torch::zeros({8}, one_pe());
    check_close("zeros", x, torch::zeros({8}));
    report_metric("answer", 42, "1");
    torch::launch("fails", [](tl::Tensor a) { tl::load(a, {8}, {1}); }, x);
    torch::ahbm::synchronize();
    report_metric("never", 1, "1");
  });
  EXPECT_EQ(result.status, RunStatus::error);
  EXPECT_EQ(result.error->type, "OutOfBoundsError");
  EXPECT_THAT(result.error->where, HasSubstr("kernel fails#0 on sip0.cube0.pe0"));
  ASSERT_EQ(result.launches.size(), 1u);
  EXPECT_EQ(result.launches[0].name, "fill#0");
  ASSERT_EQ(result.checks.size(), 1u);
  EXPECT_EQ(result.checks[0].status, CheckStatus::passed);
  EXPECT_EQ(result.metrics.at("answer").value, 42);
  EXPECT_EQ(result.metrics.count("never"), 0u);
  EXPECT_GT(result.simulated_time, result.launches[0].end);
  EXPECT_GT(result.events, 0u);
}

TEST(Results, AFailedCheckIsNoError) {
  const RunResult result = simulate(tiny(), [] {
    EXPECT_FALSE(check_close("ones", torch::ones({8}, one_pe()), torch::full({8}, 3.0f), {.absolute = 1}));
    EXPECT_TRUE(check_close("close", torch::ones({8}, one_pe()), torch::full({8}, 3.0f), {.relative = 0.7}));
  });
  EXPECT_EQ(result.status, RunStatus::check_failed);
  EXPECT_EQ(result.checks[0].max_abs_error, 2);
  EXPECT_DOUBLE_EQ(result.checks[0].max_rel_error, 2.0 / 3);
}

TEST(Results, AFailedCheckSaysHowManyElementsAndWhichIsWorst) {
  std::uint_least32_t line = 0;
  const RunResult result = simulate(tiny(), [&] {
    auto x = torch::ones({3, 4}, one_pe());
    const auto expected = torch::ones({3, 4});
    expected[1][2] = torch::Scalar(1.25);
    expected[2][0] = torch::Scalar(-2.0);
    expected[2][3] = torch::Scalar(1.0625);
    line = std::source_location::current().line() + 1;
    check_close("x", x, expected, {.absolute = 0.125});
    check_close("y", x, torch::ones({3, 4}));
  });
  const CheckResult& failed = result.checks[0];
  EXPECT_EQ(failed.where, "results_test.cpp:" + std::to_string(line));
  EXPECT_EQ(failed.elements, 12);
  EXPECT_EQ(failed.mismatched, 2);
  EXPECT_EQ(failed.worst_index, "[2, 0]");
  EXPECT_EQ(failed.worst_actual, 1);
  EXPECT_EQ(failed.worst_expected, -2);
  EXPECT_EQ(result.checks[1].mismatched, 0);
  EXPECT_EQ(result.checks[1].worst_index, "");
}

TEST(Results, CopiesAreAddedUpByDirectionDeviceAndLine) {
  SimulateOptions options = tiny();
  options.overrides.emplace_back("system.sips.count=2");
  Time start, end, overhead;
  const RunResult result = simulate(options, [&] {
    auto& simulation = runtime::current_context("test").simulation;
    overhead = simulation.topology().host.launch_overhead;
    const auto host = torch::ones({4096});
    auto x = torch::empty({4096}, one_pe());
    auto other = torch::empty({4096}, one_pe().device("ahbm:1"));
    torch::ahbm::synchronize();
    const torch::profiler::record_function range("measured");
    for (int i = 0; i < 3; ++i) x.copy_(host);
    torch::ahbm::synchronize();
    other.copy_(x);
    torch::ahbm::synchronize();
    start = simulation.scheduler().now();
    x.cpu();
    end = simulation.scheduler().now();
  });
  const auto copies = [&](const std::string& direction) {
    const auto found = std::ranges::find(result.copies, direction, &CopyTotal::direction);
    return found == result.copies.end() ? CopyTotal() : *found;
  };
  ASSERT_EQ(result.copies.size(), 3u);
  EXPECT_EQ(copies("to").count, 3);
  EXPECT_EQ(copies("to").bytes, Bytes(3 * 16384));
  EXPECT_EQ(copies("between").bytes, Bytes(16384));
  EXPECT_EQ(copies("from").bytes, Bytes(16384));
  // All of a read but what the call costs the host.
  EXPECT_EQ(copies("from").time, end - start - overhead);
  EXPECT_GT(copies("to").time, copies("to").longest);
  for (const CopyTotal& copy : result.copies) {
    EXPECT_TRUE(copy.in_region) << copy.direction;
    EXPECT_THAT(copy.where, StartsWith("results_test.cpp:"));
  }
}

TEST(Results, AWarningNamesThePeThatDoesMostOfTheWork) {
  const auto warnings_of = [](std::int64_t most) {
    const RunResult result = simulate(tiny({"sip.cubes.mesh=[2, 2]"}), [&] {
      auto x = torch::zeros({8, 1024}, torch::device("ahbm"));
      torch::launch(
          "uneven",
          [](tl::Tensor a, std::int64_t repeats) {
            const auto mine = a.local_shard(0);
            const bool chosen = tl::cube_id() == 0 && tl::pe_id() == 1;
            for (std::int64_t i = 0; i < (chosen ? repeats : 1); ++i)
              tl::store(a, mine.offset, tl::load(a, mine.offset, mine.shape) + 1.0f);
          },
          x, most);
      torch::ahbm::synchronize();
    });
    return result.warnings;
  };
  EXPECT_THAT(warnings_of(1), IsEmpty());
  EXPECT_THAT(warnings_of(40), Contains(AllOf(HasSubstr("uneven: its "), HasSubstr("sip0.cube0.pe1 for all of it"),
                                              HasSubstr("share its work more evenly"))));
}

TEST(Results, AWarningSaysThatAccessesAreShort) {
  const auto warnings_of = [](std::int64_t width) {
    const RunResult result = simulate(tiny(), [&] {
      const auto x = torch::zeros({512, 512}, one_pe());
      torch::launch(
          "columns",
          [](tl::In in, std::int64_t wide) {
            for (std::int64_t i = 0; i + wide <= 512; i += wide) (void)tl::load(in, {0, i}, {512, wide});
          },
          x, width);
      torch::ahbm::synchronize();
    });
    return result.warnings;
  };
  EXPECT_THAT(warnings_of(2), Contains(AllOf(HasSubstr("columns: its accesses of HBM are so short"),
                                             HasSubstr("for 8.0 times its bytes (cube.hbm.access)"))));
  EXPECT_THAT(warnings_of(64), Not(Contains(HasSubstr("so short"))));
}

TEST(Results, AWarningNamesTheDeviceOnWhichAKernelTakesLonger) {
  const auto warnings_of = [](int most) {
    SimulateOptions options = tiny({"system.sips.count=3"});
    return simulate(options,
                    [most] {
                      for (int device = 0; device < 3; ++device) {
                        torch::ahbm::set_device(device);
                        auto x = torch::zeros({8, 64}, torch::device("ahbm"));
                        for (int step = 0; step < 2; ++step) {
                          torch::launch(
                              "work", [](tl::Tensor, std::int64_t cycles) { tl::delay(cycles); }, x,
                              std::int64_t{1000} * (device == 2 ? most : 10));
                        }
                      }
                      for (int device = 0; device < 3; ++device) {
                        torch::ahbm::set_device(device);
                        torch::ahbm::synchronize();
                      }
                    })
        .warnings;
  };
  EXPECT_THAT(warnings_of(11), IsEmpty());
  EXPECT_THAT(warnings_of(30), ElementsAre(AllOf(HasSubstr("work: a launch takes "), HasSubstr(" on sip0, "),
                                                 HasSubstr(" on sip2, and "), HasSubstr(" of 3 devices: share"))));
}

TEST(Results, AWarningSaysThatTransfersAreTooSmallAndHowSmallTheyAre) {
  const auto run = [](std::int64_t block) {
    return simulate(tiny(), [block] {
      auto x = torch::zeros({1 << 14}, testing::one_pe());
      torch::launch(
          "blocks",
          [](tl::Tensor a, std::int64_t size) {
            for (std::int64_t i = 0; i < a.numel(); i += size) tl::store(a, {i}, tl::load(a, {i}, {size}));
          },
          x, block);
      torch::ahbm::synchronize();
    });
  };
  const RunResult small = run(64), large = run(1 << 12);
  EXPECT_THAT(small.warnings,
              ElementsAre(AllOf(StartsWith("blocks: "), HasSubstr(" % of the DMA on its critical path is setup"),
                                HasSubstr(" with 256 B for each of its DMA operations"), HasSubstr("larger tiles"))));
  EXPECT_THAT(large.warnings, IsEmpty());
  const RunResult library = simulate(tiny(), [] {
    const auto x = torch::zeros({64, 64}, testing::one_pe());
    torch::cat({x.slice(1, 0, 1), x.slice(1, 2, 3)}, 1);
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(library.warnings, Not(Contains(HasSubstr("larger tiles")))) << "nobody chooses those of the library";
  for (const OperationResult& operation : small.launches.back().operations) {
    EXPECT_EQ(operation.bytes, Bytes(operation.engine == "dma" ? 4 * (1 << 14) : 0)) << operation.operation;
  }
}

TEST(Results, AreTheSameWhetherOrNotTheyHaveDetailsOfAllLaunches) {
  const auto run = [](std::size_t detailed) {
    SimulateOptions options = tiny();
    options.detailed_launches = detailed;
    return simulate(options, [] {
      auto x = torch::zeros({64}, torch::device("ahbm"));
      for (int i = 0; i < 6; ++i) x.add_(1);
      torch::ahbm::synchronize();
    });
  };
  const report::Difference changed = report::difference(run(1000), run(2));
  EXPECT_TRUE(changed.same_outcome());
  ASSERT_EQ(changed.not_compared.size(), 1u);
  EXPECT_THAT(changed.not_compared[0], HasSubstr("details of different numbers of launches"));
  EXPECT_EQ(changed.inputs.at(0).key, "detailed_launches");
}

TEST(Results, NanIsNearNothingUnlessTheProgramSaysSo) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const RunResult result = simulate(tiny(), [=] {
    for (const auto dtype : {torch::kFloat, torch::kHalf, torch::kDouble}) {
      const auto x = torch::full({8}, kNan, torch::dtype(dtype));
      EXPECT_FALSE(check_close("the same bytes", x, x, {.absolute = 1}));
      EXPECT_TRUE(check_close("equal", x, x, {.equal_nan = true}));
    }
    const auto nan = torch::full({8}, kNan), device = nan.to("ahbm");
    EXPECT_FALSE(check_close("on a device", device, nan));
    EXPECT_FALSE(check_close("beside a wider one", device, nan.to(torch::kDouble)));
    EXPECT_TRUE(check_close("the same", device, nan.to(torch::kDouble), {.equal_nan = true}));
    EXPECT_FALSE(check_close("a number", torch::ones({8}), nan, {.absolute = 1, .equal_nan = true}));
    EXPECT_FALSE(check_close("a tolerance of NaN", torch::ones({8}), torch::zeros({8}), {.absolute = kNan}));
    EXPECT_TRUE(check_close("infinity", torch::full({8}, -1.0F) / 0, torch::full({8}, -1.0) / 0));
  });
  EXPECT_EQ(result.status, RunStatus::check_failed);
  EXPECT_EQ(result.checks[0].max_abs_error, std::numeric_limits<double>::infinity());
  EXPECT_EQ(result.checks[0].max_rel_error, std::numeric_limits<double>::infinity());
}

TEST(Results, AnErrorLeavesOperationsAndTilesOfSuspendedKernelsBehindCleanly) {
  // Loads, products and stores are under way on all PEs when one program fails.
  EXPECT_EQ(error_type_of([] {
              auto x = torch::zeros({256, 256}, torch::device("ahbm")),
                   y = torch::empty({256, 256}, torch::device("ahbm"));
              torch::launch(
                  "busy",
                  [](tl::In a, tl::Tensor b) {
                    auto sum = tl::load(a, {0, 0}, {64, 64});
                    for (std::int64_t i = 0; i < 4; ++i) {
                      sum = tl::dot(sum, tl::load(a, {64 * i, 0}, {64, 64}));
                      tl::store(b, {64 * i, 0}, sum);
                    }
                    tl::device_assert(tl::program_id() != 1, "program 1 fails");
                    tl::item(tl::max(sum));
                  },
                  x, y);
              y.cpu();
            }),
            "DeviceAssertionError");
}

// ---- operation log ---------------------------------------------------------------------------------------------

struct LogLine {
  std::int64_t finished, issued, ready, started, effect;
  std::string agent, kind, operands;
  std::int64_t order;
};

LogLine parsed(const std::string& text) {
  std::istringstream in(text);
  LogLine line;
  const auto field = [&in](const std::string& key) {
    std::string word;
    in >> word;
    EXPECT_EQ(word.substr(0, key.size()), key);
    return std::stoll(word.substr(key.size()));
  };
  line.finished = field("");
  in >> line.agent;
  line.order = field("");
  in >> line.kind;
  line.issued = field("issued=");
  line.ready = field("ready=");
  line.started = field("started=");
  line.effect = field("effect=");
  std::getline(in, line.operands);
  return line;
}

TEST(Results, TheOperationLogHasOneLinePerOperationInOrderOfCompletion) {
  auto options = tiny();
  options.operation_log = ::testing::TempDir() + "kernbench_operation_log_test.txt";
  const auto program = [] {
    auto x = torch::arange(300, torch::kFloat).to("ahbm");
    torch::launch(
        "twice",
        [](tl::Tensor a) {
          const auto box = a.local_shard();
          const auto tile = tl::load(a, box.offset, box.shape);
          tl::store(a, box.offset, tile + tile);
        },
        x);
    torch::ahbm::synchronize();
  };
  simulate(options, program);
  std::ifstream file(options.operation_log);
  std::vector<LogLine> lines;
  std::vector<std::string> launches;
  std::string text, whole;
  while (std::getline(file, text)) {
    whole += text + "\n";
    if (text.find(" launch ") == std::string::npos)
      lines.push_back(parsed(text));
    else
      launches.push_back(text);
  }
  EXPECT_THAT(launches,
              ElementsAre(MatchesRegex(
                  R"([0-9]+ sip0/twice#0 - launch requested=[0-9]+ programs=2 at results_test\.cpp:[0-9]+)")));
  ASSERT_EQ(lines.size(), 6u) << whole;  // load, add, store on each of two PEs
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& line = lines[i];
    EXPECT_GE(line.finished, i > 0 ? lines[i - 1].finished : 0);
    EXPECT_LE(line.issued, line.ready);
    EXPECT_LE(line.ready, line.started);
    EXPECT_LE(line.started, line.effect);
    EXPECT_LE(line.effect, line.finished);
  }
  for (const std::string pe : {"sip0.cube0.pe0/twice#0", "sip0.cube0.pe1/twice#0"}) {
    std::vector<LogLine> own;
    for (const auto& line : lines) {
      if (line.agent == pe) own.push_back(line);
    }
    ASSERT_EQ(own.size(), 3u) << whole;
    EXPECT_EQ(own[0].kind, "load");
    EXPECT_THAT(own[0].operands, MatchesRegex(R"( sip0\.cube0\.hbm\+0x[0-9a-f]+\[1x600B/[0-9]+\] -> tcm:tile0)"));
    EXPECT_EQ(own[1].kind, "add");
    EXPECT_EQ(own[1].operands, " tcm:tile0 tcm:tile0 -> tcm:tile1");
    EXPECT_EQ(own[2].kind, "store");
    EXPECT_THAT(own[2].operands, MatchesRegex(R"( tcm:tile1 -> sip0\.cube0\.hbm\+0x[0-9a-f]+\[1x600B/[0-9]+\])"));
    for (std::size_t i = 0; i < own.size(); ++i) EXPECT_EQ(own[i].order, static_cast<std::int64_t>(i));
  }
  // A run with data on more threads writes the same bytes; so does one without data.
  const auto again = [&](int threads, bool data) {
    options.threads = threads;
    options.data = data;
    simulate(options, program);
    std::ifstream second(options.operation_log);
    return std::string(std::istreambuf_iterator<char>(second), {});
  };
  EXPECT_EQ(again(4, true), whole);
  EXPECT_EQ(again(1, false), whole);
  std::remove(options.operation_log.c_str());
}

TEST(Results, AnOperationLogThatCannotBeWrittenIsAConfigurationError) {
  auto options = tiny();
  options.operation_log = "/nonexistent/folder/log";
  EXPECT_EQ(error_type_of([] {}, options), "ConfigurationError");
}

// ---- which data error is reported ------------------------------------------------------------------------------

/// The error with 1, 2 and 4 threads, which must be the same text.
std::string error_with_any_number_of_threads(const std::function<void()>& program) {
  std::string first;
  for (int round = 0; round < 15; ++round) {
    auto options = tiny();
    options.threads = 1 << (round % 3);
    const std::string error = error_of(program, options);
    if (round == 0) first = error;
    EXPECT_EQ(error, first) << options.threads << " threads";
  }
  return first;
}

TEST(Results, OfSeveralDataErrorsTheFirstInSimulatedTimeIsReported) {
  const auto program = [] {
    auto x = torch::zeros({64}, torch::device("ahbm"));
    torch::launch(
        "late",
        [](tl::In a) {
          auto tile = tl::load(a, {0}, {64});
          // Program 0 fails later than program 1, after much work for other threads.
          if (tl::program_id() == 0) {
            for (int i = 0; i < 50; ++i) tile = tl::exp(tile) * 0.0f;
          }
          tl::device_assert(tile > 1.0f, tl::program_id() == 0 ? "program 0" : "program 1");
        },
        x);
    torch::launch("never reported", [](tl::In a) { tl::device_assert(tl::load(a, {0}, {64}) > 1.0f, "second"); }, x);
    torch::ahbm::synchronize();
  };
  EXPECT_THAT(error_with_any_number_of_threads(program), HasSubstr("device_assert failed: program 1 (lane 0)"));
}

TEST(Results, OfTwoDataErrorsAtOneTimeTheLowerProgramAndTheEarlierOperationIsReported) {
  const auto program = [] {
    auto x = torch::zeros({64}, torch::device("ahbm"));
    torch::launch(
        "tie",
        [](tl::In) {
          const auto tile = tl::zeros({64}, DType::f32);
          tl::device_assert(tile > 1.0f, tl::program_id() == 0 ? "first of program 0" : "first of program 1");
          tl::device_assert(tile > 1.0f, "second");
        },
        x);
    torch::ahbm::synchronize();
  };
  EXPECT_THAT(error_with_any_number_of_threads(program), HasSubstr("first of program 0"));
}

TEST(Results, AFailedAssertionComesBeforeTheHostReadThatFollowsIt) {
  const auto program = [] {
    auto x = torch::empty({64}, one_pe().name("x"));
    torch::launch("poison", [](tl::Tensor a) { tl::device_assert(tl::load(a, {0}, {64}) > 1.0f, "poison"); }, x);
    x.cpu();
  };
  EXPECT_THAT(error_with_any_number_of_threads(program),
              HasSubstr("device_assert(\"poison\"): lane 0 of the condition is invalid"));
}

// ---- deadlock --------------------------------------------------------------------------------------------------

TEST(Results, TwoProgramsThatStarveEachOtherOfTcmAreNamedThroughAllLayers) {
  const auto program = [] {
    auto& simulation = runtime::current_context("test").simulation;
    sim::Completion both;
    int completed = 0;
    for (const char* name : {"left#0", "right#0"}) {
      tile::KernelLaunch launch;
      launch.sip = SipId{0};
      launch.name = name;
      launch.pes = {{SipId{0}, CubeId{0}, PeId{0}}};
      launch.body = [] {
        // 40 KiB each; the second tile fits the program's own share, but not beside the other program's.
        const auto first = tl::zeros({40 * 1024}, DType::boolean);
        tl::item(tl::max(first));
        const auto second = tl::zeros({20 * 1024}, DType::boolean);
      };
      launch.completed = [&](const auto&, const auto&) {
        if (++completed == 2) both.set();
      };
      tile::start(simulation.environment(), std::move(launch));
    }
    both.wait();
  };
  EXPECT_EQ(error_of(program, tiny({"pe.tcm.capacity=128KiB"})), "no error");
  const auto options = tiny({"pe.tcm.capacity=90KiB"});
  EXPECT_EQ(error_type_of(program, options), "DeadlockError");
  EXPECT_THAT(error_of(program, options), AllOf(HasSubstr("sip0.cube0.pe0 left#0 waits for"),
                                                HasSubstr("sip0.cube0.pe0 right#0 waits for"), HasSubstr("tcm")));
}

TEST(Results, AStreamBehindAKernelThatNeverEndsIsExplainedUpToTheHost) {
  const auto error = error_of([] {
    auto x = torch::zeros({8}, one_pe()), y = torch::zeros({8}, one_pe());
    sim::Completion never;
    never.describe_as([] { return std::string("a message that nobody sends"); });
    torch::launch("stuck", [&never](tl::Tensor) { never.wait(); }, x);
    torch::launch("behind", [](tl::Tensor) {}, y);
    y.cpu();
  });
  EXPECT_THAT(
      error,
      AllOf(HasSubstr("main waits for launch behind#0 on sip0 stream 0"),
            HasSubstr(
                "launch behind#0 on sip0 stream 0 waits for launch stuck#0 on sip0 stream 0 (its turn in the stream)"),
            HasSubstr("launch stuck#0 waits for sip0.cube0.pe0 stuck#0"),
            HasSubstr("sip0.cube0.pe0 stuck#0 waits for a message that nobody sends")));
}

}  // namespace
}  // namespace kernbench
