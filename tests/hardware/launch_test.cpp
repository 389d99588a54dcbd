// The law of the launch path, to the picosecond, and trees of messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "bench.h"
#include "sim/fiber.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;

// One program, nothing else under way.
void expect_law(const topology::Topology& machine, PeCoordinate pe) {
  Bench bench(machine);
  const LaunchTimes times = bench.run(pe, [](ProgramScope&) { sim::this_fiber::sleep(ns(777)); });
  const auto io = Endpoint::io_cpu(pe.sip), m = Endpoint::m_cpu({pe.sip, pe.cube}), control = Endpoint::pe_port(pe);
  const Time io_latency = machine.sip.io.cpu_latency, m_latency = machine.cube.m_cpu.latency;
  EXPECT_EQ(times.requested, Time::zero());
  EXPECT_EQ(times.first_program, kDoorbell + bench.message_time(Endpoint::host(), io) + io_latency +
                                     bench.message_time(io, m) + m_latency + bench.message_time(m, control) +
                                     machine.pe.control.start_latency);
  EXPECT_EQ(times.last_program, times.first_program + ns(777));
  EXPECT_EQ(times.completed, times.last_program + machine.pe.control.issue + bench.message_time(control, m) +
                                 machine.cube.m_cpu.counter_write + m_latency + bench.message_time(m, io) +
                                 machine.sip.io.counter_write + io_latency + bench.message_time(io, Endpoint::host()));
  EXPECT_TRUE(bench.machine.fabric().idle());
}

TEST(Launch, HoldsToItsLawOnEveryPeOfTiny) {
  expect_law(tiny(), at(0, 0, 0));
  expect_law(tiny(), at(0, 0, 1));
}

TEST(Launch, HoldsToItsLawOnTheNearestAndTheFarthestPeOfAhbm1Sip) {
  expect_law(ahbm_1sip(), at(0, 0, 0));
  expect_law(ahbm_1sip(), at(0, 15, 7));
}

TEST(Launch, HoldsToItsLawOnAnotherSip) {
  expect_law(small_machine({2, 2}, {2, 2}, 3), at(2, 3, 3));
}

