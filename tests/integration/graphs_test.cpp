// Graphs: capture and replay. What is captured, in what time it runs, what it computes, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host_copy_law.h"
#include "programs.h"
#include "runtime/context.h"
#include "sim/waitable.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using ::testing::AllOf;
using testing::error_of;
using testing::error_type_of;
using ::testing::HasSubstr;
using testing::kHostMessage;
using testing::one_pe;
using testing::ps;
using testing::tiny;
using torch::ahbm::Event;
using torch::ahbm::Graph;
using torch::ahbm::Stream;
using torch::ahbm::StreamGuard;

// 600 ns, and 32 B in a packet of the shipped machines' PCIe.
constexpr std::int64_t kHostMessageOfAhbm = 600'889;
const Time kOverhead = Time::nanoseconds(2000);

Time now() {
  return runtime::current_context("now").simulation.scheduler().now();
}

SimulateOptions ahbm_1sip() {
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.threads = 1;
  return options;
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

void fails_if_negative(tl::In x, tl::Tensor out) {
  const auto tile = tl::load(x, {0}, {x.numel()});
  if (tl::item(tl::sum(tile)) < 0.0f) throw ValueError("a negative sum");
  tl::store(out, {0}, tile);
}

const torch::LaunchOptions kFirst{.pes = {{CubeId{0}, PeId{0}}}}, kSecond{.pes = {{CubeId{0}, PeId{1}}}};

std::map<std::string, LaunchResult> launches_of(const RunResult& result) {
  std::map<std::string, LaunchResult> launches;
  for (const auto& launch : result.launches) launches[launch.name] = launch;
  return launches;
}

// ---- values ------------------------------------------------------------------------------------------------------

/// A layer of library functions with tensors of its own.
torch::Tensor layer(const torch::Tensor& x, const torch::Tensor& w) {
  return torch::softmax(torch::relu(torch::matmul(x, w)) + x, -1);
}

TEST(Graphs, AReplayComputesTheBitsOfTheCallsFromWhatLiesInTheInputs) {
  for (auto options : {tiny(), ahbm_1sip()}) {
    if (options.topology != "tiny" && !takes_all_cases()) continue;
    options.quick_plans = true;
    simulate(options, [] {
      const auto half = torch::dtype(torch::kHalf);
      std::vector<torch::Tensor> batches;
      for (int i = 0; i < 3; ++i) batches.push_back(torch::randn({64, 128}, half));
      const auto w = torch::randn({128, 128}, half).to("ahbm");
      auto x = torch::zeros({64, 128}, half.device("ahbm"));
      torch::Tensor y;
      Graph g;
      {
        const auto scope = torch::ahbm::graph(g);
        y = layer(x, w);
      }
      for (const auto& batch : batches) {
        x.copy_(batch);
        g.replay();
        EXPECT_TRUE(torch::equal(y.cpu(), layer(batch.to("ahbm"), w).cpu()));
      }
    });
  }
}

TEST(Graphs, ReplaysOfTwoGraphsAndLaunchesBetweenThemRunInTheOrderOfTheStream) {
  float value = 0;
  simulate(tiny(), [&] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
    Graph there, back;
    {
      const auto scope = torch::ahbm::graph(there);
      torch::launch("there", add_one, x, y);
      torch::launch("there", add_one, y, x);
      torch::launch("there", add_one, x, y);
    }
    {
      const auto scope = torch::ahbm::graph(back);
      torch::launch("back", add_one, y, x);
    }
    for (int i = 0; i < 10; ++i) {
      there.replay();
      back.replay();
      torch::launch("between", add_one, x, y);
      torch::launch("between", add_one, y, x);
    }
    value = x[255].item<float>();
  });
  EXPECT_EQ(value, 60.0f);
}

TEST(Graphs, ACaptureRunsNothingAndTakesNoTime) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe());
    torch::ahbm::synchronize();
    const Time before = now();
    Graph g;
    {
      const auto scope = torch::ahbm::graph(g);
      EXPECT_TRUE(torch::ahbm::is_current_stream_capturing());
      for (int i = 0; i < 5; ++i) x.add_(1.0f);
    }
    EXPECT_FALSE(torch::ahbm::is_current_stream_capturing());
    EXPECT_EQ(now(), before);
    EXPECT_EQ(x[0].item<float>(), 0.0f);
    g.replay();
    g.replay();
    EXPECT_EQ(x[0].item<float>(), 10.0f);
  });
}

