// Parts with figures of their own obey their laws with these figures; the others do not notice.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;
using topology::PartOverride;
using topology::SystemTopology;

PartOverride change(const std::string& part) {
  PartOverride change;
  change.part = part;
  return change;
}

PartOverride failed(const std::string& part) {
  PartOverride failed = change(part);
  failed.failed = true;
  return failed;
}

// What every PE of one SIP does at the same time.
void run_all(Bench& bench) {
  std::vector<ProgramRequest> programs;
  for (int pe = 0; pe < 2; ++pe) {
    programs.push_back(bench.program(at(0, 0, pe), [](ProgramScope& p) {
      p.gemm({1, 20, 20, 33});
      p.vector({.elements = 1000});
      p.load({leg(at(0, 0, 0), 0, 10'000), leg(at(0, 0, 1), 0, 10'000)});
    }));
  }
  bench.launch(std::move(programs));
  bench.scheduler.run();
}

const Operation& operation_of(const Bench& bench, PeCoordinate pe, EngineKind engine) {
  for (const OperationRef& operation : bench.log.operations) {
    if (operation->engine == engine && operation->agent == bench.machine.program_agent(pe, 0)) return *operation;
  }
  ADD_FAILURE() << "no such operation";
  return *bench.log.operations.front();
}

TEST(Overrides, ASlowPeObeysItsLawsWithItsOwnClockAndItsNeighbourDoesNotNotice) {
  auto machine = tiny();
  Bench plain(machine);
  run_all(plain);
  machine.overrides.push_back(change("sip0.cube0.pe1"));
  machine.overrides.back().clock = Frequency::megahertz(701);
  Bench slow(machine);
  run_all(slow);

  const Clock clock(Frequency::megahertz(701));
  const Operation& dot = operation_of(slow, at(0, 0, 1), EngineKind::gemm);
  EXPECT_EQ(dot.finished, clock.edge(clock.cycle_at_or_after(dot.started) + 3 * 2 * 33 + 2 * 8 + 16 - 2));
  const Operation& add = operation_of(slow, at(0, 0, 1), EngineKind::vector);
  EXPECT_EQ(add.finished, clock.edge(clock.cycle_at_or_after(add.started) + 8 + 32));
  const Time least = slow.machine.least(at(0, 0, 1), dot).work;
  EXPECT_LE(least, dot.finished - dot.started);
  EXPECT_GT(least, plain.machine.least(at(0, 0, 1), dot).work * 2);

  for (const EngineKind engine : {EngineKind::gemm, EngineKind::vector, EngineKind::dma}) {
    const Operation& before = operation_of(plain, at(0, 0, 0), engine);
    const Operation& after = operation_of(slow, at(0, 0, 0), engine);
    EXPECT_EQ(before.started, after.started);
    EXPECT_EQ(before.finished, after.finished);
  }
}

TEST(Overrides, APeMayHaveASmallerArrayAndFewerLanes) {
  auto machine = tiny();
  machine.overrides.push_back(change("sip0.cube0.pe1"));
  machine.overrides.back().gemm_array = MeshExtent{4, 8};
  machine.overrides.back().vector_lanes = 16;
  Bench bench(machine);
  run_all(bench);
  const Clock clock(machine.pe.clock);
  const Operation& dot = operation_of(bench, at(0, 0, 1), EngineKind::gemm);
  EXPECT_EQ(dot.finished, clock.edge(clock.cycle_at_or_after(dot.started) + 3 * 5 * 33 + 2 * 8 + 4 - 2));
  const Operation& add = operation_of(bench, at(0, 0, 1), EngineKind::vector);
  EXPECT_EQ(add.finished, clock.edge(clock.cycle_at_or_after(add.started) + 8 + 63));
  const Operation& other = operation_of(bench, at(0, 0, 0), EngineKind::vector);
  EXPECT_EQ(other.finished, clock.edge(clock.cycle_at_or_after(other.started) + 8 + 32));
}

