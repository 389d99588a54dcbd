// Every interval explained: what operations waited for and did tiles their durations, and the critical path its launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "hardware/pe/command_queue.h"
#include "programs.h"
#include "report/difference/difference.h"
#include "report/json/json.h"
#include "report/json/read_json.h"
#include "runtime/context.h"
#include "runtime/simulation.h"
#include "support/sanitizers.h"
#include "tile/explain/explainer.h"
#include "tile/program/launch.h"
#include "tile/program/program.h"

namespace kernbench::explain_test {
namespace {

using testing::one_pe;
using testing::tiny;
using tile::Activity;
using tile::Interval;

std::int64_t draw(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
}

/// Loads, products, arithmetic, stores and scalar reads at random; holds up to four tiles.
void random_kernel(tl::Tensor x, tl::Tensor y, std::int64_t seed) {
  std::mt19937 random(static_cast<std::uint32_t>(seed * 131 + tl::program_id()));
  std::vector<tl::Tile> tiles{tl::full({16, 16}, 0.5f, DType::f32)};
  for (std::int64_t step = 0, steps = draw(random, 5, 40); step < steps; ++step) {
    const auto& tensor = random() % 2 == 0 ? x : y;
    const std::int64_t row = draw(random, 0, 40), column = draw(random, 0, 50);
    tl::Tile& any = tiles[random() % tiles.size()];
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        tiles.push_back(tl::load(tensor, {row, column}, {16, 16}, {.other = 0.5f}));
        break;
      case 3:
        tl::store(tensor, {row, column}, any);
        break;
      case 4:
        any = tl::dot(any, tiles.back(), any);
        break;
      case 5:
        any = tl::exp(any * 0.01f);
        break;
      case 6:
        any = any + tiles.front();
        break;
      case 7:
        tl::item_or(tl::max(any), 1.0f);
        break;
    }
    if (tiles.size() > 4) tiles.erase(tiles.begin());
  }
}

/// An interval of an operation with what ended it, good after the command is gone.
struct Passed {
  Interval interval;
  hardware::Cause cause;
};

struct Seen {
  const char* kind;
  Time requested, started, finished, translation;
  hardware::CommandBound bound;
  std::vector<Passed> intervals;
  std::string program, engine;
};

class Recorder final : public tile::OperationConsumer {
 public:
  void on_operation(const tile::OperationRecord& operation) override {
    const tile::Program& program = operation.program();
    const hardware::Command& command = operation.command();
    const hardware::Timeline& times = command.times;
    const auto bound = program.environment().machine.least(program.coordinate(), command);
    seen.push_back({command.kind,
                    times.requested,
                    times.started,
                    times.finished,
                    times.translation,
                    bound,
                    {},
                    program.pe().name() + " " + program.launch().name,
                    operation.queue()->wait_name()});
    tile::for_each_interval(command, {times.finished, bound, {}, {}, {}, {}}, [&](const Interval& interval) {
      seen.back().intervals.push_back({interval, interval.cause != nullptr ? *interval.cause : hardware::Cause()});
    });
    names[{seen.back().program, operation.number()}] = seen.size() - 1;
  }

