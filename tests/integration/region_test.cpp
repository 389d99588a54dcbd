// The region of interest: what named ranges and the profiler's start and stop leave of a run's report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "programs.h"
#include "report/json/json.h"
#include "report/json/read_json.h"
#include "report/sections/table.h"
#include "sim/fiber.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

namespace dist = torch::distributed;
namespace profiler = torch::ahbm::profiler;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using testing::error_of;
using testing::error_type_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::one_pe;
using testing::tiny;
using torch::profiler::record_function;

void multiply_often(tl::Tensor x) {
  auto a = tl::load(x, {0}, {1024});
  for (int i = 0; i < 20; ++i) a = a * 1.5f;
  tl::store(x, {0}, a);
}

void launch(const char* name, const torch::Tensor& x) {
  torch::launch(name, multiply_often, x);
}

std::vector<std::string> names_in_region(const RunResult& result) {
  std::vector<std::string> names;
  for (const LaunchResult& each : result.launches) {
    if (each.in_region) names.push_back(each.name);
  }
  return names;
}

const LaunchResult& launch_of(const RunResult& result, const std::string& name) {
  for (const LaunchResult& each : result.launches) {
    if (each.name == name) return each;
  }
  throw std::logic_error("no launch " + name);
}

std::map<std::string, RangeResult> ranges_of(const RunResult& result) {
  std::map<std::string, RangeResult> ranges;
  for (const RangeResult& range : result.ranges) ranges[range.name] = range;
  return ranges;
}

Time busy_of(const RunResult& result, const std::string& resource) {
  for (const ResourceResult& each : result.resources) {
    if (each.name == resource) return each.busy;
  }
  return Time::zero();
}

void three_launches(bool marked) {
  auto x = torch::ones({1024}, one_pe());
  launch("before", x);
  torch::ahbm::synchronize();
  if (marked) {
    const record_function range("middle");
    launch("inside", x);
  } else {
    launch("inside", x);
  }
  torch::ahbm::synchronize();
  launch("after", x);
  torch::ahbm::synchronize();
}

TEST(Region, WithoutOneTheWholeRunCounts) {
  const RunResult result = simulate(tiny(), [] { three_launches(false); });
  EXPECT_FALSE(result.region);
  EXPECT_THAT(result.ranges, IsEmpty());
  EXPECT_EQ(names_in_region(result).size(), result.launches.size());
}

TEST(Region, ARangeLimitsLaunchesAndUtilisationAndChangesNoTime) {
  const RunResult whole = simulate(tiny(), [] { three_launches(false); });
  const RunResult result = simulate(tiny(), [] { three_launches(true); });
  EXPECT_EQ(result.times_fingerprint, whole.times_fingerprint);
  EXPECT_EQ(result.values_fingerprint, whole.values_fingerprint);
  EXPECT_EQ(result.simulated_time, whole.simulated_time);
  EXPECT_EQ(result.events, whole.events);
  EXPECT_THAT(names_in_region(result), ElementsAre("inside#0"));
  EXPECT_EQ(launch_of(result, "inside#0").range, "middle");
  EXPECT_EQ(launch_of(result, "after#0").range, "");
  ASSERT_TRUE(result.region);
  // To the completion, though the guard has ended long before.
  const LaunchResult& inside = launch_of(result, "inside#0");
  EXPECT_EQ(result.region->windows, 1);
  EXPECT_EQ(result.region->end, inside.end);
  EXPECT_EQ(result.region->time, inside.end - result.region->start);
  EXPECT_LT(result.region->start, inside.start);
  // Three equal launches: a third of the work is in the region.
  const Time all = busy_of(whole, "sip0.cube0.pe0.vector"), part = busy_of(result, "sip0.cube0.pe0.vector");
  EXPECT_GT(part, Time::zero());
  EXPECT_LT(part.count() * 2, all.count());
  for (const ResourceResult& each : result.resources) {
    EXPECT_LE(each.utilisation, 1) << each.name;
    EXPECT_DOUBLE_EQ(each.utilisation, each.busy.in_seconds() / result.region->time.in_seconds());
  }
  const std::string table = report::to_table(result);
  EXPECT_THAT(table, HasSubstr("inside#0"));
  EXPECT_THAT(table, Not(HasSubstr("before#0")));
}

