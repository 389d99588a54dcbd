// The control processor: contexts, order of programs, agents, errors.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "hardware/pe/command_queue.h"
#include "sim/fiber.h"

namespace kernbench::hardware {
namespace {

struct Seen {
  Time first, last;
  sim::AgentId agent;
};

// Launches `lengths.size()` launches of one program each on PE 0, all commands in one instant.
std::vector<Seen> run_programs(Bench& bench, const std::vector<Time>& lengths) {
  std::vector<Seen> seen(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::vector<ProgramRequest> programs;
    programs.push_back(bench.program(at(0, 0, 0), [&bench, &seen, i, length = lengths[i]](ProgramScope& p) {
      seen[i].first = bench.scheduler.now();
      seen[i].agent = p.agent();
      sim::this_fiber::sleep(length);
      seen[i].last = bench.scheduler.now();
    }));
    bench.launch(std::move(programs));
  }
  bench.scheduler.run();
  return seen;
}

TEST(ControlProcessor, RunsAsManyProgramsAtATimeAsItHasContextsAndQueuesTheRestInOrder) {
  Bench bench(tiny());
  const auto seen = run_programs(bench, {ns(10'000), ns(20'000), ns(3000), ns(4000)});
  const Time turn = ps(4001) + ps(50'003);  // issue of the completion, then start of the next
  EXPECT_LT(seen[1].first, seen[0].last);
  EXPECT_EQ(seen[2].first, seen[0].last + turn);
  EXPECT_EQ(seen[3].first, seen[2].last + turn);
  EXPECT_LT(seen[3].last, seen[1].last);
  EXPECT_EQ(seen[0].agent, bench.machine.program_agent(at(0, 0, 0), 0));
  EXPECT_EQ(seen[1].agent, bench.machine.program_agent(at(0, 0, 0), 1));
  EXPECT_EQ(seen[2].agent, bench.machine.program_agent(at(0, 0, 0), 0));
}

TEST(ControlProcessor, OneContextRunsProgramsOneAfterTheOther) {
  auto machine = tiny();
  machine.pe.contexts = 1;
  Bench bench(machine);
  const auto seen = run_programs(bench, {ns(100), ns(5000), ns(100)});
  EXPECT_LE(seen[0].last, seen[1].first);
  EXPECT_EQ(seen[2].first, seen[1].last + ps(4001) + ps(50'003));
}

TEST(ControlProcessor, AProgramsFiberHasTheNameOfTheRequest) {
  Bench bench(tiny());
  std::string name;
  bench.run(at(0, 0, 1), [&](ProgramScope&) { name = sim::this_fiber::current()->name(); });
  EXPECT_EQ(name, "sip0.cube0.pe1 test#0");
}

TEST(ControlProcessor, AnExceptionInAProgramEndsTheSimulationWithIt) {
  Bench bench(tiny());
  EXPECT_THROW(bench.run(at(0, 0, 0), [](ProgramScope&) { throw std::runtime_error("body"); }), std::runtime_error);
}

TEST(ControlProcessor, ACancelledProgramIsOverAndItsOperationsFinish) {
  Bench bench(tiny());
  bool completed = false;
  sim::Fiber* fiber = nullptr;
  std::vector<ProgramRequest> programs;
  programs.push_back(bench.program(at(0, 0, 0), [&](ProgramScope& p) {
    fiber = sim::this_fiber::current();
    for (int i = 0; i < 20; ++i) p.load({leg(at(0, 0, 1), 0, 60'000)});  // soon waits for a place
    ADD_FAILURE() << "not cancelled";
  }));
  bench.launch(std::move(programs), [&](const LaunchTimes&) { completed = true; });
  sim::FiberOptions options;
  options.agent = bench.machine.host_agent(0);
  options.name = "rank 0";
  bench.scheduler.spawn(std::move(options), [&] {
    sim::this_fiber::sleep(ns(1500));
    fiber->cancel();
  });
  bench.scheduler.run();
  EXPECT_TRUE(completed);
  EXPECT_TRUE(bench.machine.fabric().idle());
  int finished = 0;
  for (const auto& operation : bench.log.operations) finished += operation->done.is_set() ? 1 : 0;
  EXPECT_EQ(finished, 12);  // three queues of four; the thirteenth never entered one
  EXPECT_EQ(bench.log.operations.size(), 13u);
}

TEST(ControlProcessor, EveryProgramStartsWithDmaQueueZero) {
  Bench bench(tiny());
  for (int launch = 0; launch < 3; ++launch) {
    std::vector<ProgramRequest> one;
    one.push_back(bench.program(at(0, 0, 0), [launch](ProgramScope& p) {
      for (int i = 0; i <= launch; ++i) p.load({leg(p.pe(), 0, 64)});
    }));
    bench.launch(std::move(one));
  }
  bench.scheduler.run();
  for (const auto& operation : bench.log.operations) {
    EXPECT_EQ(operation->queue->wait_name(), "sip0.cube0.pe0.dma.queue" + std::to_string(operation->number % 3));
  }
  EXPECT_EQ(bench.log.operations.size(), 6u);
}

}  // namespace
}  // namespace kernbench::hardware
