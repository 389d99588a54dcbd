// Random numbers of lanes: published words, Triton's formulas in double, and their moments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "harness.h"

namespace kernbench::tile_test {
namespace {

using ::testing::HasSubstr;

/// Philox4x32 as the paper writes it down, in words of its own.
std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t offset, int rounds) {
  std::array<std::uint32_t, 4> x{static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32), 0, 0};
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < rounds; ++round, k0 += 0x9E3779B9U, k1 += 0xBB67AE85U) {
    const std::uint64_t p = 0xD2511F53ULL * x[0], q = 0xCD9E8D57ULL * x[2];
    x = {static_cast<std::uint32_t>(q >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(q),
         static_cast<std::uint32_t>(p >> 32) ^ x[3] ^ k1, static_cast<std::uint32_t>(p)};
  }
  return x;
}

Real as_i32(std::uint32_t bits) {
  return static_cast<Real>(static_cast<std::int32_t>(bits));
}

TEST(TileRandom, TheWordsThatThePaperPublishes) {
  // The known answers of Random123 for philox4x32-10 with a counter and a key of zeros.
  EXPECT_EQ(philox(0, 0, 10), (std::array{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
  run_cases(71, [](Bench&) {
    const auto words = tl::randint4x(0, tl::zeros({1}, DType::i32));
    const auto expected = philox(0, 0, 10);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(look_at(words[i]).lanes[0].value, as_i32(expected[i]));
  });
}

TEST(TileRandom, WordsOfAnySeedAndOffset) {
  run_cases(72, [](Bench& bench) {
    for (const DType type : {DType::i32, DType::i64, DType::u8}) {
      for (int round = 0; round < 30; ++round) {
        const auto offset = bench.draw(type, bench.shape());
        const auto seed = static_cast<std::int64_t>(bench.random()() * std::uint64_t{0x100000001} ^ bench.random()());
        const int rounds = bench.chance(3) ? 7 : 10;
        std::array<HostTile, 4> expected;
        expected.fill({DType::i32, offset.host.shape, {}});
        for (const Lane& lane : offset.host.lanes) {
          const auto whole = static_cast<std::int64_t>(lane.value);
          const auto counter =
              type == DType::i64 ? static_cast<std::uint64_t>(whole) : static_cast<std::uint32_t>(whole);
          const auto words = philox(static_cast<std::uint64_t>(seed), counter, rounds);
          for (std::size_t i = 0; i < 4; ++i) expected[i].lanes.push_back({as_i32(words[i]), lane.valid});
        }
        const auto found = tl::randint4x(seed, offset.tile, rounds);
        for (std::size_t i = 0; i < 4; ++i) expect_same(found[i], expected[i], "randint4x of " + describe(offset.host));
        expect_same(tl::randint(seed, offset.tile, rounds), expected[0], "randint of " + describe(offset.host));
      }
    }
  });
}

double uniform(std::uint32_t bits) {
  const auto x = static_cast<std::int32_t>(bits);
  return static_cast<double>(static_cast<float>(x < 0 ? -x - 1 : x) * 4.6566127342e-10F);
}

TEST(TileRandom, UniformAndNormalNumbersAreThoseOfTheWords) {
  constexpr std::int64_t kDrawn = 5000;
  run_cases(73, [](Bench&) {
    const tl::Tile offset = tl::arange(0, kDrawn);
    const std::int64_t seed = 0x123456789ABCDEF;
    const auto uniforms = tl::rand4x(seed, offset);
    const auto normals = tl::randn4x(seed, offset);
    std::array<HostTile, 4> u, n;
    for (std::size_t i = 0; i < 4; ++i) u[i] = look_at(uniforms[i]), n[i] = look_at(normals[i]);
    std::array<double, 4> sums{}, squares{};
    for (std::int64_t lane = 0; lane < kDrawn; ++lane) {
      const auto at = static_cast<std::size_t>(lane);
      const auto words = philox(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(lane), 10);
      for (std::size_t i = 0; i < 4; ++i) {
        const auto value = static_cast<double>(u[i].lanes[at].value);
        ASSERT_EQ(value, uniform(words[i]));
        ASSERT_GE(value, 0);
        ASSERT_LT(value, 1);
        const double first = uniform(words[i / 2 * 2]), second = uniform(words[i / 2 * 2 + 1]);
        const double radius = std::sqrt(-2 * std::log(std::max(first, 1e-7)));
        const double angle = 2 * std::numbers::pi * second;
        const auto normal = static_cast<double>(n[i].lanes[at].value);
        ASSERT_NEAR(normal, radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)), 4e-6);
        sums[i] += normal;
        squares[i] += normal * normal;
      }
    }
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(sums[i] / kDrawn, 0, 0.05);
      EXPECT_NEAR(squares[i] / kDrawn, 1, 0.08);
    }
    expect_same(tl::rand(seed, offset), u[0], "rand");
    expect_same(tl::randn(seed, offset), n[0], "randn");
  });
}

TEST(TileRandom, WrongUsesSayWhatFits) {
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) { tl::rand(0, a); }), HasSubstr("randint"));
  EXPECT_THAT(kernel_error([](tl::Tile, tl::Tile) { tl::randint(0, tl::arange(0, 4), 0); }),
              HasSubstr("tl::randint: 0 rounds; valid are 1 to 16"));
}

}  // namespace
}  // namespace kernbench::tile_test