TEST(Region, TheWholeRunIsReportedOnRequest) {
  SimulateOptions options = tiny();
  options.whole_run = true;
  const RunResult result = simulate(options, [] { three_launches(true); });
  EXPECT_FALSE(result.region);
  EXPECT_EQ(names_in_region(result).size(), result.launches.size());
  EXPECT_EQ(ranges_of(result).at("middle").launches, 1);
}

TEST(Region, IsTheSameWithExactEventsAndWithoutData) {
  const auto program = [] {
    auto x = torch::randn({1 << 14}).to("ahbm");  // an upload that is under way when the guard is made
    const record_function range("work");
    auto y = x * 2.0;
    y = y + x;
  };
  SimulateOptions exact = tiny(), no_data = tiny();
  exact.exact_events = true;
  no_data.data = false;
  const RunResult result = simulate(tiny(), program);
  for (const SimulateOptions& options : {exact, no_data}) {
    const RunResult other = simulate(options, program);
    ASSERT_TRUE(other.region);
    EXPECT_EQ(other.region->start, result.region->start);
    EXPECT_EQ(other.region->time, result.region->time);
    ASSERT_EQ(other.resources.size(), result.resources.size());
    for (std::size_t i = 0; i < other.resources.size(); ++i) {
      EXPECT_EQ(other.resources[i].name, result.resources[i].name);
      EXPECT_EQ(other.resources[i].busy, result.resources[i].busy) << other.resources[i].name;
      EXPECT_EQ(other.resources[i].bytes, result.resources[i].bytes) << other.resources[i].name;
    }
  }
}

TEST(Region, AnUploadBeforeARangeIsNotInIt) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::randn({1 << 16}).to("ahbm");
    const record_function range("work");
    launch("work", x);
  });
  const LaunchResult& work = launch_of(result, "work#0");
  EXPECT_EQ(result.region->start, work.start) << "the host had given the launch long before";
  EXPECT_EQ(result.region->time, work.end - work.start);
  EXPECT_THAT(names_in_region(result), ElementsAre("work#0"));
  for (const ResourceResult& each : result.resources) {
    if (each.name == "host.to_sip0") {
      EXPECT_LT(each.bytes, Bytes(1024)) << "the launch's messages";
    }
  }
}

TEST(Region, NestedRangesAreNamedWithThoseAroundThem) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::ones({1024}, one_pe());
    for (int step = 0; step < 3; ++step) {
      const record_function outer("step");
      {
        const record_function inner("forward");
        launch("first", x);
        launch("second", x);
      }
      launch("third", x);
      torch::ahbm::synchronize();
    }
  });
  const auto ranges = ranges_of(result);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges.at("step").count, 3);
  EXPECT_EQ(ranges.at("step").launches, 3);
  EXPECT_EQ(ranges.at("step/forward").count, 3);
  EXPECT_EQ(ranges.at("step/forward").launches, 6);
  EXPECT_EQ(launch_of(result, "third#1").range, "step");
  EXPECT_EQ(launch_of(result, "second#2").range, "step/forward");
  EXPECT_LE(ranges.at("step/forward").complete, ranges.at("step").complete);
  EXPECT_LT(ranges.at("step/forward").host, ranges.at("step/forward").complete) << "launches are asynchronous";
  EXPECT_EQ(result.region->windows, 1) << "the steps follow each other without a gap";
  EXPECT_EQ(result.region->time, ranges.at("step").complete);
}

