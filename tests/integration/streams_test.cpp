// Streams, stream guards and events across streams: what runs together, what runs one after the other, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>

#include "host_copy_law.h"
#include "programs.h"
#include "runtime/context.h"
#include "sim/waitable.h"

namespace kernbench {
namespace {

using ::testing::AllOf;
using testing::error_of;
using testing::error_type_of;
using ::testing::HasSubstr;
using testing::kDoorbell;
using testing::kHostMessage;
using testing::one_pe;
using testing::ps;
using testing::tiny;
using torch::ahbm::Event;
using torch::ahbm::Stream;
using torch::ahbm::StreamGuard;

Time now() {
  return runtime::current_context("now").simulation.scheduler().now();
}

/// Ten or so microseconds of vector work on one PE.
void work(tl::In x, tl::Tensor out) {
  auto tile = tl::load(x, {0}, {x.numel()});
  for (int i = 0; i < 1000; ++i) tile = tl::exp(tile * 0.001f);
  tl::store(out, {0}, tile);
}

void add_one(tl::In x, tl::Tensor out) {
  tl::store(out, {0}, tl::load(x, {0}, {x.numel()}) + 1.0f);
}

const torch::LaunchOptions kFirst{.pes = {{CubeId{0}, PeId{0}}}}, kSecond{.pes = {{CubeId{0}, PeId{1}}}};

std::map<std::string, LaunchResult> launches_of(const RunResult& result) {
  std::map<std::string, LaunchResult> launches;
  for (const auto& launch : result.launches) launches[launch.name] = launch;
  return launches;
}

Time duration(const LaunchResult& launch) {
  return launch.end - launch.start;
}

/// A launch of `work` on the first PE and one on the second, in streams of their own or in one.
std::map<std::string, LaunchResult> run_two(bool two_streams, bool second_pe, SimulateOptions options = tiny()) {
  return launches_of(simulate(options, [&] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe()), z = torch::empty({256}, one_pe());
    torch::ahbm::synchronize();
    const Stream first, second;
    {
      const StreamGuard guard(first);
      torch::launch(kFirst, "a", work, x, y);
    }
    const StreamGuard guard(two_streams ? second : first);
    torch::launch(second_pe ? kSecond : kFirst, "b", work, x, z);
  }));
}

// ---- what runs together ------------------------------------------------------------------------------------------

TEST(Streams, IndependentStreamsOnTwoPesOverlapAsThoughEachWereAlone) {
  const auto both = run_two(true, true), apart = run_two(false, true);
  // The host gives one launch after the other; each then takes as long as in a machine of its own. One that waits at
  // the device for another in its stream has only the way from there left when its turn comes.
  EXPECT_EQ(both.at("b#0").start - both.at("a#0").start, Time::nanoseconds(2000));
  EXPECT_EQ(duration(both.at("a#0")), duration(apart.at("a#0")));
  const Time earlier = duration(both.at("b#0")) - duration(apart.at("b#0"));
  const Time way_to_the_device = ps(kDoorbell + kHostMessage + 200'000);
  EXPECT_LT(std::max(earlier, way_to_the_device) - std::min(earlier, way_to_the_device),
            Time::nanoseconds(1));  // an edge of the vector engine's clock
  EXPECT_LT(both.at("b#0").start, both.at("a#0").end);
  EXPECT_GE(duration(apart.at("a#0")), Time::nanoseconds(10'000));
}

TEST(Streams, LaunchesOfOneStreamRunOneAfterTheOtherOnDifferentPesToo) {
  const auto launches = run_two(false, true);
  // The news of a's end is still on its way to the host.
  EXPECT_EQ(launches.at("a#0").end - launches.at("b#0").start, ps(kHostMessage));
}

TEST(Streams, TwoStreamsShareThePesContextsAndItsEngines) {
  const auto both = run_two(true, false), apart = run_two(false, false);
  EXPECT_LT(both.at("b#0").start, both.at("a#0").end);
  // One vector engine: nothing is gained beyond what runs beside it, and nothing is lost.
  const Time together = both.at("b#0").end - both.at("a#0").start;
  EXPECT_GT(together, duration(apart.at("a#0")));
  EXPECT_LE(together, apart.at("b#0").end - apart.at("a#0").start);
}

TEST(Streams, AThirdLaunchOnAPeOfTwoContextsWaitsForOneOfThem) {
  const auto result = simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe());
    std::vector<torch::Tensor> outs;
    for (int i = 0; i < 3; ++i) {
      outs.push_back(torch::empty({256}, one_pe()));
      const StreamGuard guard{Stream()};
      torch::launch(kFirst, "w", work, x, outs.back());
    }
  });
  const auto launches = launches_of(result);
  const Time first_end = std::min(launches.at("w#0").end, launches.at("w#1").end);
  EXPECT_LT(launches.at("w#1").start, launches.at("w#0").end);
  EXPECT_GT(launches.at("w#2").end, first_end);
}