TEST(Graphs, AResultThatWasNeverReplayedIsNotThereToRead) {
  EXPECT_THAT(error_of([] {
                auto x = torch::zeros({256}, one_pe());
                torch::Tensor y;
                Graph g;
                {
                  const auto scope = torch::ahbm::graph(g);
                  y = x + 1.0f;
                }
                y.cpu();
              }),
              HasSubstr("was never written"));
}

TEST(Graphs, AReplayGoesToTheCurrentStreamAndRunsBesideAnother) {
  const auto result = simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe()), z = torch::empty({256}, one_pe());
    Graph g;
    {
      const auto scope = torch::ahbm::graph(g);
      torch::launch(kFirst, "a", work, x, y);
    }
    torch::ahbm::synchronize();
    g.replay();
    const StreamGuard guard{Stream()};
    torch::launch(kSecond, "b", work, x, z);
    g.replay();
    z.cpu();
    EXPECT_TRUE(torch::equal(y.cpu(), z.cpu()));
  });
  const auto launches = launches_of(result);
  EXPECT_LT(launches.at("b#0").start, launches.at("a#0").end);
  EXPECT_EQ(launches.at("a#1").start, launches.at("b#0").end) << "the host lets it go when the first replay is over";
}

TEST(Graphs, ReplaysOfOneGraphFollowEachOtherOnAnyStreams) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe());
    Graph g;
    {
      const auto scope = torch::ahbm::graph(g);
      for (int i = 0; i < 10; ++i) torch::launch("one", add_one, x, x);
    }
    const Stream first, second;
    for (int i = 0; i < 2; ++i) {
      for (const Stream& stream : {first, second}) {
        const StreamGuard guard(stream);
        g.replay();
      }
    }
    torch::ahbm::synchronize();
    EXPECT_EQ(x[7].item<float>(), 40);
  });
}

TEST(Graphs, ThatWereMovedFromAreAsNewOnes) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe());
    Graph g;
    {
      const auto scope = torch::ahbm::graph(g);
      torch::launch("one", add_one, x, x);
    }
    Graph moved = std::move(g);
    moved.replay();
    EXPECT_THROW(g.replay(), ValueError);  // NOLINT(bugprone-use-after-move)
    g.reset();
    {
      const auto scope = torch::ahbm::graph(g);
      torch::launch("one", add_one, x, x);
    }
    g.replay();
    torch::ahbm::synchronize();
    EXPECT_EQ(x[7].item<float>(), 2);
  });
}

TEST(Graphs, AScopeWithinAScopeAndTheDefaultStreamAreRefused) {
  const auto text = [](const std::function<void()>& body) {
    return error_of([&] {
      Graph g;
      const auto scope = torch::ahbm::graph(g);
      body();
    });
  };
  EXPECT_THAT(text([] {
                Graph inner;
                const auto scope = torch::ahbm::graph(inner);
              }),
              AllOf(HasSubstr("graph: "), HasSubstr("a worker captures one graph at a time")));
  EXPECT_THAT(text([] { torch::ahbm::default_stream().wait_stream(torch::ahbm::current_stream()); }),
              HasSubstr("the default stream cannot be captured"));
}

TEST(Graphs, AScopeWhoseEndIsRefusedCapturesNoLonger) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe());
    Graph g;
    try {
      const auto scope = torch::ahbm::graph(g);
      torch::ahbm::set_stream(Stream());
      torch::launch("one", add_one, x, x);
    } catch (const ProgramError& error) {
      EXPECT_EQ(error.type(), "CaptureError");
    }
    EXPECT_FALSE(torch::ahbm::is_current_stream_capturing());
    torch::ahbm::synchronize();
    EXPECT_EQ(x[7].item<float>(), 1);
  });
}

// ---- time --------------------------------------------------------------------------------------------------------

/// A hundred launches by hand, or by the replay of a graph. Each has its name from the kernel.
std::map<std::string, LaunchResult> run_hundred(bool as_graph, SimulateOptions options, Time* given = nullptr) {
  constexpr int kLaunches = 100;
  return launches_of(simulate(options, [&] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
    const auto all = [&] {
      for (int i = 0; i < kLaunches; ++i)
        i % 2 == 0 ? torch::launch("k", add_one, x, y) : torch::launch("k", add_one, y, x);
    };
    Graph g;
    if (as_graph) {
      const auto scope = torch::ahbm::graph(g);
      all();
    }
    torch::ahbm::synchronize();
    const Time before = now();
    as_graph ? g.replay() : all();
    if (given != nullptr) *given = now() - before;
    EXPECT_TRUE(!options.data || x[0].item<float>() == 100.0f);
  }));
}