/// By two ranks, twice: a product, its sum over the ranks, then a product on one stream beside an all-reduce on
/// another.
RunResult parts_of_a_step(bool data) {
  SimulateOptions options = tiny({"system.sips.count=2", "system.sips.link.buffer=64KiB"});
  options.data = data;
  return simulate(options, [] {
    torch::multiprocessing::spawn(
        [](int rank, int ranks) {
          torch::ahbm::set_device(rank);
          dist::init_process_group("ahbm", rank, ranks);
          const auto a = torch::ones({128, 128}, torch::dtype(torch::kHalf).device("ahbm"));
          auto sum = torch::ones({4096}, torch::device("ahbm"));
          const torch::ahbm::Stream beside;
          dist::all_reduce(sum);  // sets up its channels
          torch::ahbm::synchronize();
          for (int i = 0; i < 2; ++i) {
            const record_function step("step");
            {
              const record_function range("product");
              torch::matmul(a, a);
            }
            {
              const record_function range("sum");
              dist::all_reduce(sum);
            }
            torch::ahbm::synchronize();
            const record_function range("both");
            {
              const torch::ahbm::StreamGuard other(beside);
              torch::matmul(a, a);
            }
            dist::all_reduce(sum);
            torch::ahbm::synchronize();
          }
        },
        std::tuple{2}, {.nprocs = 2});
  });
}

TEST(Region, PartsOfRangesAreComputationCommunicationBothAndNeither) {
  for (const bool data : {true, false}) {
    const RunResult result = parts_of_a_step(data);
    const auto ranges = ranges_of(result);
    const RangeResult &step = ranges.at("step"), &product = ranges.at("step/product"), &sum = ranges.at("step/sum"),
                      &both = ranges.at("step/both");
    EXPECT_EQ(product.communicating + product.overlapping, Time::zero());
    EXPECT_EQ(sum.computing + sum.overlapping, Time::zero());
    EXPECT_EQ(product.flops, 4 * 2.0 * 128 * 128 * 128);
    EXPECT_EQ(sum.flops, 0);
    EXPECT_EQ(step.flops, product.flops + both.flops);
    EXPECT_EQ(step.hbm_bytes.count(), (product.hbm_bytes + sum.hbm_bytes + both.hbm_bytes).count());
    // Each launch in its place: by the launches' own times, from the end of what was before them on their stream.
    Time computing, overlap;
    for (const LaunchResult& launch : result.launches) {
      if (launch.range == "step/product") computing += launch.end - launch.start;
      if (launch.range != "step/both" || launch.kernel != "matmul") continue;
      for (const LaunchResult& other : result.launches) {
        if (other.range != "step/both" || other.device != launch.device || other.kernel == "matmul") continue;
        overlap += std::max(std::min(launch.end, other.end) - std::max(launch.start, other.start), Time::zero());
      }
    }
    EXPECT_EQ(product.computing, computing);
    EXPECT_GT(overlap, Time::zero());
    EXPECT_EQ(both.overlapping, overlap);
    // The parts make up the whole, of a range and of those within it.
    for (const RangeResult* each : {&step, &product, &sum, &both})
      EXPECT_LE(each->computing + each->communicating + each->overlapping, each->complete) << each->name;
    EXPECT_EQ(step.computing, product.computing + sum.computing + both.computing);
    EXPECT_EQ(step.communicating, sum.communicating + both.communicating);
    EXPECT_LE(product.complete + sum.complete + both.complete, step.complete);
    EXPECT_EQ(sum.begun - product.begun > Time::zero(), true);
  }
}

TEST(Region, PartsOfRangesAreATableWhoseRowsMakeUpTheWhole) {
  const RunResult result = parts_of_a_step(true);
  const std::string table = report::to_table(result, {.kind = report::TableKind::full});
  const std::size_t at = table.find("Parts of ranges");
  ASSERT_NE(at, std::string::npos);
  const std::string section = table.substr(at, table.find("\n\n", at) - at);
  for (const char* row : {"  step  ", "    product  ", "    sum  ", "    both  "}) EXPECT_THAT(section, HasSubstr(row));
  EXPECT_LT(section.find("product"), section.find("sum  ")) << "in the order in which they began";
  EXPECT_THAT(section, Not(HasSubstr("    rest  "))) << "the parts are the whole";
  EXPECT_THAT(report::to_table(simulate(tiny(), [] { three_launches(true); }), {.kind = report::TableKind::full}),
              Not(HasSubstr("Parts of ranges")))
      << "no range lies within another";
}