// ---- the device's queue ------------------------------------------------------------------------------------------

SimulateOptions with_queue_of(int launches) {
  SimulateOptions options = tiny();
  options.overrides.push_back("sip.io.queue=" + std::to_string(launches));
  return options;
}

TEST(Streams, AnEventBetweenTwoLaunchesHasTheTimeOfTheFirstAndHoldsUpNoneBehindIt) {
  double at_event = 0;
  const auto result = simulate(tiny(), [&] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
    torch::ahbm::synchronize();
    Event begin, between, end;
    begin.record();
    torch::launch("a", work, x, y);
    between.record();
    torch::launch("b", work, y, x);
    end.record();
    end.synchronize();
    at_event = between.elapsed_time(end);
  });
  const auto launches = launches_of(result);
  EXPECT_DOUBLE_EQ(at_event, static_cast<double>((launches.at("b#0").end - launches.at("a#0").end).count()) * 1e-9);
  EXPECT_EQ(launches.at("a#0").end - launches.at("b#0").start, ps(kHostMessage));
}

TEST(Streams, ADependentLaunchReadsWhatTheOneBeforeHasWritten) {
  float value = 0;
  const auto options = tiny();
  simulate(options, [&] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
    for (int i = 0; i < 20; ++i) {
      torch::launch("there", add_one, x, y);
      torch::launch("back", add_one, y, x);
    }
    value = x[255].item<float>();
  });
  EXPECT_EQ(value, 40.0f);
}

TEST(Streams, AHostThatFillsTheQueueWaitsUntilALaunchIsOverAndTheReportSaysSo) {
  for (const int places : {1, 2, 8}) {
    std::vector<Time> given;
    const auto result = simulate(with_queue_of(places), [&] {
      auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
      torch::ahbm::synchronize();
      for (int i = 0; i < 4; ++i) {
        torch::launch("w", work, x, y);
        given.push_back(now());
      }
    });
    const auto launches = launches_of(result);
    const Time overhead = Time::nanoseconds(2000);
    Time waited;
    for (std::size_t i = 1; i < given.size(); ++i) {
      const Time free = given[i - 1] + overhead;
      const std::size_t gone = i - static_cast<std::size_t>(places);
      const bool full = i >= static_cast<std::size_t>(places);
      const Time place = full ? launches.at("w#" + std::to_string(gone)).end : Time::zero();
      EXPECT_EQ(given[i], std::max(free, place)) << places << " places, launch " << i;
      waited += given[i] - free;
    }
    if (places == 8) {
      EXPECT_TRUE(result.host_waits.empty());
      continue;
    }
    ASSERT_EQ(result.host_waits.size(), 1u);
    const WaitResult& wait = result.host_waits[0];
    EXPECT_EQ(wait.reason, "queue full");
    EXPECT_EQ(wait.cause, "sip0 stream 0");
    EXPECT_THAT(wait.where, HasSubstr("streams_test.cpp:"));
    EXPECT_EQ(wait.count, 4 - places);
    EXPECT_EQ(wait.time, waited);
  }
}

