#include "base/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "kernbench/error.h"

namespace kernbench {
namespace {

template <class Parse>
std::string error_of(Parse parse, std::string_view text) {
  try {
    parse(text);
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Quantity, ParsesDecimalFractionsExactly) {
  EXPECT_EQ(parse_bandwidth("1.2TB/s").count(), 1'200'000'000'000);
  EXPECT_EQ(parse_bandwidth("819.2 GB/s").count(), 819'200'000'000);
  EXPECT_EQ(parse_bandwidth("0.1GB/s").count(), 100'000'000);
  EXPECT_EQ(parse_time("80ns").count(), 80'000);
  EXPECT_EQ(parse_time("0.3us").count(), 300'000);
  EXPECT_EQ(parse_time("1.001 ns").count(), 1'001);
  EXPECT_EQ(parse_time("9223372.036854775807s").count(), INT64_MAX);
  EXPECT_EQ(parse_frequency("1.41GHz").count(), 1'410'000'000);
  EXPECT_EQ(parse_integer("256"), 256);
  EXPECT_EQ(parse_integer("-3"), -3);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
}

TEST(Quantity, TellsDecimalFromBinaryUnits) {
  EXPECT_EQ(parse_bytes("4KB").count(), 4000);
  EXPECT_EQ(parse_bytes("4KiB").count(), 4096);
  EXPECT_EQ(parse_bytes("1.5MiB").count(), 1'572'864);
  EXPECT_EQ(parse_bytes("0.0009765625KiB").count(), 1);
  EXPECT_EQ(parse_bytes("36GiB").count(), std::int64_t{36} << 30);
  EXPECT_EQ(parse_bandwidth("1GiB/s").count(), std::int64_t{1} << 30);
  EXPECT_EQ(parse_bytes("8191PiB").count(), std::int64_t{8191} << 50);
}

TEST(Quantity, ErrorsNameTheTextWhatIsExpectedAndAnExample) {
  const std::string time = "expected a time such as 80ns, found ";
  EXPECT_EQ(error_of(parse_time, ""), time + "\"\"");
  EXPECT_EQ(error_of(parse_time, "ns"), time + "\"ns\"");
  EXPECT_EQ(error_of(parse_time, "8GB/s"), time + "\"8GB/s\", which is a bandwidth");
  EXPECT_EQ(error_of(parse_time, "80"), time + "\"80\", which has no unit (ps, ns, us, ms, s)");
  EXPECT_EQ(error_of(parse_time, "1e3ns"), time + "\"1e3ns\", whose number has an exponent; write it out");
  EXPECT_EQ(error_of(parse_time, "80nS"), time + "\"80nS\", whose unit is unknown; did you mean \"ns\"?");
  EXPECT_EQ(error_of(parse_time, "80nsec"), time + "\"80nsec\", whose unit is none of ps, ns, us, ms, s");
  EXPECT_EQ(error_of(parse_time, "80  ns"), time + "\"80  ns\", whose unit is unknown; did you mean \"ns\"?");
  EXPECT_EQ(error_of(parse_time, "-80ns"), time + "\"-80ns\", which is negative");
  EXPECT_EQ(error_of(parse_time, "080ns"), time + "\"080ns\", which has a leading zero");
  EXPECT_EQ(error_of(parse_time, "8.ns"), time + "\"8.ns\", which has no digit after the point");
  EXPECT_EQ(error_of(parse_time, ".8ns"), time + "\".8ns\"");
  EXPECT_EQ(error_of(parse_time, "0.5ps"), time + "\"0.5ps\", which is no whole number of picoseconds");
  EXPECT_EQ(error_of(parse_time, "9223372.036854775808s"), time + "\"9223372.036854775808s\", which is too large");
  EXPECT_EQ(error_of(parse_time, "99999999999999999999ps"),
            time + "\"99999999999999999999ps\", which has too many digits");
  EXPECT_EQ(error_of(parse_bandwidth, "1.2tb/s"),
            "expected a bandwidth such as 1.2TB/s, found \"1.2tb/s\", whose unit is unknown; did you mean \"TB/s\"?");
  EXPECT_EQ(error_of(parse_bytes, "1.0001KiB"),
            "expected an amount of data such as 4MiB, found \"1.0001KiB\", which is no whole number of bytes");
  EXPECT_EQ(error_of(parse_frequency, "1ns"), "expected a frequency such as 1GHz, found \"1ns\", which is a time");
  for (const char* text : {"", "-", "yes", "0x10", "1e3", "1.0", " 1", "1 ", "+1", "012", "9223372036854775808"}) {
    EXPECT_THAT(error_of(parse_integer, text), ::testing::StartsWith("expected a whole number such as 32, found \""))
        << text;
  }
}

TEST(Quantity, UnitsOfBitsAreRefusedWithTheSameInBytes) {
  const auto told = [](auto parse, const char* text) {
    const std::string error = error_of(parse, text);
    return error.substr(std::min(error.size(), error.find("\", ")));
  };
  const std::string bits = "\", whose unit counts bits; units of bytes are expected";
  EXPECT_EQ(told(parse_bandwidth, "400Gb/s"), bits + ": 50GB/s");
  EXPECT_EQ(told(parse_bandwidth, "400 Gbit/s"), bits + ": 50GB/s");
  EXPECT_EQ(told(parse_bandwidth, "400gbps"), bits + ": 50GB/s");
  EXPECT_EQ(told(parse_bandwidth, "2.5Tib/s"), bits + ": 343.59738368GB/s");
  EXPECT_EQ(told(parse_bandwidth, "1b/s"), bits);
  EXPECT_EQ(told(parse_bytes, "8Mbit"), bits + ": 1MB");
  EXPECT_EQ(told(parse_bandwidth, "300gb/s"), "\", whose unit is unknown; did you mean \"GB/s\"?");
}

TEST(Quantity, NoUnitIsSuggestedForOneWithALargerOrSmallerPrefix) {
  EXPECT_THAT(error_of(parse_bandwidth, "1EB/s"), ::testing::HasSubstr("whose unit is none of B/s, KB/s"));
  EXPECT_THAT(error_of(parse_bytes, "1EiB"), ::testing::HasSubstr("whose unit is none of B, KB"));
  EXPECT_THAT(error_of(parse_time, "5fs"), ::testing::HasSubstr("whose unit is none of ps, ns"));
  EXPECT_THAT(error_of(parse_frequency, "1PHz"), ::testing::HasSubstr("whose unit is none of Hz, kHz"));
}

TEST(Quantity, ErrorsShowOtherLettersAsTheyAre) {
  EXPECT_EQ(error_of(parse_time, "90\u00b5s"),
            "expected a time such as 80ns, found \"90\u00b5s\", whose unit is unknown; did you mean \"us\"?");
  EXPECT_EQ(error_of(parse_time, "90\u03bcs"),
            "expected a time such as 80ns, found \"90\u03bcs\", whose unit is unknown; did you mean \"us\"?");
  EXPECT_EQ(printable("\uac00\U0001f600"), "\uac00\U0001f600");
  // What is no UTF-8, a control character, or changes the direction of what follows.
  EXPECT_EQ(printable("\xc2"), "?");
  EXPECT_EQ(printable("\xc0\x80"), "??");
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");
  EXPECT_EQ(printable("\u0085\u202e"), "?????");
  // A character is never cut.
  EXPECT_EQ(printable(std::string(59, 'x') + "\u00b5"), std::string(59, 'x') + "...");
  EXPECT_EQ(printable(std::string(58, 'x') + "\u00b5"), std::string(58, 'x') + "\u00b5");
}

TEST(Quantity, ErrorsShowHostileTextSafely) {
  EXPECT_EQ(error_of(parse_integer, "\x1b[31m\xff\n"), "expected a whole number such as 32, found \"?[31m??\"");
  EXPECT_LT(error_of(parse_time, "1" + std::string(1'000'000, 'x')).size(), 200u);
  EXPECT_LT(error_of(parse_time, std::string(1'000'000, '1')).size(), 200u);
}

TEST(Quantity, PrintsTheCanonicalForm) {
  EXPECT_EQ(to_quantity(Bandwidth::bytes_per_second(1'200'000'000'000)), "1.2TB/s");
  EXPECT_EQ(to_quantity(Time::picoseconds(1'500)), "1.5ns");
  EXPECT_EQ(to_quantity(Time::zero()), "0ps");
  EXPECT_EQ(to_quantity(Bytes(std::int64_t{36} << 30)), "36GiB");
  EXPECT_EQ(to_quantity(Bytes(1536)), "1536B");
  EXPECT_EQ(to_quantity(Bytes(3000)), "3KB");
  EXPECT_EQ(to_quantity(Bytes(0)), "0B");
  EXPECT_EQ(to_quantity(Frequency::megahertz(1410)), "1.41GHz");
}

TEST(Quantity, ParsingWhatIsPrintedGivesTheSameValue) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    std::int64_t value = static_cast<std::int64_t>(random() >> (1 + random() % 62));
    // Round values too: in powers of ten and of two.
    for (std::uint64_t n = random() % 7; n > 0 && value < INT64_MAX / 1000; --n) value *= i % 2 == 0 ? 10 : 8;
    ASSERT_EQ(parse_time(to_quantity(Time::picoseconds(value))).count(), value);
    ASSERT_EQ(parse_bytes(to_quantity(Bytes(value))).count(), value);
    ASSERT_EQ(parse_bandwidth(to_quantity(Bandwidth::bytes_per_second(value))).count(), value);
    ASSERT_EQ(parse_frequency(to_quantity(Frequency::hertz(value))).count(), value);
    ASSERT_EQ(parse_integer(std::to_string(value)), value);
  }
}

// An independent reading of "W.FFF unit": in picoseconds, by shifting the point through the digits.
TEST(Quantity, AgreesWithShiftingThePointThroughTheDigits) {
  std::mt19937_64 random(2);
  const std::pair<const char*, std::size_t> units[] = {{"ps", 0}, {"ns", 3}, {"us", 6}, {"ms", 9}, {"s", 12}};
  for (int i = 0; i < 50'000; ++i) {
    const auto& [unit, shift] = units[random() % 5];
    const std::string whole = std::to_string(random() % 1'000'000);
    std::string fraction;
    for (std::uint64_t n = random() % 14; n > 0; --n) fraction += static_cast<char>('0' + random() % 10);
    const std::string text = whole + (fraction.empty() ? "" : "." + fraction) + (i % 2 ? " " : "") + unit;
    std::string digits = fraction.substr(0, shift);
    digits.resize(shift, '0');
    const bool exact = fraction.size() <= shift || fraction.find_first_not_of('0', shift) == std::string::npos;
    if (exact) {
      ASSERT_EQ(parse_time(text).count(), std::stoll(whole + digits)) << text;
    } else {
      ASSERT_THAT(error_of(parse_time, text), ::testing::EndsWith("which is no whole number of picoseconds")) << text;
    }
  }
}

}  // namespace
}  // namespace kernbench