TEST(Region, WhatNoPartOfARangeCoversIsTheRest) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::ones({1024}, one_pe());
    const record_function step("step");
    {
      const record_function part("part");
      launch("within", x);
      torch::ahbm::synchronize();
    }
    launch("after", x);
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(report::to_table(result, {.kind = report::TableKind::full}),
              ContainsRegex("\n  step  [^\n]*\n    part  [^\n]*\n    rest  "));
}

TEST(Region, RangesMayEndInAnyOrder) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::ones({1024}, one_pe());
    auto a = std::make_unique<record_function>("a");
    auto b = std::make_unique<record_function>("b");
    a.reset();
    launch("in_b", x);
    torch::ahbm::synchronize();
    b.reset();
    launch("outside", x);
    torch::ahbm::synchronize();
    const record_function c("c");
  });
  EXPECT_EQ(launch_of(result, "in_b#0").range, "a/b");
  EXPECT_EQ(launch_of(result, "outside#0").range, "");
  EXPECT_THAT(names_in_region(result), ElementsAre("in_b#0"));
  EXPECT_EQ(ranges_of(result).count("c"), 1u) << "what has ended is around nothing";
}

// Names and counts of launches go through all ranges around: without a limit they cost the square of the steps.
TEST(Region, ARangeThatIsOpenedBeforeTheOneBeforeItHasEndedIsFoundInALoop) {
  int steps = 0;
  const RunResult result = try_simulate(tiny(), [&steps] {
    std::unique_ptr<record_function> range;
    for (; steps < 5'000; ++steps) range = std::make_unique<record_function>("step");
  });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "NestingError");
  EXPECT_THAT(result.error->message, HasSubstr("range \"step\" would lie within 1000 others, and 999 is the limit"));
  EXPECT_EQ(steps, 1'000);
}

TEST(Region, OverlappingRangesOfSeveralRanksAreOneWindow) {
  SimulateOptions options = tiny({"system.sips.count=2", "system.sips.link.buffer=64KiB"});
  const RunResult result = simulate(options, [] {
    torch::multiprocessing::spawn(
        [](int rank, int ranks) {
          torch::ahbm::set_device(rank);
          dist::init_process_group("ahbm", rank, ranks);
          auto x = torch::ones({1024}, torch::device("ahbm"));
          torch::ahbm::synchronize();
          dist::barrier();
          const record_function range(rank == 0 ? "even" : "odd");
          dist::all_reduce(x);
        },
        std::tuple{2}, {.nprocs = 2});
  });
  ASSERT_TRUE(result.region);
  EXPECT_EQ(result.region->windows, 1);
  const auto ranges = ranges_of(result);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_GE(result.region->time, std::max(ranges.at("even").complete, ranges.at("odd").complete));
  EXPECT_LT(result.region->time, ranges.at("even").complete + ranges.at("odd").complete);
  EXPECT_FALSE(names_in_region(result).empty());
}

// The ends of channels are made when they are first used, here within the range, between the PEs' other resources.
TEST(Region, AroundEverythingCountsEachResourceAsTheWholeRunDoes) {
  SimulateOptions options = tiny({"system.sips.count=2"});
  const auto all_reduces = [] {
    const record_function range("everything");
    torch::multiprocessing::spawn(
        [](int rank, int ranks) {
          torch::ahbm::set_device(rank);
          dist::init_process_group("ahbm", rank, ranks);
          auto x = torch::ones({1024}, torch::device("ahbm"));
          for (int i = 0; i < 2; ++i) {
            const record_function each("all_reduce");
            dist::all_reduce(x);
            torch::ahbm::synchronize();
          }
        },
        std::tuple{2}, {.nprocs = 2});
  };
  const RunResult part = simulate(options, all_reduces);
  options.whole_run = true;
  const RunResult whole = simulate(options, all_reduces);
  ASSERT_TRUE(part.region);
  EXPECT_EQ(part.region->time, whole.simulated_time);
  ASSERT_EQ(part.resources.size(), whole.resources.size());
  int queues = 0;
  for (std::size_t i = 0; i < whole.resources.size(); ++i) {
    const ResourceResult &a = part.resources[i], &b = whole.resources[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.busy, b.busy) << b.name;
    EXPECT_EQ(a.bytes, b.bytes) << b.name;
    if (b.name.find("ipcq") != std::string::npos) ++queues;
  }
  EXPECT_GT(queues, 0);
}

TEST(Region, TheProfilersStartAndStopMarkOneToo) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::ones({1024}, one_pe());
    launch("before", x);
    torch::ahbm::synchronize();
    profiler::start();
    profiler::start();  // has no effect
    launch("inside", x);
    profiler::stop();
    torch::ahbm::synchronize();
    launch("after", x);
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(names_in_region(result), ElementsAre("inside#0"));
  EXPECT_EQ(result.region->end, launch_of(result, "inside#0").end);
  EXPECT_THAT(result.ranges, IsEmpty()) << "it has no name";
}

