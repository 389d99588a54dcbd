// Every tile operation against a plain reference in double, over random shapes, broadcasts and element types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "programs.h"
#include "tile_reference.h"

namespace kernbench {
namespace {

using testing::broadcast;
using testing::error_of;
using testing::expect_same;
using testing::fold;
using ::testing::HasSubstr;
using testing::HostTile;
using testing::on_device;
using testing::one_pe;
using testing::random_tile;
using testing::rounded;
using testing::tiny;

constexpr std::array kTypes{DType::boolean, DType::i32, DType::f16, DType::bf16, DType::f32};
using Tiles = std::vector<tl::Tile>;

std::size_t place(DType dtype) {
  return static_cast<std::size_t>(std::find(kTypes.begin(), kTypes.end(), dtype) - kTypes.begin());
}

/// Triton's promotion of two tiles.
DType promoted(DType a, DType b) {
  constexpr auto kBool = DType::boolean, kInt = DType::i32, kHalf = DType::f16, kBrain = DType::bf16,
                 kFloat = DType::f32;
  constexpr DType kTable[5][5]{{kBool, kInt, kHalf, kFloat, kFloat},
                               {kInt, kInt, kHalf, kFloat, kFloat},
                               {kHalf, kHalf, kHalf, kHalf, kFloat},
                               {kFloat, kFloat, kHalf, kBrain, kFloat},
                               {kFloat, kFloat, kFloat, kFloat, kFloat}};
  return kTable[place(a)][place(b)];
}

/// Triton's promotion of a tile and a C++ scalar, whose type stands for its kind.
DType promoted_with_scalar(DType tile, DType scalar) {
  if (is_floating_point(tile)) return tile;
  if (is_floating_point(scalar)) return DType::f32;
  return tile == DType::i32 || scalar == DType::i32 ? DType::i32 : DType::boolean;
}

/// Up to three extents of 1 to 6, and a shape that broadcasts with it.
std::vector<std::int64_t> random_shape(std::mt19937& random) {
  std::vector<std::int64_t> shape;
  for (auto rank = 1 + random() % 3; rank > 0; --rank) shape.push_back(1 + random() % 6);
  return shape;
}
std::vector<std::int64_t> partner_of(std::mt19937& random, std::vector<std::int64_t> shape) {
  for (auto& extent : shape) {
    if (random() % 3 == 0) extent = 1;
  }
  shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(random() % shape.size()));
  return shape;
}

enum class Result { promoted, quotient, boolean };
struct BinaryCase {
  const char* name;
  Result result;
  std::function<tl::Tile(const tl::Operand&, const tl::Operand&)> compute;
  std::function<double(double, double)> reference;
};

const std::vector<BinaryCase>& binary_cases() {
  using O = const tl::Operand&;
  // The other operand when one is NaN.
  const auto larger = [](double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::max(a, b); };
  const auto smaller = [](double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::min(a, b); };
  static const std::vector<BinaryCase> cases{
      {"+", Result::promoted, [](O a, O b) { return a + b; }, [](double a, double b) { return a + b; }},
      {"-", Result::promoted, [](O a, O b) { return a - b; }, [](double a, double b) { return a - b; }},
      {"*", Result::promoted, [](O a, O b) { return a * b; }, [](double a, double b) { return a * b; }},
      {"/", Result::quotient, [](O a, O b) { return a / b; }, [](double a, double b) { return a / b; }},
      {"maximum", Result::promoted, [](O a, O b) { return tl::maximum(a, b); }, larger},
      {"minimum", Result::promoted, [](O a, O b) { return tl::minimum(a, b); }, smaller},
      {"<", Result::boolean, [](O a, O b) { return a < b; }, [](double a, double b) { return a < b; }},
      {"<=", Result::boolean, [](O a, O b) { return a <= b; }, [](double a, double b) { return a <= b; }},
      {">", Result::boolean, [](O a, O b) { return a > b; }, [](double a, double b) { return a > b; }},
      {">=", Result::boolean, [](O a, O b) { return a >= b; }, [](double a, double b) { return a >= b; }},
      {"==", Result::boolean, [](O a, O b) { return a == b; }, [](double a, double b) { return a == b; }},
      {"!=", Result::boolean, [](O a, O b) { return a != b; }, [](double a, double b) { return a != b; }}};
  return cases;
}

DType result_of(const BinaryCase& what, DType promoted_type) {
  switch (what.result) {
    case Result::promoted:
      return promoted_type;
    case Result::quotient:
      return DType::f32;
    case Result::boolean:
      break;
  }
  return DType::boolean;
}

/// Operands are converted to their common type before anything is computed; division's is f32.
HostTile operand_of(const BinaryCase& what, HostTile tile, DType promoted_type) {
  tile.dtype = what.result == Result::quotient ? DType::f32 : promoted_type;
  for (double& value : tile.values) value = rounded(value, tile.dtype);
  return tile;
}

TEST(TileOperations, BinaryOperationsOfTilesBroadcastAndPromoteAsInTriton) {
  std::mt19937 random(1);
  for (const auto& what : binary_cases()) {
    simulate(tiny(), [&] {
      for (const DType left : kTypes) {
        for (const DType right : kTypes) {
          auto shape_a = random_shape(random);
          auto shape_b = partner_of(random, shape_a);
          if (random() % 2 == 0) std::swap(shape_a, shape_b);
          const auto a = random_tile(random, left, shape_a, true), b = random_tile(random, right, shape_b, true);
          const DType dtype = result_of(what, promoted(left, right));
          const DType common = promoted(left, right);
          const auto expected =
              broadcast(operand_of(what, a, common), operand_of(what, b, common), dtype, what.reference);
          const auto got =
              on_device({a, b}, dtype, expected.shape, [&](const Tiles& t) { return what.compute(t[0], t[1]); });
          expect_same(got, expected, std::string(name(left)) + " " + what.name + " " + name(right));
        }
      }
    });
  }
}

TEST(TileOperations, ScalarsAreWeaklyTypedOnEitherSide) {
  std::mt19937 random(2);
  const auto check = [&](const BinaryCase& what, DType type, auto scalar, DType kind) {
    const auto x = random_tile(random, type, random_shape(random), true);
    const DType common = promoted_with_scalar(type, kind);
    const HostTile constant = operand_of(what, {kind, {}, {static_cast<double>(scalar)}}, common);
    const HostTile tile = operand_of(what, x, common);
    const DType dtype = result_of(what, common);
    const std::string text = std::string(name(type)) + " " + what.name + " " + name(kind);
    const auto right = broadcast(tile, constant, dtype, what.reference);
    expect_same(on_device({x}, dtype, x.shape, [&](const Tiles& t) { return what.compute(t[0], scalar); }), right,
                text);
    const auto left = broadcast(constant, tile, dtype, what.reference);
    expect_same(on_device({x}, dtype, x.shape, [&](const Tiles& t) { return what.compute(scalar, t[0]); }), left, text);
  };
  for (const auto& what : binary_cases()) {
    simulate(tiny(), [&] {
      for (const DType type : kTypes) {
        check(what, type, true, DType::boolean);
        check(what, type, 3, DType::i32);
        check(what, type, -7LL, DType::i32);
        check(what, type, 0.1f, DType::f32);
        check(what, type, 2.5, DType::f32);
      }
    });
  }
}

TEST(TileOperations, TheTwoRulesThatSurprise) {
  simulate(tiny(), [] {
    const HostTile half{DType::f16, {2}, {1, 3}}, three{DType::f16, {2}, {3, 7}}, brain{DType::bf16, {2}, {2, 4}};
    const auto third = on_device({half, three}, DType::f32, {2}, [](const Tiles& t) { return t[0] / t[1]; });
    EXPECT_EQ(third.values[0], static_cast<double>(1.0f / 3.0f));
    const auto scaled = on_device({half}, DType::f16, {2}, [](const Tiles& t) { return t[0] * 2.0f; });
    EXPECT_EQ(scaled.values[1], 6);
    on_device({half, brain}, DType::f16, {2}, [](const Tiles& t) { return t[0] * t[1]; });
    on_device({brain, HostTile{DType::i32, {2}, {1, 2}}}, DType::f32, {2}, [](const Tiles& t) { return t[0] * t[1]; });
    on_device({brain}, DType::bf16, {2}, [](const Tiles& t) { return t[0] * 2; });
  });
}

TEST(TileOperations, CompoundAssignmentIsTheOperation) {
  simulate(tiny(), [] {
    const HostTile x{DType::f32, {3}, {1, 2, 3}};
    const auto got = on_device({x}, DType::f32, {3}, [](const Tiles& t) {
      auto y = t[0];
      y += 1.0f;
      y *= y;
      y -= t[0];
      y /= 2.0f;
      return y;
    });
    expect_same(got, {DType::f32, {3}, {1.5, 3.5, 6.5}}, "compound");
  });
}

TEST(TileOperations, NegateKeepsTheType) {
  std::mt19937 random(3);
  simulate(tiny(), [&] {
    for (const DType type : kTypes) {
      const auto x = random_tile(random, type, random_shape(random), true);
      HostTile expected = x;
      for (auto& value : expected.values) value = rounded(-value, type, true);
      expect_same(on_device({x}, type, x.shape, [](const Tiles& t) { return -t[0]; }), expected, name(type));
    }
  });
}

TEST(TileOperations, ExpIsWithinOneUnitInTheLastPlace) {
  std::mt19937 random(4);
  simulate(tiny(), [&] {
    for (const DType type : kTypes) {
      const auto x = random_tile(random, type, {5, 50}, true);
      const DType dtype = is_floating_point(type) ? type : DType::f32;
      const double unit = dtype == DType::f16 ? 0x1p-10 : dtype == DType::bf16 ? 0x1p-7 : 0x1p-23;
      const double least = dtype == DType::f16 ? 0x1p-24 : dtype == DType::bf16 ? 0x1p-133 : 0x1p-149;
      const auto got = on_device({x}, dtype, x.shape, [](const Tiles& t) { return tl::exp(t[0]); });
      for (std::size_t i = 0; i < x.values.size(); ++i) {
        const double exact = std::exp(x.values[i]), reference = rounded(exact, dtype);
        if (testing::same(got.values[i], reference)) continue;
        ASSERT_LE(std::abs(got.values[i] - reference), unit * exact + least) << name(type) << " " << x.values[i];
      }
    }
  });
}

TEST(TileOperations, CastConvertsEveryTypeToEveryOther) {
  std::mt19937 random(5);
  simulate(tiny(), [&] {
    for (const DType from : kTypes) {
      for (const DType to : kTypes) {
        const auto x = random_tile(random, from, {4, 9}, true);
        HostTile expected{to, x.shape, {}};
        for (const double value : x.values) expected.values.push_back(rounded(value, to));
        const std::string text = std::string(name(from)) + " to " + name(to);
        expect_same(on_device({x}, to, x.shape, [to](const Tiles& t) { return tl::cast(t[0], to); }), expected, text);
        // A store casts too: the tile stays as it is.
        const auto out = torch::empty({4, 9}, one_pe(to));
        auto values = x.values;
        const auto in = torch::from_blob(values.data(), {4, 9}, torch::kDouble).to(one_pe(from));
        torch::launch(
            "store", [](tl::In a, tl::Tensor b) { tl::store(b, {0, 0}, tl::load(a, {0, 0}, {4, 9})); }, in, out);
        const auto host = out.cpu().to(torch::kDouble);
        expect_same({to, x.shape, {host.data_ptr<double>(), host.data_ptr<double>() + 36}}, expected,
                    text + " by store");
      }
    }
  });
}

TEST(TileOperations, FullAndZerosHoldTheConvertedValue) {
  simulate(tiny(), [] {
    for (const DType type : kTypes) {
      for (const double value : {0.0, 1.0, -2.6, 70000.0, 1e30, -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()}) {
        const HostTile expected{type, {2, 3}, std::vector<double>(6, rounded(value, type))};
        expect_same(on_device({}, type, {2, 3}, [&](const Tiles&) { return tl::full({2, 3}, value, type); }), expected,
                    std::string("full ") + name(type));
      }
      const HostTile zeros{type, {7}, std::vector<double>(7, 0)};
      expect_same(on_device({}, type, {7}, [&](const Tiles&) { return tl::zeros({7}, type); }), zeros, "zeros");
    }
  });
}

TEST(TileOperations, SumAndMaxReduceEachAxisAndAll) {
  std::mt19937 random(6);
  for (int round = 0; round < 12; ++round) {
    simulate(tiny(), [&] {
      for (const DType type : kTypes) {
        const auto shape = random_shape(random);
        const int rank = static_cast<int>(shape.size());
        auto exact = random_tile(random, type, shape, false);  // whole numbers: every partial sum is exact
        for (auto& value : exact.values) value = type == DType::boolean ? value : std::round(std::fmod(value, 16));
        const auto any = random_tile(random, type, shape, true);
        for (int axis = -rank; axis <= rank; ++axis) {
          const auto over = axis == rank ? std::nullopt : std::optional<int>(axis);
          const bool keep = random() % 2 == 0;
          auto sum = fold(exact, over, keep, [](double a, double b) { return a + b; });
          if (type == DType::boolean) sum.dtype = DType::i32;
          const std::string text = std::string(name(type)) + " over " + (over ? std::to_string(axis) : "all");
          expect_same(
              on_device({exact}, sum.dtype, sum.shape, [&](const Tiles& t) { return tl::sum(t[0], over, keep); }), sum,
              "sum of " + text);
          const auto max = fold(any, over, keep, [](double a, double b) {
            return std::isnan(a) ? b : std::isnan(b) ? a : std::max(a, b);
          });
          expect_same(on_device({any}, type, max.shape, [&](const Tiles& t) { return tl::max(t[0], over, keep); }), max,
                      "max of " + text);
        }
      }
    });
  }
}

TEST(TileOperations, LongSumsStayWithinTheRoundingBoundAndWrapForIntegers) {
  std::mt19937 random(7);
  simulate(tiny(), [&] {
    for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
      const auto x = random_tile(random, type, {3000}, false);
      const double exact = fold(x, std::nullopt, false, [](double a, double b) { return a + b; }).values[0];
      const double size =
          fold(x, std::nullopt, false, [](double a, double b) { return std::abs(a) + std::abs(b); }).values[0];
      const double unit = type == DType::f16 ? 0x1p-11 : type == DType::bf16 ? 0x1p-8 : 0x1p-24;
      const auto got = on_device({x}, type, {}, [](const Tiles& t) { return tl::sum(t[0]); });
      EXPECT_NEAR(got.values[0], exact, unit * std::abs(exact) + 32 * 0x1p-24 * size) << name(type);
    }
    const HostTile large{DType::i32, {3}, {2147483647, 2147483647, 5}};
    const auto wrapped = on_device({large}, DType::i32, {}, [](const Tiles& t) { return tl::sum(t[0]); });
    EXPECT_EQ(wrapped.values[0], 3);
  });
}