  std::vector<Seen> seen;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> names;
};

struct Explained {
  RunResult result;
  Recorder recorder;
};

std::vector<std::string> narrow(std::int64_t seed) {
  std::vector<std::string> overrides{"pe.mmu.miss=120ns", "pe.mmu.page=1KiB", "pe.mmu.walkers=2"};
  if (seed % 4 == 1) overrides.emplace_back("pe.mmu.tlb_entries=4");
  if (seed % 2 == 0) overrides.emplace_back("pe.tcm.capacity=8KiB");
  if (seed % 3 == 0) overrides.insert(overrides.end(), {"pe.dma.depth=1", "pe.vector.queue=2", "pe.gemm.queue=1"});
  if (seed % 5 == 0) overrides.emplace_back("sip.cubes.mesh=[2, 2]");
  return overrides;
}

void explain(Explained& out, std::int64_t seed, SimulateOptions options) {
  out.result = simulate(options, [&] {
    runtime::current_context("test").simulation.operations().subscribe(out.recorder, {tile::Topic::operations});
    auto x = torch::ones({48, 64}, torch::device("ahbm")), y = torch::ones({48, 64}, torch::device("ahbm"));
    torch::launch("random", random_kernel, x, y, seed);
    torch::launch("random", random_kernel, y, x, seed + 1);
    torch::ahbm::synchronize();
  });
}

Time sum_of(const Seen& seen) {
  Time at = seen.requested;
  for (const Passed& passed : seen.intervals) {
    EXPECT_EQ(passed.interval.start, at) << "no gap and no overlap";
    EXPECT_LT(passed.interval.start, passed.interval.end);
    at = passed.interval.end;
  }
  EXPECT_EQ(at, seen.finished);
  return at - seen.requested;
}

TEST(Explain, TheIntervalsOfEveryOperationTileItsDurationAndNameWhatEndedThem) {
  constexpr std::int64_t kSeeds = kSanitized ? 50 : 200;
  std::map<Activity, std::int64_t> count;
  for (std::int64_t seed = 0; seed < kSeeds; ++seed) {
    Explained run;
    explain(run, seed, tiny(narrow(seed)));
    ASSERT_FALSE(run.recorder.seen.empty());
    for (const Seen& each : run.recorder.seen) {
      ASSERT_EQ(sum_of(each), each.finished - each.requested) << "seed " << seed;
      ASSERT_LE(each.bound.total() + each.translation, each.finished - each.started) << each.kind << ", seed " << seed;
      for (const auto& [interval, cause] : each.intervals) {
        ++count[interval.activity];
        const bool has_cause = interval.activity == Activity::tcm || interval.activity == Activity::queue ||
                               interval.activity == Activity::operand || interval.activity == Activity::order ||
                               interval.activity == Activity::engine;
        ASSERT_EQ(cause.known(), has_cause) << "seed " << seed << " " << static_cast<int>(interval.activity);
        if (!has_cause) continue;
        const auto found = run.recorder.names.find({each.program, cause.name.number});
        ASSERT_NE(found, run.recorder.names.end());
        const Seen& before = run.recorder.seen[found->second];
        ASSERT_STREQ(before.kind, cause.kind);
        const bool set_up = interval.activity == Activity::engine &&
                            before.started + before.bound.setup + before.translation == interval.end;
        const bool entered =
            interval.activity == Activity::engine && before.engine.ends_with("gemm") && before.started < interval.end;
        ASSERT_TRUE(before.finished == interval.end || set_up || entered) << "seed " << seed;
      }
    }
  }
  // Otherwise this test has not seen what it is about.
  for (const Activity activity : {Activity::tcm, Activity::queue, Activity::issue, Activity::operand, Activity::order,
                                  Activity::engine, Activity::setup, Activity::translation, Activity::request,
                                  Activity::data, Activity::contention, Activity::compute}) {
    EXPECT_GT(count[activity], kSeeds / 10) << static_cast<int>(activity);
  }
}

TEST(Explain, TheWorkOfAllOperationsIsWhatTheEnginesCounted) {
  for (std::int64_t seed = 0; seed < 40; ++seed) {
    Explained run;
    explain(run, seed, tiny(narrow(seed)));
    // An engine is busy while any operation is under way; a DMA queue has several.
    std::map<std::string, std::map<Time, Time>> under_way;  // latest finish of those with this start
    Time of_operations;
    for (const Seen& each : run.recorder.seen) {
      Time& finish = under_way[each.engine][each.started];
      finish = std::max(finish, each.finished);
      of_operations += each.finished - each.started;
    }
    std::map<std::string, Time> work, counted;
    for (const auto& [engine, operations] : under_way) {
      Time end;
      for (const auto& [start, finish] : operations) {
        if (finish > end) work[engine] += finish - std::max(start, end);
        end = std::max(end, finish);
      }
    }
    for (const ResourceResult& resource : run.result.resources) {
      if (work.count(resource.name) > 0) counted[resource.name] = resource.busy;
    }
    ASSERT_EQ(work, counted) << "seed " << seed;
    Time of_kinds;
    for (const LaunchResult& launch : run.result.launches) {
      for (const OperationResult& kind : launch.operations) of_kinds += kind.work;
    }
    ASSERT_EQ(of_kinds, of_operations);
  }
}

TEST(Explain, TheCriticalPathTilesTheLaunchAndNoBoundExceedsTheTime) {
  constexpr std::int64_t kSeeds = kSanitized ? 50 : 200;
  std::set<std::string> activities;
  std::int64_t complete = 0;  // launches whose list of waits was not cut
  for (std::int64_t seed = 0; seed < kSeeds; ++seed) {
    Explained run;
    explain(run, seed, tiny(narrow(seed)));
    ASSERT_EQ(run.result.launches.size(), 4u);
    for (const LaunchResult& launch : run.result.launches) {
      Time path;
      for (const PathPart& part : launch.critical_path) {
        ASSERT_GT(part.time, Time::zero());
        path += part.time;
        activities.insert(part.activity);
      }
      ASSERT_EQ(path, launch.end - launch.start) << "seed " << seed;
      ASSERT_LE(launch.bound, launch.end - launch.start) << "seed " << seed;
      ASSERT_GT(launch.bound, Time::zero());
      Time waits, waiting, beyond, beyond_bound;
      bool cut = false;
      for (const WaitResult& wait : launch.waits) {
        if (wait.reason == "other") cut = true;
        if (wait.operation.empty()) continue;
        const bool work = wait.reason == "contention" || wait.reason == "TLB miss" || wait.reason == "link buffer";
        (work ? beyond : waits) += wait.time;
      }
      for (const OperationResult& kind : launch.operations) {
        ASSERT_LE(kind.bound, kind.work);
        waiting += kind.waiting;
        if (kind.engine == "dma") beyond_bound += kind.work - kind.bound;
      }
      if (cut) continue;
      ++complete;
      ASSERT_EQ(waits, waiting) << "what operations waited, by reason and by kind; seed " << seed;
      ASSERT_EQ(beyond, beyond_bound) << "what walks and contention added; seed " << seed;
    }
  }
  EXPECT_GT(complete, 2 * kSeeds);
  // What no other operation ended is all that the path may wait for.
  for (const char* found :
       {"dispatch", "completion", "gemm", "vector", "dma data", "dma latency", "dma setup", "contention", "issue"}) {
    EXPECT_TRUE(activities.count(found)) << found;
  }
  for (const char* never : {"operand", "memory order", "engine busy", "queue full", "TCM full", "value", "drain"}) {
    EXPECT_FALSE(activities.count(never)) << never << ": another operation ended it, and the path goes on there";
  }
}

bool same(const LaunchResult& a, const LaunchResult& b) {
  const auto part = [](const PathPart& p, const PathPart& q) {
    return p.activity == q.activity && p.operation == q.operation && p.where == q.where && p.on == q.on &&
           p.time == q.time && p.count == q.count;
  };
  const auto segment = [](const PathSegment& p, const PathSegment& q) {
    return p.activity == q.activity && p.operation == q.operation && p.where == q.where && p.on == q.on &&
           p.start == q.start && p.end == q.end;
  };
  const auto wait = [](const WaitResult& p, const WaitResult& q) {
    return p.reason == q.reason && p.operation == q.operation && p.where == q.where && p.cause == q.cause &&
           p.cause_where == q.cause_where && p.time == q.time && p.count == q.count;
  };
  return a.name == b.name && a.bound == b.bound && a.bound_by == b.bound_by &&
         std::ranges::equal(a.critical_path, b.critical_path, part) && std::ranges::equal(a.waits, b.waits, wait) &&
         std::ranges::equal(a.longest_segments, b.longest_segments, segment);
}

TEST(Explain, ExactEventsAndNoDataGiveTheSameExplanation) {
  for (std::int64_t seed = 0; seed < (kSanitized ? 15 : 60); ++seed) {
    Explained reference, exact, no_data;
    SimulateOptions options = tiny(narrow(seed));
    explain(reference, seed, options);
    options.exact_events = true;
    explain(exact, seed, options);
    options.exact_events = false;
    options.data = false;
    explain(no_data, seed, options);
    for (std::size_t i = 0; i < reference.result.launches.size(); ++i) {
      ASSERT_TRUE(same(reference.result.launches[i], exact.result.launches[i])) << "seed " << seed;
      ASSERT_TRUE(same(reference.result.launches[i], no_data.result.launches[i])) << "seed " << seed;
    }
  }
}

TEST(Explain, ALaunchOfOneLoadIsBoundByItAndTheLineIsNamed) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::zeros({64, 64}, one_pe());
    torch::launch("one", [](tl::In a) { tl::load(a, {0, 0}, {64, 64}); }, x);
    torch::ahbm::synchronize();
  });
  const LaunchResult& launch = result.launches.back();
  ASSERT_EQ(launch.name, "one#0");
  std::map<std::string, PathPart> parts;
  for (const PathPart& part : launch.critical_path) parts[part.activity] = part;
  for (const char* activity : {"issue", "dma setup", "dma latency", "dma data"}) {
    EXPECT_EQ(parts[activity].operation, "load");
    EXPECT_THAT(parts[activity].where, ::testing::StartsWith("explain_test.cpp:"));
  }
  EXPECT_EQ(parts.count("contention"), 0u);
  ASSERT_EQ(launch.operations.size(), 1u);
  EXPECT_EQ(launch.operations[0].bound, launch.operations[0].work) << "alone, a transfer takes the time of its bound";
  EXPECT_EQ(launch.bound_by, "launch") << "its way out and back is longer than the load";
  ASSERT_EQ(launch.longest_segments.front().activity, "dispatch");
  for (std::size_t i = 1; i < launch.longest_segments.size(); ++i) {
    EXPECT_GE(launch.longest_segments[i].start, launch.longest_segments[i - 1].end);
  }
}

