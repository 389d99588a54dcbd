// More bandwidth is never slower when nothing contends.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "bench.h"

namespace kernbench::hardware {
namespace {

struct Knob {
  std::string name;
  std::function<Bandwidth&(topology::Topology&)> of;
};

std::vector<Knob> knobs() {
  return {{"host.link", [](auto& t) -> Bandwidth& { return t.host.link.bandwidth; }},
          {"system.link", [](auto& t) -> Bandwidth& { return t.system.link.bandwidth; }},
          {"sip.link", [](auto& t) -> Bandwidth& { return t.sip.link.bandwidth; }},
          {"cube.noc.link", [](auto& t) -> Bandwidth& { return t.cube.noc.link.bandwidth; }},
          {"cube.hbm", [](auto& t) -> Bandwidth& { return t.cube.hbm.bandwidth; }},
          {"pe.tcm", [](auto& t) -> Bandwidth& { return t.pe.tcm.bandwidth; }}};
}

// Duration of one operation that is alone in the machine.
Time alone(const topology::Topology& machine, const std::function<void(ProgramScope&)>& body) {
  Bench bench(machine);
  bench.run(at(0, 0, 0), body);
  return bench.log.operations.front()->times.finished - bench.log.operations.front()->times.started;
}

TEST(Bandwidth, DoublingAnyIsNeverSlowerUncontended) {
  const auto machine = small_machine({2, 2}, {2, 2}, 2);
  const std::vector<std::function<void(ProgramScope&)>> bodies = {
      [](ProgramScope& p) { p.load({leg(at(0, 0, 0), 0, 50'000)}); },
      [](ProgramScope& p) { p.store({leg(at(0, 0, 0), 64, 50'000)}); },
      [](ProgramScope& p) { p.load({leg(at(0, 3, 3), 0, 50'000)}); },
      [](ProgramScope& p) { p.store({leg(at(0, 3, 3), 0, 50'000)}); },
      [](ProgramScope& p) { p.load({leg(at(1, 2, 1), 0, 777)}); },
      [](ProgramScope& p) { p.store({leg(at(1, 2, 1), 0, 50'000)}); },
      [](ProgramScope& p) { p.load({{at(0, 1, 2), {StridedRange{8, 100, Bytes(100), 3000}}}}); },
      [](ProgramScope& p) { p.vector({.elements = 100, .operand_bytes = Bytes(50'000)}); },
      [](ProgramScope& p) { p.gemm({1, 100, 100, 100}); }};
  for (std::size_t body = 0; body < bodies.size(); ++body) {
    const Time before = alone(machine, bodies[body]);
    for (const Knob& knob : knobs()) {
      auto faster = machine;
      knob.of(faster) = Bandwidth::bytes_per_second(2 * knob.of(faster).count());
      const Time after = alone(faster, bodies[body]);
      // A compute command waits for a clock edge first, up to one period of 1499 MHz.
      const Time edge = body < 7 ? Time::zero() : ps(668);
      EXPECT_LE(after, before + edge) << knob.name << ", operation " << body;
    }
  }
}

TEST(Bandwidth, DoublingTheBottleneckHelps) {
  const auto load = [](ProgramScope& p) { p.load({leg(at(0, 0, 0), 0, 60'000)}); };
  const auto machine = tiny();
  auto faster = machine;
  faster.cube.hbm.bandwidth = Bandwidth::bytes_per_second(2 * machine.cube.hbm.bandwidth.count());
  EXPECT_LT(alone(faster, load).count(), alone(machine, load).count() * 7 / 10);
}

TEST(Bandwidth, DoublingAnyIsNeverSlowerForALaunch) {
  const auto machine = small_machine({2, 2}, {2, 2});
  const auto completed = [](const topology::Topology& t) {
    Bench bench(t);
    return bench.run(at(0, 3, 3), [](ProgramScope&) {}).completed;
  };
  const Time before = completed(machine);
  for (const Knob& knob : knobs()) {
    auto faster = machine;
    knob.of(faster) = Bandwidth::bytes_per_second(2 * knob.of(faster).count());
    EXPECT_LE(completed(faster), before) << knob.name;
  }
}

}  // namespace
}  // namespace kernbench::hardware