/// One chain of fused multiply-adds over k, from the accumulator.
HostTile product(const HostTile& a, const HostTile& b, const HostTile* start, DType dtype) {
  const std::int64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  HostTile result{dtype, {m, n}, {}};
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const auto index = static_cast<std::size_t>(i * n + j);
      float chain = start ? static_cast<float>(start->values[index]) : 0;
      std::int64_t integer = start ? static_cast<std::int64_t>(start->values[index]) : 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const double x = a.values[static_cast<std::size_t>(i * k + p)],
                     y = b.values[static_cast<std::size_t>(p * n + j)];
        if (a.dtype == DType::i32)
          integer += static_cast<std::int64_t>(x * y);
        else
          chain = std::fma(static_cast<float>(x), static_cast<float>(y), chain);
      }
      const double value = a.dtype == DType::i32 ? static_cast<double>(integer) : static_cast<double>(chain);
      result.values.push_back(rounded(value, dtype, true));
    }
  }
  return result;
}

TEST(TileOperations, DotIsOneChainOverKFromTheAccumulatorRoundedOnce) {
  std::mt19937 random(8);
  simulate(tiny(), [&] {
    for (int round = 0; round < 40; ++round) {
      const DType type =
          std::array{DType::i32, DType::f16, DType::bf16, DType::f32}[static_cast<std::size_t>(round) % 4];
      const bool integer = type == DType::i32;
      const std::int64_t m = 1 + random() % 20, n = 1 + random() % 40, k = 1 + random() % 70;
      const auto a = random_tile(random, type, {m, k}, false), b = random_tile(random, type, {k, n}, false);
      const DType sum_type = integer ? DType::i32 : std::array{DType::f32, DType::f16, DType::bf16}[random() % 3];
      const auto start = random_tile(random, sum_type, {m, n}, false);
      const DType wide = integer ? DType::i32 : DType::f32;
      expect_same(on_device({a, b}, wide, {m, n}, [](const Tiles& t) { return tl::dot(t[0], t[1]); }),
                  product(a, b, nullptr, wide), std::string("dot of ") + name(type));
      expect_same(on_device({a, b, start}, sum_type, {m, n},
                            [&](const Tiles& t) { return tl::dot(t[0], t[1], t[2], sum_type); }),
                  product(a, b, &start, sum_type), std::string("dot of ") + name(type) + " into " + name(sum_type));
    }
  });
}