TEST(Graphs, AHundredSmallLaunchesPayTheHostOnce) {
  for (const auto& options : {tiny(), ahbm_1sip()}) {
    const Time message = ps(options.topology == "tiny" ? kHostMessage : kHostMessageOfAhbm);
    Time replayed, by_hand;
    const auto launches = run_hundred(true, options, &replayed), singly = run_hundred(false, options, &by_hand);
    EXPECT_EQ(replayed, kOverhead);
    EXPECT_EQ(by_hand, 100 * kOverhead);
    ASSERT_EQ(launches.size(), 101u);  // and the fill
    // Each begins when the one before is over for the device: one message to the host before its end is known there.
    for (int i = 1; i < 100; ++i) {
      const auto& before = launches.at("k#" + std::to_string(i - 1));
      const auto& launch = launches.at("k#" + std::to_string(i));
      EXPECT_EQ(launch.start, before.end - message) << i;
      if (i == 1) continue;
      // All take the same time, to an edge of an engine's clock.
      EXPECT_LT(std::abs(((launch.end - launch.start) - (before.end - before.start)).count()), 1001) << i;
    }
    EXPECT_LT(launches.at("k#99").end - launches.at("k#0").start, Time::nanoseconds(100 * 1800));
    EXPECT_GT(singly.at("k#99").end - singly.at("k#0").start, 99 * kOverhead);
  }
}

TEST(Graphs, TimesAreTheSameWithoutDataAndWithExactEvents) {
  const auto times = [](SimulateOptions options) {
    std::vector<Time> all;
    for (const auto& [name, launch] : run_hundred(true, options)) all.insert(all.end(), {launch.start, launch.end});
    return all;
  };
  auto exact = tiny(), without = tiny();
  exact.exact_events = true;
  without.data = false;
  EXPECT_EQ(times(tiny()), times(exact));
  // The host's read of the result comes last.
  EXPECT_EQ(times(tiny()), times(without));
}

TEST(Graphs, AReplayTakesOnePlaceInTheDevicesQueue) {
  auto options = tiny();
  options.overrides.push_back("sip.io.queue=1");
  const auto result = simulate(options, [] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
    Graph g;
    {
      const auto scope = torch::ahbm::graph(g);
      for (int i = 0; i < 3; ++i) torch::launch("w", work, x, y);
    }
    torch::ahbm::synchronize();
    g.replay();
    torch::launch("behind", add_one, x, y);
  });
  ASSERT_EQ(result.host_waits.size(), 1u);
  const auto launches = launches_of(result);
  EXPECT_EQ(launches.at("w#1").start, launches.at("w#0").end - ps(kHostMessage));
  EXPECT_EQ(launches.at("behind#0").start, launches.at("w#2").end);
}

// ---- fork and join -----------------------------------------------------------------------------------------------

TEST(Graphs, AStreamThatWaitsForACapturedEventTakesPartAndRunsBeside) {
  const auto result = simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe()), z = torch::empty({256}, one_pe());
    auto sum = torch::empty({256}, one_pe());
    Graph g;
    {
      const Stream side;
      const auto scope = torch::ahbm::graph(g);
      torch::launch(kFirst, "before", add_one, x, x);
      side.wait_stream(torch::ahbm::current_stream());
      torch::launch(kFirst, "a", work, x, y);
      {
        const StreamGuard guard(side);
        torch::launch(kSecond, "b", work, x, z);
      }
      torch::ahbm::current_stream().wait_stream(side);
      torch::launch(
          kFirst, "join",
          [](tl::In p, tl::In q, tl::Tensor out) {
            tl::store(out, {0}, tl::load(p, {0}, {256}) + tl::load(q, {0}, {256}));
          },
          y, z, sum);
    }
    g.replay();
    EXPECT_TRUE(torch::equal(sum.cpu(), (y + z).cpu()));
  });
  const auto launches = launches_of(result);
  const Time fork = launches.at("before#0").end - ps(kHostMessage);
  EXPECT_EQ(launches.at("a#0").start, fork);
  EXPECT_EQ(launches.at("b#0").start, fork);
  EXPECT_EQ(launches.at("join#0").start, std::max(launches.at("a#0").end, launches.at("b#0").end) - ps(kHostMessage));
}