TEST(Streams, ADeadlockOfAHostThatWaitsForAPlaceNamesItsCauseFirst) {
  const auto program = [](int behind) {
    auto x = torch::zeros({8}, one_pe());
    sim::Completion never;
    never.describe_as([] { return std::string("a message that nobody sends"); });
    torch::launch("stuck", [&never](tl::Tensor) { never.wait(); }, x);
    for (int i = 0; i < behind; ++i) torch::launch("behind", [](tl::Tensor) {}, x);
    x.cpu();
  };
  const auto cause = [](const std::string& text) {  // of the first line, without its time
    return text.substr(text.find(": "), text.find('\n') - text.find(": "));
  };
  const auto error = [&](int places, int behind) {
    const auto result = try_simulate(with_queue_of(places), [&] { program(behind); });
    EXPECT_EQ(result.error->type, "DeadlockError");
    return result.error->message;
  };
  const std::string queued = error(1024, 3), full = error(2, 3), alone = error(1024, 0);
  EXPECT_EQ(cause(queued), cause(alone));
  EXPECT_EQ(cause(full), cause(alone));
  EXPECT_THAT(full, HasSubstr("a place for a launch in the device's queue of sip0 stream 0"));
}

TEST(Streams, WhatStandsBehindAFailedLaunchInItsStreamIsDropped) {
  float behind = 0, beside = 0, later = 0;
  std::string error;
  const auto result = simulate(with_queue_of(3), [&] {
    auto x = torch::zeros({256}, one_pe()), y = torch::zeros({256}, one_pe()), z = torch::zeros({256}, one_pe());
    torch::ahbm::synchronize();
    const Stream other;
    try {
      torch::launch(
          "fails",
          [](tl::In) {
            tl::delay(30'000);
            throw ValueError("this kernel fails");
          },
          x);
      {
        const StreamGuard guard(other);
        torch::launch("beside", work, x, z);
        torch::launch("beside", add_one, x, z);
      }
      torch::launch("behind", add_one, x, y);
      torch::launch("behind", add_one, x, y);
      torch::launch("behind", add_one, x, y);  // waits for a place
      torch::ahbm::synchronize();
    } catch (const ValueError& failure) {
      error = failure.what();
    }
    torch::ahbm::synchronize();
    behind = y[0].item<float>();
    beside = z[0].item<float>();
    torch::launch("later", add_one, x, y);
    later = y[0].item<float>();
  });
  EXPECT_THAT(error, HasSubstr("this kernel fails"));
  EXPECT_EQ(behind, 0.0f);
  EXPECT_EQ(beside, 1.0f);
  EXPECT_EQ(later, 1.0f);
  const auto launches = launches_of(result);
  EXPECT_EQ(launches.count("behind#0") + launches.count("behind#1"), 0u);
}

TEST(Streams, AnEventThatWasDroppedHasNoTime) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe());
    torch::ahbm::Event before, behind;
    before.record();
    torch::launch("fails", [](tl::In) { throw ValueError("this kernel fails"); }, x);
    behind.record();
    EXPECT_THROW(torch::ahbm::synchronize(), ValueError);
    EXPECT_TRUE(behind.query());
    try {
      before.elapsed_time(behind);
      ADD_FAILURE() << "a time of what was never reached";
    } catch (const ValueError& error) {
      EXPECT_THAT(error.what(), HasSubstr("was dropped with it; record it again"));
    }
    behind.record();
    torch::ahbm::synchronize();
    EXPECT_GT(before.elapsed_time(behind), 0);
  });
}

// ---- order across streams ----------------------------------------------------------------------------------------