TEST(TileOperations, ScalarTilesOfRankZeroLoadAndStore) {
  simulate(tiny(), [] {
    const HostTile x{DType::f32, {}, {2.5}};
    expect_same(on_device({x, x}, DType::f32, {}, [](const Tiles& t) { return t[0] + t[1]; }), {DType::f32, {}, {5}},
                "+");
  });
}

// ---- loads and stores over shards ------------------------------------------------------------------------------

DPPolicy random_policy(std::mt19937& random, bool replicas) {
  constexpr std::array kAll{Placement::row_wise, Placement::column_wise, Placement::tiled_row_major,
                            Placement::tiled_column_major, Placement::replicate};
  const std::size_t choices = replicas ? 5 : 4;
  return {.cube = kAll[random() % choices],
          .pe = kAll[random() % choices],
          .num_cubes = static_cast<int>(random() % 5),
          .num_pes = static_cast<int>(random() % 3)};
}

struct Block {
  tl::Extents offset, shape;
};
/// A block that begins inside of the tensor and may reach past its end.
Block random_block(std::mt19937& random, const std::vector<std::int64_t>& shape) {
  Block block{tl::Extents(std::span(shape)), tl::Extents(std::span(shape))};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    block.offset[d] = static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(shape[d]));
    block.shape[d] = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(shape[d] + 3));
  }
  return block;
}