TEST(Graphs, AStreamThatWasNotJoinedIsAnErrorThatNamesItsLaunch) {
  EXPECT_THAT(
      error_of([] {
        auto x = torch::zeros({256}, one_pe());
        Graph g;
        const Stream side;
        const auto scope = torch::ahbm::graph(g);
        torch::launch("begin", add_one, x, x);
        side.wait_stream(torch::ahbm::current_stream());
        const StreamGuard guard(side);
        torch::launch("lost", add_one, x, x);
      }),
      AllOf(HasSubstr("capturing stream has unjoined work: launch lost at graphs_test.cpp:"),
            HasSubstr("sip0 stream 2, captured by the capture_begin at graphs_test.cpp:"), HasSubstr("wait_stream")));
}

TEST(Graphs, LaunchesOnAStreamThatTakesNoPartRunAtOnce) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe());
    const Stream other;
    Graph g;
    {
      const auto scope = torch::ahbm::graph(g);
      const StreamGuard guard(other);
      EXPECT_FALSE(torch::ahbm::is_current_stream_capturing());
      torch::launch("now", add_one, x, x);
      other.synchronize();
    }
    EXPECT_EQ(x[0].item<float>(), 1.0f);
    g.replay();  // of nothing
    EXPECT_EQ(x[0].item<float>(), 1.0f);
  });
}

// ---- memory ------------------------------------------------------------------------------------------------------

TEST(Graphs, TensorsOfACaptureKeepTheirMemoryUntilTheReset) {
  simulate(tiny(), [] {
    auto x = torch::ones({256}, one_pe()), y = torch::empty({256}, one_pe());
    const auto before = torch::ahbm::memory_allocated();
    Graph g;
    {
      const auto scope = torch::ahbm::graph(g);
      torch::launch("last", add_one, x + 1.0f, y);  // x + 1 has no handle any more
      torch::empty({256}, one_pe());                // nor has this one, which no launch uses
    }
    EXPECT_EQ(torch::ahbm::memory_allocated(), 2 * before) << "two tensors of x's and y's size";
    auto other = torch::zeros({256}, one_pe());  // does not get the memory of x + 1
    for (int i = 0; i < 2; ++i) {
      x.fill_(static_cast<float>(i));
      g.replay();
      EXPECT_EQ(y[0].item<float>(), static_cast<float>(i) + 2.0f);
    }
    EXPECT_EQ(other[0].item<float>(), 0.0f);
    other = torch::Tensor();
    g.replay();
    g.reset();
    torch::ahbm::synchronize();
    EXPECT_EQ(torch::ahbm::memory_allocated(), before);
    EXPECT_EQ(y[0].item<float>(), 3.0f);
    {
      const auto scope = torch::ahbm::graph(g);
      torch::launch("last", add_one, y, y);
    }
    g.replay();
    EXPECT_EQ(y[0].item<float>(), 4.0f);
  });
}

TEST(Graphs, AGraphThatIsGivenUpWhileItCapturesLeavesNothing) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe());
    const StreamGuard guard{Stream()};
    {
      Graph g;
      g.capture_begin();
      x.add_(1.0f);
    }
    EXPECT_FALSE(torch::ahbm::is_current_stream_capturing());
    Graph g;
    try {
      const auto scope = torch::ahbm::graph(g);
      x.add_(1.0f);
      throw std::string("something of the program's own");
    } catch (const std::string&) {
    }
    EXPECT_THROW(g.replay(), ValueError);
    EXPECT_EQ(x[0].item<float>(), 0.0f);
  });
}

// ---- failures ----------------------------------------------------------------------------------------------------