TEST(Streams, AStreamThatWaitsForAnEventGoesOnAtItsTime) {
  for (const bool by_event : {true, false}) {
    float value = 0;
    const auto launches = launches_of(simulate(tiny(), [&] {
      auto x = torch::ones({256}, one_pe()), y = torch::empty({256}, one_pe()), z = torch::empty({256}, one_pe());
      torch::ahbm::synchronize();
      const Stream first, second;
      torch::ahbm::set_stream(first);
      torch::launch(kFirst, "a", add_one, x, y);
      torch::launch(kFirst, "slow", work, x, z);
      torch::ahbm::set_stream(second);
      if (by_event) {
        Event event;
        event.record(first);
        event.block(second);
      } else {
        second.wait_stream(first);
      }
      torch::launch(kSecond, "b", add_one, y, x);
      value = x[0].item<float>();
    }));
    EXPECT_EQ(launches.at("b#0").start, launches.at("slow#0").end);
    EXPECT_EQ(value, 3.0f);
  }
}

TEST(Streams, WaitingForAnEventThatIsReachedOrNeverRecordedCostsNothing) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
    torch::ahbm::synchronize();
    const Stream stream;
    Event never, reached;
    reached.record();
    stream.wait_event(never);
    stream.wait_event(reached);
    stream.wait_stream(stream);
    EXPECT_TRUE(stream.query());
  });
}

TEST(Streams, WaitingForAnEventThatIsRecordedOnlyLaterIsWarnedOfOnceForItsLine) {
  int line = 0;
  const RunResult result = simulate(tiny(), [&] {
    const Stream first, second;
    Event event;
    line = __LINE__ + 1;
    for (int i = 0; i < 2; ++i) second.wait_event(event);
    event.record(first);
    event.block(second);
  });
  EXPECT_THAT(result.warnings,
              ::testing::ElementsAre(::testing::HasSubstr("a stream waits for an event at streams_test.cpp:" +
                                                          std::to_string(line) + " that has not been recorded")));
}

TEST(Streams, AWaitOfADoubleBufferThatFindsNothingInItsFirstRoundsIsNotWarnedOf) {
  const RunResult result = simulate(tiny(), [] {
    const Stream compute;
    std::array<Event, 2> free;
    for (std::size_t i = 0; i < 4; ++i) {
      compute.wait_event(free[i % 2]);
      free[i % 2].record(compute);
    }
  });
  EXPECT_THAT(result.warnings, ::testing::Not(::testing::Contains(HasSubstr("has not been recorded"))));
}

TEST(Streams, AWaitMeansThePointThatWasRecordedWhenItWasMade) {
  const auto launches = launches_of(simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe()), z = torch::empty({256}, one_pe());
    torch::ahbm::synchronize();
    const Stream first, second;
    torch::ahbm::set_stream(first);
    torch::launch(kFirst, "a", add_one, x, y);
    Event event = first.record_event();
    second.wait_event(event);
    torch::launch(kFirst, "slow", work, x, y);
    event.record(first);
    torch::ahbm::set_stream(second);
    torch::launch(kSecond, "b", add_one, x, z);
  }));
  EXPECT_GE(launches.at("b#0").start, launches.at("a#0").end);
  EXPECT_LT(launches.at("b#0").start, launches.at("slow#0").end);
}

TEST(Streams, AHostReadWaitsForItsProducerInWhicheverStreamItIs) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::ones({256}, one_pe()), y = torch::empty({256}, one_pe()), z = torch::empty({256}, one_pe());
    torch::ahbm::synchronize();
    const Stream slow, quick;
    {
      const StreamGuard guard(slow);
      torch::launch(kFirst, "slow", work, x, z);
    }
    {
      const StreamGuard guard(quick);
      torch::launch(kSecond, "quick", add_one, x, y);
    }
    EXPECT_EQ(y[7].item<float>(), 2.0f);
    EXPECT_FALSE(slow.query());
    EXPECT_TRUE(quick.query());
    slow.synchronize();
    EXPECT_TRUE(slow.query());
  });
  const auto launches = launches_of(result);
  EXPECT_LT(launches.at("quick#0").end, launches.at("slow#0").end);
}

