#include "report/text/text_table.h"

#include <gtest/gtest.h>

namespace kernbench::report {
namespace {

TEST(TextTableTest, AlignsColumnsByTheirWidestCell) {
  TextTable table({{"name", Align::left}, {"n"}});
  table.add({{"a"}, {"1"}});
  table.add({{"\xc3\xa9t\xc3\xa9"}, {"12345"}});
  EXPECT_EQ(table.text(Palette(false)),
            "  name      n\n"
            "  a         1\n"
            "  \xc3\xa9t\xc3\xa9   12345\n");
}

TEST(TextTableTest, MissingAndEmptyCellsLeaveNoTrailingBlanks) {
  TextTable table({{"", Align::left}, {""}, {"", Align::left}});
  table.add({{"first"}, {"2"}, {"third"}});
  table.add({{"x"}});
  table.add({{""}, {"1"}, {""}});
  EXPECT_EQ(table.text(Palette(false)), "  first  2  third\n  x\n         1\n");
}

TEST(TextTableTest, ColourDoesNotCountAsWidth) {
  TextTable table({{"", Align::left}, {""}});
  table.add({{"a", Style::bad}, {"1"}});
  table.add({{"bb"}, {"2"}});
  EXPECT_EQ(table.text(Palette(true)), "  \x1b[1;31ma\x1b[0m   1\n  bb  2\n");
}

TEST(TextTableTest, LongCellsAreShortenedInTheMiddleWhereThePaletteCuts) {
  TextTable table({{"", Align::left, 10}});
  table.add({{"sip0.cube12.pe3.gemm"}});
  EXPECT_EQ(table.text(Palette(false, true)), "  sip0..gemm\n");
  EXPECT_EQ(table.text(Palette(false)), "  sip0.cube12.pe3.gemm\n");
}

TEST(TextTableTest, KoreanTakesTwoColumnsForEachSyllable) {
  TextTable table({{"name", Align::left}, {"n"}});
  table.add({{"대역폭"}, {"1"}});
  table.add({{"band"}, {"22"}});
  EXPECT_EQ(table.text(Palette(false)),
            "  name     n\n"
            "  대역폭   1\n"
            "  band    22\n");
}

}  // namespace
}  // namespace kernbench::report