TEST(Graphs, AFailedLaunchDropsWhatComesAfterItInTheGraphAndTheStream) {
  float y = -1, z = -1, later = -1;
  std::string error;
  const auto result = simulate(tiny(), [&] {
    auto a = torch::full({256}, -1.0f, one_pe()), b = torch::zeros({256}, one_pe()), c = torch::zeros({256}, one_pe());
    Graph g;
    {
      const auto scope = torch::ahbm::graph(g);
      torch::launch("checks", fails_if_negative, a, b);
      torch::launch("after", add_one, b, b);
    }
    torch::ahbm::synchronize();
    try {
      g.replay();
      torch::launch("behind", add_one, c, c);
      torch::ahbm::synchronize();
    } catch (const ValueError& failure) {
      error = failure.what();
    }
    torch::ahbm::synchronize();
    y = b[0].item<float>();
    z = c[0].item<float>();
    a.fill_(5.0f);
    g.replay();
    later = b[0].item<float>();
  });
  EXPECT_THAT(error, HasSubstr("a negative sum"));
  EXPECT_EQ(y, 0.0f);
  EXPECT_EQ(z, 0.0f);
  EXPECT_EQ(later, 6.0f);
  const auto launches = launches_of(result);
  EXPECT_EQ(launches.count("after#0") + launches.count("behind#0"), 0u);
  EXPECT_EQ(launches.count("after#1"), 1u);
}

TEST(Graphs, ADeadlockNamesTheLaunchThatTheReplayWaitsFor) {
  const auto result = try_simulate(tiny(), [] {
    auto x = torch::zeros({8}, one_pe());
    sim::Completion never;
    never.describe_as([] { return std::string("a message that nobody sends"); });
    Graph g;
    {
      const auto scope = torch::ahbm::graph(g);
      torch::launch("stuck", [&never](tl::Tensor) { never.wait(); }, x);
      torch::launch("next", [](tl::Tensor) {}, x);
    }
    g.replay();
    x.cpu();
  });
  ASSERT_EQ(result.error->type, "DeadlockError");
  EXPECT_THAT(result.error->message, AllOf(HasSubstr("a message that nobody sends"), HasSubstr("stuck#0"),
                                           HasSubstr("replay of graph#0 on sip0 stream 0")));
}

// ---- what is refused ---------------------------------------------------------------------------------------------

/// The error of `call` while a graph is captured.
std::string refusal_of(const std::function<void(torch::Tensor& x)>& call, SimulateOptions options = tiny()) {
  const auto program = [&] {
    auto x = torch::zeros({256}, one_pe());
    Graph g;
    const auto scope = torch::ahbm::graph(g);
    x.add_(1.0f);
    call(x);
  };
  EXPECT_EQ(error_type_of(program, options), "CaptureError");
  return error_of(program, options);
}

TEST(Graphs, WhatWaitsReadsOrCopiesWhileAStreamIsCapturedIsRefusedByName) {
  const auto place = HasSubstr("(sip0 stream 1, captured by the capture_begin at graphs_test.cpp:");
  const auto refused = [&](const std::string& what) {
    return AllOf(HasSubstr(what + ": operation not permitted when stream is capturing "), place);
  };
  EXPECT_THAT(refusal_of([](auto& x) { x[0].template item<float>(); }), refused("item of tensor tensor#0"));
  EXPECT_THAT(refusal_of([](auto& x) { x.cpu(); }), refused("cpu of tensor tensor#0"));
  EXPECT_THAT(refusal_of([](auto& x) { x.copy_(torch::ones({256})); }),
              refused("copy from the host to tensor tensor#0"));
  EXPECT_THAT(refusal_of([](auto&) { torch::ahbm::synchronize(); }), refused("synchronize"));
  EXPECT_THAT(refusal_of([](auto&) { torch::ahbm::current_stream().synchronize(); }), refused("Stream::synchronize"));
  EXPECT_THAT(refusal_of([](auto&) { (void)torch::ahbm::current_stream().query(); }), refused("Stream::query"));
  EXPECT_THAT(refusal_of([](auto&) {
                Graph second;
                second.capture_begin();
              }),
              refused("Graph::capture_begin"));
  EXPECT_THAT(refusal_of([](auto& x) {
                torch::LaunchOptions ring = kFirst;
                ring.pes.push_back({CubeId{0}, PeId{1}});
                ring.queues.topology = QueueTopology::ring_1d;
                torch::launch(ring, "messages", [](tl::Tensor) {}, x);
              }),
              refused("launch messages"));
  EXPECT_THAT(refusal_of([](auto& x) { x.flip(0); }),
              AllOf(HasSubstr("flip at graphs_test.cpp:"), refused("copy from the host to tensor tensor#1")));
  auto two_sips = tiny({"system.sips.count=2"});
  EXPECT_THAT(refusal_of([](auto& x) { x.to("ahbm:1"); }, two_sips), HasSubstr("a graph has launches of one device"));
}

