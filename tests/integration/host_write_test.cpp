// copy_ from host to device: what arrives, when, and how long the host waits for it.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "host_copy_law.h"
#include "programs.h"
#include "runtime/context.h"

namespace kernbench::host_write_test {
namespace {

using testing::copy_to_device;
using testing::copy_to_host;
using testing::kOverhead;
using testing::one_pe;
using testing::ps;
using testing::tiny;
using torch::ahbm::Stream;
using torch::ahbm::StreamGuard;

constexpr std::int64_t kElements = 256, kBytes = 4 * kElements;
const torch::LaunchOptions kFirst{.pes = {{CubeId{0}, PeId{0}}}}, kSecond{.pes = {{CubeId{0}, PeId{1}}}};

Time now() {
  return runtime::current_context("now").simulation.scheduler().now();
}

/// copy_ as it is written without the argument, or with it.
void copy(const torch::Tensor& to, const torch::Tensor& from, std::optional<bool> non_blocking) {
  if (non_blocking)
    to.copy_(from, *non_blocking);
  else
    to.copy_(from);
}

constexpr std::optional<bool> kWays[] = {std::nullopt, true, false};

void set(tl::Tensor x, float value, std::int64_t delay) {
  tl::delay(delay);
  tl::store(x, {0}, tl::full({x.numel()}, value, DType::f32));
}
void add_one(tl::In x, tl::Tensor out) {
  tl::store(out, {0}, tl::load(x, {0}, {x.numel()}) + 1.0F);
}

torch::Tensor ready() {
  auto x = torch::zeros({kElements}, one_pe());
  torch::ahbm::synchronize();
  return x;
}

TEST(HostWrites, TheHostGoesOnAtOnceOrWhenTheElementsHaveLanded) {
  SimulateOptions exact = tiny(), dataless = tiny();
  exact.exact_events = true;
  dataless.data = false;
  for (const auto& options : {tiny(), exact, dataless}) {
    simulate(options, [] {
      for (const auto way : kWays) {
        const auto x = ready();
        const Time called = now();
        copy(x, torch::ones({kElements}), way);
        const bool waits = way == false;
        EXPECT_EQ(now() - called, ps(kOverhead) + (waits ? copy_to_device(kBytes) : Time::zero()));
        torch::ahbm::synchronize();
        EXPECT_EQ(now() - called, ps(kOverhead) + copy_to_device(kBytes));
      }
    });
  }
}

TEST(HostWrites, WhatTheHostChangesAfterTheCallDoesNotArrive) {
  simulate(tiny(), [] {
    for (const auto way : kWays) {
      const auto x = ready();
      // The copy begins long after the call.
      torch::launch(kFirst, "set", set, x, 7.0F, std::int64_t{50'000});
      const auto host = torch::full({kElements}, 3);
      copy(x, host, way);
      host.fill_(9);
      EXPECT_TRUE(x.cpu().equal(torch::full({kElements}, 3)));
      // Of a converted and transposed source, too.
      const auto square = torch::ones({16, 16}, torch::kDouble);
      copy(x.view({16, 16}), square.t(), way);
      square.fill_(9);
      EXPECT_TRUE(x.cpu().equal(torch::ones({kElements})));
    }
  });
}

TEST(HostWrites, StayInTheOrderOfTheirStream) {
  for (const auto way : kWays) {
    const RunResult result = simulate(tiny(), [&] {
      const auto x = ready(), y = torch::empty({kElements}, one_pe());
      torch::launch(kFirst, "set", set, x, 7.0F, std::int64_t{50'000});
      copy(x, torch::full({kElements}, 3), way);
      if (way == false) report_metric("landed", static_cast<double>(now().count()), "ps");
      torch::launch(kFirst, "add", add_one, x, y);
      EXPECT_TRUE(y.cpu().equal(torch::full({kElements}, 4)));
      EXPECT_TRUE(x.cpu().equal(torch::full({kElements}, 3)));
    });
    Time set_end, add_start;
    for (const auto& launch : result.launches) {
      if (launch.name == "set#0") set_end = launch.end;
      if (launch.name == "add#0") add_start = launch.start;
    }
    const Time landed = set_end + copy_to_device(kBytes);
    if (way == false) {
      EXPECT_EQ(result.metrics.at("landed").value, static_cast<double>(landed.count()));
      EXPECT_EQ(add_start, landed + ps(kOverhead));
    } else {
      EXPECT_EQ(add_start, landed);
    }
  }
}

TEST(HostWrites, WaitForNoOtherStream) {
  simulate(tiny(), [] {
    const auto x = ready(), other = torch::empty({kElements}, one_pe());
    Stream busy;
    {
      const StreamGuard guard(busy);
      torch::launch(kSecond, "long", set, other, 1.0F, std::int64_t{200'000});
    }
    const Time called = now();
    x.copy_(torch::ones({kElements}), false);
    EXPECT_EQ(now() - called, ps(kOverhead) + copy_to_device(kBytes));
    EXPECT_FALSE(busy.query());
  });
}

TEST(HostWrites, OfNoElementsWaitForNothing) {
  simulate(tiny(), [] {
    const auto x = ready();
    torch::launch(kFirst, "set", set, x, 7.0F, std::int64_t{50'000});
    const Time called = now();
    x.narrow(0, 0, 0).copy_(torch::zeros({0}), false);
    EXPECT_EQ(now(), called);
  });
}

TEST(HostWrites, OtherDirectionsTakeTheirTimeWhateverNonBlockingSays) {
  simulate(tiny(), [] {
    for (const auto way : kWays) {
      const auto x = ready(), y = ready();
      x.fill_(5);
      torch::ahbm::synchronize();
      const auto host = torch::zeros({kElements});
      Time called = now();
      copy(host, x, way);
      EXPECT_EQ(now() - called, ps(kOverhead) + copy_to_host(kBytes));
      EXPECT_TRUE(host.equal(torch::full({kElements}, 5)));
      called = now();
      copy(y, x, way);
      EXPECT_EQ(now() - called, ps(kOverhead));
      EXPECT_TRUE(y.cpu().equal(host));
      called = now();
      const auto there = torch::zeros({kElements});
      copy(there, host, way);
      EXPECT_EQ(now(), called);
      EXPECT_TRUE(there.equal(host));
    }
  });
}

}  // namespace
}  // namespace kernbench::host_write_test