TEST(Region, WithoutAStopLastsToTheRunsEnd) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::ones({1024}, one_pe());
    torch::ahbm::synchronize();
    profiler::start();
    launch("inside", x);
    torch::ahbm::synchronize();
  });
  ASSERT_TRUE(result.region);
  EXPECT_EQ(result.region->end, result.simulated_time);
  EXPECT_THAT(names_in_region(result), ElementsAre("inside#0"));
}

TEST(Region, AnEmptyOneHasNothingInIt) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::ones({1024}, one_pe());
    launch("before", x);
    torch::ahbm::synchronize();
    {
      const record_function range("nothing");
    }
    launch("after", x);
    torch::ahbm::synchronize();
  });
  ASSERT_TRUE(result.region);
  EXPECT_EQ(result.region->time, Time::zero());
  EXPECT_THAT(names_in_region(result), IsEmpty());
  EXPECT_THAT(result.resources, IsEmpty());
  EXPECT_THAT(result.warnings, ::testing::Contains(HasSubstr("region of interest is empty")));
  for (const auto kind : {report::TableKind::brief, report::TableKind::full}) {
    EXPECT_THAT(report::to_table(result, {.kind = kind}), HasSubstr("region of interest is empty"));
  }
}

TEST(Region, MisuseIsAnErrorThatSaysWhatToDo) {
  EXPECT_EQ(error_type_of([] { profiler::stop(); }), "ProfilerError");
  EXPECT_THAT(error_of([] {
                profiler::start();
                profiler::stop();
                profiler::stop();
              }),
              HasSubstr("without a start() of this rank"));
  EXPECT_THAT(error_of([] { const record_function range(""); }), HasSubstr("must not be empty"));
  EXPECT_THAT(error_of([] { const record_function range("a/b"); }), HasSubstr("found \"a/b\""));
  EXPECT_EQ(error_type_of([] {
              torch::launch("k", [](tl::Tensor) { const record_function range("x"); }, torch::ones({8}, one_pe()));
              torch::ahbm::synchronize();
            }),
            "ContextError");
}

TEST(Region, AnErrorWithinARangeKeepsWhatWasMeasured) {
  const RunResult result = try_simulate(tiny(), [] {
    auto x = torch::ones({1024}, one_pe());
    torch::ahbm::synchronize();
    const record_function range("fails");
    launch("inside", x);
    torch::ahbm::synchronize();
    throw std::runtime_error("boom");
  });
  EXPECT_EQ(result.status, RunStatus::error);
  ASSERT_TRUE(result.region);
  EXPECT_THAT(names_in_region(result), ElementsAre("inside#0"));
}