TEST(Launch, HandLawOnTiny) {
  // Every figure spelled out, so that the law above does not stand on the routes alone.
  Bench bench(tiny());
  const LaunchTimes times = bench.run(at(0, 0, 0), [](ProgramScope&) {});
  const Time to_io = ps(525) + ns(601);           // 32 B at 61 GB/s
  const Time to_m_cpu = ps(252) + ns(7) + ns(2);  // the slower of two links: 32 B at 127 GB/s
  const Time to_pe = ps(252) + ns(2) + ns(2);
  EXPECT_EQ(times.first_program, ps(1) + to_io + ns(211) + to_m_cpu + ns(101) + to_pe + ps(50'003));
}

TEST(Launch, MessagesToSeveralPesFollowEachOtherOnTheLinksTheyShare) {
  // The M_CPU sends one message per PE; on its injection link they take 252 ps each, in the order of the PEs.
  Bench bench(small_machine({1, 1}, {4, 1}));
  std::vector<Time> first(4);
  std::vector<ProgramRequest> programs;
  for (int pe = 0; pe < 4; ++pe) {
    programs.push_back(bench.program(
        at(0, 0, pe), [&, pe](ProgramScope&) { first[static_cast<std::size_t>(pe)] = bench.scheduler.now(); }));
  }
  bench.launch(std::move(programs));
  bench.scheduler.run();
  for (std::int64_t pe = 1; pe < 4; ++pe) {
    EXPECT_EQ(first[static_cast<std::size_t>(pe)], first[0] + pe * (ps(252) + ns(2)));  // and a router each
  }
}

TEST(Launch, CompletesOnceWhenAllProgramsOfAllCubesHaveEnded) {
  Bench bench(ahbm_1sip());
  std::vector<ProgramRequest> programs;
  Time first = Time::max(), last;
  int ended = 0, completions = 0;
  for (int cube = 0; cube < 16; ++cube) {
    for (int pe = 0; pe < 8; ++pe) {
      programs.push_back(bench.program(at(0, cube, pe), [&, cube, pe](ProgramScope&) {
        first = std::min(first, bench.scheduler.now());
        sim::this_fiber::sleep(ns(1 + (cube * 37 + pe * 11) % 50));
        last = std::max(last, bench.scheduler.now());
        ++ended;
      }));
    }
  }
  LaunchTimes times;
  bench.launch(std::move(programs), [&](const LaunchTimes& t) {
    ++completions;
    times = t;
    EXPECT_EQ(ended, 128);
    EXPECT_EQ(bench.scheduler.now(), t.completed);
  });
  bench.scheduler.run();
  EXPECT_EQ(completions, 1);
  EXPECT_EQ(times.first_program, first);
  EXPECT_EQ(times.last_program, last);
  EXPECT_GT(times.completed, last + ns(600));
  EXPECT_TRUE(bench.machine.fabric().idle());
}

/// When a launch on all PEs of all cubes completes at the host, if each program ends at the time that `end` gives.
LaunchTimes launch_that_ends(Bench& bench, const std::function<Time(PeCoordinate)>& end) {
  const topology::Topology& machine = bench.topology;
  std::vector<ProgramRequest> programs;
  for (int cube = 0; cube < machine.sip.cubes.count(); ++cube) {
    for (int pe = 0; pe < machine.cube.pes.count(); ++pe) {
      const PeCoordinate here = at(0, cube, pe);
      programs.push_back(bench.program(here, [&end, here](ProgramScope&) { sim::this_fiber::sleep_until(end(here)); }));
    }
  }
  LaunchTimes times;
  bench.launch(std::move(programs), [&](const LaunchTimes& t) { times = t; });
  bench.scheduler.run();
  EXPECT_TRUE(bench.machine.fabric().idle());
  return times;
}

/// From the last count of the counter of cube 0 to the host.
Time after_the_counter_of_cube_0(Bench& bench) {
  const auto m = Endpoint::m_cpu({SipId{0}, CubeId{0}}), io = Endpoint::io_cpu(SipId{0});
  return bench.topology.cube.m_cpu.latency + bench.message_time(m, io) + bench.topology.sip.io.counter_write +
         bench.topology.sip.io.cpu_latency + bench.message_time(io, Endpoint::host());
}

TEST(Launch, EndsOfSeveralPesAtOneInstantInterruptTheMCpuOnce) {
  // The writes of PE 0, a router away from the counter, and of PE 1, two routers away, do not meet.
  Bench bench(small_machine({1, 1}, {2, 1}));
  const LaunchTimes times = launch_that_ends(bench, [](PeCoordinate) { return Time::microseconds(5); });
  const Time arrives = Time::microseconds(5) + ps(4001) +
                       bench.message_time(Endpoint::pe_port(at(0, 0, 1)), Endpoint::m_cpu({SipId{0}, CubeId{0}}));
  EXPECT_EQ(times.completed, arrives + ps(1999) + after_the_counter_of_cube_0(bench));
}

TEST(Launch, ACounterCountsOneWriteAfterTheOther) {
  // With a counter this slow all four writes are there before the second one has been counted.
  auto machine = small_machine({1, 1}, {4, 1});
  machine.cube.m_cpu.counter_write = ns(31);
  Bench bench(machine);
  const LaunchTimes times = launch_that_ends(bench, [](PeCoordinate) { return Time::microseconds(5); });
  const Time first = Time::microseconds(5) + ps(4001) +
                     bench.message_time(Endpoint::pe_port(at(0, 0, 0)), Endpoint::m_cpu({SipId{0}, CubeId{0}}));
  EXPECT_EQ(times.completed, first + 4 * ns(31) + after_the_counter_of_cube_0(bench));
}

TEST(Launch, EndsOfSeveralCubesAtOneInstantInterruptTheIoCpuOnce) {
  // The cubes are in a row behind the IO chiplet: their writes arrive a hop between cubes apart.
  Bench bench(small_machine({4, 1}, {1, 1}));
  const LaunchTimes times = launch_that_ends(bench, [](PeCoordinate) { return Time::microseconds(5); });
  const PeCoordinate last = at(0, 3, 0);
  const auto m = Endpoint::m_cpu({last.sip, last.cube}), io = Endpoint::io_cpu(last.sip);
  EXPECT_EQ(times.completed, Time::microseconds(5) + ps(4001) + bench.message_time(Endpoint::pe_port(last), m) +
                                 ps(1999) + ns(101) + bench.message_time(m, io) + ps(3001) + ns(211) +
                                 bench.message_time(io, Endpoint::host()));
}

TEST(Launch, TheCounterOfTheIoChipletCountsOneWriteAfterTheOther) {
  auto machine = small_machine({4, 1}, {1, 1});
  machine.sip.io.counter_write = ns(97);
  Bench bench(machine);
  const LaunchTimes times = launch_that_ends(bench, [](PeCoordinate) { return Time::microseconds(5); });
  const PeCoordinate first = at(0, 0, 0);
  const auto m = Endpoint::m_cpu({first.sip, first.cube}), io = Endpoint::io_cpu(first.sip);
  EXPECT_EQ(times.completed, Time::microseconds(5) + ps(4001) + bench.message_time(Endpoint::pe_port(first), m) +
                                 ps(1999) + ns(101) + bench.message_time(m, io) + 4 * ns(97) + ns(211) +
                                 bench.message_time(io, Endpoint::host()));
}

TEST(Launch, TheCompletionOf128ProgramsCostsLittleMoreThanThatOfOne) {
  Bench one(ahbm_1sip()), all(ahbm_1sip());
  const LaunchTimes alone = one.run(at(0, 15, 7), [](ProgramScope&) {});
  const LaunchTimes together = launch_that_ends(all, [](PeCoordinate) { return Time::microseconds(5); });
  const Time of_one = alone.completed - alone.last_program, of_all = together.completed - together.last_program;
  EXPECT_GE(of_all, of_one);
  EXPECT_LE(of_all, of_one + 8 * ns(2) + 16 * ns(2)) << "at most all writes of a cube, and of all cubes";
}

TEST(Launch, CommandsOfOneInstantLeaveInTheOrderOfTheCalls) {
  auto machine = tiny();
  machine.pe.contexts = 1;
  Bench bench(machine);
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    std::vector<ProgramRequest> programs;
    programs.push_back(bench.program(at(0, 0, 0), [&order, i](ProgramScope&) { order.push_back(i); }));
    bench.launch(std::move(programs));
  }
  bench.scheduler.run();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace kernbench::hardware
