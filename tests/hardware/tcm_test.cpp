// TCM reservations: aligned bytes, no fragmentation, first come first served.
#include "hardware/tcm/tcm.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernbench/error.h"
#include "sim/errors.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"

namespace kernbench::hardware {
namespace {

using sim::this_fiber::sleep;

class Tcm : public testing::Test {
 protected:
  std::shared_ptr<sim::Fiber> fiber(std::uint32_t agent, std::function<void()> body) {
    sim::FiberOptions options;
    options.agent = {agent};
    options.name = "fiber " + std::to_string(agent);
    return scheduler.spawn(std::move(options), std::move(body));
  }
  void note(const std::string& what) { notes.push_back(what + "@" + std::to_string(scheduler.now().count())); }
  sim::Scheduler scheduler;
  TcmAllocator tcm{Bytes(1024), Bytes(64)};
  std::vector<std::string> notes;
};

TEST_F(Tcm, RequestsAreRoundedUpToTheAlignment) {
  EXPECT_EQ(tcm.rounded(Bytes(1)), Bytes(64));
  EXPECT_EQ(tcm.rounded(Bytes(64)), Bytes(64));
  EXPECT_EQ(tcm.rounded(Bytes(65)), Bytes(128));
  EXPECT_EQ(tcm.rounded(Bytes(0)), Bytes(0));
}

TEST_F(Tcm, EveryByteCanBeReserved) {
  fiber(1, [&] {
    for (int i = 0; i < 16; ++i) tcm.reserve(Bytes(33));
    note("all");
    for (int i = 0; i < 16; ++i) tcm.release(Bytes(33));
  });
  scheduler.run();
  EXPECT_EQ(notes, std::vector<std::string>{"all@0"});
  EXPECT_EQ(tcm.used(), Bytes(0));
}

TEST_F(Tcm, ASmallRequestDoesNotOvertakeALargeOne) {
  fiber(1, [&] {
    tcm.reserve(Bytes(512));
    sleep(Time::picoseconds(100));
    tcm.release(Bytes(512));
  });
  fiber(2, [&] {
    tcm.reserve(Bytes(1024));
    note("large");
    sleep(Time::picoseconds(50));
    tcm.release(Bytes(1024));
  });
  fiber(3, [&] {
    tcm.reserve(Bytes(64));
    note("small");
    tcm.release(Bytes(64));
  });
  scheduler.run();
  EXPECT_EQ(notes, (std::vector<std::string>{"large@100", "small@150"}));
  EXPECT_EQ(tcm.used(), Bytes(0));
}

TEST_F(Tcm, OneReleaseCanServeSeveralRequests) {
  fiber(1, [&] {
    tcm.reserve(Bytes(1024));
    sleep(Time::picoseconds(10));
    tcm.release(Bytes(1024));
  });
  for (std::uint32_t i = 2; i < 6; ++i) {
    fiber(i, [&, i] {
      tcm.reserve(Bytes(512));
      note(std::to_string(i));
      sleep(Time::picoseconds(5));
      tcm.release(Bytes(512));
    });
  }
  scheduler.run();
  EXPECT_EQ(notes, (std::vector<std::string>{"2@10", "3@10", "4@15", "5@15"}));
}

TEST_F(Tcm, ACancelledRequestMakesRoomForTheNext) {
  fiber(1, [&] {
    tcm.reserve(Bytes(512));
    sleep(Time::picoseconds(100));
    tcm.release(Bytes(512));
  });
  const auto large = fiber(2, [&] {
    tcm.reserve(Bytes(1024));
    note("never");
  });
  fiber(3, [&] {
    tcm.reserve(Bytes(64));
    note("small");
    tcm.release(Bytes(64));
  });
  fiber(4, [&] {
    sleep(Time::picoseconds(20));
    large->cancel();
  });
  scheduler.run();
  EXPECT_EQ(notes, std::vector<std::string>{"small@20"});
  EXPECT_EQ(tcm.used(), Bytes(0));
}

TEST_F(Tcm, WaitingForEverIsADeadlock) {
  fiber(1, [&] {
    tcm.reserve(Bytes(1024));
    tcm.reserve(Bytes(64));
  });
  EXPECT_THROW(scheduler.run(), sim::DeadlockError);
}

}  // namespace
}  // namespace kernbench::hardware
