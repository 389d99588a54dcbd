// The matrix product against one chain of fused multiply-adds for each element.
#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace kernbench::tile_test::dot_test {
namespace {

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