TEST(Region, ADeadlockWithinARangeEndsCleanly) {
  const RunResult result = try_simulate(tiny({"system.sips.count=2", "system.sips.link.buffer=64KiB"}), [] {
    torch::multiprocessing::spawn(
        [](int rank, int ranks) {
          torch::ahbm::set_device(rank);
          dist::init_process_group("ahbm", rank, ranks);
          const record_function range("stuck");
          auto x = torch::ones({8}, torch::device("ahbm"));
          if (rank == 0) dist::recv(x, 1);
        },
        std::tuple{2}, {.nprocs = 2});
  });
  ASSERT_TRUE(result.error);
  EXPECT_TRUE(result.region);
}

TEST(Region, GoesThroughTheJson) {
  const RunResult result = simulate(tiny(), [] { three_launches(true); });
  const std::string json = report::to_json(result);
  EXPECT_EQ(report::to_json(report::from_json(json, "a.json")), json);
}

// ---- where the bytes are ---------------------------------------------------------------------------------------

/// Every program goes over the whole tensor in strides, or over its own shard.
void walk(tl::In x, bool own) {
  const std::int64_t block = 512;
  if (own) {
    const auto box = x.local_shard();
    for (std::int64_t i = 0; i < box.shape[0]; i += block) (void)tl::load(x, {box.offset[0] + i}, {block});
    return;
  }
  for (std::int64_t i = tl::program_id(0) * block; i < x.numel(); i += tl::num_programs(0) * block) {
    (void)tl::load(x, {i}, {block});
  }
}

RunResult walked(bool own, const std::string& topology) {
  SimulateOptions options;
  options.topology = topology;
  options.data = false;
  return simulate(options, [&] {
    auto x = torch::empty({1 << 20}, torch::device("ahbm"));
    torch::launch("walk", walk, x, own);
    torch::ahbm::synchronize();
  });
}

TEST(Distance, BytesOfALaunchAreSplitByWhereTheyAre) {
  const RunResult own = walked(true, "ahbm-1sip"), strided = walked(false, "ahbm-1sip");
  const LaunchResult &near = own.launches.back(), &far = strided.launches.back();
  EXPECT_EQ(near.distance.own_slice, Bytes(4 << 20));
  EXPECT_EQ(near.distance.same_cube + near.distance.same_sip + near.distance.other_sips, Bytes());
  EXPECT_EQ(far.distance.own_slice + far.distance.same_cube + far.distance.same_sip, Bytes(4 << 20));
  // 128 PEs in 16 cubes: a stride meets each slice alike.
  EXPECT_LT(far.distance.own_slice.count() * 64, 4 << 20);
  EXPECT_GT(far.distance.same_sip.count() * 10, (4 << 20) * 9);
  EXPECT_EQ(far.distance.other_sips, Bytes());
  EXPECT_THAT(own.warnings, IsEmpty());
  EXPECT_THAT(strided.warnings, ElementsAre(::testing::AllOf(HasSubstr("walk: "),
                                                             HasSubstr("of its bytes are in HBM slices of other PEs"),
                                                             HasSubstr("local_shard"))));
  EXPECT_THAT(report::to_table(strided, {.kind = report::TableKind::brief}), HasSubstr("HBM bytes"));
}

TEST(Distance, AKernelThatReadsBytesManyTimesIsNotToldToStayAtHome) {
  NOT_UNDER_SANITIZERS("long");
  SimulateOptions options;
  options.data = false;
  options.quick_plans = !takes_all_cases();
  const RunResult result = simulate(options, [] {
    const auto a = torch::empty({1024, 1024}, torch::dtype(torch::kHalf).device("ahbm"));
    torch::ahbm::matmul(a, a, {});
    torch::ahbm::synchronize();
  });
  for (const std::string& warning : result.warnings) EXPECT_THAT(warning, Not(HasSubstr("local_shard")));
}

