// What a host program may rely on: streams, events, what a host read waits for, memory that was freed, views.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "programs.h"
#include "runtime/context.h"

namespace kernbench::host_api_test {
namespace {

using ::testing::AllOf;
using testing::error_of;
using testing::error_type_of;
using ::testing::HasSubstr;
using testing::one_pe;
using testing::tiny;

Time now() {
  return runtime::current_context("now").simulation.scheduler().now();
}

void add_one(tl::In x, tl::Tensor out) {
  tl::store(out, {0}, tl::load(x, {0}, {x.numel()}) + 1.0f);
}

/// Takes far longer than anything else here.
void spin(tl::In x, tl::Tensor out) {
  auto tile = tl::load(x, {0}, {x.numel()});
  for (int i = 0; i < 3000; ++i) tile = tl::exp(tile * 0.001f);
  tl::store(out, {0}, tile);
}
void spin_writable(tl::Tensor x, tl::Tensor out) {
  spin(tl::In(std::make_shared<addressing::TensorDescriptor>(x.descriptor())), out);
}

SimulateOptions without_data() {
  auto options = tiny();
  options.data = false;
  return options;
}

// ---- streams and events ----------------------------------------------------------------------------------------

TEST(HostApi, LaunchesOfOneStreamRunOneAfterTheOther) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
    for (int i = 0; i < 3; ++i) {
      torch::launch("step", add_one, x, y);
      torch::launch("step", add_one, y, x);
    }
    EXPECT_EQ(x[255].item<float>(), 6.0f);
  });
  ASSERT_EQ(result.launches.size(), 7u);
  for (std::size_t i = 1; i < result.launches.size(); ++i) {
    // The device begins a launch while the host is told of the end of the one before: 197 ns.
    EXPECT_GE(result.launches[i].start + Time::nanoseconds(200), result.launches[i - 1].end);
    EXPECT_GT(result.launches[i].end, result.launches[i - 1].end);
    EXPECT_EQ(result.launches[i].name, "step#" + std::to_string(i - 1));
  }
}

TEST(HostApi, ALaunchReturnsAfterTheLaunchOverheadWhateverItTakes) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
    torch::ahbm::synchronize();
    const Time before = now();
    torch::launch("spin", spin, x, y);
    EXPECT_EQ(now() - before, Time::nanoseconds(2000));
    torch::ahbm::synchronize();
    EXPECT_GT(now() - before, Time::nanoseconds(50000));
  });
}

TEST(HostApi, ElapsedTimeIsTheSimulatedDifferenceBetweenTheEvents) {
  Time begin, end;
  double elapsed = 0;
  const RunResult result = simulate(tiny(), [&] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
    torch::ahbm::synchronize();
    torch::ahbm::Event first, last;
    first.record();
    begin = now();
    EXPECT_TRUE(first.query());
    torch::launch("spin", spin, x, y);
    last.record();
    EXPECT_FALSE(last.query());
    EXPECT_THROW(first.elapsed_time(last), ValueError);
    last.synchronize();
    end = now();
    EXPECT_TRUE(last.query());
    elapsed = first.elapsed_time(last);
    EXPECT_EQ(last.elapsed_time(first), -elapsed);
    const Time waited = now();
    last.synchronize();
    torch::ahbm::synchronize();
    EXPECT_EQ(now(), waited);
  });
  EXPECT_DOUBLE_EQ(elapsed, static_cast<double>((end - begin).count()) * 1e-9);
  EXPECT_EQ(end, result.launches.back().end);
}

TEST(HostApi, AnEventThatWasNeverRecordedIsReached) {
  simulate(tiny(), [] {
    torch::ahbm::Event event;
    EXPECT_TRUE(event.query());
    event.synchronize();
  });
}

TEST(HostApi, AnEventRecordedAgainMeansTheLaterPoint) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
    torch::ahbm::Event start, event;
    start.record();
    event.record();
    torch::launch("spin", spin, x, y);
    event.record();
    event.synchronize();
    EXPECT_GT(start.elapsed_time(event), 0.05);
  });
}