/// Calls visit(index in the block, index in the tensor or -1) for each element of the block.
template <class Visit>
void for_each_element(const Block& block, const std::vector<std::int64_t>& shape, Visit visit) {
  for (std::int64_t i = 0; i < block.shape.numel(); ++i) {
    std::int64_t rest = i, at = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::int64_t coordinate = block.offset[d] + rest % block.shape[d];
      rest /= block.shape[d];
      at = at < 0 || coordinate >= shape[d] ? -1 : at + coordinate * stride;
      stride *= shape[d];
    }
    visit(static_cast<std::size_t>(i), at);
  }
}

std::vector<std::int64_t> tensor_shape(std::mt19937& random) {
  std::vector<std::int64_t> shape;
  for (auto rank = 1 + random() % 3; rank > 0; --rank) shape.push_back(1 + random() % 23);
  return shape;
}

SimulateOptions four_cubes() {
  return tiny({"sip.cubes.mesh=[2, 2]"});
}
torch::LaunchOptions on_pe(std::uint32_t pe) {
  return {.pes = {{CubeId{static_cast<int>(pe / 2)}, PeId{static_cast<int>(pe % 2)}}}};
}

TEST(TileOperations, LoadsGatherBlocksAcrossShardsAndMaskPastTheEnd) {
  std::mt19937 random(9);
  for (int round = 0; round < 150; ++round) {
    simulate(four_cubes(), [&] {
      const DType type = kTypes[random() % 5];
      const auto shape = tensor_shape(random);
      auto x = random_tile(random, type, shape, true);
      const auto block = random_block(random, shape);
      const std::vector<std::int64_t> block_shape(block.shape.begin(), block.shape.end());
      const auto in = torch::from_blob(x.values.data(), shape, torch::kDouble)
                          .to(torch::dtype(type).device("ahbm").placement(random_policy(random, true)));
      const auto out = torch::empty(block_shape, one_pe(type));
      torch::launch(
          on_pe(static_cast<std::uint32_t>(random() % 8)), "load",
          [&](tl::In a, tl::Tensor b) {
            const tl::Extents origin(std::vector<std::int64_t>(block.shape.size(), 0));
            tl::store(b, origin, tl::load(a, block.offset, block.shape, {.other = 1}));
          },
          in, out);
      HostTile expected{type, block_shape, {}};
      for_each_element(block, shape, [&](std::size_t, std::int64_t at) {
        expected.values.push_back(at < 0 ? 1 : x.values[static_cast<std::size_t>(at)]);
      });
      const auto host = out.cpu().to(torch::kDouble);
      expect_same({type, block_shape, {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()}}, expected,
                  "round " + std::to_string(round));
    });
  }
}

