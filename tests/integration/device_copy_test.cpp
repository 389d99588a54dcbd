// Copies from device to device: when they happen, and what waits for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "devices.h"
#include "host_copy_law.h"

namespace kernbench {
namespace {

using testing::copy_to_host;
using testing::copy_to_peer;
using testing::kBytes;
using testing::kElements;
using testing::kFirst;
using testing::kOverhead;
using testing::now;
using testing::on;
using testing::ps;
using testing::ring_of;
using testing::set;
using testing::wait_for_all;
using torch::ahbm::Stream;
using torch::ahbm::StreamGuard;

void add_one(tl::In x, tl::Tensor out) {
  tl::store(out, {0}, tl::load(x, {0}, {x.numel()}) + 1.0F);
}

TEST(DeviceCopies, TakeTheTimeOfTheLawAndTheHostGoesOn) {
  SimulateOptions exact = ring_of(3), dataless = ring_of(3);
  exact.exact_events = true;
  dataless.data = false;
  for (const auto& options : {ring_of(3), exact, dataless}) {
    simulate(options, [] {
      for (const int from : {0, 1, 2}) {
        for (const int to : {0, 1, 2}) {
          if (from == to) continue;
          const auto x = torch::full({kElements}, 3, on(from)), y = torch::zeros({kElements}, on(to));
          wait_for_all();
          for (const bool non_blocking : {true, false}) {
            const Time called = now();
            y.copy_(x, non_blocking);
            EXPECT_EQ(now() - called, ps(kOverhead));
            torch::ahbm::synchronize(to);
            EXPECT_EQ(now() - called, ps(kOverhead) + copy_to_peer(kBytes));
          }
          if (data_enabled()) {
            EXPECT_TRUE(y.cpu().equal(torch::full({kElements}, 3)));
          }
        }
      }
    });
  }
}

// Behind the earlier work of both streams, and before the later work of both.
TEST(DeviceCopies, StandInTheStreamsOfBothDevices) {
  for (const bool source_is_later : {true, false}) {
    const RunResult result = simulate(ring_of(2), [&] {
      const auto x = torch::zeros({kElements}, on(0)), y = torch::zeros({kElements}, on(1));
      const auto out = torch::empty({kElements}, on(1));
      wait_for_all();
      torch::launch(kFirst, "source", set, x, 3.0F, std::int64_t{source_is_later ? 60'000 : 20'000});
      torch::launch(kFirst, "destination", set, y, 4.0F, std::int64_t{source_is_later ? 20'000 : 60'000});
      y.copy_(x);
      torch::launch(kFirst, "overwrite", set, x, 5.0F, std::int64_t{0});
      torch::launch(kFirst, "reader", add_one, y, out);
      EXPECT_TRUE(out.cpu().equal(torch::full({kElements}, 4)));
      EXPECT_TRUE(y.cpu().equal(torch::full({kElements}, 3)));
      EXPECT_TRUE(x.cpu().equal(torch::full({kElements}, 5)));
    });
    std::map<std::string, LaunchResult> launches;
    for (const auto& launch : result.launches) launches.emplace(launch.name, launch);
    const Time copied = std::max(launches.at("source#0").end, launches.at("destination#0").end) + copy_to_peer(kBytes);
    EXPECT_EQ(launches.at("overwrite#0").start, copied);
    EXPECT_EQ(launches.at("reader#0").start, copied);
  }
}

TEST(DeviceCopies, WaitForNoOtherStream) {
  simulate(ring_of(2), [] {
    const auto x = torch::full({kElements}, 3, on(0)), y = torch::zeros({kElements}, on(1));
    const auto busy = torch::empty({kElements}, on(0)), busy_there = torch::empty({kElements}, on(1));
    wait_for_all();
    Stream here(0), there(1);
    const torch::LaunchOptions second{.pes = {{CubeId{0}, PeId{1}}}};
    for (const auto& [stream, tensor] : {std::pair{here, busy}, std::pair{there, busy_there}}) {
      const StreamGuard guard(stream);
      torch::launch(second, "long", set, tensor, 1.0F, std::int64_t{200'000});
    }
    const Time called = now();
    y.copy_(x);
    EXPECT_TRUE(y.cpu().equal(torch::full({kElements}, 3)));
    EXPECT_EQ(now() - called, ps(kOverhead) + copy_to_peer(kBytes) + ps(kOverhead) + copy_to_host(kBytes));
    EXPECT_FALSE(here.query());
    EXPECT_FALSE(there.query());
  });
}

TEST(DeviceCopies, OfNoElementsAreNothing) {
  simulate(ring_of(2), [] {
    const auto x = torch::zeros({kElements}, on(0)), y = torch::zeros({kElements}, on(1));
    wait_for_all();
    const Time called = now();
    y.narrow(0, 3, 0).copy_(x.narrow(0, 5, 0));
    EXPECT_EQ(now(), called);
  });
}

TEST(DeviceCopies, CarryInvalidElementsAlong) {
  int line = 0;
  const std::string text = testing::error_of(
      [&] {
        const auto x = torch::empty({kElements}, on(0).name("x")), y = torch::zeros({kElements}, on(1).name("y"));
        y.copy_(x), line = __LINE__;
        y.cpu();
      },
      ring_of(2));
  EXPECT_NE(text.find("cpu read element [0] of tensor y, which is invalid: the copy_ at device_copy_test.cpp:" +
                      std::to_string(line) + " read memory that nobody had written (element [0] of x); initialise it"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace kernbench