TEST(HostApi, PollingAnEventInALoopEnds) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
    torch::launch("spin", spin, x, y);
    torch::ahbm::Event event;
    event.record();
    int polls = 0;
    while (!event.query() && polls < 100'000) ++polls;
    EXPECT_TRUE(event.query());
    EXPECT_GT(polls, 0);
  });
}

// ---- what a host read waits for --------------------------------------------------------------------------------

TEST(HostApi, AHostReadWaitsForItsProducerAndForNothingLater) {
  const RunResult result = simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe()), z = torch::empty({256}, one_pe());
    torch::launch("quick", add_one, x, y);
    torch::launch("spin", spin, x, z);
    torch::ahbm::Event event;
    event.record();
    EXPECT_EQ(y[3].item<float>(), 1.0f);
    EXPECT_EQ(x[3].item<float>(), 0.0f);  // only read by what is still running
    EXPECT_FALSE(event.query());
    z[0].item<float>();
    EXPECT_TRUE(event.query());
  });
  EXPECT_EQ(result.launches.back().name, "spin#0");
}

TEST(HostApi, ATensorTakenAsInIsNotWaitedForAndOneTakenAsTensorIs) {
  const auto time_of_read = [](bool writable) {
    Time result;
    simulate(tiny(), [&] {
      auto x = torch::zeros({256}, one_pe()), z = torch::empty({256}, one_pe());
      if (writable)
        torch::launch("spin", spin_writable, x, z);
      else
        torch::launch("spin", spin, x, z);
      x[0].item<float>();
      result = now();
    });
    return result;
  };
  EXPECT_LT(time_of_read(false) + Time::nanoseconds(50000), time_of_read(true));
}

TEST(HostApi, AViewWaitsForTheProducerOfItsStorage) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe()), z = torch::empty({256}, one_pe());
    const auto view = z.view({16, 16}).t()[3].slice(0, 2, 9, 3);
    torch::launch("spin", spin, x, z);
    EXPECT_EQ(view.cpu()[1].item<float>(), z[5 * 16 + 3].item<float>());
  });
}

TEST(HostApi, ACopyToADeviceTensorComesAfterTheLaunchesThatReadIt) {
  simulate(tiny(), [] {
    auto x = torch::zeros({256}, one_pe()), z = torch::empty({256}, one_pe()), slow = torch::empty({256}, one_pe());
    torch::launch("spin", spin, x, slow);
    torch::launch("quick", add_one, x, z);
    x.copy_(torch::full({256}, 9.0f));
    EXPECT_EQ(z[0].item<float>(), 1.0f);
    EXPECT_EQ(x[0].item<float>(), 9.0f);
  });
}

TEST(HostApi, EveryHostReadReturnsTheValuesOfTheLaunchBeforeIt) {
  const std::vector<std::function<float(const torch::Tensor&)>> reads{
      [](const torch::Tensor& y) { return y[7].item<float>(); },
      [](const torch::Tensor& y) { return y[7].item_or(-1.0f); },
      [](const torch::Tensor& y) { return y.cpu().data_ptr<float>()[7]; },
      [](const torch::Tensor& y) { return y.cpu_or(torch::zeros({256})).data_ptr<float>()[7]; },
      [](const torch::Tensor& y) {
        return static_cast<float>(y.to(torch::kCPU, torch::kDouble).data_ptr<double>()[7]);
      },
      [](const torch::Tensor& y) { return torch::empty({256}).copy_(y).data_ptr<float>()[7]; },
      [](const torch::Tensor& y) { return y.clone()[7].item<float>(); },
      [](const torch::Tensor& y) { return y.equal(torch::full({256}, 1.0f)) ? 1.0f : 0.0f; },
      [](const torch::Tensor& y) { return torch::allclose(torch::full({256}, 1.0f), y) ? 1.0f : 0.0f; },
      [](const torch::Tensor& y) {
        std::ostringstream text;
        text << y[7];
        return text.str().find('1') != std::string::npos ? 1.0f : 0.0f;
      },
      [](const torch::Tensor& y) { return check_close("y", y, torch::full({256}, 1.0f)) ? 1.0f : 0.0f; }};
  for (std::size_t i = 0; i < reads.size(); ++i) {
    simulate(tiny(), [&] {
      auto x = torch::zeros({256}, one_pe()), y = torch::empty({256}, one_pe());
      torch::launch("quick", add_one, x, y);
      EXPECT_EQ(reads[i](y), 1.0f) << i;
    });
  }
}