TEST(TileOperations, StoresScatterBlocksAcrossShardsAndDropWhatIsPastTheEnd) {
  std::mt19937 random(10);
  for (int round = 0; round < 150; ++round) {
    simulate(four_cubes(), [&] {
      const DType type = kTypes[random() % 5];
      const auto shape = tensor_shape(random);
      auto x = random_tile(random, type, shape, true);
      const auto block = random_block(random, shape);
      const std::vector<std::int64_t> block_shape(block.shape.begin(), block.shape.end());
      auto stored = random_tile(random, type, block_shape, true);
      const auto options = torch::dtype(type).device("ahbm").placement(random_policy(random, false));
      const auto out = torch::from_blob(x.values.data(), shape, torch::kDouble).to(options);
      const auto in = torch::from_blob(stored.values.data(), block_shape, torch::kDouble).to(one_pe(type));
      torch::launch(
          on_pe(static_cast<std::uint32_t>(random() % 8)), "store",
          [&](tl::In a, tl::Tensor b) {
            const tl::Extents origin(std::vector<std::int64_t>(block.shape.size(), 0));
            tl::store(b, block.offset, tl::load(a, origin, block.shape));
          },
          in, out);
      HostTile expected = x;
      for_each_element(block, shape, [&](std::size_t i, std::int64_t at) {
        if (at >= 0) expected.values[static_cast<std::size_t>(at)] = stored.values[i];
      });
      const auto host = out.cpu().to(torch::kDouble);
      expect_same({type, shape, {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()}}, expected,
                  "round " + std::to_string(round));
    });
  }
}