/// Two cubes with 8 PEs each.
SimulateOptions with_16_slices() {
  SimulateOptions options = tiny({"sip.cubes.mesh=[1, 2]", "cube.pes.mesh=[2, 4]"});
  options.data = false;
  return options;
}

/// One of the slices has the tensor, or each has a part of it; every PE reads all of it.
void read_by_all(bool hot, bool computes = false) {
  auto table = torch::empty({1 << 14}, hot ? one_pe().name("table") : torch::device("ahbm").name("table"));
  torch::LaunchOptions all;
  all.all_pes = true;
  const auto read = [](tl::In x, bool compute) {
    for (std::int64_t i = 0; i < x.numel(); i += 4096) {
      auto tile = tl::load(x, {i}, {4096});
      for (int k = 0; compute && k < 128; ++k) tile = tl::tanh(tile);
    }
  };
  torch::launch(all, "read", read, table, computes);
  torch::ahbm::synchronize();
}

RunResult all_read(bool hot, bool computes) {
  return simulate(with_16_slices(), [&] { read_by_all(hot, computes); });
}

TEST(Distance, ASliceThatAllPesReadIsNamedWithItsTensor) {
  const auto hot =
      HasSubstr("read: the HBM slice of sip0.cube0.pe0 has 100 % of its bytes, 16 times the mean of its 16");
  EXPECT_THAT(all_read(true, false).warnings, ElementsAre(::testing::AllOf(hot, HasSubstr("replicate table,"))));
  EXPECT_THAT(all_read(false, false).warnings, IsEmpty());
  EXPECT_THAT(all_read(true, true).warnings, IsEmpty()) << "other things take its time";
}

TEST(Distance, ASliceThatAllPesWriteIsNotToldToBeReplicated) {
  const auto warnings = [](int reads) {
    return simulate(with_16_slices(),
                    [&] {
                      auto out = torch::empty({1 << 18}, one_pe().name("out"));
                      torch::LaunchOptions all;
                      all.all_pes = true;
                      const auto share = [](tl::Tensor x, int times) {
                        const std::int64_t size = x.numel() / tl::num_programs(0), first = tl::program_id(0) * size;
                        for (std::int64_t i = first; i < first + size; i += 4096) {
                          for (int k = 0; k < times; ++k) (void)tl::load(x, {i}, {4096});
                          tl::store(x, {i}, tl::zeros({4096}, DType::f32));
                        }
                      };
                      torch::launch(all, "share", share, out, reads);
                      torch::ahbm::synchronize();
                    })
        .warnings;
  };
  const auto hot = HasSubstr("share: the HBM slice of sip0.cube0.pe0 has 100 % of its bytes");
  const auto spread =
      ::testing::AllOf(hot, HasSubstr("slices: spread out over more slices"), Not(HasSubstr("replicate")));
  EXPECT_THAT(warnings(0), ::testing::Contains(spread));
  EXPECT_THAT(warnings(1), ::testing::Contains(spread));
  EXPECT_THAT(warnings(19), ::testing::Contains(::testing::AllOf(hot, HasSubstr("replicate out,"))));
}

TEST(Distance, HintsAreOfTheRegionOfInterestWhereThereIsOne) {
  const auto warnings = [](bool hot_before, bool hot_within, bool whole_run) {
    SimulateOptions options = with_16_slices();
    options.whole_run = whole_run;
    return simulate(options,
                    [&] {
                      read_by_all(hot_before);
                      const record_function range("of interest");
                      read_by_all(hot_within);
                    })
        .warnings;
  };
  const auto hot = ::testing::Contains(HasSubstr("read: the HBM slice of sip0.cube0.pe0"));
  EXPECT_THAT(warnings(true, false, false), Not(hot)) << "the longest launch is outside";
  EXPECT_THAT(warnings(true, false, true), hot);
  EXPECT_THAT(warnings(false, true, false), hot);
}

