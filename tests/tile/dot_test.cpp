// The matrix product against one chain of fused multiply-adds for each element.
#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace kernbench::tile_test::dot_test {
namespace {

/// Of a [.., m, k] and b [.., k, n]: the chain over k from the accumulator, rounded once.
HostTile product(const HostTile& a, const HostTile& b, const HostTile* start, DType dtype) {
  const bool batched = a.shape.size() == 3;
  const std::int64_t m = a.shape[batched ? 1 : 0], k = a.shape.back(), n = b.shape.back();
  HostTile result{dtype, a.shape, {}};
  result.shape.back() = n;
  for (std::int64_t i = 0; i < numel(result.shape); ++i) {
    const std::int64_t group = i / (m * n), row = i / n % m, column = i % n;
    Lane initial = start ? start->lanes[static_cast<std::size_t>(i)] : Lane{};
    auto chain = static_cast<float>(initial.value);
    auto whole = is_float(a.dtype) ? 0u : static_cast<std::uint32_t>(static_cast<std::int64_t>(initial.value));
    bool valid = initial.valid;
    for (std::int64_t p = 0; p < k; ++p) {
      const Lane& x = a.lanes[static_cast<std::size_t>((group * m + row) * k + p)];
      const Lane& y = b.lanes[static_cast<std::size_t>((group * k + p) * n + column)];
      valid = valid && x.valid && y.valid;
      if (is_float(a.dtype)) {
        chain = std::fma(static_cast<float>(x.value), static_cast<float>(y.value), chain);
      } else {
        whole += static_cast<std::uint32_t>(static_cast<std::int64_t>(x.value)) *
                 static_cast<std::uint32_t>(static_cast<std::int64_t>(y.value));
      }
    }
    const Real value = is_float(a.dtype) ? round_to(chain, dtype) : static_cast<Real>(static_cast<std::int32_t>(whole));
    result.lanes.push_back({value, valid});
  }
  return result;
}

struct Operands {
  Drawn a, b, start;
};
Operands draw(Bench& bench, DType left, DType right, DType accumulator, Numbers numbers) {
  const std::int64_t m = 1 + bench.below(12), n = 1 + bench.below(20), k = 1 + bench.below(40);
  Sizes a{m, k}, b{k, n}, c{m, n};
  if (bench.chance(3)) {
    const std::int64_t groups = 1 + bench.below(3);
    for (Sizes* shape : {&a, &b, &c}) shape->insert(shape->begin(), groups);
  }
  return {bench.draw(left, a, numbers), bench.draw(right, b, numbers), bench.draw(accumulator, c, numbers)};
}

TEST(TileDot, FloatsAreOneChainOverKFromTheAccumulatorRoundedOnce) {
  run_cases(31, [](Bench& bench) {
    for (int round = 0; round < 200; ++round) {
      const DType left = bench.any_of(kFloats);
      const bool narrow = left == DType::f8e4m3 || left == DType::f8e5m2;
      const DType right = narrow && bench.chance(2) ? DType::f8e5m2 : left;
      const DType dtype = bench.any_of(kFloats);
      const auto [a, b, start] =
          draw(bench, left, right, bench.any_of(kFloats), round % 4 == 0 ? Numbers::all : Numbers::small);
      const std::string text = "dot of " + describe(a.host) + " and " + describe(b.host);
      expect_same(tl::dot(a.tile, b.tile), product(a.host, b.host, nullptr, DType::f32), text);
      expect_same(tl::dot(a.tile, b.tile, start.tile, dtype), product(a.host, b.host, &start.host, dtype),
                  text + " plus " + describe(start.host));
    }
  });
}

TEST(TileDot, IntegersAccumulateInI32AndWrap) {
  run_cases(32, [](Bench& bench) {
    for (int round = 0; round < 100; ++round) {
      const DType type = bench.any_of(std::vector{DType::i8, DType::u8, DType::i32});
      const auto [a, b, start] = draw(bench, type, type, DType::i32, round % 2 == 0 ? Numbers::all : Numbers::small);
      const std::string text = "dot of " + describe(a.host) + " and " + describe(b.host);
      expect_same(tl::dot(a.tile, b.tile), product(a.host, b.host, nullptr, DType::i32), text);
      expect_same(tl::dot(a.tile, b.tile, start.tile), product(a.host, b.host, &start.host, DType::i32), text);
    }
  });
}

}  // namespace
}  // namespace kernbench::tile_test::dot_test
