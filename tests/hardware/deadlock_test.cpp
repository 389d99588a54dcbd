// A deadlock report follows the wait through launch, control processor, queue and operation.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench.h"
#include "sim/errors.h"
#include "sim/fiber.h"

namespace kernbench::hardware {
namespace {

std::string report(sim::Scheduler& scheduler) {
  try {
    scheduler.run();
  } catch (const sim::DeadlockError& error) {
    return error.what();
  }
  return "no deadlock";
}

TEST(Deadlock, AnOperationThatNobodyFinishesIsNamedWithItsQueue) {
  Bench bench(tiny());
  std::vector<ProgramRequest> programs;
  programs.push_back(bench.program(at(0, 0, 1), [](ProgramScope& p) {
    auto never = make_command(GemmWork(), "dot", p.agent(), 99);
    p.load({leg(p.pe(), 0, 64)}, {never});
  }));
  bench.launch(std::move(programs));
  const std::string text = report(bench.scheduler);
  expect_mentions(text, "sip0.cube0.pe1 test#0");
  expect_mentions(text, "load#0 on sip0.cube0.pe1.dma.queue0");
  expect_mentions(text, "dot#99");
}

TEST(Deadlock, AFullQueueIsNamed) {
  Bench bench(tiny());
  std::vector<ProgramRequest> programs;
  programs.push_back(bench.program(at(0, 0, 1), [](ProgramScope& p) {
    auto never = make_command(GemmWork(), "dot", p.agent(), 99);
    for (int i = 0; i < 9; ++i) p.vector({.elements = 1, .operand_bytes = Bytes(4)}, {never});
  }));
  bench.launch(std::move(programs));
  const std::string text = report(bench.scheduler);
  expect_mentions(text, "sip0.cube0.pe1.vector");
  expect_mentions(text, "add#0 on sip0.cube0.pe1.vector");
}

TEST(Deadlock, TwoProgramsThatHoldTheTcmWaitForEachOther) {
  Bench bench(tiny());
  for (int launch = 0; launch < 2; ++launch) {
    std::vector<ProgramRequest> programs;
    programs.push_back(bench.program(
        at(0, 0, 0),
        [](ProgramScope& p) {
          TcmAllocator& tcm = p.machine().pe(p.pe()).tcm();
          tcm.reserve(Bytes(1 << 15));
          sim::this_fiber::sleep(Time::microseconds(10));
          tcm.reserve(Bytes(64));
        },
        "test#" + std::to_string(launch)));
    bench.launch(std::move(programs));
  }
  const std::string text = report(bench.scheduler);
  expect_mentions(text, "sip0.cube0.pe0 test#0");
  expect_mentions(text, "sip0.cube0.pe0 test#1");
  expect_mentions(text, "sip0.cube0.pe0.tcm");
}

TEST(Deadlock, ALaunchLeadsToTheProgramsThatHaveNotEnded) {
  auto machine = tiny();
  machine.pe.contexts = 1;
  Bench bench(machine);
  sim::Completion signal, launched;
  const auto start = [&](int number, ProgramBody body, sim::Completion* completion) {
    LaunchRequest request;
    request.name = "test#" + std::to_string(number);
    request.programs.push_back(bench.program(at(0, 0, 0), std::move(body), request.name));
    if (completion != nullptr) request.completed = [=](const LaunchTimes&) { completion->set(); };
    return bench.machine.launch(std::move(request));
  };
  start(0, [&](ProgramScope&) { signal.wait(); }, nullptr);  // waits for the second, which waits for its context
  const auto second = start(1, [&](ProgramScope&) { signal.set(); }, &launched);
  launched.provided_by([&](std::vector<sim::WaitEdge>& edges) { edges.push_back({second.get(), "its end"}); });
  sim::FiberOptions options;
  options.agent = bench.machine.host_agent(0);
  options.name = "rank 0";
  bench.scheduler.spawn(std::move(options), [&] { launched.wait(); });
  const std::string text = report(bench.scheduler);
  expect_mentions(text, "rank 0");
  expect_mentions(text, "launch test#1");
  expect_mentions(text, "sip0.cube0.pe0.control");
  expect_mentions(text, "sip0.cube0.pe0 test#0");
}

}  // namespace
}  // namespace kernbench::hardware