// A program that ends so has a result without what it captured.
TEST(Graphs, ACaptureThatNeverEndsAndAnEmptyGraphAreWarnedOf) {
  const auto unended = simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe());
    Graph g;
    const torch::ahbm::StreamGuard guard(torch::ahbm::Stream{});
    g.capture_begin();
    x.add_(1.0f);
    x.mul_(2.0f);
  });
  EXPECT_THAT(unended.warnings, Contains(AllOf(HasSubstr("captured by the capture_begin at graphs_test.cpp:"),
                                               HasSubstr("its 2 launches have not run"))));
  const auto empty = simulate(tiny(), [] {
    Graph g;
    {
      const auto scope = torch::ahbm::graph(g);
    }
    g.replay();
  });
  EXPECT_THAT(empty.warnings, Contains(HasSubstr("a graph is empty (sip0 stream 1, captured by")));
}

TEST(Graphs, ACapturedEventHasNoTimeAndOrdersOnlyItsCapture) {
  const auto captured = "operation not permitted on an event last recorded in a capturing stream";
  EXPECT_THAT(refusal_of([](auto&) { (void)torch::ahbm::current_stream().record_event().query(); }),
              HasSubstr(captured));
  EXPECT_THAT(refusal_of([](auto&) { torch::ahbm::current_stream().record_event().synchronize(); }),
              HasSubstr(captured));
  EXPECT_THAT(refusal_of([](auto&) {
                const Event e = torch::ahbm::current_stream().record_event();
                (void)e.elapsed_time(e);
              }),
              HasSubstr(captured));
  EXPECT_THAT(error_of([] {
                Graph g;
                Event e;
                {
                  const auto scope = torch::ahbm::graph(g);
                  e.record();
                }
                e.wait();
              }),
              HasSubstr("recorded in a capture that is over"));
  EXPECT_THAT(error_of([] {
                const Event before = torch::ahbm::current_stream().record_event();
                Graph g;
                const auto scope = torch::ahbm::graph(g);
                before.wait();
              }),
              HasSubstr("a dependency on uncaptured work in another stream"));
}

TEST(Graphs, WhatWasRefusedMakesTheCaptureInvalid) {
  EXPECT_THAT(error_of([] {
                auto x = torch::zeros({256}, one_pe());
                Graph g;
                const auto scope = torch::ahbm::graph(g);
                x.add_(1.0f);
                EXPECT_THROW(x.cpu(), ProgramError);
              }),
              HasSubstr("Graph::capture_end: operation failed due to a previous error during capture"));
}

TEST(Graphs, TheOrderOfCallsIsThatOfPyTorch) {
  EXPECT_THAT(error_of([] {
                Graph g;
                g.capture_begin();
              }),
              HasSubstr("graphs must be captured on a non-default stream"));
  EXPECT_THAT(error_of([] {
                Graph g;
                g.capture_end();
              }),
              HasSubstr("Graph::capture_end: this graph is not being captured"));
  EXPECT_THAT(error_of([] {
                Graph g;
                g.replay();
              }),
              HasSubstr("Graph::replay: called without a preceding successful capture"));
  EXPECT_THAT(error_of([] {
                Graph g;
                {
                  const auto scope = torch::ahbm::graph(g);
                }
                const StreamGuard guard{Stream()};
                g.capture_begin();
              }),
              HasSubstr("this Graph instance already owns a captured graph"));
  EXPECT_THAT(error_of([] {
                Graph g;
                const StreamGuard guard{Stream()};
                g.capture_begin();
                const StreamGuard another{Stream()};
                g.capture_end();
              }),
              HasSubstr("capture must end on the same stream it began on"));
  EXPECT_THAT(error_of([] {
                Graph g, h;
                {
                  const auto scope = torch::ahbm::graph(g);
                }
                const auto scope = torch::ahbm::graph(h);
                g.replay();
              }),
              HasSubstr("a graph within a graph"));
}

TEST(Graphs, AGraphEndsWithItsSimulation) {
  Graph g;
  simulate(tiny(), [&] {
    auto x = torch::zeros({256}, one_pe());
    const auto scope = torch::ahbm::graph(g);
    x.add_(1.0f);
  });
  EXPECT_THAT(error_of([&] { g.replay(); }), HasSubstr("belongs to a simulation that has ended"));
}

}  // namespace
}  // namespace kernbench
