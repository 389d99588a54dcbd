// Tensors in the MX formats, against the definition: every element is the nearest of all that its block's scale allows.
#include "kernbench/torch/mx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "fake_context.h"
#include "kernbench/kernbench.h"

namespace kernbench::mx_test {
namespace {

using ::testing::HasSubstr;
using torch::ahbm::from_mx;
using torch::ahbm::to_mx;

class Mx : public testing::Test {
 protected:
  tensor::FakeContext context;
};

struct Format {
  const char* name;
  int exponent_bits, significand_bits, largest_exponent;
  double largest;
  std::int64_t in_a_byte;
};
const std::vector<Format> kFormats{{"e2m1", 2, 1, 2, 6, 2}, {"e4m3", 4, 3, 8, 448, 1}, {"e5m2", 5, 2, 15, 57344, 1}};

/// All magnitudes of the format, ascending: the place of one is its code.
std::vector<double> magnitudes(const Format& format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  std::vector<double> all;
  for (int code = 0;; ++code) {
    const int exponent = code >> format.significand_bits, rest = code & ((1 << format.significand_bits) - 1);
    const double significand = std::ldexp(rest, -format.significand_bits);
    const double value =
        exponent == 0 ? std::ldexp(significand, 1 - bias) : std::ldexp(1 + significand, exponent - bias);
    all.push_back(value);
    if (value == format.largest) return all;
  }
}

/// The nearest magnitude, of two the one with the even code.
double nearest(const std::vector<double>& all, double value) {
  std::size_t best = 0;
  for (std::size_t code = 1; code < all.size(); ++code) {
    const double nearer = std::abs(all[code] - value) - std::abs(all[best] - value);
    if (nearer < 0 || (nearer == 0 && code % 2 == 0)) best = code;
  }
  return all[best];
}

TEST_F(Mx, ElementsAreTheNearestThatTheScaleOfTheirBlockAllows) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const Format& format : kFormats) {
    const auto all = magnitudes(format);
    for (int round = 0; round < 40; ++round) {
      const std::int64_t rows = 1 + round % 3, columns = 32 * (1 + round % 4);
      std::vector<float> values;
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        // Of many sizes in a block, and now and then half way between two.
        const float size = std::ldexp(normal(random), static_cast<int>(random() % 12) - 6 + 10 * (round % 5 - 2));
        const double between = (all[random() % all.size()] + all[random() % all.size()]) / 2;
        values.push_back(round % 2 == 0 ? size : std::copysign(static_cast<float>(between), normal(random)));
      }
      const auto x = torch::tensor(values).view({rows, columns});
      const auto [elements, scales] = to_mx(x, format.name);
      EXPECT_EQ(elements.sizes().vec(), (std::vector<std::int64_t>{rows, columns / format.in_a_byte}));
      ASSERT_EQ(scales.sizes().vec(), (std::vector<std::int64_t>{rows, columns / 32}));
      const auto back = from_mx(elements, scales, format.name);
      const auto* const got = back.data_ptr<float>();
      for (std::size_t block = 0; block < values.size(); block += 32) {
        double largest = 0;
        for (std::size_t i = block; i < block + 32; ++i) largest = std::max(largest, std::abs(double{values[i]}));
        const double scale = std::exp2(std::floor(std::log2(largest)) - format.largest_exponent);
        for (std::size_t i = block; i < block + 32; ++i) {
          const double expected = nearest(all, std::abs(double{values[i]}) / scale) * scale;
          ASSERT_EQ(std::abs(double{got[i]}), expected) << format.name << " of " << values[i] << " by " << scale;
          EXPECT_EQ(std::signbit(got[i]), std::signbit(values[i]));
        }
      }
    }
  }
}

TEST_F(Mx, BlocksOfZerosNanAndTheEndsOfF32) {
  for (const Format& format : kFormats) {
    auto x = torch::zeros({4, 32});
    auto* const values = x.data_ptr<float>();
    values[32] = std::numeric_limits<float>::quiet_NaN(), values[33] = 1;
    values[64] = -std::numeric_limits<float>::infinity();
    values[96] = std::numeric_limits<float>::max(), values[97] = std::numeric_limits<float>::denorm_min();
    const auto [elements, scales] = to_mx(x, format.name);
    const auto* const codes = scales.data_ptr<std::uint8_t>();
    EXPECT_EQ(codes[0], 0);
    EXPECT_EQ(codes[1], 255);
    EXPECT_EQ(codes[2], 255);
    EXPECT_EQ(codes[3], 254 - format.largest_exponent);
    const auto back = from_mx(elements, scales, format.name);
    const auto* const got = back.data_ptr<float>();
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(got[i], 0);
      EXPECT_TRUE(std::isnan(got[32 + i])) << format.name << " " << i;
    }
    EXPECT_EQ(double{got[96]}, std::ldexp(format.largest, 127 - format.largest_exponent));
    EXPECT_EQ(got[97], 0);
  }
}

TEST_F(Mx, TakesOtherFloatsAndViews) {
  const auto x = torch::arange(0, 128, torch::kFloat).view({64, 2}).transpose(0, 1);
  const auto [elements, scales] = to_mx(x.to(torch::kHalf), "e4m3");
  const auto [same, same_scales] = to_mx(x.contiguous(), "e4m3");
  EXPECT_TRUE(torch::equal(scales, same_scales));
  EXPECT_TRUE(torch::equal(from_mx(elements, scales, "e4m3"), from_mx(same, same_scales, "e4m3")));
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(Mx, RefusesWhatDoesNotFit) {
  const auto x = torch::zeros({2, 64});
  EXPECT_THAT(error_of([&] { to_mx(x, "e3m2"); }), HasSubstr("the format is \"e3m2\"; it must be e2m1, e4m3 or e5m2"));
  EXPECT_THAT(error_of([&] { to_mx(x.to(torch::kInt), "e4m3"); }), HasSubstr("convert to a floating-point type first"));
  EXPECT_THAT(error_of([&] { to_mx(torch::zeros({2, 40}), "e4m3"); }),
              HasSubstr("blocks of 32 elements must divide the last dimension"));
  EXPECT_THAT(error_of([&] { to_mx(torch::tensor(1.0F), "e4m3"); }), HasSubstr("blocks of 32 elements"));
  const auto [elements, scales] = to_mx(x, "e2m1");
  EXPECT_THAT(error_of([&, e = elements] { from_mx(e, torch::zeros({2, 1}, torch::kByte), "e2m1"); }),
              HasSubstr("are no scales of blocks of 32"));
  EXPECT_THAT(error_of([&, s = scales] { from_mx(x, s, "e2m1"); }), HasSubstr("elements have the format's type"));
  EXPECT_THAT(error_of([&, e = elements] { from_mx(e, x, "e2m1"); }), HasSubstr("scales are Byte"));
}

}  // namespace
}  // namespace kernbench::mx_test
