// Every 8- and 16-bit pattern to and from every type, against tables of what the formats can hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "kernbench/float8.h"
#include "support.h"
#include "support/all_cases.h"

namespace kernbench::numerics::narrow_float_test {
namespace {

constexpr DType kTypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i32, DType::i64, DType::f8e4m3,
                            DType::f8e5m2,  DType::f16, DType::bf16, DType::f32, DType::f64};
constexpr DType kNarrowFloats[] = {DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A format by its definition, apart from the implementation.
struct Format {
  int exponent_bits, significand_bits;
  bool infinity;   // the highest exponent is for infinity and NaN; else only its highest significand is (NaN)
  bool saturates;  // overflow gives the largest number
};
Format format_of(DType type) {
  switch (type) {
    case DType::f8e4m3:
      return {4, 3, false, true};
    case DType::f8e5m2:
      return {5, 2, true, true};
    case DType::f16:
      return {5, 10, true, false};
    default:
      return {8, 7, true, false};
  }
}

/// The value of a pattern without sign.
double value_of(const Format& format, int code) {
  const int exponent = code >> format.significand_bits;
  const int fraction = code & ((1 << format.significand_bits) - 1);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const bool top = exponent == (1 << format.exponent_bits) - 1;
  if (top && format.infinity) return fraction == 0 ? kInfinity : kNan;
  if (top && fraction == (1 << format.significand_bits) - 1) return kNan;
  if (exponent == 0) return std::ldexp(fraction, 1 - bias - format.significand_bits);
  return std::ldexp((1 << format.significand_bits) + fraction, exponent - bias - format.significand_bits);
}

/// The finite values from 0 up; the place in the table is the code.
const std::vector<double>& finite_values(DType type) {
  static std::map<DType, std::vector<double>> tables;
  std::vector<double>& table = tables[type];
  for (int code = 0; table.empty() || std::isfinite(value_of(format_of(type), code)); ++code) {
    if (code < static_cast<int>(table.size())) break;
    table.push_back(value_of(format_of(type), code));
  }
  return table;
}

/// What a number becomes, looked up: the neighbour that is nearer, of two equally near ones that with the even code.
double looked_up(DType type, long double number, RoundingMode mode) {
  if (std::isnan(number)) return kNan;
  const Format format = format_of(type);
  const std::vector<double>& table = finite_values(type);
  const long double size = std::abs(number);
  const auto signed_as = [&](double value) {
    return static_cast<double>(std::copysign(static_cast<long double>(value), number));
  };
  const double largest = table.back();
  if (std::isinf(size) && !format.saturates) return signed_as(kInfinity);
  const auto above =
      std::ranges::upper_bound(table, size, {}, [](double value) { return static_cast<long double>(value); });
  const auto low = static_cast<std::size_t>(above - table.begin()) - 1;
  if (mode == RoundingMode::toward_zero) return signed_as(table[low]);
  if (low + 1 == table.size()) {
    if (format.saturates) return signed_as(largest);
    const long double half_step = (static_cast<long double>(largest) - static_cast<long double>(table[low - 1])) / 2;
    return signed_as(size >= static_cast<long double>(largest) + half_step ? kInfinity : largest);
  }
  const long double down = size - static_cast<long double>(table[low]);
  const long double up = static_cast<long double>(table[low + 1]) - size;
  if (down == up) return signed_as(low % 2 == 0 ? table[low] : table[low + 1]);
  return signed_as(down < up ? table[low] : table[low + 1]);
}

long double exact(DType type, const std::byte* element) {
  const Scalar scalar = load_element(type, element);
  return scalar.kind() == Scalar::Kind::floating ? static_cast<long double>(scalar.as_double())
                                                 : static_cast<long double>(scalar.as_integer());
}

/// All patterns of an 8- or 16-bit type.
std::vector<std::byte> all_patterns(DType type) {
  std::vector<std::byte> bytes;
  const int count = type == DType::boolean ? 2 : item_size(type) == 1 ? 256 : 65536;
  for (int pattern = 0; pattern < count; ++pattern) {
    bytes.push_back(static_cast<std::byte>(pattern));
    if (item_size(type) == 2) bytes.push_back(static_cast<std::byte>(pattern >> 8));
  }
  return bytes;
}

bool is_narrow_float(DType type) {
  return std::ranges::find(kNarrowFloats, type) != std::end(kNarrowFloats);
}

long double expected(DType to, DType from, long double number, RoundingMode mode) {
  if (to == from) return number;
  if (is_narrow_float(to)) return static_cast<long double>(looked_up(to, number, mode));
  if (to == DType::boolean) return number != 0 ? 1.0L : 0.0L;
  if (is_floating_point(to)) return number;  // all patterns of 16 bits are floats
  const long double low = to == DType::u8   ? 0
                          : to == DType::i8 ? -128
                                            : -std::ldexp(1.0L, static_cast<int>(8 * item_size(to)) - 1);
  const long double high = to == DType::u8 ? 255 : -low - 1;
  if (is_integer(from)) {  // wraps
    const auto whole = static_cast<std::int64_t>(number);
    if (to == DType::u8) return static_cast<std::uint8_t>(whole);
    return to == DType::i8 ? static_cast<long double>(static_cast<std::int8_t>(whole)) : number;
  }
  return std::isnan(number) ? 0.0L : std::clamp(std::trunc(number), low, high);
}

TEST(NarrowFloats, EveryPatternHasTheValueThatItsFormatDefines) {
  for (const DType type : kNarrowFloats) {
    const std::vector<std::byte> patterns = all_patterns(type);
    const int sign = item_size(type) == 1 ? 0x80 : 0x8000;
    for (int pattern = 0; pattern < 2 * sign; ++pattern) {
      const double should = value_of(format_of(type), pattern & (sign - 1)) * ((pattern & sign) != 0 ? -1 : 1);
      const double is = load_element(type, patterns.data() + pattern * item_size(type)).as_double();
      ASSERT_TRUE(is == should || (std::isnan(is) && std::isnan(should))) << name(type) << " " << pattern;
      ASSERT_EQ(std::signbit(is), (pattern & sign) != 0) << name(type) << " " << pattern;
    }
  }
  EXPECT_EQ(finite_values(DType::f8e4m3).back(), 448);
  EXPECT_EQ(finite_values(DType::f8e5m2).back(), 57344);
  EXPECT_EQ(finite_values(DType::f8e4m3)[1], 0x1p-9);
  EXPECT_EQ(finite_values(DType::f8e5m2)[1], 0x1p-16);
}

TEST(NarrowFloats, EveryPatternConvertsToEveryTypeInBothRoundings) {
  for (const DType from : kTypes) {
    if (item_size(from) > 2) continue;
    const std::vector<std::byte> input = all_patterns(from);
    const std::int64_t count = static_cast<std::int64_t>(input.size()) / item_size(from);
    for (const DType to : kTypes) {
      for (const RoundingMode mode : {RoundingMode::nearest, RoundingMode::toward_zero}) {
        std::vector<std::byte> output(static_cast<std::size_t>(count * item_size(to)));
        convert(to, output.data(), from, input.data(), count, mode);
        for (std::int64_t i = 0; i < count; ++i) {
          const long double number = exact(from, input.data() + i * item_size(from));
          const long double is = exact(to, output.data() + i * item_size(to));
          const long double should = expected(to, from, number, mode);
          ASSERT_TRUE(is == should || (std::isnan(is) && std::isnan(should)))
              << name(from) << " to " << name(to) << " of " << number << ": " << is << ", not " << should;
          ASSERT_TRUE(!is_floating_point(to) || !is_floating_point(from) || std::signbit(is) == std::signbit(number));
        }
      }
    }
  }
}

/// The numbers where rounding can go wrong, for every neighbouring pair of the format: both, the middle, and what lies
/// next to these in the type that is rounded from.
template <class T>
std::vector<T> critical_numbers(DType type) {
  std::vector<T> numbers{T{0}, std::numeric_limits<T>::infinity(), std::numeric_limits<T>::max(),
                         std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::quiet_NaN()};
  std::vector<double> table = finite_values(type);
  table.push_back(2 * table.back() - table[table.size() - 2]);  // where the next one would be
  for (std::size_t i = 0; i + 1 < table.size(); ++i) {
    for (const double place : {table[i], (table[i] + table[i + 1]) / 2}) {
      const auto number = static_cast<T>(place);
      for (const T each :
           {std::nextafter(number, T{0}), number, std::nextafter(number, std::numeric_limits<T>::infinity())})
        numbers.push_back(each);
    }
  }
  for (std::size_t i = 0, count = numbers.size(); i < count; ++i) numbers.push_back(-numbers[i]);
  const std::size_t step = one_case_in(1, 13);
  for (std::size_t i = 0; i * step < numbers.size(); ++i) numbers[i] = numbers[i * step];
  numbers.resize((numbers.size() + step - 1) / step);
  return numbers;
}

template <class T>
void check_critical_numbers(DType source) {
  for (const DType type : kNarrowFloats) {
    const std::vector<T> numbers = critical_numbers<T>(type);
    const auto count = static_cast<std::int64_t>(numbers.size());
    for (const RoundingMode mode : {RoundingMode::nearest, RoundingMode::toward_zero}) {
      std::vector<std::byte> output(static_cast<std::size_t>(count * item_size(type)));
      convert(type, output.data(), source, reinterpret_cast<const std::byte*>(numbers.data()), count, mode);
      for (std::int64_t i = 0; i < count; ++i) {
        const T number = numbers[static_cast<std::size_t>(i)];
        const double is = load_element(type, output.data() + i * item_size(type)).as_double();
        const double should = looked_up(type, static_cast<long double>(number), mode);
        ASSERT_TRUE(is == should || (std::isnan(is) && std::isnan(should)))
            << name(source) << " to " << name(type) << " of " << number << ": " << is << ", not " << should;
        ASSERT_EQ(std::signbit(is), std::signbit(number));
      }
    }
  }
}

TEST(NarrowFloats, EveryBoundaryRoundsRightFromFloats) {
  check_critical_numbers<float>(DType::f32);
}

TEST(NarrowFloats, EveryBoundaryRoundsRightFromDoublesInOneRounding) {
  check_critical_numbers<double>(DType::f64);
}

TEST(NarrowFloats, IntegersRoundOnce) {
  test::Random random(3);
  std::vector<std::int64_t> numbers{0, INT64_MAX, INT64_MIN, INT64_MIN + 1};
  for (const DType type : kNarrowFloats) {
    const std::vector<double>& table = finite_values(type);
    for (std::size_t i = 0; i + 1 < table.size(); ++i) {
      const double middle = (table[i] + table[i + 1]) / 2;
      if (middle < 1 || middle >= 0x1p62) continue;
      for (std::int64_t offset = -1; offset <= 1; ++offset)
        numbers.push_back(static_cast<std::int64_t>(middle) + offset);
    }
  }
  for (int i = 0; i < number_of_cases(20000, 20000, 2000); ++i)
    numbers.push_back(static_cast<std::int64_t>(random()) >> (random() % 64));
  for (std::size_t i = 0, count = numbers.size(); i < count; ++i) numbers.push_back(-std::max(numbers[i], -INT64_MAX));
  const auto count = static_cast<std::int64_t>(numbers.size());
  for (const DType type : {DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const RoundingMode mode : {RoundingMode::nearest, RoundingMode::toward_zero}) {
      std::vector<std::byte> output(static_cast<std::size_t>(count * item_size(type)));
      convert(type, output.data(), DType::i64, reinterpret_cast<const std::byte*>(numbers.data()), count, mode);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto number = static_cast<long double>(numbers[static_cast<std::size_t>(i)]);
        const double is = load_element(type, output.data() + i * item_size(type)).as_double();
        double should;
        if (is_narrow_float(type)) {
          should = looked_up(type, number, mode);
        } else {
          // The nearest by the processor; toward zero, the next one when that lies beyond.
          const auto round = [&](auto example) {
            using T = decltype(example);
            const auto nearest = static_cast<T>(number);
            const bool beyond =
                mode == RoundingMode::toward_zero && std::abs(static_cast<long double>(nearest)) > std::abs(number);
            return static_cast<double>(beyond ? std::nextafter(nearest, T{0}) : nearest);
          };
          should = type == DType::f32 ? round(float{}) : round(double{});
        }
        ASSERT_EQ(is, should) << name(type) << " of " << number;
      }
    }
  }
}

TEST(NarrowFloats, DoublesTowardZeroAreTheFloatBelow) {
  test::Random random(4);
  for (int i = 0; i < number_of_cases(1'000'000, 250'000, 50'000); ++i) {
    const auto word = (random() & 0x801F'FFFF'FFFF'FFFFu) | ((1023 - 160 + random() % 300) << 52);
    const double number = std::bit_cast<double>(i % 4 == 0 ? random() : word);
    const float is = round_to_float(number, RoundingMode::toward_zero);
    const auto nearest = static_cast<float>(number);
    const bool beyond = std::abs(static_cast<double>(nearest)) > std::abs(number);
    const float should = beyond ? std::nextafter(nearest, 0.0f) : nearest;
    ASSERT_TRUE(is == should || (std::isnan(is) && std::isnan(number))) << number;
    ASSERT_EQ(std::signbit(is), std::signbit(number));
  }
  EXPECT_EQ(round_to_float(1e300, RoundingMode::toward_zero), std::numeric_limits<float>::max());
  EXPECT_EQ(round_to_float(-kInfinity, RoundingMode::toward_zero), -std::numeric_limits<float>::infinity());
}

TEST(NarrowFloats, EightBitsSaturateAndKeepNan) {
  EXPECT_EQ(float8_e4m3(1e9).bits, 0x7E);
  EXPECT_EQ(float8_e4m3(-kInfinity).bits, 0xFE);
  EXPECT_EQ(float8_e4m3(kNan).bits, 0x7F);
  EXPECT_EQ(float8_e4m3(-std::numeric_limits<float>::quiet_NaN()).bits, 0xFF);
  EXPECT_EQ(float8_e5m2(1e9f).bits, 0x7B);
  EXPECT_EQ(float8_e5m2(std::numeric_limits<float>::infinity()).bits, 0x7B);
  EXPECT_EQ(float8_e5m2(-kInfinity).bits, 0xFB);
  EXPECT_EQ(float8_e5m2(kNan).bits, 0x7E);
  EXPECT_TRUE(std::isinf(static_cast<float>(float8_e5m2::from_bits(0x7C))));
  static_assert(float8_e4m3(1.0f).bits == 0x38 && float8_e4m3(449.0).bits == 0x7E && float8_e5m2(1.0).bits == 0x3C);
  static_assert(static_cast<float>(float8_e4m3::from_bits(1)) == 0x1p-9f);
}

TEST(NarrowFloats, ArraysOfFloatsAgreeWithDoublesForAllExponents) {
  test::Random random(5);
  std::vector<float> numbers(1 << 20);
  for (float& number : numbers) number = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  std::vector<float8_e4m3> small(numbers.size());
  std::vector<float8_e5m2> wide(numbers.size());
  from_float(small.data(), numbers.data(), static_cast<std::int64_t>(numbers.size()));
  from_float(wide.data(), numbers.data(), static_cast<std::int64_t>(numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(small[i].bits, float8_e4m3(static_cast<double>(numbers[i])).bits) << numbers[i];
    ASSERT_EQ(wide[i].bits, float8_e5m2(static_cast<double>(numbers[i])).bits) << numbers[i];
  }
}

}  // namespace
}  // namespace kernbench::numerics::narrow_float_test