// ---- validity --------------------------------------------------------------------------------------------------

/// Which elements of the stored result a host read takes for invalid, as a string of '.' (valid) and 'x'.
std::string validity_of(const std::vector<std::int64_t>& shape, const std::function<tl::Tile(tl::In)>& compute,
                        DType dtype = DType::f32) {
  std::string mask;
  simulate(tiny(), [&] {
    const auto in = torch::ones({3, 4}, one_pe());
    const auto out = torch::zeros(shape, one_pe(dtype));
    torch::launch(
        "validity",
        [&](tl::In a, tl::Tensor b) {
          tl::store(b, tl::Extents(std::vector<std::int64_t>(shape.size(), 0)), compute(a));
        },
        in, out);
    const auto flat = out.view({-1});
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      try {
        flat[i].item();
        mask += '.';
      } catch (const InvalidValueError&) {
        mask += 'x';
      }
    }
  });
  return mask;
}

TEST(TileOperations, LanesOutsideOfTheTensorStayInvalidThroughEveryOperation) {
  // Two rows, of which the second lies outside, and three columns, of which the last does.
  const auto load = [](const tl::In& a) { return tl::load(a, {2, 2}, {2, 3}); };
  const auto one = [] { return tl::full({2, 3}, 1.0f, DType::f32); };
  const std::string corner = "..xxxx";
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return load(a); }), corner);
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return tl::load(a, {2, 2}, {2, 3}, {.other = 0}); }), "......");
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return -load(a); }), corner);
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return tl::exp(load(a)); }), corner);
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return tl::cast(load(a), DType::f16); }, DType::bf16), corner);
  for (const auto& what : binary_cases()) {
    const DType dtype = result_of(what, DType::f32);
    EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return what.compute(load(a), one()); }, dtype), corner) << what.name;
    EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return what.compute(one(), load(a)); }, dtype), corner) << what.name;
    EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return what.compute(load(a), 0.0f); }, dtype), corner) << what.name;
    EXPECT_EQ(validity_of({2, 3}, [&](tl::In) { return what.compute(one(), one()); }, dtype), "......") << what.name;
  }
  EXPECT_EQ(validity_of({2}, [&](tl::In a) { return tl::sum(load(a), 1); }), "xx");
  EXPECT_EQ(validity_of({3}, [&](tl::In a) { return tl::max(tl::load(a, {2, 2}, {1, 3}), 0); }), "..x");
  EXPECT_EQ(validity_of({1, 1}, [&](tl::In a) { return tl::sum(load(a), std::nullopt, true); }), "x");
  EXPECT_EQ(validity_of({1, 1}, [&](tl::In a) { return tl::max(tl::load(a, {0, 0}, {2, 3}), std::nullopt, true); }),
            ".");
}