TEST(Streams, SynchronizeOfADeviceWaitsForAllItsStreamsAndOfAStreamForItself) {
  const auto result = simulate(tiny(), [] {
    auto x = torch::ones({256}, one_pe()), y = torch::empty({256}, one_pe()), z = torch::empty({256}, one_pe());
    torch::ahbm::synchronize();
    const Stream slow, quick;
    torch::ahbm::set_stream(slow);
    torch::launch(kFirst, "slow", work, x, z);
    torch::ahbm::set_stream(quick);
    torch::launch(kSecond, "quick", add_one, x, y);
    quick.synchronize();
    const Time quick_done = now();
    EXPECT_FALSE(slow.query());
    torch::ahbm::synchronize();
    EXPECT_GT(now(), quick_done);
    report_metric("quick", static_cast<double>(quick_done.count()), "ps");
    report_metric("all", static_cast<double>(now().count()), "ps");
  });
  const auto launches = launches_of(result);
  EXPECT_EQ(result.metrics.at("quick").value, static_cast<double>(launches.at("quick#0").end.count()));
  EXPECT_EQ(result.metrics.at("all").value, static_cast<double>(launches.at("slow#0").end.count()));
}

TEST(Streams, SynchronizeWaitsForTheDefaultStreamAndForOneBetweenIdleOnes) {
  const auto result = simulate(tiny(), [] {
    auto x = torch::ones({256}, one_pe()), z = torch::empty({256}, one_pe());
    torch::ahbm::synchronize();
    const auto work_on_z = [&](const std::string& name) {
      torch::launch(kFirst, name, work, x, z);
      torch::ahbm::synchronize();
      report_metric(name, static_cast<double>(now().count()), "ps");
    };
    work_on_z("default");
    const Stream idle, busy, idle_too;
    torch::ahbm::set_stream(busy);
    work_on_z("between");
    const Time over = now();
    torch::ahbm::synchronize();
    EXPECT_EQ(now(), over) << "nothing is left to wait for";
  });
  const auto launches = launches_of(result);
  for (const std::string name : {"default", "between"})
    EXPECT_EQ(result.metrics.at(name).value, static_cast<double>(launches.at(name + "#0").end.count())) << name;
}

TEST(Streams, EventsMeasureTimeWithinAStream) {
  simulate(tiny(), [] {
    auto x = torch::ones({256}, one_pe()), y = torch::empty({256}, one_pe());
    torch::ahbm::synchronize();
    const Stream stream;
    const StreamGuard guard(stream);
    Event begin, end;
    begin.record();
    const Time before = now();
    torch::launch(kFirst, "w", work, x, y);
    end.record();
    end.synchronize();
    EXPECT_DOUBLE_EQ(begin.elapsed_time(end), static_cast<double>((now() - before).count()) * 1e-9);
  });
}

// ---- memory --------------------------------------------------------------------------------------------------------

TEST(Streams, MemoryThatAnotherStreamStillUsesIsNotGivenToANewTensor) {
  simulate(tiny(), [] {
    auto x = torch::ones({256}, one_pe());
    torch::ahbm::synchronize();
    {
      auto gone = torch::empty({256}, one_pe());
      const StreamGuard guard{Stream()};
      torch::launch(kFirst, "slow", work, x, gone);
    }
    // `gone` has no handle any more, but its kernel has yet to write to it.
    std::vector<torch::Tensor> others;
    for (int i = 0; i < 8; ++i) others.push_back(torch::full({256}, 5, one_pe()));
    torch::ahbm::synchronize();
    for (const auto& other : others) EXPECT_TRUE(other.cpu().equal(torch::full({256}, 5.0)));
  });
}

// ---- whose stream is current

