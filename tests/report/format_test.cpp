#include "report/text/format.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/text/utf8.h"

namespace kernbench::report {
namespace {

TEST(FormatTest, TimesHaveThreeDecimalsInTheirUnit) {
  EXPECT_EQ(time_text(Time::zero()), "0 ps");
  EXPECT_EQ(time_text(Time::picoseconds(999)), "999 ps");
  EXPECT_EQ(time_text(Time::picoseconds(1000)), "1.000 ns");
  EXPECT_EQ(time_text(Time::picoseconds(61'420'000)), "61.420 us");
  EXPECT_EQ(time_text(Time::milliseconds(999)), "999.000 ms");
  EXPECT_EQ(time_text(Time::seconds(90'000)), "90000.000 s");
  EXPECT_EQ(time_text(Time::picoseconds(1), TimeUnit::us), "<0.001 us");
  EXPECT_EQ(time_text(Time::zero(), TimeUnit::us), "0.000 us");
}

TEST(FormatTest, CountsHaveSeparators) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(FormatTest, SharesArePercentages) {
  EXPECT_EQ(percent_text(0), "0.0 %");
  EXPECT_EQ(percent_text(0.0001), "<0.1 %");
  EXPECT_EQ(percent_text(0.685), "68.5 %");
  EXPECT_EQ(percent_text(1), "100.0 %");
  EXPECT_EQ(percent_text(NAN), "-");
}

TEST(FormatTest, RatesNeverShowFourDigits) {
  EXPECT_EQ(rate_text(0, "B/s"), "0 B/s");
  EXPECT_EQ(rate_text(999.94, "B/s"), "999.9 B/s");
  EXPECT_EQ(rate_text(999.96, "B/s"), "1.00 kB/s");
  EXPECT_EQ(rate_text(1.048576e15, "FLOP/s"), "1.05 PFLOP/s");
  EXPECT_EQ(rate_text(9.996, "B/s"), "10.0 B/s");
  EXPECT_EQ(rate_text(2.801e14, "FLOP/s"), "280.1 TFLOP/s");
  EXPECT_EQ(rate_text(INFINITY, "B/s"), "-");
}

TEST(FormatTest, BytesAreBinary) {
  EXPECT_EQ(bytes_text(Bytes(1023)), "1023 B");
  EXPECT_EQ(bytes_text(Bytes(1536)), "1.50 KiB");
  EXPECT_EQ(bytes_text(Bytes(INT64_MAX)), "8.00 EiB");
  EXPECT_EQ(bytes_text(Bytes(1024 * 1024 - 1)), "1.00 MiB");
}

TEST(FormatTest, ValuesAreWholeOrHaveSixDigits) {
  EXPECT_EQ(value_text(4096), "4,096");
  EXPECT_EQ(value_text(-1234567), "-1,234,567");
  EXPECT_EQ(value_text(85.3333333), "85.3333");
  EXPECT_EQ(value_text(1e20), "1e+20");
  EXPECT_EQ(deviation_text(0), "0");
  EXPECT_EQ(deviation_text(1.25e-7), "1.25e-07");
  EXPECT_EQ(deviation_text(INFINITY), "inf");
}

TEST(Utf8Test, OnlyWellFormedSequencesHaveALength) {
  EXPECT_EQ(utf8_length("a", 0), 1u);
  EXPECT_EQ(utf8_length("\xc3\xa9", 0), 2u);
  EXPECT_EQ(utf8_length("\xed\x95\x9c", 0), 3u);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80", 0), 4u);
  EXPECT_EQ(utf8_length("\xc3", 0), 0u) << "cut short";
  EXPECT_EQ(utf8_length("\xa9", 0), 0u) << "a continuation alone";
  EXPECT_EQ(utf8_length("\xc0\xaf", 0), 0u) << "longer than need be";
  EXPECT_EQ(utf8_length("\xed\xa0\x80", 0), 0u) << "a surrogate";
  EXPECT_EQ(utf8_length("\xf4\x90\x80\x80", 0), 0u) << "beyond U+10FFFF";
}

TEST(Utf8Test, DisplayWidthIsThatOfATerminal) {
  EXPECT_EQ(display_width("gemm"), 4u);
  EXPECT_EQ(display_width("대역폭"), 6u);
  EXPECT_EQ(display_width("대역폭 GB/s"), 11u);
  EXPECT_EQ(display_width("\u1103\u1162"), 2u) << "the same syllable as two letters";
  EXPECT_EQ(display_width("e\u0301"), 1u) << "a combining accent";
  EXPECT_EQ(display_width("漢字かなカナ"), 12u);
  EXPECT_EQ(display_width("ＡＢ"), 4u) << "full-width forms";
  EXPECT_EQ(display_width("ｱｲ"), 2u) << "half-width forms";
  EXPECT_EQ(display_width("\xff\xfe"), 2u);
  EXPECT_EQ(display_width(""), 0u);
}

TEST(Utf8Test, ShortenedCountsColumns) {
  EXPECT_EQ(shortened("가나다라마바사", 10), "가나..바사");
  EXPECT_EQ(shortened("가나다라마바사", 9), "가..바사") << "half a syllable cannot be shown";
  for (std::size_t width = 4; width < 20; ++width) {
    for (const char* text : {"가나다라마바사아자차카타파하", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301",
                             "a가b나c다d라e마f바g사h아"}) {
      EXPECT_LE(display_width(shortened(text, width)), width) << text;
    }
  }
}

TEST(Utf8Test, ShortenedKeepsBothEndsAndWholeCharacters) {
  EXPECT_EQ(shortened("short", 10), "short");
  EXPECT_EQ(shortened("0123456789abcdef", 10), "0123..cdef");
  EXPECT_EQ(shortened("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4), "\xc3\xa9..\xc3\xa9");
}

}  // namespace
}  // namespace kernbench::report
