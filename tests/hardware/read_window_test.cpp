// The window of copies that read: turns, and the bytes that are asked for and have not arrived.
#include "hardware/copy/read_window.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "bench.h"

namespace kernbench::hardware {
namespace {

class Reader final : public PartReader {
 public:
  Reader(char name, int parts, std::string& asked) : name_(name), parts_(parts), asked_(asked) {}
  bool has_more() const override { return parts_ > 0; }
  bool may_ask() const override { return slots > 0; }
  Bytes ask() override {
    --parts_;
    --slots;
    asked_ += name_;
    return part;
  }
  int slots = 1000;
  Bytes part{10};

 private:
  char name_;
  int parts_;
  std::string& asked_;
};

TEST(ReadWindow, AsksForAPartWhileFewerBytesThanItsSizeAreUnderWay) {
  std::string asked;
  Reader reader('a', 10, asked);
  ReadWindow window(Bytes(25));
  window.join(reader);
  EXPECT_EQ(asked, "aaa");  // 0, 10 and 20 B were
  EXPECT_EQ(window.asked(), Bytes(30));
  window.arrived(Bytes(5));
  EXPECT_EQ(asked, "aaa");
  window.arrived(Bytes(5));
  EXPECT_EQ(asked, "aaaa");
  for (int i = 0; i < 9; ++i) window.arrived(Bytes(10));
  EXPECT_EQ(asked, std::string(10, 'a'));
  EXPECT_EQ(window.asked(), Bytes(0));
}

TEST(ReadWindow, GivesEachCopyATurnInTheOrderInWhichTheyCame) {
  std::string asked;
  Reader first('a', 6, asked), second('b', 3, asked), third('c', 4, asked);
  ReadWindow window(Bytes(20));
  window.join(first);
  window.join(second);
  window.join(third);
  for (int i = 0; i < 13; ++i) window.arrived(Bytes(10));
  EXPECT_EQ(asked, "aaabcabcabcac");
}

TEST(ReadWindow, PassesACopyThatMayNotAskUntilItMay) {
  std::string asked;
  Reader first('a', 4, asked), second('b', 3, asked);
  first.slots = 1;
  ReadWindow window(Bytes(100));
  window.join(first);
  window.join(second);
  EXPECT_EQ(asked, "abbb");
  window.ask();
  EXPECT_EQ(asked, "abbb");
  first.slots = 2;
  window.ask();
  EXPECT_EQ(asked, "abbbaa");
}

TEST(ReadWindow, TakesAPartThatIsLargerThanItself) {
  std::string asked;
  Reader reader('a', 2, asked);
  reader.part = Bytes(100);
  ReadWindow window(Bytes(1));
  window.join(reader);
  EXPECT_EQ(asked, "a");
  window.arrived(Bytes(100));
  EXPECT_EQ(asked, "aa");
}

}  // namespace
}  // namespace kernbench::hardware
