// The window of copies that read: turns, and the bytes that are asked for and have not arrived.
#include "hardware/copy/read_window.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "bench.h"
#include "sim/fiber.h"

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
  sim::Scheduler scheduler;
  ReadWindow window(scheduler, Bytes(25));
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
  sim::Scheduler scheduler;
  ReadWindow window(scheduler, Bytes(20));
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
  sim::Scheduler scheduler;
  ReadWindow window(scheduler, Bytes(100));
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
  sim::Scheduler scheduler;
  ReadWindow window(scheduler, Bytes(1));
  window.join(reader);
  EXPECT_EQ(asked, "a");
  window.arrived(Bytes(100));
  EXPECT_EQ(asked, "aa");
}

/// Notes for each part whether it is the doing of a fiber that polls.
class NamedReader final : public PartReader {
 public:
  NamedReader(const sim::Scheduler& scheduler, int parts) : scheduler_(scheduler), parts_(parts) {}
  bool has_more() const override { return parts_ > 0; }
  bool may_ask() const override { return true; }
  Bytes ask() override {
    --parts_;
    by += scheduler_.origin().poll_epoch != 0 ? 'p' : 'o';
    return Bytes(10);
  }
  std::string by;

 private:
  const sim::Scheduler& scheduler_;
  int parts_;
};

// Else a copy of a program that polls would pass for other work as long as copies make room for each other, and its
// polling never be found.
TEST(ReadWindow, AsksInTheNameOfTheCopyWhoeverMadeRoom) {
  sim::Scheduler scheduler;
  ReadWindow window(scheduler, Bytes(10));
  NamedReader other(scheduler, 3), polling(scheduler, 3);
  const auto spawn = [&](std::uint32_t agent, std::function<void()> body) {
    sim::FiberOptions options;
    options.agent = {agent};
    scheduler.spawn(std::move(options), std::move(body));
  };
  spawn(1, [&] {
    window.join(other);
    sim::this_fiber::note_poll();
    window.join(polling);
    for (int i = 0; i < 3; ++i) window.arrived(Bytes(10));
  });
  spawn(2, [&] {
    for (int i = 0; i < 3; ++i) window.arrived(Bytes(10));
  });
  scheduler.run();
  EXPECT_EQ(window.asked(), Bytes(0));
  EXPECT_EQ(other.by, "ooo");
  EXPECT_EQ(polling.by, "ppp");
}

}  // namespace
}  // namespace kernbench::hardware
