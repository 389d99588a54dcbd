// The closed forms that programs compare with (kernbench/laws.h), against what is simulated.
#include "kernbench/laws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernbench/graphs.h"
#include "programs.h"

namespace kernbench {
namespace {

using testing::error_type_of;
using testing::tiny;

/// Long enough for the host to give the next launch meanwhile.
void wait_a_while() {
  tl::delay(10'000);
}

Time part_of(const LaunchResult& launch, const std::string& category) {
  for (const auto& [name, time] : launch.breakdown)
    if (name == category) return time;
  return {};
}

/// From the end of one program to the beginning of the next one, of two launches on one PE: the longest of all PEs.
Time longest_turn(const RunResult& result) {
  Time longest;
  for (std::size_t i = 0; i + 1 < result.launches.size(); i += 2) {
    const LaunchResult &a = result.launches[i], &b = result.launches[i + 1];
    const Time end = a.end - part_of(a, "completion"), begin = b.start + part_of(b, "dispatch");
    longest = std::max(longest, begin - end);
  }
  return longest;
}

void expect_longest_turn(const SimulateOptions& options, int cubes, int pes) {
  Time law;
  const RunResult result = simulate(options, [&] {
    law = torch::ahbm::launch_turn();
    for (CubeId cube; cube.value < cubes; ++cube.value) {
      for (PeId pe; pe.value < pes; ++pe.value) {
        for (const char* name : {"a", "b"}) torch::launch({.pes = {{cube, pe}}}, name, wait_a_while);
        torch::ahbm::synchronize();
      }
    }
  });
  EXPECT_FALSE(result.error.has_value());
  ASSERT_EQ(result.launches.size(), static_cast<std::size_t>(2 * cubes * pes));
  EXPECT_EQ(longest_turn(result), law);
  EXPECT_GT(law, Time::zero());
}

TEST(Laws, ALaunchTurnIsTheLongestFromTheEndOfAProgramToTheBeginningOfTheNextOne) {
  expect_longest_turn(tiny(), 1, 2);
  expect_longest_turn(tiny({"pe.control.issue=17ns", "pe.control.start_latency=123ns", "sip.io.cpu_latency=55ns",
                            "cube.m_cpu.latency=33ns", "cube.m_cpu.counter_write=7ns", "sip.io.counter_write=9ns"}),
                      1, 2);
  SimulateOptions shipped;
  shipped.topology = "ahbm-1sip";
  expect_longest_turn(shipped, 16, 8);
}

TEST(Laws, TheBandwidthOfTheHbmIsThePeakThatTheResultHas) {
  for (const char* topology : {"tiny", "ahbm-1sip"}) {
    SimulateOptions options;
    options.topology = topology;
    Bandwidth bandwidth;
    const RunResult result = simulate(options, [&] { bandwidth = torch::ahbm::hbm_bandwidth(); });
    EXPECT_EQ(bandwidth, result.peak_hbm_bandwidth);
  }
}

TEST(Laws, LaunchesAreCountedWhoeverGivesThem) {
  simulate(tiny(), [] {
    EXPECT_EQ(torch::ahbm::launches_given(), 0);
    const auto x = torch::ones({64}, torch::device("ahbm"));
    const std::int64_t before = torch::ahbm::launches_given();
    EXPECT_EQ(before, 1) << "ones are filled in by a kernel";
    torch::ahbm::Graph graph;
    {
      const auto scope = torch::ahbm::graph(graph);
      x.add_(1).mul_(2);
    }
    EXPECT_EQ(torch::ahbm::launches_given(), before) << "captured, not given";
    for (int i = 0; i < 3; ++i) graph.replay();
    torch::launch({.all_pes = true}, "a", wait_a_while);
    EXPECT_EQ(torch::ahbm::launches_given(), before + 3 * 2 + 1);
  });
}

TEST(Laws, AreOfADeviceThatIsThereAndOfASimulation) {
  EXPECT_EQ(error_type_of([] { (void)torch::ahbm::launch_turn(7); }),
            error_type_of([] { torch::ahbm::set_device(7); }));
  EXPECT_THROW((void)torch::ahbm::launch_turn(), ProgramError);
  EXPECT_THROW((void)torch::ahbm::hbm_bandwidth(), ProgramError);
  EXPECT_THROW((void)torch::ahbm::launches_given(), ProgramError);
}

}  // namespace
}  // namespace kernbench
