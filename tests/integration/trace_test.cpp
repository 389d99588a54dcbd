// The timeline of a run, read back: every operation is there, spans nest, and busy times are those of the result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <source_location>
#include <sstream>

#include "built_in_bench.h"
#include "kernbench/kernbench.h"
#include "timeline.h"

namespace kernbench::test {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

class TraceTest : public testing::Test {
 protected:
  TraceTest() : folder_(fs::temp_directory_path() / ("kernbench_trace_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~TraceTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// A built-in bench on the topology tiny, with a timeline "t" and an operation log "log".
  RunResult run(const std::string& name, const std::map<std::string, std::string>& parameters,
                std::vector<std::string> overrides = {}, bool exact = false) const {
    SimulateOptions options;
    options.topology = "tiny";
    options.overrides = std::move(overrides);
    options.exact_events = exact;
    options.trace = path("t");
    options.operation_log = path("log");
    options.whole_run = true;
    return run_built_in(name, parameters, options);
  }
  Timeline timeline() const { return decode_timeline(contents_of(path("t"))); }

 private:
  fs::path folder_;
};

/// The slices of a DMA queue lie on as many tracks as it had descriptors under way: "queue0", "queue0 (2)".
std::string resource_of(const std::string& track) {
  return track.substr(0, track.find(" ("));
}

bool is_engine(const std::string& resource) {
  return resource.ends_with(".gemm") || resource.ends_with(".vector") ||
         resource.find(".dma.queue") != std::string::npos;
}

/// Of a run that was cut short, channels may have been given bursts with which they had not begun.
enum class Run : bool { whole, cut };

void expect_busy_times_of(const RunResult& result, Timeline timeline, Run run = Run::whole) {
  std::map<std::string, std::vector<Slice>> by_resource;
  for (const auto& [track, slices] : timeline.slices()) {
    if (track.find(".control.") != std::string::npos || track == "main" || track.starts_with("main ranges") ||
        track.find(" stream ") != std::string::npos) {
      continue;
    }
    auto& all = by_resource[resource_of(track)];
    all.insert(all.end(), slices.begin(), slices.end());
    for (std::size_t i = 0; i < slices.size(); ++i) {
      EXPECT_EQ(slices[i].depth, 0u) << track;
      if (i > 0) {
        EXPECT_GE(slices[i].start, slices[i - 1].end) << track;
      }
    }
  }
  EXPECT_THAT(timeline.problems, IsEmpty());
  std::set<std::string> busy;
  for (const ResourceResult& resource : result.resources) {
    busy.insert(resource.name);
    EXPECT_EQ(covered(by_resource[resource.name]).count(), resource.busy.count()) << resource.name;
    if (is_engine(resource.name) || resource.bytes == Bytes(0)) continue;
    std::int64_t bytes = 0;
    for (const Slice& slice : by_resource[resource.name]) bytes += std::stoll(slice.arguments.at("bytes"));
    if (run == Run::cut && resource.name.find(".channel") != std::string::npos) {
      EXPECT_LE(bytes, resource.bytes.count()) << resource.name;
    } else {
      EXPECT_EQ(bytes, resource.bytes.count()) << resource.name;
    }
  }
  for (const auto& [name, slices] : by_resource) EXPECT_TRUE(busy.contains(name)) << name;
}

void expect_operations_of(const std::string& log, Timeline timeline) {
  std::multiset<std::string> logged, shown;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string finished, agent, number, kind, word, started;
    words >> finished >> agent >> number >> kind;
    if (kind == "launch") continue;
    while (words >> word) {
      if (word.starts_with("started=")) started = word.substr(8);
    }
    logged.insert(agent + " " + number + " " + kind + " " + started + " " + finished);
  }
  for (const auto& [track, slices] : timeline.slices()) {
    if (!is_engine(resource_of(track))) continue;
    const std::string pe = track.substr(0, track.find('.', track.find(".pe") + 1));
    for (const Slice& slice : slices) {
      shown.insert(pe + "/" + slice.arguments.at("kernel") + " " + slice.arguments.at("operation") + " " + slice.name +
                   " " + std::to_string(slice.start.count()) + " " + std::to_string(slice.end.count()));
      EXPECT_THAT(slice.arguments.at("source"), HasSubstr(".cpp:"));
    }
  }
  EXPECT_FALSE(logged.empty());
  EXPECT_EQ(shown, logged);
}

TEST_F(TraceTest, SpansNestEveryOperationIsThereAndBusyTimesAreTheCounters) {
  const std::vector<std::vector<std::string>> machines{
      {}, {"pe.dma.outstanding=1"}, {"pe.dma.outstanding=4", "pe.dma.queues=1"}, {"pe.contexts=1"}};
  for (const auto& overrides : machines) {
    const auto gemm =
        run("gemm", {{"M", "96"}, {"N", "130"}, {"K", "64"}, {"tile_m", "32"}, {"tile_n", "32"}, {"tile_k", "16"}},
            overrides);
    ASSERT_FALSE(gemm.error) << gemm.error->message;
    expect_busy_times_of(gemm, timeline());
    expect_operations_of(contents_of(path("log")), timeline());
    const auto add = run("vector_add", {{"n", "40000"}, {"block", "3000"}}, overrides);
    ASSERT_FALSE(add.error) << add.error->message;
    expect_busy_times_of(add, timeline());
    expect_operations_of(contents_of(path("log")), timeline());
  }
}

TEST_F(TraceTest, WithoutAndWithATimelineAllTimesAreTheSame) {
  const auto traced = run("vector_add", {{"n", "40000"}});
  SimulateOptions plain;
  plain.topology = "tiny";
  const auto untraced = run_built_in("vector_add", {{"n", "40000"}}, plain);
  EXPECT_EQ(untraced.times_fingerprint, traced.times_fingerprint);
  EXPECT_EQ(untraced.simulated_time, traced.simulated_time);
}

TEST_F(TraceTest, EqualRunsGiveEqualBytesExactOrNot) {
  const std::map<std::string, std::string> size{{"M", "64"}, {"N", "64"}, {"K", "64"}, {"tile_n", "64"}};
  run("gemm", size);
  const std::string first = contents_of(path("t"));
  run("gemm", size);
  EXPECT_EQ(contents_of(path("t")), first);
  run("gemm", size, {}, true);
  EXPECT_EQ(contents_of(path("t")), first);
}

TEST_F(TraceTest, NamesAreInternedOnceAndTheUnitOfTimeIsSaid) {
  run("vector_add", {{"n", "40000"}, {"block", "1000"}});
  const Timeline shown = timeline();
  EXPECT_EQ(shown.names_in_full, 0u);
  EXPECT_EQ(std::set<std::string>(shown.interned.begin(), shown.interned.end()).size(), shown.interned.size());
  EXPECT_LT(shown.interned.size(), shown.events.size() / 10);
  ASSERT_FALSE(shown.events.empty());
  EXPECT_EQ(shown.events.front().name, "1 ns shown is 1 ps simulated");
  EXPECT_EQ(shown.events.front().arguments.at("topology"), "tiny");
}

TEST_F(TraceTest, LaunchesProgramsAndHostReadsHaveTheirTracks) {
  const auto result = run("vector_add", {{"n", "4000"}});
  Timeline shown = timeline();
  const auto slices = shown.slices();
  std::vector<std::string> launches;
  for (const Slice& slice : slices.at("sip0 stream 0")) {
    for (const LaunchResult& launch : result.launches) {
      if (slice.name != "launch " + launch.name) continue;
      launches.push_back(launch.name);
      EXPECT_EQ(slice.start, launch.start);
      EXPECT_EQ(slice.end, launch.end);
    }
  }
  EXPECT_EQ(launches.size(), result.launches.size());
  EXPECT_EQ(slices.at("main").back().name, "check_close");
  const auto& programs = slices.at("sip0.cube0.pe1.control.context0");
  EXPECT_EQ(programs.front().name, "vector_add#0");
  EXPECT_THAT(programs.back().depth, 1u) << "its waits lie within it";
  EXPECT_EQ(programs.back().name, "drain");
}

void pointed(tl::In x) {
  tl::waypoint("here", tl::Where::current());
  auto tile = tl::load(x, {0}, {16});
  tl::delay(7);
  tl::waypoint("there");
}

SimulateOptions traced(const std::string& path) {
  SimulateOptions options;
  options.topology = "tiny";
  options.trace = path;
  return options;
}

torch::Tensor some_tensor() {
  return torch::zeros({16}, torch::dtype(torch::kFloat).device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
}

TEST_F(TraceTest, WaypointsAreInstantsOnTheirProgramsTrack) {
  simulate(traced(path("t")), [] { torch::launch("pointed", pointed, some_tensor()); });
  std::vector<std::string> names;
  const Timeline shown = timeline();
  for (const TimelineEvent& event : shown.instants()) {
    if (event.track == shown.events.front().track) continue;
    names.push_back(event.name);
    EXPECT_EQ(shown.tracks.at(event.track).path, "sip0.cube0.pe0.control.context0");
    EXPECT_THAT(event.arguments.at("source"), HasSubstr("trace_test.cpp:"));
  }
  EXPECT_THAT(names, ElementsAre("here", "there"));
}

// The start of the next one lies between two programs, in neither.
TEST_F(TraceTest, EachProgramOfAGridHasASliceOfItsOwn) {
  simulate(traced(path("t")), [] {
    torch::launch(torch::LaunchOptions{.pes = {{CubeId{0}, PeId{0}}}, .grid = {3}}, "delays", [] { tl::delay(10); });
    torch::ahbm::synchronize();
  });
  Timeline shown = timeline();
  std::vector<std::string> programs;
  Time end;
  const auto slices = shown.slices();
  for (const Slice& slice : slices.at("sip0.cube0.pe0.control.context0")) {
    if (slice.depth > 0) continue;
    programs.push_back(slice.name == "delays#0" ? slice.arguments.at("program") : slice.name);
    EXPECT_EQ(slice.start, programs.size() == 1 ? slice.start : end);
    end = slice.end;
  }
  EXPECT_THAT(programs, ElementsAre("0", "next program", "1", "next program", "2"));
  EXPECT_THAT(shown.problems, IsEmpty());
}

void fails(tl::In x) {
  auto tile = tl::load(x, {0}, {16});
  tl::device_assert(false, "on purpose");
}

TEST_F(TraceTest, ARunThatFailsOrIsStoppedLeavesAWholeTimeline) {
  const auto failed = try_simulate(traced(path("t")), [] {
    torch::launch("fails", fails, some_tensor());
    torch::ahbm::synchronize();
  });
  ASSERT_TRUE(failed.error);
  expect_busy_times_of(failed, timeline());

  std::atomic<bool> stop = false;
  SimulateOptions options = traced(path("t"));
  options.stop_requested = &stop;
  const auto stopped = try_simulate(options, [&] {
    const auto x = torch::zeros({100'000}, torch::dtype(torch::kFloat).device("ahbm"));
    stop = true;  // while the fill is about to begin
    torch::ahbm::synchronize();
  });
  ASSERT_TRUE(stopped.error);
  EXPECT_EQ(stopped.error->type, "Interrupted");
  expect_busy_times_of(stopped, timeline());
}

// All PEs are amid loads, products and stores when one of them fails, at every time that its delay gives.
void fails_amid_others(tl::In x, tl::Tensor y, std::int64_t delay) {
  if (tl::program_id(0) == 0) {
    tl::delay(delay);
    tl::device_assert(false, "on purpose");
  }
  for (int i = 0; i < 8; ++i) {
    auto tile = tl::load(x, {tl::program_id(0) * 64, 0}, {64, 64});
    tl::store(y, {tl::program_id(0) * 64, 0}, tl::dot(tile, tile));
  }
}

TEST_F(TraceTest, WhatIsUnderWayWhereARunFailsIsShownUntilThen) {
  std::size_t cut = 0;
  for (std::int64_t delay = 100; delay < 6000; delay += 590) {
    const auto failed = try_simulate(traced(path("t")), [delay] {
      const auto options = torch::dtype(torch::kFloat).device("ahbm");
      const auto x = torch::zeros({256, 64}, options), y = torch::zeros({256, 64}, options);
      torch::launch("fails_amid_others", fails_amid_others, x, y, delay);
      torch::ahbm::synchronize();
    });
    ASSERT_TRUE(failed.error);
    Timeline shown = timeline();
    for (const TimelineEvent& event : shown.events) EXPECT_LE(event.time, failed.simulated_time) << event.name;
    for (const auto& [track, slices] : shown.slices()) {
      cut += static_cast<std::size_t>(
          std::ranges::count_if(slices, [](const Slice& slice) { return slice.arguments.contains("ends"); }));
    }
    expect_busy_times_of(failed, shown, Run::cut);
  }
  EXPECT_GT(cut, 10u);
}

TEST_F(TraceTest, AFullDiskIsAnErrorOfTheRun) {
  const auto result = try_simulate(traced("/dev/full"), [] { some_tensor(); });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "OutputError");
  EXPECT_THAT(result.error->message, HasSubstr("cannot write the trace: No space left on device"));
  EXPECT_EQ(result.launches.size(), 1u) << "what was measured is there";
  EXPECT_EQ(try_simulate(traced(path("none/t")), [] {}).error->type, "ConfigurationError");
}

TEST_F(TraceTest, CallsAndCommandsOfTheHostNameTheirLine) {
  SimulateOptions options;
  options.topology = "tiny";
  options.trace = path("t");
  unsigned launch = 0, read = 0;
  simulate(options, [&] {
    const auto x = torch::ones({64}, torch::dtype(torch::kFloat).device("ahbm"));
    launch = std::source_location::current().line() + 1;
    torch::launch("touch", [](tl::Tensor t) { tl::store(t, {0}, tl::load(t, {0}, {t.numel()})); }, x);
    read = std::source_location::current().line() + 1;
    x.cpu();
  });
  Timeline shown = timeline();
  const auto slices = shown.slices();
  EXPECT_THAT(shown.problems, IsEmpty());
  const auto place = [](unsigned line) { return "trace_test.cpp:" + std::to_string(line); };
  std::map<std::string, std::string> calls, commands;
  for (const Slice& slice : slices.at("main")) calls[slice.name] = slice.arguments.at("source");
  for (const Slice& slice : slices.at("sip0 stream 0")) commands[slice.name] = slice.arguments.at("source");
  EXPECT_EQ(calls.at("torch::launch"), place(launch));
  EXPECT_EQ(calls.at("cpu"), place(read));
  EXPECT_EQ(commands.at("launch touch#0"), place(launch));
  for (const Slice& slice : slices.at("main")) EXPECT_EQ(slice.depth, 0u) << slice.name << " stands for what is in it";
}

}  // namespace
}  // namespace kernbench::test
