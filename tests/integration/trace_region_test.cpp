// The timeline of a run that marks a region of interest has that region only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "kernbench/kernbench.h"
#include "timeline.h"

namespace kernbench::test::trace_region_test {
namespace {

using testing::IsEmpty;
using torch::profiler::record_function;

void work(tl::Tensor x) {
  auto a = tl::load(x, {0}, {1024});
  tl::store(x, {0}, a * 2.0f);
}

/// An upload, a launch in a range, one outside, one in a nested range.
void marked() {
  auto x = torch::randn({1 << 14}).to("ahbm");
  torch::launch("outside", work, x);
  torch::ahbm::synchronize();
  {
    const record_function range("first");
    torch::launch("inside", work, x);
    torch::ahbm::synchronize();
  }
  torch::launch("between", work, x);
  torch::ahbm::synchronize();
  const record_function range("second");
  const record_function nested("part");
  torch::launch("again", work, x);
  torch::ahbm::synchronize();
}

/// Windows begin and end while kernels are under way: two launches, of which the host awaits the first.
void marked_amid_kernels() {
  auto x = torch::randn({1 << 14}).to("ahbm"), y = torch::randn({1 << 14}).to("ahbm");
  for (int i = 0; i < 3; ++i) {
    torch::launch("before", work, x);
    torch::ahbm::Event half;
    half.record();
    torch::launch("amid", work, y);
    if (i > 0) half.synchronize();
    const record_function range("window");
    torch::launch("inside", work, x);
    half.record();
    for (int j = 0; j < 4; ++j) torch::launch("beyond", work, y);
    half.synchronize();
  }
  torch::ahbm::synchronize();
}

struct Traced {
  RunResult result;
  Timeline timeline;
};

Traced traced(bool whole_run, const std::function<void()>& program = marked) {
  const auto path = std::filesystem::temp_directory_path() / ("kernbench_region_" + std::to_string(::getpid()));
  SimulateOptions options;
  options.topology = "tiny";
  options.trace = path.string();
  options.whole_run = whole_run;
  Traced out;
  out.result = simulate(options, program);
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  out.timeline = decode_timeline(bytes.str());
  std::filesystem::remove(path);
  return out;
}

std::set<std::string> names_on(Timeline& timeline, const std::string& track) {
  std::set<std::string> names;
  auto slices = timeline.slices();
  for (const Slice& slice : slices[track]) names.insert(slice.name);
  return names;
}

TEST(TraceRegion, HasWhatPassedInRangesOnly) {
  Traced run = traced(false);
  EXPECT_THAT(run.timeline.problems, IsEmpty());
  for (const TimelineEvent& event : run.timeline.events) {
    if (event.type == TimelineEvent::Type::instant) continue;
    EXPECT_GE(event.time, run.result.region->start) << event.name;
    EXPECT_LE(event.time, run.result.region->end) << event.name;
  }
  EXPECT_EQ(names_on(run.timeline, "sip0 stream 0"), (std::set<std::string>{"launch inside#0", "launch again#0"}));
  EXPECT_EQ(names_on(run.timeline, "sip0.cube0.pe0.control.context0").count("inside#0"), 1u);
  EXPECT_EQ(names_on(run.timeline, "sip0.cube0.pe0.control.context0").count("between#0"), 0u);
  EXPECT_EQ(names_on(run.timeline, "main ranges"), (std::set<std::string>{"first", "second"}));
  EXPECT_EQ(names_on(run.timeline, "main ranges (2)"), (std::set<std::string>{"second/part"}));
  EXPECT_THAT(run.timeline.problems, IsEmpty()) << "slices nest and end";
}

TEST(TraceRegion, BusyTimesAreThoseOfTheResult) {
  Traced run = traced(false);
  auto slices = run.timeline.slices();
  for (const ResourceResult& resource : run.result.resources) {
    if (!resource.name.ends_with(".vector") && resource.name.find(".hbm.channel") == std::string::npos) continue;
    EXPECT_EQ(covered(slices[resource.name]), resource.busy) << resource.name;
  }
}

TEST(TraceRegion, WhatIsUnderWayAtItsEndsIsCutThere) {
  Traced run = traced(false, marked_amid_kernels);
  EXPECT_THAT(run.timeline.problems, IsEmpty());
  auto slices = run.timeline.slices();
  std::map<std::string, std::vector<Slice>> by_resource;
  std::size_t cut = 0;
  for (const auto& [track, all] : slices) {
    auto& of = by_resource[track.substr(0, track.find(" ("))];
    of.insert(of.end(), all.begin(), all.end());
    for (const Slice& slice : all) cut += slice.arguments.contains("ends") ? 1 : 0;
  }
  for (const ResourceResult& resource : run.result.resources) {
    EXPECT_EQ(covered(by_resource[resource.name]), resource.busy) << resource.name;
  }
  EXPECT_GT(cut, 0u) << "an operation was under way at an end";
}

TEST(TraceRegion, TheWholeRunIsThereOnRequestWithItsRanges) {
  Traced run = traced(true);
  EXPECT_THAT(run.timeline.problems, IsEmpty());
  EXPECT_EQ(names_on(run.timeline, "sip0 stream 0").count("launch outside#0"), 1u);
  EXPECT_EQ(names_on(run.timeline, "main ranges").count("first"), 1u);
}

}  // namespace
}  // namespace kernbench::test::trace_region_test