TEST(TileOperations, AnInvalidLaneSpoilsItsRowOfAProductAndNoOther) {
  const auto weights = [] { return tl::full({4, 2}, 1.0f, DType::f32); };
  EXPECT_EQ(validity_of({2, 2}, [&](tl::In a) { return tl::dot(tl::load(a, {2, 0}, {2, 4}), weights()); }), "..xx");
  EXPECT_EQ(validity_of({2, 2},
                        [&](tl::In a) {
                          return tl::dot(tl::full({2, 4}, 1.0f, DType::f32), weights(), tl::load(a, {2, 3}, {2, 2}));
                        }),
            ".xxx");
}

TEST(TileOperations, ABroadcastLaneSpoilsAllThatDependOnIt) {
  EXPECT_EQ(validity_of({2, 3}, [](tl::In a) { return tl::load(a, {2, 0}, {2, 1}) + tl::zeros({1, 3}, DType::f32); }),
            "...xxx");
}

TEST(TileOperations, MisuseOfExtentsThatAreFarTooLargeIsAnErrorNotAnOverflow) {
  const auto error = [](const std::function<void(tl::Tensor)>& kernel) {
    return error_of([&] {
      auto x = torch::zeros({4}, one_pe());
      torch::launch("large", [&](tl::Tensor a) { kernel(a); }, x);
      torch::ahbm::synchronize();
    });
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THAT(error([](tl::Tensor) { tl::full({kHuge, kHuge, kHuge}, 1.0f, DType::f32); }),
              HasSubstr("TCM of sip0.cube0.pe0 is too small"));
  EXPECT_THAT(error([](tl::Tensor a) { tl::load(a, {1}, {INT64_MAX}); }),
              HasSubstr("TCM of sip0.cube0.pe0 is too small"));
  EXPECT_THAT(error([](tl::Tensor) { tl::full({-1}, 1.0f, DType::f32); }),
              HasSubstr("shape [-1] must be positive in every dimension"));
}

}  // namespace
}  // namespace kernbench
