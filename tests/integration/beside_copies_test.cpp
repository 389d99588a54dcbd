// Kernels beside copies that read their device's memory: they keep their time, and all modes agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "devices.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using testing::error_of;
using testing::on;
using testing::ring_of;
using testing::tiny;
using testing::wait_for_all;
using torch::ahbm::Stream;
using torch::ahbm::StreamGuard;

constexpr int kPasses = 8;

/// Each program reads all of x, a block after the other, so long that one burst on a slow link before its end is
/// little.
void read_all(tl::In x, tl::Tensor sums) {
  const std::int64_t rows = x.size(0), columns = x.size(1);
  auto sum = tl::zeros({columns}, DType::f32);
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::int64_t row = 0; row < rows; row += 16) sum += tl::sum(tl::load(x, {row, 0}, {16, columns}), 0);
  }
  tl::store(sums, {tl::program_id(), 0}, tl::reshape(sum, {1, columns}));
}

/// Each program reads its own part of x.
void double_own(tl::In x, tl::Tensor out) {
  for (std::size_t shard = 0; shard < x.local_shard_count(); ++shard) {
    const auto box = x.local_shard(shard);
    const auto tile = tl::load(x, box.offset, box.shape);
    tl::store(out, box.offset, tile + tile);
  }
}

Time time_of(const RunResult& result, const std::string& kernel) {
  const auto launch = std::ranges::find(result.launches, kernel, &LaunchResult::kernel);
  EXPECT_NE(launch, result.launches.end());
  return launch == result.launches.end() ? Time::zero() : launch->end - launch->start;
}

enum class Beside { nothing, read, peer };

/// In a stream of its own, beside what is under way. A check reads where elements have no values, too.
void copy_beside(Beside beside, const torch::Tensor& other) {
  const Stream stream;
  const StreamGuard guard(stream);
  if (beside == Beside::read) (void)check_close("read", other, torch::ones_like(other, torch::kCPU));
  if (beside == Beside::peer) (void)other.to(torch::Device(torch::kAHBM, 1), true);
  wait_for_all();
}

RunResult small(Beside beside, SimulateOptions options) {
  return simulate(options, [beside] {
    const auto device = torch::device("ahbm");
    auto x = torch::ones({512, 256}, device), other = torch::ones({512, 256}, device),
         sums = torch::empty({2, 256}, device);
    wait_for_all();
    torch::launch("read_all", read_all, x, sums);
    copy_beside(beside, other);
    EXPECT_TRUE(check_close("sums", sums, torch::full({2, 256}, 512 * kPasses)));
  });
}

void expect_hardly_longer(Time beside, Time alone) {
  EXPECT_GT(alone, Time::zero());
  EXPECT_LE((beside - alone).count() * 20, alone.count())
      << beside.count() << " ps beside, " << alone.count() << " alone";
}

// The link to the host takes a hundredth of what the memories have.
TEST(BesideCopies, AKernelTakesHardlyLongerThanAlone) {
  NOT_UNDER_SANITIZERS("times only");
  const SimulateOptions options = tiny({"host.link.bandwidth=1GB/s"});
  expect_hardly_longer(time_of(small(Beside::read, options), "read_all"),
                       time_of(small(Beside::nothing, options), "read_all"));
}

TEST(BesideCopies, AKernelTakesHardlyLongerBesideACopyToAnotherDevice) {
  NOT_UNDER_SANITIZERS("times only");
  SimulateOptions options = ring_of(2);
  options.overrides.push_back("system.sips.link.bandwidth=1GB/s");
  expect_hardly_longer(time_of(small(Beside::peer, options), "read_all"),
                       time_of(small(Beside::nothing, options), "read_all"));
}

TEST(BesideCopies, AKernelOfAllPesTakesHardlyLongerThanAlone) {
  NOT_UNDER_SANITIZERS("times only");
  const auto time = [](Beside beside) {
    SimulateOptions options;
    options.topology = "ahbm-1sip";
    options.data = false;
    options.explain = false;
    const RunResult result = simulate(options, [beside] {
      const auto halves = torch::dtype(torch::kHalf).device("ahbm");
      auto x = torch::zeros({64 << 20}, halves), out = torch::empty({64 << 20}, halves),
           other = torch::zeros({1 << 20}, halves);
      wait_for_all();
      torch::launch("double_own", double_own, x, out);
      copy_beside(beside, other);
    });
    return time_of(result, "double_own");
  };
  expect_hardly_longer(time(Beside::read), time(Beside::nothing));
}

TEST(BesideCopies, AllModesAgree) {
  for (const Beside beside : {Beside::read, Beside::peer}) {
    const SimulateOptions plain = ring_of(2);
    const RunResult one = small(beside, plain);
    SimulateOptions exact = plain, threads = plain, dataless = plain;
    exact.exact_events = true;
    threads.threads = 4;
    dataless.data = false;
    for (const SimulateOptions& options : {exact, threads, dataless}) {
      const RunResult other = small(beside, options);
      EXPECT_EQ(one.times_fingerprint, other.times_fingerprint);
      EXPECT_EQ(time_of(one, "read_all"), time_of(other, "read_all"));
      if (options.data) {
        EXPECT_EQ(one.values_fingerprint, other.values_fingerprint);
      }
    }
  }
}

// A copy that is alone repeats itself, which is skipped.
TEST(BesideCopies, ALoneCopyTakesAsManyEventsForManyBytesAsForFew) {
  for (const Beside beside : {Beside::read, Beside::peer}) {
    const auto events = [beside](std::int64_t elements) {
      SimulateOptions options;
      options.topology = "ahbm-2sip";
      options.data = false;
      return simulate(options, [&] { copy_beside(beside, torch::empty({elements}, torch::device("ahbm"))); }).events;
    };
    EXPECT_LE(events(64 << 20), 4 * events(1 << 18));
  }
}

// The error comes while the copy's parts are under way.
TEST(BesideCopies, ARunThatIsCancelledInTheMiddleOfOneEnds) {
  for (const bool peer : {false, true}) {
    const std::string error = error_of(
        [peer] {
          const auto other = torch::ones({1 << 18}, on(0));
          auto x = torch::ones({256}, on(0));
          wait_for_all();
          torch::launch(
              "fails",
              [](tl::Tensor t) {
                tl::delay(4'000);
                tl::load(t, {1000}, {1});
              },
              x);
          const Stream stream;
          const StreamGuard guard(stream);
          if (peer) {
            (void)other.to(torch::Device(torch::kAHBM, 1), true);
          } else {
            (void)other.cpu();
          }
          wait_for_all();
        },
        ring_of(2));
    EXPECT_NE(error.find("outside of tensor"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace kernbench