TEST(Streams, GuardsGiveBackTheStreamAndTheDevice) {
  SimulateOptions options = tiny({"system.sips.count=2"});
  simulate(options, [] {
    const Stream home = torch::ahbm::current_stream();
    EXPECT_EQ(home, torch::ahbm::default_stream());
    EXPECT_EQ(home.id(), 0);
    const Stream here, there(1);
    EXPECT_EQ(there.device_index(), 1);
    EXPECT_FALSE(here == home);
    {
      const StreamGuard outer(there);
      EXPECT_EQ(torch::ahbm::current_device(), 1);
      EXPECT_EQ(torch::ahbm::current_stream(), there);
      EXPECT_EQ(torch::ahbm::current_stream(0), home);
      {
        const StreamGuard inner(here);
        EXPECT_EQ(torch::ahbm::current_device(), 0);
        EXPECT_EQ(torch::ahbm::current_stream(), here);
        const torch::ahbm::DeviceGuard device(1);
        EXPECT_EQ(torch::ahbm::current_stream(), there);
      }
      EXPECT_EQ(torch::ahbm::current_stream(), there);
    }
    EXPECT_EQ(torch::ahbm::current_device(), 0);
    EXPECT_EQ(torch::ahbm::current_stream(), home);
    EXPECT_EQ(torch::ahbm::current_stream(1), torch::ahbm::default_stream(1));
    try {
      const StreamGuard guard(there);
      throw 1;
    } catch (int) {
      EXPECT_EQ(torch::ahbm::current_stream(), home);
    }
    torch::accelerator::set_stream(there);
    EXPECT_EQ(torch::accelerator::current_device_index(), 1);
    EXPECT_EQ(torch::accelerator::current_stream(), there);
  });
}

TEST(Streams, AStreamOfADeviceThatDoesNotExistIsRefused) {
  EXPECT_THAT(error_of([] { const Stream stream(7); }), HasSubstr("device index is out of range"));
  EXPECT_THAT(error_of([] { torch::ahbm::current_stream(1); }), HasSubstr("device index is out of range"));
}

TEST(Streams, AStreamDoesNotOutliveItsSimulation) {
  std::optional<Stream> old;
  simulate(tiny(), [&] { old = Stream(); });
  EXPECT_THAT(error_of([&] { torch::ahbm::set_stream(*old); }), HasSubstr("a simulation that has ended"));
  EXPECT_THAT(error_of([&] { old->synchronize(); }), HasSubstr("a simulation that has ended"));
}

// ---- the same again

TEST(Streams, TimesAreTheSameAgainWithExactEventsAndWithoutData) {
  SimulateOptions exact = tiny(), dataless = tiny(), threads = tiny();
  exact.exact_events = true;
  dataless.data = false;
  threads.threads = 2;
  const auto expected = run_two(true, false);
  for (const auto& options : {tiny(), exact, dataless, threads}) {
    const auto launches = run_two(true, false, options);
    for (const char* name : {"a#0", "b#0"}) {
      EXPECT_EQ(launches.at(name).start, expected.at(name).start);
      EXPECT_EQ(launches.at(name).end, expected.at(name).end);
    }
  }
}

TEST(Streams, ADeadlockAcrossStreamsNamesThem) {
  const auto program = [] {
    auto x = torch::zeros({8}, one_pe()), y = torch::zeros({8}, one_pe());
    sim::Completion never;
    never.describe_as([] { return std::string("a message that nobody sends"); });
    const Stream first, second;
    torch::ahbm::set_stream(first);
    torch::launch("stuck", [&never](tl::Tensor) { never.wait(); }, x);
    second.wait_stream(first);
    torch::ahbm::set_stream(second);
    torch::launch("behind", [](tl::Tensor) {}, y);
    y.cpu();
  };
  EXPECT_EQ(error_type_of(program), "DeadlockError");
  EXPECT_THAT(error_of(program),
              AllOf(HasSubstr("launch behind#0 on sip0 stream 2"), HasSubstr("wait for an event on sip0 stream 2"),
                    HasSubstr("event on sip0 stream 1"), HasSubstr("launch stuck#0 on sip0 stream 1"),
                    HasSubstr("a message that nobody sends")));
}

}  // namespace
}  // namespace kernbench
