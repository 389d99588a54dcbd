// Products of the MX formats, against a decoder of their own and one chain of fused multiply-adds for each element.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "harness.h"
#include "kernbench/torch/mx.h"

namespace kernbench::tile_test::scaled_test {
namespace {

using ::testing::HasSubstr;

/// 2 exponent bits with bias 1, one significand bit.
Real e2m1(std::int64_t code) {
  const std::int64_t exponent = code >> 1 & 3, significand = code & 1;
  const Real magnitude =
      exponent == 0 ? 0.5L * significand : std::ldexp(1 + 0.5L * significand, static_cast<int>(exponent) - 1);
  return (code & 8) != 0 ? -magnitude : magnitude;
}

Real e8m0(std::int64_t code) {
  return code == 255 ? std::numeric_limits<Real>::quiet_NaN() : std::ldexp(Real{1}, static_cast<int>(code) - 127);
}

Real from_byte(Real byte, DType type) {
  const auto bits = static_cast<std::byte>(static_cast<std::int64_t>(byte));
  return decode(&bits, type);
}

struct Format {
  const char* name;
  DType own;
};
constexpr Format kFormats[]{
    {"e2m1", DType::u8}, {"e4m3", DType::f8e4m3}, {"e5m2", DType::f8e5m2}, {"bf16", DType::bf16}, {"fp16", DType::f16}};

/// One operand of a product: what the kernel passes, and its elements times their scales in f32, [rows, k].
struct ScaledCase {
  Format format;
  bool k_pack = true;
  tl::Tile tile, scale;
  HostTile host;
};

struct Size {
  std::optional<std::int64_t> batch;
  std::int64_t rows, k;
};

Sizes shape_of(const Size& size, std::int64_t high, std::int64_t wide) {
  return size.batch ? Sizes{*size.batch, high, wide} : Sizes{high, wide};
}

/// Scales around 1, or of all sizes.
Drawn draw_scales(Bench& bench, const Size& size, std::int64_t block) {
  const Sizes shape = shape_of(size, size.rows, size.k / block);
  if (block == 16) return bench.draw(DType::f8e4m3, shape, Numbers::all);
  if (bench.chance(4)) return bench.draw(DType::u8, shape, Numbers::all);
  Drawn scales = bench.draw(DType::u8, shape, Numbers::small);
  scales.tile = scales.tile + 123;
  for (Lane& lane : scales.host.lanes) lane.value = std::fmod(lane.value + 123, Real{256});  // as u8 wraps
  return scales;
}

/// `rows_first`: the tile is [rows, k], else [k, rows].
ScaledCase draw_operand(Bench& bench, const Size& size, std::int64_t block, bool rows_first) {
  ScaledCase result;
  result.format = bench.any_of(kFormats);
  const bool packed = result.format.name == std::string("e2m1");
  const bool as_bits = item_size(result.format.own) == 1 && (packed || bench.chance(2));
  // Two in a byte along k, or along the rows.
  result.k_pack = !packed || size.rows % 2 == 1 || bench.chance(2);
  const std::int64_t rows = packed && !result.k_pack ? size.rows / 2 : size.rows;
  const std::int64_t k = packed && result.k_pack ? size.k / 2 : size.k;
  const Drawn elements = bench.draw(as_bits ? DType::u8 : result.format.own,
                                    rows_first ? shape_of(size, rows, k) : shape_of(size, k, rows),
                                    as_bits || bench.chance(3) ? Numbers::all : Numbers::small);
  result.tile = elements.tile;
  std::optional<Drawn> scales;
  if (!bench.chance(5)) scales = draw_scales(bench, size, block);
  if (scales) result.scale = scales->tile;
  result.host = {DType::f32, shape_of(size, size.rows, size.k), {}};
  for (std::int64_t i = 0; i < numel(result.host.shape); ++i) {
    const std::int64_t g = i / (size.rows * size.k), row = i / size.k % size.rows, at = i % size.k;
    const std::int64_t r = packed && !result.k_pack ? row / 2 : row, c = packed && result.k_pack ? at / 2 : at;
    const Lane& lane =
        elements.host.lanes[static_cast<std::size_t>(g * rows * k + (rows_first ? r * k + c : c * rows + r))];
    Real value = lane.value;
    if (packed)
      value = e2m1(static_cast<std::int64_t>(value) >> ((result.k_pack ? at : row) % 2 == 1 ? 4 : 0) & 15);
    else if (as_bits)
      value = from_byte(value, result.format.own);
    bool valid = lane.valid;
    if (scales) {
      const Lane& scale =
          scales->host.lanes[static_cast<std::size_t>((g * size.rows + row) * (size.k / block) + at / block)];
      const Real factor = block == 16 ? scale.value : e8m0(static_cast<std::int64_t>(scale.value));
      value = static_cast<float>(value) * static_cast<float>(factor);
      valid = valid && scale.valid;
    }
    result.host.lanes.push_back({value, valid});
  }
  return result;
}

HostTile transposed(const HostTile& x) {
  HostTile result = x;
  const std::size_t rank = x.shape.size();
  const std::int64_t rows = x.shape[rank - 2], columns = x.shape[rank - 1];
  std::swap(result.shape[rank - 2], result.shape[rank - 1]);
  for (std::int64_t i = 0; i < numel(x.shape); ++i) {
    const std::int64_t g = i / (rows * columns), r = i / columns % rows, c = i % columns;
    result.lanes[static_cast<std::size_t>(g * rows * columns + c * rows + r)] = x.lanes[static_cast<std::size_t>(i)];
  }
  return result;
}

TEST(TileDotScaled, IsDotInF32OfTheOperandsTimesTheirScales) {
  run_cases(71, [](Bench& bench) {
    for (int round = 0; round < 250; ++round) {
      const std::optional<std::int64_t> batch = bench.chance(3) ? std::optional(1 + bench.below(3)) : std::nullopt;
      const std::int64_t block = bench.chance(3) ? 16 : 32, k = block * (1 + bench.below(3));
      const Size left{batch, 1 + bench.below(9), k}, right{batch, 1 + bench.below(9), k};
      const ScaledCase a = draw_operand(bench, left, block, true), b = draw_operand(bench, right, block, false);
      const DType dtype = bench.any_of(kFloats);
      const Drawn start = bench.draw(bench.any_of(kFloats), shape_of(left, left.rows, right.rows), Numbers::small);
      const bool adds = bench.chance(2);
      const tl::Tile got =
          tl::dot_scaled(a.tile, a.scale, a.format.name, b.tile, b.scale, b.format.name, adds ? start.tile : tl::Tile(),
                         {.lhs_k_pack = a.k_pack, .rhs_k_pack = b.k_pack, .out_dtype = dtype});
      expect_same(got, product(a.host, transposed(b.host), adds ? &start.host : nullptr, dtype),
                  std::string("dot_scaled of ") + a.format.name + " and " + b.format.name);
      if (::testing::Test::HasFailure()) return;
    }
  });
}

TEST(TileDotScaled, EveryElementAndScaleHasItsValue) {
  run_cases(72, [](Bench&) {
    // A byte of two e2m1 in each row, beside a block of zeros, times a row that takes one of them.
    const tl::Tile bytes = tl::cast(tl::expand_dims(tl::arange(0, 256), 1), DType::u8);
    const tl::Tile rows = tl::where(tl::expand_dims(tl::arange(0, 16), 0) == 0, bytes, tl::zeros({256, 16}, DType::u8));
    for (const std::int64_t second : {0, 1}) {
      const tl::Tile one = tl::cast(tl::expand_dims(tl::arange(0, 32), 1) == second, DType::bf16);
      const HostTile got = look_at(tl::dot_scaled(rows, {}, "e2m1", one, {}, "bf16"));
      for (std::int64_t byte = 0; byte < 256; ++byte)
        EXPECT_EQ(got.lanes[static_cast<std::size_t>(byte)].value, e2m1(byte >> 4 * second & 15)) << byte;
    }
    const tl::Tile ones = tl::full({256, 32}, 1, DType::bf16);
    const tl::Tile first = tl::cast(tl::expand_dims(tl::arange(0, 32), 1) == 0, DType::bf16);
    const HostTile scales = look_at(tl::dot_scaled(ones, bytes, "bf16", first, {}, "bf16"));
    for (std::int64_t byte = 0; byte < 256; ++byte)
      EXPECT_TRUE(same(scales.lanes[static_cast<std::size_t>(byte)].value, e8m0(byte))) << byte;
  });
}

/// Of all sizes, with infinities, NaN, both zeros, numbers half way between two of e2m1 and below the normal ones.
std::vector<float> numbers_of_all_kinds(std::size_t count, std::mt19937& random) {
  const float special[]{0.0F,   -0.0F,  0.25F,  0.75F,  1.25F,   1.75F, 2.5F,     -3.5F,     5.0F, -6.0F,
                        464.0F, 1e-44F, -3e38F, 1e-38F, 61440.F, 1.0F,  INFINITY, -INFINITY, NAN};
  std::vector<float> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t block = i / 32;
    const int size = static_cast<int>(block * 37 % 250) - 125;
    const float number =
        std::ldexp(static_cast<float>(random() % 2001) - 1000, size / static_cast<int>(1 + block % 5) - 9);
    // Some blocks have what is not finite; most have not.
    numbers.push_back(random() % 6 == 0 ? special[random() % (block % 7 == 3 ? 19 : 16)] : number);
  }
  return numbers;
}

TEST(TileToMx, HasTheBitsThatTheHostMakes) {
  const auto result = try_simulate(tiny(), [] {
    std::mt19937 random(9);
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      const auto x = torch::tensor(numbers_of_all_kinds(std::size_t{40} * 96, random)).view({5, 8, 96}).to(type);
      for (const auto& [format, dtype, columns] :
           {std::tuple{"e2m1", DType::u8, 48}, std::tuple{"e4m3", DType::f8e4m3, 96},
            std::tuple{"e5m2", DType::f8e5m2, 96}}) {
        const auto elements = torch::empty({5, 8, columns}, one_pe(dtype));
        const auto scales = torch::empty({5, 8, 3}, one_pe(DType::u8));
        torch::launch(
            "narrow",
            [to = format](tl::In in, tl::Tensor out, tl::Tensor out_scales) {
              const auto [codes, powers] = tl::to_mx(tl::load(in, {0, 0, 0}, in.shape()), to);
              tl::store(out, {0, 0, 0}, codes);
              tl::store(out_scales, {0, 0, 0}, powers);
            },
            x.to(one_pe(type)), elements, scales);
        const auto [expected, expected_scales] = torch::ahbm::to_mx(x, format);
        EXPECT_TRUE(torch::equal(scales.cpu(), expected_scales)) << format << " of " << name(type);
        const auto got = elements.cpu();
        const auto* const a = static_cast<const std::uint8_t*>(got.data_ptr());
        const auto* const b = static_cast<const std::uint8_t*>(expected.data_ptr());
        for (std::int64_t i = 0; i < got.numel(); ++i)
          ASSERT_EQ(int{a[i]}, int{b[i]}) << format << " of " << name(type) << ", byte " << i;
      }
    }
  });
  EXPECT_FALSE(result.error) << result.error->message;
}