// ---- without data ----------------------------------------------------------------------------------------------

TEST(HostApi, WithoutDataEveryHostReadIsAnErrorThatNamesTheCall) {
  const std::vector<std::pair<std::string, std::function<void(const torch::Tensor&)>>> reads{
      {"item", [](const torch::Tensor& y) { y[0].item(); }},
      {"cpu", [](const torch::Tensor& y) { y.cpu(); }},
      {"to", [](const torch::Tensor& y) { y.to(torch::kCPU, torch::kDouble); }},
      {"copy_", [](const torch::Tensor& y) { torch::empty({4}).copy_(y); }},
      {"equal", [](const torch::Tensor& y) { torch::equal(y, torch::ones({4})); }},
      {"allclose", [](const torch::Tensor& y) { torch::allclose(y, torch::ones({4})); }},
      {"operator<<", [](const torch::Tensor& y) {
         std::ostringstream text;
         text << y;
       }}};
  for (const auto& [call, read] : reads) {
    const auto program = [&, use = read] { use(torch::ones({4}, one_pe().name("y"))); };
    EXPECT_EQ(error_type_of(program, without_data()), "NoDataError") << call;
    EXPECT_THAT(error_of(program, without_data()),
                AllOf(HasSubstr(call), HasSubstr("\"y\""), HasSubstr("item_or(x, assumed)")));
    EXPECT_EQ(error_of(program), "no error") << call;
  }
}

TEST(HostApi, WithoutDataTimesAndFingerprintsAreTheSame) {
  const auto run = [](bool data) {
    auto options = tiny();
    options.data = data;
    return simulate(options, [] {
      auto x = torch::rand({256}, one_pe()), y = torch::empty({256}, one_pe());
      torch::launch(
          "checked",
          [](tl::In a, tl::Tensor b) {
            const auto tile = tl::load(a, {0}, {256});
            tl::device_assert(tile >= 0.0f, "rand is not negative");
            tl::store(b, {0}, tile * tl::item_or(tl::max(tile), 1.0f));
          },
          x, y);
      y[3].item_or(1.0f);
      EXPECT_EQ(y.cpu_or(torch::full({256}, -1.0f)).equal(torch::full({256}, -1.0f)), !data_enabled());
      y.view({16, 16}).t()[2][1].item_or(1.0f);
      check_close("y", y.slice(0, 3, 200, 7), torch::zeros({29}), {10, 0});
    });
  };
  const RunResult with = run(true), without = run(false);
  EXPECT_EQ(with.simulated_time, without.simulated_time);
  EXPECT_EQ(with.times_fingerprint, without.times_fingerprint);
  EXPECT_EQ(without.checks[0].status, CheckStatus::skipped);
  EXPECT_EQ(with.checks[0].status, CheckStatus::passed);
}

TEST(HostApi, AssumedValuesAreWhereAndOfWhatTheTensorIs) {
  const auto of = [](std::int64_t elements, torch::ScalarType type = torch::kFloat) {
    return error_of([&] { torch::ones({4}, one_pe()).cpu_or(torch::zeros({elements}, type)); });
  };
  EXPECT_EQ(of(4), "no error");
  EXPECT_THAT(of(5), HasSubstr("cpu_or: the assumed values must be a host tensor of the same shape and"));
  EXPECT_THAT(of(4, torch::kLong), HasSubstr("the assumed values must be"));
}

TEST(HostApi, TheReferenceOfACheckLivesOnTheHost) {
  for (const auto& options : {tiny(), without_data()}) {
    EXPECT_THAT(error_of([] { check_close("x", torch::ones({2}, one_pe()), torch::ones({2}, one_pe())); }, options),
                HasSubstr("check_close(x): the expected values must be on the host"));
  }
}

// ---- replicas, random numbers, memory, views -------------------------------------------------------------------

torch::TensorOptions replicated() {
  return torch::device("ahbm").placement({.cube = Placement::row_wise, .pe = Placement::replicate});
}

