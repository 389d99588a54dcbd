// The machine as a whole: what it builds, what it refuses, what it reports.
#include "hardware/machine.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench.h"
#include "kernbench/error.h"

namespace kernbench::hardware {
namespace {

TEST(Machine, LinksAreTheFirstServersAndMemoriesFollowPeByPe) {
  Bench bench(small_machine({2, 1}, {2, 1}));
  Fabric& fabric = bench.machine.fabric();
  const auto& links = bench.network.links();
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    EXPECT_EQ(fabric.spec(ServerId{i}).name, links[i].name);
    EXPECT_EQ(fabric.spec(ServerId{i}).bandwidth, links[i].spec.bandwidth);
  }
  const Stage group = bench.channels(at(0, 1, 0));
  EXPECT_EQ(fabric.spec(ServerId{group.server.value + 3}).name, "sip0.cube1.pe0.hbm.channel3");
  EXPECT_EQ(fabric.spec(bench.tcm_port(at(0, 1, 0)).server).name, "sip0.cube1.pe0.tcm.dma");
  EXPECT_EQ(fabric.server_count(), links.size() + 4 * 5 + 2);
  EXPECT_EQ(fabric.spec(ServerId{static_cast<std::uint32_t>(links.size()) + 4 * 5 + 1}).name, "sip0.cube1.sram");
}

TEST(Machine, ReportsTheUseOfEveryPartInStructuralOrder) {
  Bench bench(small_machine({2, 1}, {2, 1}));
  bench.run(at(0, 0, 1), [](ProgramScope& p) {
    p.load({leg(p.pe(), 0, 10'000)});
    p.gemm({1, 8, 16, 10});
  });
  const auto usage = bench.machine.usage();
  const auto named = [&](const std::string& name) {
    for (const auto& one : usage) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << name;
    return ResourceUsage{};
  };
  const auto& load = *bench.log.operations[0];
  const auto& dot = *bench.log.operations[1];
  EXPECT_EQ(named("sip0.cube0.pe1.dma.queue0").busy, load.finished - load.started);
  EXPECT_EQ(named("sip0.cube0.pe1.gemm").busy, dot.finished - dot.started);
  EXPECT_EQ(named("sip0.cube0.pe0.gemm").busy, Time::zero());
  EXPECT_EQ(named("sip0.cube1.pe1.vector").busy, Time::zero());
  EXPECT_EQ(named("sip0.cube0.pe1.tcm.dma").bytes, Bytes(10'000));
  EXPECT_EQ(named("sip0.io.cpu").busy, 2 * ns(211));
  EXPECT_EQ(named("sip0.cube0.m_cpu").busy, 2 * ns(101));
  Bytes channels;
  for (int i = 0; i < 4; ++i) channels += named("sip0.cube0.pe1.hbm.channel" + std::to_string(i)).bytes;
  EXPECT_EQ(channels, Bytes(10'000));

  Bench untouched(small_machine({2, 1}, {2, 1}));
  const auto names = untouched.machine.usage();
  ASSERT_EQ(names.size(), usage.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(names[i].name, usage[i].name);
    EXPECT_EQ(part_kind(usage[i].name), usage[i].kind) << usage[i].name;
  }
}

TEST(Machine, RefusesWhatCannotBeBuiltAndNamesTheKey) {
  const auto message = [](auto change) {
    auto topology = tiny();
    change(topology);
    sim::Scheduler scheduler;
    try {
      Machine machine(scheduler, topology, {});
    } catch (const ConfigurationError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message([](auto& t) { t.pe.gemm.model = "systolik"; }).find("did you mean \"systolic\""),
            std::string::npos);
  EXPECT_NE(message([](auto& t) { t.pe.vector.model = "x"; }).find("pe.vector.model"), std::string::npos);
  EXPECT_NE(message([](auto& t) { t.pe.dma.model = "x"; }).find("pe.dma.model"), std::string::npos);
  EXPECT_NE(message([](auto& t) { t.cube.hbm.model = "x"; }).find("cube.hbm.model"), std::string::npos);
  EXPECT_NE(message([](auto& t) { t.pe.control.issue = Time::zero(); }).find("pe.control.issue"), std::string::npos);
  EXPECT_EQ(message([](auto&) {}), "");
}

TEST(Machine, LatenciesOfZeroWork) {
  auto machine = small_machine({1, 1}, {2, 1});
  machine.sip.io.cpu_latency = machine.cube.m_cpu.latency = Time::zero();
  machine.pe.control.start_latency = machine.pe.dma.setup = Time::zero();
  machine.cube.hbm.latency = Time::zero();
  Bench bench(machine);
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    p.load({leg(p.pe(), 0, 64), leg(at(0, 0, 1), 0, 64)});
    p.store({leg(p.pe(), 0, 64), leg(at(0, 0, 1), 0, 64)});
  });
  for (const auto& operation : bench.log.operations) EXPECT_TRUE(operation->done.is_set());
}

}  // namespace
}  // namespace kernbench::hardware