TEST(TileToMx, ABlockIsInvalidWhereOneOfItsLanesIs) {
  run_cases(73, [](Bench& bench) {
    const Drawn x = bench.draw(DType::f32, {4, 64}, Numbers::small, false);
    const tl::Tile one = tl::full({1}, 1, DType::i32);
    const tl::Tile bad = one >> 40;  // a shift by too much
    const tl::Tile lanes = tl::arange(0, 64) + tl::expand_dims(tl::arange(0, 4), 1) * 64;
    const tl::Tile mixed = tl::where(lanes == 100, tl::cast(bad, DType::f32), x.tile);  // of row 1, in block 1
    const auto [elements, scales] = tl::to_mx(mixed, "e4m3");
    const HostTile e = look_at(elements), s = look_at(scales);
    for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(e.lanes[i].valid, i / 32 != 3) << i;
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(s.lanes[i].valid, i != 3) << i;
  });
}

TEST(TileToMx, RefusesWhatHasNoBlocks) {
  const auto says = [](const std::string& text) { return HasSubstr("ValueError: tl::to_mx: " + text); };
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) { tl::to_mx(a, "e4m3"); }),
              says("a tile of shape [2, 3] has no blocks of 32 along its last dimension, of 7 at most"));
  EXPECT_THAT(kernel_error([](tl::Tile, tl::Tile) { tl::to_mx(tl::zeros({2, 32}, DType::f32), "fp16"); }),
              says("the format is \"fp16\"; it must be e2m1, e4m3 or e5m2"));
  EXPECT_THAT(kernel_error([](tl::Tile, tl::Tile) { tl::to_mx(tl::zeros({2, 32}, DType::i32), "e4m3"); }),
              says("takes floats, but got i32"));
  EXPECT_THAT(
      kernel_error([](tl::Tile, tl::Tile) { tl::to_mx(tl::zeros({1, 1, 1, 1, 1, 1, 1, 32}, DType::f32), "e4m3"); }),
      says("a tile of shape [1, 1, 1, 1, 1, 1, 1, 32] has no blocks"));
  EXPECT_THAT(kernel_error([](tl::Tile, tl::Tile) { tl::to_mx({}, "e4m3"); }), HasSubstr("tl::to_mx"));
}

