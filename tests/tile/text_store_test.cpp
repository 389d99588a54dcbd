// Texts of places and parts are those that to_text and place give, each made once.
#include "tile/explain/text_store.h"

#include <gtest/gtest.h>

#include "tile/explain/activity.h"

namespace kernbench::tile {
namespace {

TEST(TextStore, GivesTheTextsOfPlacesByTheAddressOfTheFile) {
  TextStore texts;
  const char first[] = "/kernels/gemm.cpp", second[] = "/others/gemm.cpp";
  const auto text = texts.place(first, 41);
  EXPECT_EQ(text, "gemm.cpp:41");
  EXPECT_EQ(texts.place(first, 42), "gemm.cpp:42");
  EXPECT_EQ(texts.place(second, 41), "gemm.cpp:41");
  EXPECT_EQ(texts.place(first, 41).data(), text.data());
  EXPECT_EQ(texts.place("", 0), "");
}

TEST(TextStore, GivesTheTextsOfParts) {
  TextStore texts;
  for (const PartId& part : {PartId(PartKind::dma_queue, PeCoordinate{SipId{0}, CubeId{2}, PeId{5}}, 1),
                             PartId(PartKind::dma_queue, PeCoordinate{SipId{2}, CubeId{0}, PeId{5}}, 1),
                             PartId(PartKind::m_cpu, CubeCoordinate{SipId{1}, CubeId{3}})}) {
    EXPECT_EQ(texts.part(part), to_text(part));
    EXPECT_EQ(texts.part(part).data(), texts.part(part).data());
  }
  EXPECT_EQ(texts.part({}), "");
}

TEST(TextStore, OrdersTextsAsTheyAreWhereverTheyLie) {
  const char a[] = "load", b[] = "load", c[] = "store";
  EXPECT_TRUE(order_of_texts(a, b) == 0);
  EXPECT_TRUE(order_of_texts(a, a) == 0);
  EXPECT_TRUE(order_of_texts(a, c) < 0);
  EXPECT_TRUE(order_of_texts(std::string_view(a, 2), a) < 0);
}

}  // namespace
}  // namespace kernbench::tile
