// The same program gives the same times and values, whatever the mode, the number of threads or the order of creation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "programs.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using testing::tiny;

constexpr std::int64_t kRows = 24, kColumns = 40;

std::int64_t draw(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
}

/// Loads, computes and stores at random; instances race on the same bytes, which simulated order decides.
void random_kernel(tl::Tensor x, tl::Tensor y, std::int64_t seed) {
  std::mt19937 random(static_cast<std::uint32_t>(seed * 977 + tl::program_id()));
  const std::int64_t steps = draw(random, 3, 14);
  tl::Tile tile = tl::full({8, 8}, 0.25f, DType::f32);
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto& tensor = random() % 2 == 0 ? x : y;
    const std::int64_t row = draw(random, 0, kRows - 1), column = draw(random, 0, kColumns - 1);
    switch (random() % 8) {
      case 0:
      case 1:
        tile = tl::load(tensor, {row, column}, {8, 8}, {.other = 0.5f});
        break;
      case 2:
      case 3:
        tl::store(tensor, {row, column}, tile);
        break;
      case 4:
        tile = tl::dot(tile, tl::load(tensor, {row, column}, {8, 8}, {.other = 1}), tile) * 0.01f;
        break;
      case 5:
        tile = tl::exp(tl::minimum(tile, 1.0f)) - tile;
        break;
      case 6:
        tile = tile + tl::sum(tile, static_cast<int>(random() % 2), true) * 0.125f;
        break;
      case 7:
        if (tl::item_or(tl::max(tile), 2.0f) > 1.0f) tile = tile * 0.5f;
        break;
    }
  }
  tl::store(y, {draw(random, 0, kRows - 1), draw(random, 0, kColumns - 1)}, tile);
}

struct Mode {
  bool exact = false;
  bool data = true;
  int threads = 1;
  bool reversed = false;  // the order in which the launch names its PEs
  std::string topology = "tiny";
};

RunResult run(std::int64_t seed, const Mode& mode, int cubes = 1) {
  SimulateOptions options = tiny();
  if (cubes > 1) options.overrides.push_back("sip.cubes.mesh=[2, 2]");
  options.exact_events = mode.exact;
  options.data = mode.data;
  options.threads = mode.threads;
  return simulate(options, [&] {
    torch::manual_seed(static_cast<std::uint64_t>(seed));
    auto x = torch::rand({kRows, kColumns}, torch::device("ahbm"));
    auto y = torch::rand({kRows, kColumns}, torch::device("ahbm"));
    torch::LaunchOptions launch;
    for (int cube = 0; cube < cubes; ++cube) {
      for (int pe = 0; pe < 2; ++pe) launch.pes.push_back({CubeId{cube}, PeId{pe}});
    }
    if (mode.reversed) std::reverse(launch.pes.begin(), launch.pes.end());
    torch::launch(launch, "random", random_kernel, x, y, seed);
    torch::launch(launch, "random", random_kernel, y, x, seed + 1);
    const Tolerance any{std::numeric_limits<double>::infinity(), 0};
    check_close("x", x, torch::zeros({kRows, kColumns}), any);
    check_close("y", y, torch::zeros({kRows, kColumns}), any);
  });
}

void expect_same_times(const RunResult& a, const RunResult& b, std::int64_t seed) {
  ASSERT_EQ(a.simulated_time, b.simulated_time) << "seed " << seed;
  ASSERT_EQ(a.times_fingerprint, b.times_fingerprint) << "seed " << seed;
}

TEST(Determinism, AThousandRandomKernelsTakeTheSameTimesExactAndCoalesced) {
  std::uint64_t exact_events = 0, coalesced_events = 0;
  for (std::int64_t seed = 0; seed < number_of_cases(1000, 80, 16); ++seed) {
    const int cubes = seed % 4 == 0 ? 4 : 1;
    const RunResult coalesced = run(seed, {}, cubes);
    const RunResult exact = run(seed, {.exact = true, .reversed = true}, cubes);
    expect_same_times(coalesced, exact, seed);
    ASSERT_EQ(coalesced.values_fingerprint, exact.values_fingerprint) << "seed " << seed;
    exact_events += exact.events;
    coalesced_events += coalesced.events;
  }
  EXPECT_LT(coalesced_events, exact_events);  // otherwise this test compares nothing
}

TEST(Determinism, ThreadsChangeNoTimeAndNoValue) {
  for (std::int64_t seed = 0; seed < (kSanitized ? 12 : 34); ++seed) {
    const RunResult one = run(seed, {.threads = 1});
    for (const int threads : {1, 2, 4}) {
      const RunResult many = run(seed, {.threads = threads});
      expect_same_times(one, many, seed);
      ASSERT_EQ(one.values_fingerprint, many.values_fingerprint) << "seed " << seed << ", threads " << threads;
    }
  }
}

/// A kernel without data-dependent branches: item_or may take another path without data.
TEST(Determinism, WithoutDataTheTimesAreTheSame) {
  const auto timed = [](bool data) {
    SimulateOptions options = tiny();
    options.data = data;
    return simulate(options, [] {
      auto x = torch::randn({64, 512}, torch::device("ahbm")), y = torch::zeros({64, 512}, torch::device("ahbm"));
      torch::launch(
          "scale",
          [](tl::In a, tl::Tensor b) {
            for (std::int64_t row = tl::program_id(); row < a.size(0); row += tl::num_programs()) {
              const auto tile = tl::load(a, {row, 0}, {1, 512});
              tl::store(b, {row, 0}, tl::exp(tile - tl::max(tile)) * tl::item_or(tl::sum(tile), 1.0f));
            }
          },
          x, y);
      check_close("y", y, torch::zeros({64, 512}), {1e9, 0});
      EXPECT_EQ(x[0][0].item_or(3.0f) == 3.0f, !data_enabled());
    });
  };
  const RunResult with = timed(true), without = timed(false);
  expect_same_times(with, without, 0);
  EXPECT_EQ(without.checks.front().status, CheckStatus::skipped);
}

}  // namespace
}  // namespace kernbench
