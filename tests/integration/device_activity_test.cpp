// What the devices did in the region of interest, what they waited for, and what held launches up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "devices.h"
#include "programs.h"
#include "report/sections/table.h"
#include "report/text/format.h"

namespace kernbench::device_activity_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::one_pe;
using testing::ring_of;
using ::testing::StartsWith;
using testing::tiny;
using torch::ahbm::Event;
using torch::ahbm::Stream;
using torch::ahbm::StreamGuard;
using torch::profiler::record_function;

constexpr int kLaunches = 10, kReads = 12;

/// Longer than the host takes to give the next.
void work(tl::Tensor x) {
  auto tile = tl::load(x, {0}, {x.numel()});
  for (int i = 0; i < 1000; ++i) tile = tl::exp(tile * 0.001f);
  tl::store(x, {0}, tile);
}
void little(tl::Tensor x) {
  tl::store(x, {0}, tl::load(x, {0}, {x.numel()}) + 1.0f);
}

Time launch_overhead() {
  return runtime::current_context("test").simulation.topology().host.launch_overhead;
}

Time idle_of(const DeviceResult& device) {
  Time idle;
  for (const WaitResult& each : device.idle) idle += each.time;
  return idle;
}

RunResult launch_often(void (*kernel)(tl::Tensor), bool waits, SimulateOptions options = tiny()) {
  return simulate(options, [&] {
    auto x = torch::ones({256}, one_pe());
    torch::ahbm::synchronize();
    const record_function range("loop");
    for (int i = 0; i < kLaunches; ++i) {
      torch::launch("kernel", kernel, x);
      if (waits) torch::ahbm::synchronize();
    }
  });
}

const LaunchResult& launch_of(const RunResult& result, const std::string& name) {
  const auto found = std::ranges::find(result.launches, name, &LaunchResult::name);
  if (found == result.launches.end()) throw std::logic_error("no launch " + name);
  return *found;
}

TEST(DeviceActivity, AHostThatWaitsAfterEachLaunchLeavesTheDeviceIdleForItsNextCall) {
  const Time overhead = [] {
    Time time;
    simulate(tiny(), [&] { time = launch_overhead(); });
    return time;
  }();
  const RunResult result = launch_often(work, true);
  ASSERT_EQ(result.devices.size(), 1u);
  const DeviceResult& device = result.devices.front();
  EXPECT_EQ(device.launches + device.copies + idle_of(device), result.region->time);
  ASSERT_FALSE(device.idle.empty());
  const WaitResult& most = device.idle.front();
  EXPECT_EQ(most.reason, "host wait");
  EXPECT_EQ(most.operation, "synchronize");
  EXPECT_THAT(most.where, StartsWith("device_activity_test.cpp:"));
  EXPECT_EQ(most.count, kLaunches - 1);  // the first launch comes after another line's wait
  EXPECT_EQ(most.time, (kLaunches - 1) * overhead);
  Time launches;
  for (const LaunchResult& launch : result.launches) {
    if (launch.in_region) launches += launch.end - launch.start;
  }
  EXPECT_EQ(device.launches, launches);  // none overlaps another
}

TEST(DeviceActivity, ProgressTellsToHowManyDevicesLaunchesHaveCome) {
  const auto devices_of = [](int used) {
    SimulateOptions options = ring_of(3);
    std::atomic<bool> due = true;
    std::size_t devices = 0;
    options.progress_due = &due;
    options.on_progress = [&](const RunProgress& progress) {
      devices = progress.devices;
      due = true;
    };
    simulate(options, [&] {
      for (int device = 0; device < used; ++device) torch::ones({testing::kElements}, testing::on(device));
      testing::wait_for_all();
    });
    return devices;
  };
  EXPECT_EQ(devices_of(1), 1u);
  EXPECT_EQ(devices_of(2), 2u);
}

TEST(DeviceActivity, LaunchesThatOverlapCountOnce) {
  const RunResult result = launch_often(work, false);
  ASSERT_EQ(result.devices.size(), 1u);
  const DeviceResult& device = result.devices.front();
  EXPECT_EQ(device.launches + device.copies + idle_of(device), result.region->time);
  Time durations;
  for (const LaunchResult& launch : result.launches) {
    if (launch.in_region) durations += launch.end - launch.start;
  }
  // The next one begins at the device before the host knows that one is over.
  ASSERT_GT(durations, device.launches);
  const auto kernel = std::ranges::find(device.kernels, "kernel", &KernelTime::name);
  ASSERT_NE(kernel, device.kernels.end());
  EXPECT_EQ(kernel->time, device.launches);
  const std::string share = report::percent_text(report::share(kernel->time, result.region->time));
  EXPECT_THAT(report::to_table(result, {.kind = report::TableKind::brief}),
              ContainsRegex("\n  kernel +10 [^\n]* " + share));
}