TEST(Distance, BytesFromAfarAreNoMatterWhereComputationTakesTheTime) {
  const auto warnings = [](int steps) {
    SimulateOptions options = tiny();
    options.data = false;
    return simulate(options,
                    [&] {
                      auto x = torch::empty({1 << 17}, torch::device("ahbm"));
                      const auto swapped = [](tl::In from, int count) {
                        const auto box = from.local_shard(0);
                        auto tile = tl::load(from, {from.numel() / 2 - box.offset[0]}, {box.shape[0]});
                        for (int i = 0; i < count; ++i) tile = tl::tanh(tile);
                      };
                      torch::launch("swapped", swapped, x, steps);
                      torch::ahbm::synchronize();
                    })
        .warnings;
  };
  EXPECT_THAT(warnings(0), ElementsAre(HasSubstr("local_shard")));
  EXPECT_THAT(warnings(16), IsEmpty());
}

TEST(Distance, AtomicsThatMeetAreToldToReduceFirst) {
  const auto warnings = [](bool together, std::int64_t count) {
    SimulateOptions options = tiny();
    return simulate(options,
                    [&] {
                      auto sum = torch::zeros({64}, one_pe().name("sum"));
                      torch::ahbm::synchronize();
                      torch::LaunchOptions all;
                      all.all_pes = true;
                      const auto add = [](tl::Tensor x, bool one, std::int64_t times) {
                        for (std::int64_t i = 0; i < times; ++i) {
                          const std::int64_t at = one ? 0 : (2 * i + tl::program_id(0)) % 4 * 16;
                          tl::atomic_add(x.data_ptr() + at, 1.0f, {.order = tl::MemoryOrder::relaxed});
                        }
                      };
                      torch::launch(all, "add", add, sum, together, count);
                      torch::ahbm::synchronize();
                    })
        .warnings;
  };
  EXPECT_THAT(warnings(true, 32),
              ElementsAre(HasSubstr("add: 64 atomics or more meet on one access of the HBM slice of "
                                    "sip0.cube0.pe0 (element [0] of sum)")));
  EXPECT_THAT(warnings(false, 32), IsEmpty()) << "each PE has places of its own";
  EXPECT_THAT(warnings(true, 1), IsEmpty()) << "each PE has reduced before";
}

TEST(Distance, IdlePesAreSaid) {
  const auto warnings = [](std::int64_t pes) {
    SimulateOptions options;
    options.data = false;
    return simulate(options,
                    [&] {
                      auto x = torch::empty({1 << 18}, torch::device("ahbm"));
                      torch::LaunchOptions some;
                      for (std::int32_t i = 0; i < pes; ++i) some.pes.emplace_back(CubeId{i / 8}, PeId{i % 8});
                      torch::launch(some, "some", walk, x, false);
                      torch::ahbm::synchronize();
                    })
        .warnings;
  };
  EXPECT_THAT(warnings(63), ::testing::Contains(HasSubstr("some runs on 63 of 128 PEs")));
  EXPECT_THAT(warnings(64), Not(::testing::Contains(HasSubstr("64 of 128"))));
}

TEST(Distance, ARankThatHasOnePeUsesAllOfIt) {
  SimulateOptions options;
  options.data = false;
  const RunResult result = simulate(options, [] {
    torch::multiprocessing::spawn(
        [](int rank, int ranks) {
          dist::init_process_group("ahbm", rank, ranks);
          const auto x = torch::zeros({1024}, torch::device("ahbm"));
          launch("mine", x);
          torch::ahbm::synchronize();
        },
        std::tuple{8}, {.nprocs = 8});
  });
  ASSERT_FALSE(result.launches.empty());
  for (const LaunchResult& each : result.launches) {
    if (each.name.starts_with("mine")) {
      EXPECT_EQ(each.available_pes, 1) << each.name;
    }
  }
  EXPECT_THAT(result.warnings, Not(::testing::Contains(HasSubstr("mine runs on"))));
}

}  // namespace
}  // namespace kernbench