TEST(TileDotScaled, RefusesWhatDoesNotFitTogether) {
  const auto says = [](const std::string& text) { return HasSubstr("ValueError: tl::dot_scaled: " + text); };
  const auto error = [](const std::function<void(tl::Tile x, tl::Tile w)>& body) {
    return kernel_error([&](const tl::Tile&, const tl::Tile&) {
      body(tl::zeros({4, 32}, DType::u8), tl::zeros({64, 8}, DType::f8e4m3));
    });
  };
  const auto scales = [](tl::Extents shape) { return tl::zeros(shape, DType::u8); };
  EXPECT_EQ(error([&](auto x, auto w) { tl::dot_scaled(x, scales({4, 2}), "e2m1", w, scales({8, 2}), "e4m3"); }),
            "no error");
  EXPECT_THAT(error([](auto x, auto w) { tl::dot_scaled(x, {}, "e3m2", w, {}, "e4m3"); }),
              says("lhs_format is \"e3m2\"; it must be e2m1, e4m3, e5m2, bf16 or fp16"));
  EXPECT_THAT(error([](auto x, auto w) { tl::dot_scaled(x, {}, "e2m1", w, {}, "e5m2"); }),
              says("rhs is f8e4m3; elements of e5m2 are f8e5m2, or u8 with their bits"));
  EXPECT_THAT(error([](auto x, auto w) { tl::dot_scaled(x, {}, "fp16", w, {}, "e4m3"); }),
              says("lhs is u8; elements of fp16 are f16"));
  EXPECT_THAT(error([](auto x, auto w) { tl::dot_scaled(x, {}, "e2m1", w, {}, "e4m3", {}, {.rhs_k_pack = false}); }),
              says("rhs_k_pack is false, and rhs is e4m3: only e2m1 is packed"));
  EXPECT_THAT(error([](auto x, auto w) { tl::dot_scaled(x, {}, "e2m1", w, {}, "e4m3", {}, {.lhs_k_pack = false}); }),
              says("inner extents differ: [8, 32] x [64, 8]"));
  EXPECT_THAT(error([&](auto x, auto w) { tl::dot_scaled(x, scales({4, 4}), "e2m1", w, {}, "e4m3"); }),
              says("lhs_scale has shape [4, 4]; 4 rows of 64 elements in blocks of 32 need [4, 2]"));
  EXPECT_THAT(error([&](auto x, auto w) { tl::dot_scaled(x, {}, "e2m1", w, scales({2, 8}), "e4m3"); }),
              says("rhs_scale has shape [2, 8]; 8 rows of 64 elements in blocks of 32 need [8, 2]"));
  EXPECT_THAT(error([](auto x, auto w) { tl::dot_scaled(x, tl::zeros({4, 2}, DType::f16), "e2m1", w, {}, "e4m3"); }),
              says("lhs_scale is f16; it must be u8 (E8M0, blocks of 32) or f8e4m3 (blocks of 16)"));
  EXPECT_THAT(error([&](auto, auto) {
                tl::dot_scaled(tl::zeros({4, 48}, DType::bf16), scales({4, 1}), "bf16", tl::zeros({48, 8}, DType::bf16),
                               {}, "bf16");
              }),
              says("k is 48; scales of u8 are for blocks of 32, which must divide it"));
  EXPECT_THAT(
      error([](auto x, auto w) { tl::dot_scaled(x, {}, "e2m1", w, {}, "e4m3", {}, {.out_dtype = DType::i32}); }),
      says("out_dtype is i32; it must be a floating-point type"));
  EXPECT_THAT(
      error([](auto x, auto w) { tl::dot_scaled(x, {}, "e2m1", w, {}, "e4m3", tl::zeros({4, 4}, DType::f32)); }),
      says("the accumulator has shape [4, 4], the product [4, 8]"));
  EXPECT_THAT(error([](auto x, auto w) {
                tl::dot_scaled(x, {}, "e2m1", w, {}, "e4m3", {}, {.fold = {.rows = -1, .columns = 0}});
              }),
              says("fold is -1 x 0"));
  EXPECT_THAT(error([](auto x, auto) { tl::dot_scaled(x, {}, "e2m1", {}, {}, "e4m3"); }), HasSubstr("tl::dot_scaled"));
}

}  // namespace
}  // namespace kernbench::tile_test::scaled_test