TEST(DeviceActivity, TheShortReportAndAWarningNameTheLineThatWaits) {
  const RunResult waits = launch_often(little, true), free = launch_often(work, false);
  EXPECT_THAT(waits.warnings, Contains(AllOf(HasSubstr("the device has nothing to do for "), HasSubstr("of the region"),
                                             HasSubstr("after synchronize at device_activity_test.cpp:"),
                                             HasSubstr("replay a graph"))));
  EXPECT_THAT(free.warnings, Not(Contains(HasSubstr("nothing to do"))));
  const report::TableOptions brief{.kind = report::TableKind::brief};
  EXPECT_THAT(report::to_table(waits, brief),
              ContainsRegex("device busy [0-9.]+ %, idle [0-9.]+ %: [^\n]*\n? *[^\n]*after"));
  EXPECT_THAT(report::to_table(free, brief), Not(HasSubstr("device busy")));
}

TEST(DeviceActivity, ALaunchThatIsShorterThanTheHostsCallIsSaidToWaitForThat) {
  const RunResult result = launch_often(little, false, tiny({"host.launch_overhead=50us"}));
  ASSERT_EQ(result.devices.size(), 1u);
  ASSERT_FALSE(result.devices.front().idle.empty());
  const WaitResult& most = result.devices.front().idle.front();
  EXPECT_EQ(most.reason, "host call");
  EXPECT_EQ(most.operation, "torch::launch");
  EXPECT_THAT(result.warnings, Contains(HasSubstr("until torch::launch at device_activity_test.cpp:")));
}

TEST(DeviceActivity, AHostThatReadsManyTensorsBackIsNotToldToGiveItsLaunchesSooner) {
  const RunResult result = simulate(tiny({"host.launch_overhead=50us"}), [] {
    std::vector<torch::Tensor> tensors;
    for (int i = 0; i < kReads; ++i) tensors.push_back(torch::ones({256}, one_pe()));
    torch::ahbm::synchronize();
    const record_function range("check");
    torch::launch("kernel", little, tensors.front());
    for (const torch::Tensor& each : tensors) each.cpu();
  });
  // The device is idle before each copy, for as long as the call of the host takes.
  ASSERT_EQ(result.devices.size(), 1u);
  EXPECT_GT(idle_of(result.devices.front()) * 2, result.region->time);
  EXPECT_THAT(result.warnings, Not(Contains(HasSubstr("nothing to do"))));
}