TEST(Overrides, FiguresEqualToTheOthersChangeNothing) {
  auto machine = small_machine({2, 1}, {2, 1}, 3);
  const auto told = [&](bool exact) {
    Bench bench(machine, exact);
    for (int sip = 0; sip < 3; ++sip) {
      std::vector<ProgramRequest> programs;
      programs.push_back(bench.program(at(sip, 1, 1), [sip](ProgramScope& p) {
        p.gemm({1, 20, 20, 33});
        p.load({leg(at((sip + 1) % 3, 0, 0), 100, 30'000)});
        p.store({leg(at((sip + 2) % 3, 1, 0), 0, 20'000)});
      }));
      bench.launch(std::move(programs));
    }
    bench.scheduler.run();
    return std::pair(bench.log.told, bench.scheduler.events_processed());
  };
  const auto plain = told(false), plain_exact = told(true);
  PartOverride link = change("sip*.io.to_sip*");
  link.bandwidth = machine.system.link.bandwidth;
  link.latency = machine.system.link.latency;
  link.buffer = machine.system.link.buffer;
  link.failed = false;
  PartOverride pe = change("sip*.cube*.pe*");
  pe.clock = machine.pe.clock;
  pe.gemm_array = machine.pe.gemm.array;
  pe.vector_lanes = machine.pe.vector.lanes;
  machine.overrides = {link, pe};
  EXPECT_EQ(told(false), plain);
  EXPECT_EQ(told(true), plain_exact);
  EXPECT_EQ(plain.first, plain_exact.first);
}

TEST(Overrides, ALoadOverADegradedLinkObeysTheLawWithItsFigures) {
  auto machine = small_machine({2, 1}, {2, 1}, 2);
  PartOverride slow = change("sip1.io.to_sip0");
  slow.bandwidth = Bandwidth::bytes_per_second(3'000'000'007);
  slow.latency = ns(1777);
  slow.buffer = Bytes(4 << 20);
  machine.overrides.push_back(slow);
  for (const bool exact : {false, true}) {
    Bench bench(machine, exact);
    bench.run(at(0, 1, 1), [](ProgramScope& p) { p.load({leg(at(1, 0, 0), 0, 8192)}); });
    const Operation& load = *bench.log.operations.front();
    const Endpoint port = Endpoint::pe_port(at(0, 1, 1)), slice = Endpoint::hbm_slice(at(1, 0, 0));
    std::vector<Stage> route{bench.channels(at(1, 0, 0))};
    for (const Stage& link : bench.links(slice, port)) route.push_back(link);
    route.push_back(bench.tcm_port(at(0, 1, 1)));
    const Time arrived = load.started + machine.pe.dma.setup + bench.message_time(port, slice);
    EXPECT_EQ(load.finished, bench.transfer_times(route, load.legs[0].ranges, arrived).delivered);
    // The answer crosses the slow link: all its bytes, one after the other.
    EXPECT_GE(load.finished - arrived, ns(1777) + transfer_time(Bytes(8192), *slow.bandwidth));
  }
}

// Known traffic between SIPs, and how many bytes it puts on each link by the routes.
class LinkTraffic {
 public:
  explicit LinkTraffic(const topology::Topology& machine) : bench(machine) {}

  void run() {
    const std::int32_t sips = bench.topology.system.sips;
    for (std::int32_t sip = 0; sip < sips; ++sip) {
      std::vector<ProgramRequest> programs;
      programs.push_back(bench.program(at(sip, 0, 1), [this, sip, sips](ProgramScope& p) {
        for (std::int32_t other = 0; other < sips; ++other) {
          const std::int64_t bytes = 1000 * (sip + 1) + 10 * other;
          p.load({leg(at(other, 1, 0), 0, bytes)});
          p.store({leg(at(other, 1, 1), 4096, bytes + 1)});
          expect(Endpoint::pe_port(p.pe()), Endpoint::hbm_slice(at(other, 1, 0)), kHeader, bytes);
          expect(Endpoint::pe_port(p.pe()), Endpoint::hbm_slice(at(other, 1, 1)), bytes + 1, kHeader);
        }
      }));
      bench.launch(std::move(programs));
    }
    bench.scheduler.run();
  }

  void hold_links_to_the_routes() {
    const auto usage = bench.machine.usage();
    for (std::uint32_t id = 0; id < bench.network.links().size(); ++id) {
      if (!bench.network.between_sips({id})) continue;
      const topology::Link& link = bench.network.link({id});
      EXPECT_EQ(usage[id].name, link.name);
      EXPECT_EQ(usage[id].bytes, Bytes(expected[id])) << link.name;
      EXPECT_EQ(usage[id].busy > Time::zero(), expected[id] > 0) << link.name;
      EXPECT_GE(usage[id].busy, transfer_time(usage[id].bytes, link.spec.bandwidth)) << link.name;
      if (link.failed) {
        EXPECT_EQ(usage[id].bytes, Bytes()) << link.name;
      }
    }
  }

  Bench bench;
  std::map<std::uint32_t, std::int64_t> expected;

 private:
  static constexpr std::int64_t kHeader = 32;
  void expect(Endpoint from, Endpoint to, std::int64_t there, std::int64_t back) {
    for (const auto& hop : bench.network.route(from, to)) expected[hop.link.value] += there;
    for (const auto& hop : bench.network.route(to, from)) expected[hop.link.value] += back;
  }
};

TEST(Links, BetweenSipsCarryWhatTheRoutesSayOnEverySystem) {
  for (const SystemTopology kind : {SystemTopology::ring_1d, SystemTopology::torus_2d, SystemTopology::mesh_2d,
                                    SystemTopology::fully_connected, SystemTopology::switched}) {
    for (std::int32_t sips = 1; sips <= 9; ++sips) {
      auto machine = small_machine({2, 1}, {2, 1}, sips);
      machine.system.topology = kind;
      machine.cube.noc.header = Bytes(32);
      LinkTraffic traffic(machine);
      traffic.run();
      traffic.hold_links_to_the_routes();
    }
  }
}

TEST(Links, TrafficGoesAroundFailedOnes) {
  const std::vector<std::pair<SystemTopology, std::string>> cases{{SystemTopology::ring_1d, "sip2.io.to_sip3"},
                                                                  {SystemTopology::torus_2d, "sip4.io.to_sip7"},
                                                                  {SystemTopology::mesh_2d, "sip0.io.to_sip1"},
                                                                  {SystemTopology::fully_connected, "sip8.io.to_sip*"}};
  for (const auto& [kind, down] : cases) {
    auto machine = small_machine({2, 1}, {2, 1}, 9);
    machine.system.topology = kind;
    machine.cube.noc.header = Bytes(32);
    machine.overrides = {failed(down)};
    if (kind == SystemTopology::fully_connected) {
      machine.overrides.push_back(change("sip8.io.to_sip3"));
      machine.overrides.back().failed = false;
    }
    LinkTraffic traffic(machine);
    traffic.run();
    traffic.hold_links_to_the_routes();
  }
}

}  // namespace
}  // namespace kernbench::hardware