TEST(HostApi, ReplicasThatAKernelMakesDifferentAreReportedOnRead) {
  const auto program = [](bool both) {
    return [both] {
      auto x = torch::zeros({16}, replicated().name("x"));
      torch::launch(
          "write",
          [](tl::Tensor a, bool all) {
            // Rows 8 … 15 live on cube 1.
            if (tl::cube_id() == 1 && (all || tl::pe_id() == 1)) tl::store(a, {9}, tl::full({1}, 5.0f, DType::f32));
          },
          x, both);
      EXPECT_EQ(x[3].item<float>(), 0.0f);  // those replicas agree
      EXPECT_EQ(x[9].item<float>(), 5.0f);
    };
  };
  const auto options = tiny({"sip.cubes.mesh=[2, 1]"});
  EXPECT_EQ(error_of(program(true), options), "no error");
  EXPECT_EQ(error_type_of(program(false), options), "ReplicaMismatchError");
  EXPECT_THAT(error_of(program(false), options),
              AllOf(HasSubstr("item read tensor x"), HasSubstr("the copies on sip0.cube1.pe0 and on sip0.cube1.pe1")));
}

TEST(HostApi, AReplicaThatWasNeverWrittenDiffersFromOneThatHoldsZeros) {
  const auto error = error_of([] {
    auto x = torch::empty({16}, replicated().name("x"));
    torch::launch(
        "write",
        [](tl::Tensor a) {
          if (tl::pe_id() == 0) tl::store(a, {0}, tl::zeros({16}, DType::f32));
        },
        x);
    x.cpu();
  });
  EXPECT_THAT(error, HasSubstr("cpu read tensor x, whose replicas differ"));
}