TEST(Explain, TheLatencyOfALoadIsNotItsData) {
  const auto parts_with = [](const std::string& latency, std::int64_t columns) {
    const RunResult result = simulate(tiny({"cube.hbm.latency=" + latency}), [columns] {
      auto x = torch::zeros({1, 1024}, one_pe());
      torch::launch("one", [](tl::In a, std::int64_t size) { tl::load(a, {0, 0}, {1, size}); }, x, columns);
      torch::ahbm::synchronize();
    });
    std::map<std::string, Time> parts;
    for (const PathPart& part : result.launches.back().critical_path) parts[part.activity] += part.time;
    EXPECT_EQ(result.launches.back().operations.front().bytes, Bytes(4 * columns));
    return parts;
  };
  auto quick = parts_with("100ns", 64), slow = parts_with("300ns", 64), large = parts_with("100ns", 1024);
  EXPECT_EQ(slow["dma latency"] - quick["dma latency"], Time::nanoseconds(200));
  EXPECT_GE(quick["dma latency"], Time::nanoseconds(100));
  for (const char* activity : {"dma setup", "dma request", "dma data"}) EXPECT_EQ(slow[activity], quick[activity]);
  EXPECT_EQ(large["dma latency"], quick["dma latency"]);
  EXPECT_GT(large["dma data"], quick["dma data"] * 2);
  EXPECT_LT(quick["dma data"], quick["dma latency"]);
}

TEST(Explain, ContentionNamesTheBusiestServerOnTheWay) {
  // Both PEs read what lies on the first one: they wait for its channels, or for the link out of them that both use.
  const auto most_contended = [](const std::vector<std::string>& overrides) {
    const RunResult result = simulate(tiny(overrides), [] {
      auto x = torch::zeros({256, 256}, one_pe());
      torch::LaunchOptions launch;
      for (int pe = 0; pe < 2; ++pe) launch.pes.push_back({CubeId{0}, PeId{pe}});
      torch::launch(
          launch, "read",
          [](tl::In a) {
            for (std::int64_t row = 0; row < 256; row += 16) tl::load(a, {row, 0}, {16, 256});
          },
          x);
      torch::ahbm::synchronize();
    });
    for (const WaitResult& wait : result.launches.back().waits) {
      if (wait.reason == "contention") return wait.cause;
    }
    return std::string("no contention");
  };
  EXPECT_EQ(most_contended({"cube.hbm.bandwidth=10GB/s"}), "sip*.cube*.pe*.hbm.channel*");
  EXPECT_EQ(most_contended({"cube.noc.link.bandwidth=1GB/s"}), "sip*.cube*.pe*.hbm.out");
}