TEST(DeviceActivity, AHostThatMeetsOtherRanksBeforeEachLaunchIsNotToldToWaitOnceForItsDevice) {
  SimulateOptions options = ring_of(2);
  options.overrides.emplace_back("host.launch_overhead=50us");
  const RunResult result = simulate(options, [] {
    torch::multiprocessing::spawn(
        [](int rank, int ranks) {
          torch::ahbm::set_device(rank);
          torch::distributed::init_process_group("ahbm", rank, ranks);
          auto x = torch::ones({256}, testing::on(rank));
          torch::distributed::barrier();
          const record_function range("loop");
          for (int i = 0; i < kLaunches; ++i) {
            // Longer than the host takes to give the barrier behind it.
            torch::launch("kernel", [](tl::Tensor) { tl::delay(100'000); }, x);
            torch::distributed::barrier();
          }
        },
        std::tuple{2}, {.nprocs = 2});
  });
  ASSERT_EQ(result.devices.size(), 2u);
  for (const DeviceResult& device : result.devices) {
    EXPECT_THAT(device.idle,
                Contains(AllOf(Field(&WaitResult::reason, "host wait"), Field(&WaitResult::operation, "barrier"))));
    EXPECT_GT(idle_of(device) * 4, result.region->time);
  }
  EXPECT_THAT(result.warnings, Not(Contains(HasSubstr("nothing to do"))));
}

TEST(DeviceActivity, IsThatOfAllLaunchesHoweverManyHaveDetails) {
  SimulateOptions few = tiny();
  few.detailed_launches = 2;
  const RunResult all = launch_often(work, false), result = launch_often(work, false, few);
  ASSERT_EQ(result.devices.size(), 1u);
  EXPECT_EQ(result.devices.front().launches, all.devices.front().launches);
  EXPECT_EQ(result.devices.front().kernels.front().time, all.devices.front().kernels.front().time);
}

TEST(DeviceActivity, CopiesCountWhereNoLaunchIsUnderWayAndOnBothDevices) {
  const RunResult result = simulate(ring_of(2), [] {
    auto x = torch::ones({4096}, testing::on(0));
    x.to(torch::Device(torch::kAHBM, 1));
    testing::wait_for_all();
  });
  ASSERT_EQ(result.devices.size(), 2u);
  for (const DeviceResult& device : result.devices) {
    EXPECT_GT(device.copies, Time::zero()) << device.device;
    EXPECT_EQ(device.launches + device.copies + idle_of(device), result.simulated_time) << device.device;
  }
}

/// `right` behind `left`: in its stream, behind its event, or not at all.
RunResult two_launches(bool one_stream, bool waits) {
  return simulate(tiny(), [&] {
    auto x = torch::ones({256}, one_pe()), y = torch::ones({256}, one_pe());
    torch::ahbm::synchronize();
    Stream first, second;
    Event event;
    {
      const StreamGuard guard(first);
      torch::launch("left", work, x);
      event.record();
    }
    const StreamGuard guard(one_stream ? first : second);
    if (waits) event.wait();
    torch::launch("right", work, y);
    torch::ahbm::synchronize();
  });
}

TEST(WaitedFor, NamesTheEventAndBothOfItsLines) {
  const RunResult result = two_launches(false, true);
  const WaitResult& wait = launch_of(result, "right#0").waited_for;
  EXPECT_EQ(wait.reason, "event");
  EXPECT_EQ(wait.cause, "event");
  EXPECT_THAT(wait.where, StartsWith("device_activity_test.cpp:"));
  EXPECT_THAT(wait.cause_where, StartsWith("device_activity_test.cpp:"));
  EXPECT_NE(wait.where, wait.cause_where);
  EXPECT_GT(wait.time, Time::zero());
  EXPECT_THAT(report::to_table(result), ContainsRegex("right#0 [^\n]* event at [^\n]*, recorded at "));
  EXPECT_EQ(launch_of(two_launches(false, false), "right#0").waited_for.reason, "");
}

TEST(WaitedFor, NamesTheLinesOfAnEventOfAnotherDeviceToo) {
  const RunResult result = simulate(ring_of(2), [] {
    auto x = torch::ones({256}, testing::on(0)), y = torch::ones({256}, testing::on(1));
    testing::wait_for_all();
    torch::launch("left", work, x);
    Event event;
    event.record(torch::ahbm::current_stream(0));
    event.block(torch::ahbm::current_stream(1));
    torch::launch("right", work, y);
    testing::wait_for_all();
  });
  // The other device has been idle for longer than the launch has waited.
  const LaunchResult &left = launch_of(result, "left#0"), &right = launch_of(result, "right#0");
  EXPECT_EQ(right.waited_for.reason, "event");
  EXPECT_EQ(right.waited_for.cause, "event");
  EXPECT_THAT(right.waited_for.where, StartsWith("device_activity_test.cpp:"));
  EXPECT_THAT(right.waited_for.cause_where, StartsWith("device_activity_test.cpp:"));
  EXPECT_LT(right.waited_for.time, left.end - left.start);
  ASSERT_EQ(result.devices.size(), 2u);
  EXPECT_THAT(result.devices[1].idle, Contains(Field(&WaitResult::reason, "event")));
}

TEST(WaitedFor, NamesTheChannelsOfALaunchOnAnIdleDevice) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::ones({256}, one_pe());
    torch::ahbm::synchronize();
    torch::LaunchOptions pair;
    pair.all_pes = true;
    pair.queues.pairs = {{0, 1}};
    torch::launch(pair, "alone", [](tl::Tensor) { tl::delay(100); }, x);
    torch::ahbm::synchronize();
  });
  const WaitResult& wait = launch_of(result, "alone#0").waited_for;
  EXPECT_EQ(wait.reason, "channels");
  EXPECT_GT(wait.time, Time::zero());
  ASSERT_EQ(result.devices.size(), 1u);
  const DeviceResult& device = result.devices.front();
  EXPECT_THAT(device.idle, Contains(AllOf(Field(&WaitResult::reason, "channels"),
                                          Field(&WaitResult::time, Ge(wait.time)), Field(&WaitResult::count, 1))));
  EXPECT_EQ(device.launches + device.copies + idle_of(device), result.simulated_time);
  EXPECT_THAT(report::to_table(result), HasSubstr("while channels are installed"));
}

TEST(WaitedFor, NamesWhatStoodBeforeItInItsStream) {
  const RunResult result = two_launches(true, false);
  const LaunchResult &left = launch_of(result, "left#0"), &right = launch_of(result, "right#0");
  EXPECT_EQ(right.waited_for.reason, "stream");
  EXPECT_EQ(right.waited_for.cause, "launch left#0");
  EXPECT_EQ(right.waited_for.cause_where, left.where);
  EXPECT_LT(right.waited_for.time, left.end - left.start);
}

TEST(WaitedFor, NamesTheHostsWaitBehindWhichTheDeviceHadNothingToDo) {
  const RunResult result = launch_often(work, true);
  const WaitResult& wait = launch_of(result, "kernel#5").waited_for;
  EXPECT_EQ(wait.reason, "host wait");
  EXPECT_EQ(wait.operation, "synchronize");
}

}  // namespace
}  // namespace kernbench::device_activity_test