TEST(HostApi, TheRandomGeneratorBelongsToTheFiberAndStartsFromTheSeedOfTheRun) {
  const auto draw = [](std::uint64_t seed, std::function<void()> before = {}) {
    float value = 0;
    auto options = tiny();
    options.seed = seed;
    simulate(options, [&] {
      if (before) before();
      value = torch::rand({4}, one_pe())[2].item<float>();
    });
    return value;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
  EXPECT_EQ(draw(1, [] { torch::manual_seed(2); }), draw(2));
  const auto other_fiber = [] {
    auto& simulation = runtime::current_context("test").simulation;
    auto other = simulation.scheduler().spawn({.agent = simulation.machine().host_agent(0), .name = "other"}, [&] {
      runtime::enter_host_context(simulation);
      EXPECT_EQ(torch::ahbm::current_device(), 0);
      torch::manual_seed(77);
      torch::rand({100});
    });
    other->done().wait();
  };
  EXPECT_EQ(draw(1, other_fiber), draw(1));
}

TEST(HostApi, MemoryThatIsReusedHoldsPoisonNotTheValuesOfTheTensorBefore) {
  EXPECT_THAT(error_of([] {
                auto x = torch::ones({1024}, one_pe());
                torch::ahbm::synchronize();
                x = {};
                auto y = torch::empty({1024}, one_pe().name("y"));
                y.cpu();
              }),
              HasSubstr("element [0] of tensor y, which was never written"));
}

TEST(HostApi, FreedMemoryIsGivenToOthersOnceItsLastLaunchHasCompleted) {
  const std::int64_t half = std::int64_t{3} * 512 * 1024 * 1024;  // 3 GiB of f16 in a slice of 4.5 GiB
  simulate(without_data(), [&] {
    for (int i = 0; i < 3; ++i) {
      auto x = torch::empty({half}, one_pe(DType::f16)), y = torch::empty({1}, one_pe(DType::f16));
      torch::launch("touch", [](tl::In a, tl::Tensor b) { tl::store(b, {0}, tl::load(a, {0}, {1})); }, x, y);
      x = {};
      EXPECT_THROW(torch::empty({half}, one_pe(DType::f16)), OutOfMemoryError);  // the launch still holds it
      torch::ahbm::synchronize();
    }
  });
}

TEST(HostApi, OutOfMemoryNamesTheTensorTheSliceAndTheLargestHolders) {
  EXPECT_THAT(error_of(
                  [] {
                    auto big = torch::empty({std::int64_t{1} << 30}, one_pe().name("big"));
                    torch::empty({std::int64_t{1} << 30}, one_pe().name("bigger"));
                  },
                  without_data()),
              AllOf(HasSubstr("out of HBM on sip0.cube0.pe0: tensor \"bigger\""), HasSubstr("needs 4 GiB there"),
                    HasSubstr("512 MiB of 4.5 GiB are free"), HasSubstr("\"big\" 4 GiB")));
}

TEST(HostApi, AHandleKeptByAKernelDoesNotReachFreedMemory) {
  EXPECT_THAT(error_of([] {
                std::optional<tl::Tensor> kept;
                auto x = torch::ones({8}, one_pe().name("x")), other = torch::ones({8}, one_pe());
                torch::launch("keep", [&kept](tl::Tensor a) { kept = a; }, x);
                torch::ahbm::synchronize();
                x = {};
                auto y = torch::ones({8}, one_pe());  // where x was
                torch::launch("use", [&kept](tl::In) { tl::load(*kept, {0}, {8}); }, other);
                torch::ahbm::synchronize();
              }),
              AllOf(HasSubstr("touches tensor \"x\", which was freed"), HasSubstr("kernel use#0")));
}

TEST(HostApi, ATileThatLeavesItsKernelIsAnError) {
  tl::Tile kept;
  EXPECT_THAT(
      error_of([&] {
        auto x = torch::ones({8}, one_pe());
        torch::launch("leak", [&kept](tl::In a) { kept = tl::load(a, {0}, {8}); }, x);
        torch::ahbm::synchronize();
      }),
      AllOf(HasSubstr("a tile outlives its kernel"), HasSubstr("tile 0 [8] f32 from load at host_api_test.cpp:")));
  kept = {};
}

TEST(HostApi, ViewsOfDeviceTensorsReadWhatTheSameViewsOfHostTensorsHold) {
  const std::vector<std::function<torch::Tensor(const torch::Tensor&)>> views{
      [](const torch::Tensor& x) { return x[3]; },
      [](const torch::Tensor& x) { return x[5][2]; },
      [](const torch::Tensor& x) { return x[5][2][1]; },
      [](const torch::Tensor& x) { return x.slice(0, 1, 10, 4); },
      [](const torch::Tensor& x) { return x.slice(2, 2, 7, 2).slice(1, 1, 5); },
      [](const torch::Tensor& x) { return x.transpose(0, 2); },
      [](const torch::Tensor& x) { return x.permute({2, 0, 1})[4]; },
      [](const torch::Tensor& x) { return x.view({-1}).slice(0, 17, 300, 13); },
      [](const torch::Tensor& x) { return x.narrow(1, 2, 3).select(2, 6); },
      [](const torch::Tensor& x) { return x[1].unsqueeze(0).expand({3, 5, 7}); },
      [](const torch::Tensor& x) { return x.reshape({55, 7}).t(); }};
  for (const Placement placement : {Placement::row_wise, Placement::column_wise, Placement::tiled_row_major}) {
    simulate(tiny({"sip.cubes.mesh=[2, 2]"}), [&] {
      const auto host = torch::arange(11 * 5 * 7, torch::kFloat).view({11, 5, 7});
      const auto device = host.to(torch::device("ahbm").placement({.cube = placement, .pe = placement}));
      for (std::size_t i = 0; i < views.size(); ++i)
        EXPECT_TRUE(torch::equal(views[i](device).cpu(), views[i](host))) << i;
      EXPECT_EQ(device[10][4][6].item<float>(), 384.0f);
    });
  }
}

TEST(HostApi, WritesThroughViewsReachTheirElementsOnly) {
  simulate(tiny(), [] {
    auto x = torch::zeros({6, 8}, torch::device("ahbm")), expected = torch::zeros({6, 8});
    for (const auto& tensor : {x, expected}) {
      tensor[2] = torch::arange(8, torch::kFloat);
      tensor.slice(1, 1, 8, 3) = 7.0f;
      tensor[5][0] = -1.0f;
      tensor.t()[4].copy_(torch::full({6}, 3.0f));
    }
    EXPECT_TRUE(torch::equal(x.cpu(), expected));
  });
}

}  // namespace
}  // namespace kernbench::host_api_test