TEST(Explain, TheRooflineNamesTheBindingRoofOfTheUsedPartsAndOfTheDevice) {
  const RunResult result = simulate(tiny(), [] {
    auto a = torch::zeros({64, 64}, one_pe(DType::f16));
    torch::launch(
        "reuse",
        [](tl::In x) {
          auto tile = tl::load(x, {0, 0}, {64, 64});
          auto sum = tl::dot(tile, tile);
          for (int i = 0; i < 20; ++i) sum = tl::dot(tile, tile, sum);
        },
        a);
    torch::ahbm::synchronize();
  });
  const LaunchResult& launch = result.launches.back();
  const Roofline& roofline = launch.roofline;
  EXPECT_EQ(roofline.engine, "gemm");
  EXPECT_DOUBLE_EQ(roofline.intensity, 21 * 2.0 * 64 * 64 * 64 / (64 * 64 * 2));
  EXPECT_DOUBLE_EQ(roofline.attained, launch.flops / (launch.end - launch.start).in_seconds());
  EXPECT_TRUE(roofline.used.compute_bound);
  EXPECT_NEAR(roofline.device.compute, result.peak_flops, 1e-6 * result.peak_flops);
  EXPECT_NEAR(roofline.device.bandwidth, static_cast<double>(result.peak_hbm_bandwidth.count()), 1);
  EXPECT_NEAR(roofline.used.compute * 2, roofline.device.compute, 1) << "one of two PEs";
  EXPECT_NEAR(roofline.used.bandwidth * 2, roofline.device.bandwidth, 1);
  EXPECT_LE(roofline.used.share, 1);
  EXPECT_EQ(launch.bound_by, "launch") << "21 small products take less than its way out and back";
}

/// Two programs share each PE: they wait for each other's commands and tiles.
TEST(Explain, WaitsThatAnotherLaunchEndedStayOnTheCriticalPathWhichStillTiles) {
  std::set<std::string> waits;
  for (std::int64_t seed = 0; seed < 40; ++seed) {
    const auto program = [&] {
      auto& simulation = runtime::current_context("test").simulation;
      sim::Completion both;
      int completed = 0;
      for (const std::int64_t which : {0, 1}) {
        tile::KernelLaunch launch;
        launch.sip = SipId{0};
        launch.name = which == 0 ? "left#0" : "right#0";
        launch.pes = {{SipId{0}, CubeId{0}, PeId{0}}, {SipId{0}, CubeId{0}, PeId{1}}};
        launch.grid = {{2, 1, 1}};
        launch.body = [seed, which] {
          std::mt19937 random(static_cast<std::uint32_t>(seed * 2 + which));
          std::vector<tl::Tile> tiles{tl::full({32, 32}, 0.5f, DType::f32)};
          for (int step = 0; step < 20; ++step) {
            const tl::Tile& any = tiles[random() % tiles.size()];
            tiles.push_back(random() % 2 == 0 ? tl::dot(any, tiles.back()) : tl::exp(any * 0.01f));
            if (tiles.size() > 2) tiles.erase(tiles.begin());
            if (random() % 4 == 0) tl::item_or(tl::max(tiles.back()), 1.0f);
          }
        };
        launch.completed = [&](const hardware::LaunchTimes&, const tile::LaunchRecord& record) {
          auto& environment = simulation.environment();
          Time all;
          for (const tile::PathSum& sum : environment.explainer->critical_path(*record.explanation).sums) {
            const tile::PathKey& key = environment.explainer->paths().key(sum.key);
            all += sum.time;
            waits.insert(std::string(name(key.activity, key.engine)));
          }
          EXPECT_EQ(all, record.last_end - record.last_start) << "seed " << seed;
          if (++completed == 2) both.set();
        };
        tile::start(simulation.environment(), std::move(launch));
      }
      both.wait();
    };
    simulate(tiny({"pe.tcm.capacity=32KiB"}), program);
  }
  EXPECT_TRUE(waits.count("engine busy"));
  EXPECT_TRUE(waits.count("TCM full"));
}

TEST(Explain, LaunchesComeInTheOrderInWhichTheyStarted) {
  Explained run;
  explain(run, 1, tiny());
  EXPECT_TRUE(std::ranges::is_sorted(run.result.launches, {}, &LaunchResult::start));
}

TEST(Explain, TheResultHoldsTheMachine) {
  const RunResult result = simulate(tiny({"cube.hbm.bandwidth=600GB/s"}), [] {});
  const auto value = [&](const std::string& key) {
    const auto found = std::ranges::find(result.machine, key, &std::pair<std::string, std::string>::first);
    return found == result.machine.end() ? "" : found->second;
  };
  EXPECT_EQ(value("cube.hbm.bandwidth"), "600GB/s");
  EXPECT_EQ(value("name"), "tiny");
  EXPECT_FALSE(value("pe.clock").empty());
}

// ---- what differs between two runs ---------------------------------------------------------------------------------

/// A kernel that uses every part of the machine, its neighbour's slice too; through JSON and back.
RunResult compared(const std::vector<std::string>& overrides) {
  const RunResult result = simulate(tiny(overrides), [] {
    auto x = torch::ones({128, 64}, torch::dtype(torch::kHalf).device("ahbm"));
    auto y = torch::ones({128, 64}, torch::dtype(torch::kHalf).device("ahbm"));
    torch::launch(
        "all parts",
        [](tl::In a, tl::Tensor b) {
          for (std::int64_t row = 0; row < 128; row += 32) {
            const auto tile = tl::load(a, {row, 0}, {32, 32});
            const auto product = tl::dot(tile, tl::load(a, {96 - row, 32}, {32, 32}));
            tl::store(b, {row, 0}, tl::exp(product * 0.001f));
          }
        },
        x, y);
    y.cpu();
  });
  return report::from_json(report::to_json(result), "result");
}

