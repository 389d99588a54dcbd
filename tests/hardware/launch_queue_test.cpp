// The queues of launches of a SIP, to the picosecond: when a launch goes out that has come before its turn.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "launch_queues.h"

namespace kernbench::hardware {
namespace {

void expect_queue_law(const topology::Topology& machine, PeCoordinate pe) {
  Queues queues(machine);
  queues.launch("a", 1, {pe}, Time::microseconds(9));
  queues.launch("b", 1, {pe}, ns(777));
  queues.run();
  const LaunchTimes a = queues.times["a"], b = queues.times["b"];
  EXPECT_EQ(b.requested, a.last_program + way_back(queues.bench, pe));
  EXPECT_EQ(b.first_program, b.requested + way_out(queues.bench, pe));
  EXPECT_EQ(a.completed, b.requested + to_host(queues.bench));
  EXPECT_EQ(b.last_program, b.first_program + ns(777));
  EXPECT_EQ(b.completed, b.last_program + way_back(queues.bench, pe) + to_host(queues.bench));
}

TEST(LaunchQueue, ALaunchGoesOutWhenTheIoCpuHasHandledTheEndOfTheOneBefore) {
  expect_queue_law(tiny(), at(0, 0, 1));
  expect_queue_law(ahbm_1sip(), at(0, 0, 0));
  expect_queue_law(ahbm_1sip(), at(0, 15, 7));
}

TEST(LaunchQueue, ALaunchThatComesAfterItsTurnGoesOutAtOnce) {
  // Between the handling of the end and its news at the host: the time is its own from the command on.
  Queues queues(tiny());
  const PeCoordinate pe = at(0, 0, 0);
  const Time over = to_io_cpu(queues.bench) + way_out(queues.bench, pe) + ns(100) + way_back(queues.bench, pe);
  queues.launch("a", 1, {pe}, ns(100));
  queues.at_time(over + ns(50), [&] { queues.launch("b", 1, {pe}, ns(100)); });
  queues.run();
  EXPECT_EQ(queues.times["a"].completed, over + to_host(queues.bench));
  EXPECT_EQ(queues.times["b"].requested, over + ns(50));
  EXPECT_EQ(queues.times["b"].first_program, over + ns(50) + to_io_cpu(queues.bench) + way_out(queues.bench, pe));
}

TEST(LaunchQueue, ALaunchWhoseTurnComesWhileItIsOnItsWayGoesOutWhenItIsHandled) {
  Queues queues(tiny());
  const PeCoordinate pe = at(0, 0, 0);
  const Time over = to_io_cpu(queues.bench) + way_out(queues.bench, pe) + ns(100) + way_back(queues.bench, pe);
  queues.launch("a", 1, {pe}, ns(100));
  const Time given = over - ns(50);
  queues.at_time(given, [&] { queues.launch("b", 1, {pe}, ns(100)); });
  queues.run();
  EXPECT_EQ(queues.times["b"].requested, over);
  EXPECT_EQ(queues.times["b"].first_program, given + to_io_cpu(queues.bench) + way_out(queues.bench, pe));
}

TEST(LaunchQueue, QueuesDoNotWaitForEachOther) {
  Queues queues(tiny());
  queues.launch("a", 1, {at(0, 0, 0)}, Time::microseconds(9));
  queues.launch("b", 2, {at(0, 0, 1)}, ns(100));
  queues.launch("c", 0, {at(0, 0, 1)}, ns(200));
  queues.run();
  EXPECT_EQ(queues.order, (std::vector<std::string>{"b", "c", "a"}));
}

TEST(LaunchQueue, ALaunchOfAllPesWaitsForTheLastOfThem) {
  for (const auto& machine : {tiny(), ahbm_1sip()}) {
    Queues queues(machine);
    const auto pes = pes_of(machine);
    queues.launch("a", 1, {pes.back()}, Time::microseconds(9));
    queues.launch("b", 1, pes, Time::zero());
    queues.launch("c", 1, pes, Time::zero());
    queues.run();
    const LaunchTimes b = queues.times["b"], c = queues.times["c"];
    EXPECT_GE(b.first_program, queues.times["a"].last_program + way_back(queues.bench, pes.back()));
    EXPECT_GT(c.first_program, b.last_program);
    EXPECT_LE(c.first_program - b.last_program, Time::microseconds(1));
    EXPECT_LE(c.completed - c.requested, Time::nanoseconds(2200));
    EXPECT_EQ(queues.ran.size(), 1 + 2 * pes.size());
  }
}

TEST(LaunchQueue, TheWayOutOfALaunchThatWaitedTilesItsTimeFromItsTurnOn) {
  Queues queues(tiny());
  queues.launch("a", 1, {at(0, 0, 0)}, Time::microseconds(9));
  LaunchRequest request;
  request.sip = SipId{0};
  request.name = "b";
  request.queue = 1;
  request.programs.push_back(queues.bench.program(at(0, 0, 1), [](ProgramScope&) {}));
  bool told = false;
  request.completed = [&](const LaunchTimes& times) {
    told = true;
    Time until = times.requested;
    for (const WayStep& step : times.way_out()) {
      if (step.end <= times.requested) continue;
      EXPECT_LE(step.start, until);
      until = step.end;
    }
    EXPECT_EQ(until, times.first_program);
  };
  queues.bench.machine.launch(std::move(request));
  queues.run();
  EXPECT_TRUE(told);
}

TEST(LaunchQueue, ALaunchThatIsTakenBackInTheQueueStartsNoProgramAndHoldsUpNoneBehindIt) {
  const auto start_of_c = [](int taken_back) {
    Queues queues(tiny());
    queues.launch("a", 1, {at(0, 0, 0)}, Time::microseconds(9), 1);
    for (int i = 0; i < taken_back; ++i) queues.launch("b" + std::to_string(i), 1, {at(0, 0, 0)}, ns(100), 2);
    queues.launch("c", 1, {at(0, 0, 0)}, ns(100), 3);
    queues.at_time(Time::microseconds(5), [&] { queues.bench.machine.cancel(2); });
    queues.run();
    EXPECT_EQ(queues.ran, (std::vector<std::string>{"a", "c"}));
    EXPECT_EQ(queues.order.size(), static_cast<std::size_t>(taken_back) + 2);
    EXPECT_EQ(queues.order.back(), "c");
    for (const auto& [name, times] : queues.times) EXPECT_EQ(times.cut, name[0] == 'b') << name;
    return queues.times["c"].first_program;
  };
  EXPECT_EQ(start_of_c(3), start_of_c(0));
}

TEST(LaunchQueue, ALaunchTakenBackBeforeItsMessageHasComeIsOverWhenThatIsHandled) {
  Queues queues(tiny());
  const PeCoordinate pe = at(0, 0, 0);
  const Time over = to_io_cpu(queues.bench) + way_out(queues.bench, pe) + ns(100) + way_back(queues.bench, pe);
  queues.launch("a", 1, {pe}, ns(100), 1);
  const Time given = over - ns(50);
  queues.at_time(given, [&] {
    queues.launch("b", 1, {pe}, ns(100), 2);
    queues.bench.machine.cancel(2);
  });
  queues.run();
  EXPECT_EQ(queues.ran, (std::vector<std::string>{"a"}));
  EXPECT_EQ(queues.times["b"].completed, given + to_io_cpu(queues.bench) + to_host(queues.bench));
}

TEST(LaunchQueue, ALaunchThatWaitsForItsTurnWaitsForTheOneBefore) {
  Queues queues(tiny());
  queues.launch("a", 1, {at(0, 0, 0)}, ns(100));
  const auto b = queues.launch("b", 1, {at(0, 0, 0)}, ns(100));
  std::vector<sim::WaitEdge> edges;
  b->waits_for(edges);
  ASSERT_EQ(edges.size(), 1u);
  EXPECT_EQ(std::string(edges[0].target->wait_name()), "launch a");
  expect_mentions(std::string(edges[0].reason), "its turn");
  queues.run();
}

TEST(LaunchQueue, ExactEventsGiveTheSameTimes) {
  const auto times = [](bool exact) {
    Queues queues(small_machine({2, 2}, {2, 2}), exact);
    const auto pes = pes_of(queues.bench.topology);
    std::vector<Time> all;
    for (int i = 0; i < 6; ++i) {
      queues.launch("x" + std::to_string(i), static_cast<std::uint64_t>(1 + i % 2), pes, ns(i * 100));
    }
    queues.run();
    for (const auto& [name, each] : queues.times) {
      all.insert(all.end(), {each.requested, each.first_program, each.last_program, each.completed});
    }
    return all;
  };
  EXPECT_EQ(times(false), times(true));
}

}  // namespace
}  // namespace kernbench::hardware
