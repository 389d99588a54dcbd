#include "numerics/conversion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support.h"

namespace kernbench::numerics {
namespace {

constexpr DType kTypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i32, DType::i64, DType::f8e4m3,
                            DType::f8e5m2,  DType::f16, DType::bf16, DType::f32, DType::f64};

long double nearest_multiple(long double number, long double unit) {
  const long double scaled = number / unit;
  long double whole = std::floor(scaled);
  const long double rest = scaled - whole;
  const bool odd = std::fmod(std::abs(whole), 2.0L) == 1.0L;
  if (rest > 0.5L || (rest == 0.5L && odd)) whole += 1;
  return whole * unit;
}

/// Rounds to a float format by its definition: `digits` significant bits, `lowest` the exponent of the smallest
/// subnormal, `overflow` the first number that becomes infinite.
long double nearest_float(long double number, int digits, int lowest, long double overflow) {
  if (number == 0 || !std::isfinite(number)) return number;
  const long double magnitude = std::abs(number);
  const long double unit = std::ldexp(1.0L, std::max(std::ilogb(magnitude) - digits + 1, lowest));
  const long double result = nearest_multiple(magnitude, unit);
  return std::copysign(result >= overflow ? std::numeric_limits<long double>::infinity() : result, number);
}

long double expected_conversion(DType to, long double number) {
  const auto integer = [&](long double lowest, long double highest) {
    return std::isnan(number) ? 0.0L : std::clamp(std::trunc(number), lowest, highest);
  };
  switch (to) {
    case DType::boolean:
      return number != 0 ? 1.0L : 0.0L;
    case DType::u8:
      return integer(0, 255);
    case DType::i8:
      return integer(-128, 127);
    case DType::i32:
      return integer(-0x1p31L, 0x1p31L - 1);
    case DType::i64:
      return integer(-0x1p63L, 0x1p63L - 1);
    case DType::f8e4m3:
      return std::isnan(number) ? number : std::clamp(nearest_float(number, 4, -9, HUGE_VALL), -448.0L, 448.0L);
    case DType::f8e5m2:
      return std::isnan(number) ? number : std::clamp(nearest_float(number, 3, -16, HUGE_VALL), -57344.0L, 57344.0L);
    case DType::f16:
      return nearest_float(number, 11, -24, 0x1p16L);
    case DType::bf16:
      return nearest_float(number, 8, -133, 0x1p128L);
    case DType::f32:
      return nearest_float(number, 24, -149, 0x1p128L);
    case DType::f64:
      return nearest_float(number, 53, -1074, HUGE_VALL);
  }
  return 0;
}

long double wrapped(DType to, std::int64_t number) {
  switch (to) {
    case DType::u8:
      return static_cast<std::uint8_t>(number);
    case DType::i8:
      return static_cast<std::int8_t>(number);
    case DType::i32:
      return static_cast<std::int32_t>(number);
    default:
      return static_cast<long double>(number);
  }
}

template <class T>
void store(std::byte* out, T value) {
  std::memcpy(out, &value, sizeof value);
}

/// The element's exact value: 64-bit integers are not doubles.
long double exact_value(DType type, const std::byte* element) {
  const Scalar scalar = load_element(type, element);
  return scalar.kind() == Scalar::Kind::floating ? static_cast<long double>(scalar.as_double())
                                                 : static_cast<long double>(scalar.as_integer());
}

std::vector<std::byte> interesting_elements(DType type) {
  test::Random random(7);
  std::vector<std::byte> result(4096 * static_cast<std::size_t>(item_size(type)));
  for (std::size_t i = 0; i < 4096; ++i) {
    std::byte* element = result.data() + i * static_cast<std::size_t>(item_size(type));
    const std::uint64_t bits = random();
    switch (type) {
      case DType::boolean:
        store(element, static_cast<std::uint8_t>(bits & 1));
        break;
      case DType::u8:
      case DType::i8:
      case DType::f8e4m3:
      case DType::f8e5m2:
        store(element, static_cast<std::uint8_t>(bits));
        break;
      case DType::i32:
        store(element, static_cast<std::int32_t>(bits) >> (bits >> 59));
        break;
      // Near ties of the 16-bit formats, too.
      case DType::i64:
        store(element, i % 2 == 0 ? static_cast<std::int64_t>(bits) >> (random() % 64)
                                  : static_cast<std::int64_t>((bits % 1024) << 50) + test::integer(random, -1, 1));
        break;
      case DType::f16:
      case DType::bf16:
        store(element, static_cast<std::uint16_t>(bits));
        break;
      case DType::f32:
        store(element, static_cast<std::uint32_t>(bits));
        break;
      case DType::f64:
        store(element, i % 2 == 0 ? bits : (bits & 0x801F'FFFF'FFFF'FFFFu) | ((1023 - 40 + bits % 80) << 52));
        break;
    }
  }
  return result;
}

TEST(Conversion, EveryPairOfTypesRoundsOnceAsDefined) {
  for (const DType from : kTypes) {
    const std::vector<std::byte> input = interesting_elements(from);
    for (const DType to : kTypes) {
      std::vector<std::byte> output(4096 * static_cast<std::size_t>(item_size(to)));
      convert(to, output.data(), from, input.data(), 4096);
      for (std::int64_t i = 0; i < 4096; ++i) {
        const long double number = exact_value(from, input.data() + i * item_size(from));
        const long double actual = exact_value(to, output.data() + i * item_size(to));
        // Integers wrap among themselves; equal types are copied.
        const bool wraps = is_integer(from) && is_integer(to);
        const long double expected = wraps        ? wrapped(to, static_cast<std::int64_t>(number))
                                     : from == to ? number
                                                  : expected_conversion(to, number);
        if (std::isnan(expected))
          ASSERT_TRUE(std::isnan(actual)) << name(from) << " to " << name(to) << " #" << i;
        else
          ASSERT_EQ(actual, expected) << name(from) << " to " << name(to) << " of " << number;
      }
    }
  }
}

TEST(Conversion, AnyNonzeroByteOfABooleanIsTrue) {
  const std::byte in[] = {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{255}};
  std::byte out[4];
  convert(DType::boolean, out, DType::boolean, in, 4);
  EXPECT_EQ(out[0], std::byte{0});
  for (int i = 1; i < 4; ++i) EXPECT_EQ(out[i], std::byte{1});
}

TEST(Conversion, ScalarsBecomeIntegersBySaturation) {
  EXPECT_EQ(Scalar(-2.9).as_integer(), -2);
  EXPECT_EQ(Scalar(1e30).as_integer(), INT64_MAX);
  EXPECT_EQ(Scalar(-1e30).as_integer(), INT64_MIN);
  EXPECT_EQ(Scalar(std::nan("")).as_integer(), 0);
  EXPECT_EQ(Scalar(INT64_MAX).as_integer(), INT64_MAX);
  EXPECT_TRUE(Scalar(0.5).as_boolean());
}

}  // namespace
}  // namespace kernbench::numerics