TEST(Explain, TheDifferenceOfTwoRunsNamesTheChangedResourceFirst) {
  const std::pair<const char*, const char*> changes[] = {
      {"cube.hbm.bandwidth=10GB/s", "HBM channels"}, {"cube.noc.link.bandwidth=5GB/s", "links"},
      {"pe.gemm.array=[4, 4]", "GEMM engines"},      {"pe.vector.lanes=4", "vector engines"},
      {"pe.dma.setup=500ns", "DMA queues"},          {"pe.tcm.bandwidth=20GB/s", "TCM ports"},
      {"host.link.bandwidth=1GB/s", "host links"},   {"cube.m_cpu.latency=3us", "processors"},
  };
  const RunResult before = compared({});
  for (const auto& [change, part] : changes) {
    SCOPED_TRACE(change);
    // A second change matters less, and comes first in the order of names.
    const RunResult after = compared({change, "cube.hbm.buffer=15KiB"});
    const report::Difference difference = report::difference(before, after);
    EXPECT_FALSE(difference.same_outcome());
    ASSERT_EQ(difference.inputs.size(), 2u);
    const std::string setting = change;
    EXPECT_EQ(difference.inputs[0].key, setting.substr(0, setting.find('=')));
    EXPECT_EQ(difference.inputs[0].b, setting.substr(setting.find('=') + 1));
    EXPECT_EQ(difference.inputs[0].part, part);
    EXPECT_GT(difference.inputs[0].busy_b, difference.inputs[0].busy_a);
    EXPECT_GT(difference.time_b, difference.time_a);
    EXPECT_FALSE(difference.resources.empty());
  }
  EXPECT_TRUE(report::difference(before, compared({})).same_outcome());
}

/// The time of the parts of a path with this activity, by what they say else: "waiting sip*.io.cpu".
std::map<std::string, Time> parts_of(const LaunchResult& launch, const std::string& activity) {
  std::map<std::string, Time> parts;
  for (const PathPart& part : launch.critical_path) {
    if (part.activity == activity) parts[part.operation + (part.operation.empty() ? "" : " ") + part.on] += part.time;
  }
  return parts;
}

/// Of the part of the path with most time whose activity and operation these are.
std::string instance_of(const LaunchResult& launch, const std::string& activity, const std::string& operation) {
  for (const PathPart& part : launch.critical_path) {
    if (part.activity == activity && part.operation == operation) return part.instance;
  }
  return "none";
}

TEST(Explain, APartOfThePathNamesTheOneSliceThatAllOfItIsDueTo) {
  const auto path = [](const torch::TensorOptions& where) {
    const RunResult result = simulate(tiny(), [&] {
      auto table = torch::zeros({1 << 14}, where);
      torch::LaunchOptions all;
      all.all_pes = true;
      const auto read = [](tl::In x) {
        for (std::int64_t i = 0; i < x.numel(); i += 4096) (void)tl::load(x, {i}, {4096});
      };
      torch::launch(all, "hot", read, table);
      torch::ahbm::synchronize();
    });
    return result.launches.back();
  };
  const LaunchResult hot = path(one_pe());
  EXPECT_THAT(instance_of(hot, "contention", "load"), ::testing::StartsWith("sip0.cube0.pe0.hbm.channel"));
  EXPECT_EQ(instance_of(hot, "dispatch", "message of host"), "") << "the launch's own ways";
  for (const PathPart& part : hot.critical_path) {
    if (part.on.empty() && part.activity != "dispatch" && part.activity != "completion" && part.activity != "program") {
      EXPECT_EQ(part.instance, hot.last_pe) << part.activity;
    }
  }
}

TEST(Explain, APathThroughMessagesNamesThePeThatWasSlow) {
  const RunResult result = simulate(tiny(), [] {
    auto out = torch::zeros({64, 64}, one_pe());
    torch::LaunchOptions two;
    two.all_pes = true;
    two.queues.pairs = {{1, 0}};
    const auto relay = [](tl::Tensor to) {
      if (tl::member_index() == 0) {
        tl::store(to, {0, 0}, tl::recv(DType::f32, {64, 64}, tl::member(1)) + 1.0f);
        return;
      }
      auto tile = tl::full({64, 64}, 0.5f, DType::f32);
      for (int i = 0; i < 8; ++i) tile = tl::tanh(tile);
      tl::send(tile, tl::member(0));
    };
    torch::launch(two, "relay", relay, out);
    torch::ahbm::synchronize();
  });
  const LaunchResult& launch = result.launches.back();
  EXPECT_EQ(launch.last_pe, "sip0.cube0.pe0");
  EXPECT_EQ(instance_of(launch, "vector", "tanh"), "sip0.cube0.pe1");
  EXPECT_EQ(instance_of(launch, "vector", "add"), "sip0.cube0.pe0");
}

Time category(const LaunchResult& launch, const std::string& name) {
  for (const auto& [each, time] : launch.breakdown) {
    if (each == name) return time;
  }
  return {};
}

TEST(Explain, DispatchAndCompletionAreToldByLinkProcessorAndCounter) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::zeros({64, 64}, one_pe());
    torch::launch("one", [](tl::In a) { tl::load(a, {0, 0}, {64, 64}); }, x);
    torch::ahbm::synchronize();
  });
  const LaunchResult& launch = result.launches.back();
  // 32 B at 64 GB/s are 500 ps, at 128 GB/s 250 ps; the last link of a message has its bytes to serialise, too.
  const std::map<std::string, Time> out{
      {"message of host host.to_sip*", Time::picoseconds(1 + 600'000 + 500)},
      {"sip*.io.cpu", Time::nanoseconds(200)},
      {"message of io.cpu sip*.io.to_mesh", Time::nanoseconds(8)},
      {"message of io.cpu sip*.cube*.m_cpu.eject", Time::picoseconds(2'000 + 250)},
      {"sip*.cube*.m_cpu", Time::nanoseconds(100)},
      {"message of m_cpu sip*.cube*.m_cpu.inject", Time::nanoseconds(2)},
      {"message of m_cpu sip*.cube*.pe*.eject", Time::picoseconds(2'000 + 250)},
      {"sip*.cube*.pe*.control", Time::nanoseconds(50)},
  };
  EXPECT_EQ(parts_of(launch, "dispatch"), out);
  const std::map<std::string, Time> back{
      {"end sip*.cube*.pe*.control", Time::nanoseconds(4)},
      {"message of pe sip*.cube*.pe*.inject", Time::nanoseconds(2)},
      {"message of pe sip*.cube*.m_cpu.eject", Time::picoseconds(2'000 + 250)},
      {"sip*.cube*.m_cpu.counter", Time::nanoseconds(2)},
      {"sip*.cube*.m_cpu", Time::nanoseconds(100)},
      {"message of m_cpu sip*.cube*.m_cpu.inject", Time::nanoseconds(2)},
      {"message of m_cpu sip*.io.from_mesh", Time::picoseconds(8'000 + 250)},
      {"sip*.io.counter", Time::nanoseconds(2)},
      {"sip*.io.cpu", Time::nanoseconds(200)},
      {"message of io.cpu sip*.io.to_host", Time::picoseconds(600'000 + 500)},
  };
  EXPECT_EQ(parts_of(launch, "completion"), back);
}

TEST(Explain, TheWayBackOfManyProgramsWaitsAtCountersAndIsHandledOnce) {
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.overrides = {"sip.io.counter_write=40ns", "cube.m_cpu.counter_write=20ns"};
  options.data = false;
  const RunResult result = simulate(options, [] {
    auto x = torch::zeros({1 << 16}, torch::device("ahbm"));
    torch::launch("all", [](tl::Tensor) {}, x);
    torch::ahbm::synchronize();
  });
  const LaunchResult& launch = result.launches.back();
  ASSERT_EQ(launch.programs, 128);
  for (const char* way : {"dispatch", "completion"}) {
    Time sum;
    for (const auto& [part, time] : parts_of(launch, way)) sum += time;
    EXPECT_EQ(sum, category(launch, way)) << way;
  }
  auto back = parts_of(launch, "completion");
  EXPECT_EQ(back["sip*.io.cpu"], Time::nanoseconds(200)) << "one interrupt";
  EXPECT_EQ(back["sip*.cube*.m_cpu"], Time::nanoseconds(100));
  EXPECT_EQ(back["sip*.io.counter"], Time::nanoseconds(40));
  EXPECT_GT(back["waiting sip*.io.counter"] + back["waiting sip*.cube*.m_cpu.counter"], Time::nanoseconds(100));
}

/// An all-reduce of 256 KiB over two SIPs.
RunResult all_reduce_of_two_sips(const std::vector<std::string>& overrides, bool late = false, bool exact = false) {
  SimulateOptions options;
  options.topology = "ahbm-2sip";
  options.overrides = overrides;
  options.overrides.insert(options.overrides.end(), {"sip.cubes.mesh=[1, 1]"});
  options.data = false;
  options.exact_events = exact;
  return simulate(options, [late] {
    torch::multiprocessing::spawn(
        [late](int rank) {
          torch::ahbm::set_device(rank);
          torch::distributed::init_process_group("ahbm", rank, 2);
          auto x = torch::zeros({1 << 17}, torch::dtype(torch::kHalf).device("ahbm"));
          if (late && rank == 1) torch::launch("delay", [](tl::Tensor) { tl::delay(30'000); }, x);
          torch::distributed::all_reduce(x);
          torch::ahbm::synchronize();
        },
        std::tuple{}, {.nprocs = 2});
  });
}

const LaunchResult& collective_on(const RunResult& result, std::int32_t device) {
  const LaunchResult* longest = nullptr;
  for (const LaunchResult& launch : result.launches) {
    const bool of_group = launch.name.find("allreduce") != std::string::npos && launch.device == device;
    if (of_group && (longest == nullptr || launch.end - launch.start > longest->end - longest->start))
      longest = &launch;
  }
  EXPECT_NE(longest, nullptr);
  return *longest;
}

Time time_of(const LaunchResult& launch, const std::string& activity) {
  Time sum;
  for (const auto& [part, time] : parts_of(launch, activity)) sum += time;
  return sum;
}

TEST(Explain, ThePathOfAReceiveGoesOnAtTheSender) {
  const RunResult result = all_reduce_of_two_sips({});
  const LaunchResult& launch = collective_on(result, 0);
  EXPECT_EQ(time_of(launch, "message"), Time()) << "no wait is left that a send ended";
  EXPECT_GT(parts_of(launch, "queue data")["send sip*.io.to_sip*"], Time::nanoseconds(500))
      << "over the link of 500 ns";
  Time path;
  for (const PathPart& part : launch.critical_path) path += part.time;
  EXPECT_EQ(path, launch.end - launch.start);
}

/// One PE sends eight messages of 16 KiB, for all of which there is room, to the next one.
RunResult eight_messages(const std::vector<std::string>& overrides, bool exact = false) {
  SimulateOptions options = tiny(overrides);
  options.overrides.emplace_back("cube.pes.mesh=[2, 1]");
  options.exact_events = exact;
  return simulate(options, [] {
    auto x = torch::zeros({64, 64}, torch::device("ahbm"));
    torch::LaunchOptions ring;
    ring.queues.topology = QueueTopology::ring_1d;
    ring.queues.parameters.n_slots = 8;
    torch::launch(
        ring, "stream",
        [](tl::Tensor) {
          const tl::Tile tile = tl::full({64, 64}, 1, DType::f32);
          for (int i = 0; i < 8; ++i) {
            if (tl::program_id() == 0) tl::send(tile, tl::ring_next());
            if (tl::program_id() == 1) tl::recv(DType::f32, {64, 64}, tl::ring_previous());
          }
        },
        x);
    torch::ahbm::synchronize();
  });
}

TEST(Explain, SendsThatWaitForALinkNameItAndThoseThatDoNotNameNone) {
  const std::string slow = "cube.noc.link.bandwidth=8GB/s";
  const RunResult held = eight_messages({slow}), exact = eight_messages({slow}, true),
                  free = eight_messages({"cube.noc.link.bandwidth=4TB/s"});
  const LaunchResult& launch = held.launches.back();
  auto parts = parts_of(launch, "queue data");
  EXPECT_LE(parts["send "].count(), (launch.end - launch.start).count() / 20)
      << "time on the way that is due to nothing";
  Time of_links;
  for (const auto& [part, time] : parts) {
    if (part.starts_with("send sip*.cube*.pe*.")) of_links += time;
  }
  EXPECT_GE(of_links, Time::microseconds(14)) << "seven messages at 8 GB/s, while the last one is on its way too";
  for (const PathSegment& segment : launch.longest_segments) {
    if (segment.activity == "queue data" && segment.operation == "send") {
      EXPECT_NE(segment.on, "");
    }
  }
  EXPECT_TRUE(same(launch, exact.launches.back()));
  Time named;
  for (const auto& [part, time] : parts_of(free.launches.back(), "queue data")) {
    if (part.starts_with("send sip")) named += time;
  }
  EXPECT_LT(named, Time::nanoseconds(100)) << "the way of the last message; the others take what they take alone";
}

TEST(Explain, AReceiveWhoseSenderBeginsLateSaysSo) {
  const RunResult late = all_reduce_of_two_sips({}, true), exact = all_reduce_of_two_sips({}, true, true);
  const LaunchResult& launch = collective_on(late, 0);
  const auto busy = parts_of(launch, "sender busy");
  ASSERT_EQ(busy.size(), 1u);
  EXPECT_TRUE(busy.begin()->first.starts_with("delay#1.0 sip1.cube0.pe")) << busy.begin()->first;
  EXPECT_GT(busy.begin()->second, Time::microseconds(20)) << "the other rank's stream has a delay of 30 us";
  const auto rest = parts_of(launch, "sender not started");
  ASSERT_EQ(rest.size(), 1u) << "its launch is on its way then";
  EXPECT_EQ(rest.begin()->first, collective_on(late, 1).name + busy.begin()->first.substr(sizeof "delay#1.0" - 1));
  EXPECT_LT(rest.begin()->second, Time::microseconds(10));
  const auto segment = std::ranges::find(launch.longest_segments, "sender busy", &PathSegment::activity);
  ASSERT_NE(segment, launch.longest_segments.end());
  EXPECT_EQ("delay#1.0 " + segment->on, busy.begin()->first + ".control");
  EXPECT_EQ(segment->end - segment->start, busy.begin()->second);
  Time path;
  for (const PathPart& part : launch.critical_path) path += part.time;
  EXPECT_EQ(path, launch.end - launch.start);
  for (const char* activity : {"sender busy", "sender not started"})
    EXPECT_EQ(time_of(collective_on(late, 1), activity), Time());
  EXPECT_THAT(late.warnings,
              ::testing::Contains(::testing::AllOf(::testing::HasSubstr(" waits for sip1.cube0.pe"),
                                                   ::testing::EndsWith(" to begin: it still runs delay#1.0"))));
  EXPECT_TRUE(same(launch, collective_on(exact, 0)));
}

TEST(Explain, AMemberThatTheHostGivesLateIsNamedWithItsLaunch) {
  SimulateOptions options;
  options.topology = "ahbm-2sip";
  options.overrides = {"sip.cubes.mesh=[1, 1]"};
  options.data = false;
  const RunResult result = simulate(options, [] {
    torch::multiprocessing::spawn(
        [](int rank) {
          torch::ahbm::set_device(rank);
          torch::distributed::init_process_group("ahbm", rank, 2);
          auto x = torch::zeros({1 << 17}, torch::dtype(torch::kHalf).device("ahbm"));
          torch::distributed::all_reduce(x);
          torch::ahbm::synchronize();
          if (rank == 1) {
            torch::launch("first", [](tl::Tensor) { tl::delay(30'000); }, x);
            torch::ahbm::synchronize();
            torch::launch("second", [](tl::Tensor) { tl::delay(10); }, x);
            torch::ahbm::synchronize();
          }
          torch::distributed::all_reduce(x);
          torch::ahbm::synchronize();
        },
        std::tuple{}, {.nprocs = 2});
  });
  const LaunchResult& launch = collective_on(result, 0);
  const Time busy = time_of(launch, "sender busy"), rest = time_of(launch, "sender not started");
  EXPECT_GT(busy, Time::microseconds(25)) << "until the launch directly before it has ended";
  EXPECT_GT(rest, Time::zero()) << "the host waits for that, and only then gives the collective";
  EXPECT_TRUE(parts_of(launch, "sender busy").begin()->first.starts_with("second#1.0 sip1.cube0.pe"));
}

TEST(Explain, WaitingForALinksBufferIsAReasonWithTheLinksName) {
  const RunResult small = all_reduce_of_two_sips({"system.sips.link.buffer=16KiB"}),
                  enough = all_reduce_of_two_sips({});
  const LaunchResult& launch = collective_on(small, 0);
  const auto parts = parts_of(launch, "link buffer");
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts.begin()->first, "send sip*.io.to_sip*");
  EXPECT_GT(parts.begin()->second, Time::microseconds(1));
  EXPECT_TRUE(parts_of(collective_on(enough, 0), "link buffer").empty());
  EXPECT_TRUE(same(launch, collective_on(all_reduce_of_two_sips({"system.sips.link.buffer=16KiB"}, false, true), 0)));
  ASSERT_EQ(small.warnings.size(), 2u);
  EXPECT_THAT(small.warnings.front(),
              ::testing::AllOf(::testing::HasSubstr("% of its critical path waits for room behind sip*.io.to_sip*: "),
                               ::testing::HasSubstr("may help (system.sips.link.buffer)")));
  EXPECT_THAT(small.warnings.back(),
              ::testing::AllOf(::testing::StartsWith("system.sips.link.buffer: 16KiB do not cover a burst of 2KiB"),
                               ::testing::HasSubstr("202048B or more")));
  EXPECT_TRUE(enough.warnings.empty());
}

// 128 PEs send over one link: what holds a message up has filled all buffers from the link back to the PE.
TEST(Explain, OnAShippedMachineTheLinkBetweenSipsIsNamedForWhatQueuesUpBeforeIt) {
  NOT_UNDER_SANITIZERS("long");
  const auto all_reduce = [](const std::vector<std::string>& overrides) {
    SimulateOptions options;
    options.topology = "ahbm-2sip";
    options.overrides = overrides;
    options.data = false;
    return simulate(options, [] {
      torch::multiprocessing::spawn(
          [](int rank) {
            torch::ahbm::set_device(rank);
            torch::distributed::init_process_group("ahbm", rank, 2);
            auto x = torch::empty({1 << 21}, torch::dtype(torch::kFloat).device("ahbm"));
            torch::distributed::all_reduce(x);
            torch::ahbm::synchronize();
          },
          std::tuple{}, {.nprocs = 2});
    });
  };
  const std::string fast = "system.sips.link.bandwidth=800GB/s";
  const RunResult enough = all_reduce({fast}), small = all_reduce({fast, "system.sips.link.buffer=64KiB"});
  const LaunchResult& free = collective_on(enough, 0);
  const LaunchResult& held = collective_on(small, 0);
  EXPECT_GT(parts_of(free, "queue data")["send sip*.io.to_sip*"].count(), (free.end - free.start).count() / 2);
  EXPECT_TRUE(parts_of(free, "link buffer").empty());
  const Time cost = (held.end - held.start) - (free.end - free.start);
  EXPECT_GT(cost, free.end - free.start) << "the buffer more than halves the bandwidth";
  EXPECT_GT(parts_of(held, "link buffer")["send sip*.io.to_sip*"].count(), cost.count() / 3);
  EXPECT_LE(parts_of(held, "link buffer")["send sip*.io.to_sip*"], cost);
}

TEST(Explain, ALoadOverALinkWithASmallBufferWaitsForIt) {
  const auto waits_of = [](const std::vector<std::string>& overrides) {
    SimulateOptions options = tiny(overrides);
    const RunResult result = simulate(options, [] {
      auto x = torch::zeros({256, 256}, one_pe());
      torch::LaunchOptions launch;
      launch.pes.push_back({CubeId{0}, PeId{1}});
      torch::launch(launch, "read", [](tl::In a) { tl::load(a, {0, 0}, {256, 256}); }, x);
      torch::ahbm::synchronize();
    });
    std::map<std::string, Time> waits;
    for (const WaitResult& wait : result.launches.back().waits) waits[wait.reason + " " + wait.cause] += wait.time;
    waits["of launch"] = result.launches.back().end - result.launches.back().start;
    return waits;
  };
  auto small = waits_of({"cube.noc.link.buffer=1KiB", "cube.noc.link.latency=200ns"}),
       enough = waits_of({"cube.noc.link.latency=200ns"});
  Time of_buffers;
  for (const auto& [reason, time] : small) {
    if (reason.starts_with("link buffer sip*.cube*.pe*.")) of_buffers += time;
  }
  const Time cost = small["of launch"] - enough["of launch"];
  EXPECT_GE(of_buffers, cost) << "alone, all that the buffers cost";
  EXPECT_LE(of_buffers, cost + Time::nanoseconds(28))
      << "and at most the first granule of a channel, for which the link would idle anyway";
  EXPECT_GT(of_buffers, Time::microseconds(10));
}

}  // namespace
}  // namespace kernbench::explain_test
