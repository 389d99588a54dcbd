// A cube's SRAM as memory of its programs: the law of loads and stores to the picosecond, by one port and by many.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "hardware/dma/multicast.h"
#include "support/sanitizers.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;
using topology::SramPorts;

constexpr SramPorts kPorts[] = {SramPorts::first_router, SramPorts::every_router};

topology::Topology with_ports(topology::Topology machine, SramPorts ports) {
  machine.cube.sram.ports = ports;
  return machine;
}

DmaLeg sram_leg(PeCoordinate by, std::uint64_t address, std::int64_t bytes) {
  DmaLeg part = leg(by, address, bytes);
  part.memory = AddressSpace::sram;
  return part;
}

/// Where the bytes of a PE meet the SRAM.
Endpoint port_of(const Bench& bench, PeCoordinate pe) {
  const bool everywhere = bench.topology.cube.sram.ports == SramPorts::every_router;
  return Endpoint::sram({pe.sip, pe.cube, everywhere ? pe.pe : PeId{}});
}

/// The SRAMs are the last servers, by cube.
Stage sram_of(Bench& bench, PeCoordinate pe) {
  const auto servers = static_cast<std::uint32_t>(bench.machine.fabric().server_count());
  const auto cubes = static_cast<std::uint32_t>(bench.topology.system.sips * bench.topology.sip.cubes.count());
  return {ServerId{servers - cubes + static_cast<std::uint32_t>(pe.cube.value)}, 1, {}};
}

std::vector<Stage> sram_way_out(Bench& bench, PeCoordinate pe) {
  std::vector<Stage> route{sram_of(bench, pe)};
  for (const Stage& link : bench.links(port_of(bench, pe), Endpoint::pe_port(pe))) route.push_back(link);
  route.push_back(bench.tcm_port(pe));
  return route;
}

std::vector<Stage> sram_way_in(Bench& bench, PeCoordinate pe) {
  std::vector<Stage> route{bench.tcm_port(pe)};
  for (const Stage& link : bench.links(Endpoint::pe_port(pe), port_of(bench, pe))) route.push_back(link);
  route.push_back(sram_of(bench, pe));
  return route;
}

void expect_law(const topology::Topology& machine, PeCoordinate pe, const DmaLeg& part) {
  Bench read(machine), write(machine);
  CommandRef load, store;
  read.run(pe, [&](ProgramScope& p) { load = p.load({part}); });
  write.run(pe, [&](ProgramScope& p) { store = p.store({part}); });
  const Time set_up = machine.pe.dma.setup;
  const Endpoint port = port_of(read, pe), at_pe = Endpoint::pe_port(pe);
  const TransferTimes out = read.transfer_times(sram_way_out(read, pe), part.ranges,
                                                load->times.started + set_up + read.message_time(at_pe, port));
  EXPECT_EQ(load->times.effect, out.departed);
  EXPECT_EQ(load->times.finished, out.delivered);
  EXPECT_LE(read.machine.least(pe, *load).total(), load->times.finished - load->times.started);
  const TransferTimes in = write.transfer_times(sram_way_in(write, pe), part.ranges, store->times.started + set_up);
  EXPECT_EQ(store->times.effect, in.delivered);
  EXPECT_EQ(store->times.finished, in.delivered + write.message_time(port, at_pe));
  EXPECT_LE(write.machine.least(pe, *store).total(), store->times.finished - store->times.started);
}

TEST(Sram, LoadsAndStoresFollowTheLawOfTheDmaEngine) {
  for (const SramPorts ports : kPorts) {
    for (const std::int64_t bytes : {1, 64, 1024, 2049, 65536}) {
      if (kSanitized && bytes != 2049) continue;
      for (std::int32_t pe = 0; pe < 8; ++pe)
        expect_law(with_ports(ahbm_1sip(), ports), at(0, 5, pe), sram_leg(at(0, 5, pe), 4096, bytes));
      expect_law(with_ports(lossy_machine({2, 2}, {2, 1}), ports), at(0, 3, 1), sram_leg(at(0, 3, 1), 100, bytes));
    }
    DmaLeg rows = sram_leg(at(0, 1, 1), 0, 1);
    rows.ranges = {{100, 37, Bytes(260), 4096}, {1 << 19, 3, Bytes(3000), 5000}};
    expect_law(with_ports(small_machine({2, 2}, {2, 1}), ports), at(0, 1, 1), rows);
  }
}

TEST(Sram, AnEmptyLoadOfPE0TakesSetUpRequestArrayAndTwoLinks) {
  Bench bench(ahbm_1sip());
  CommandRef load;
  bench.run(at(0, 0, 0), [&](ProgramScope& p) { load = p.load({sram_leg(p.pe(), 0, 512)}); });
  const Time link = transfer_time(Bytes(512), bench.topology.cube.noc.link.bandwidth);
  const Time header = transfer_time(Bytes(32), bench.topology.cube.noc.link.bandwidth);
  const Time array = transfer_time(Bytes(512), bench.topology.cube.sram.bandwidth);
  ASSERT_GT(link, array);
  // Inject and sram.in.
  EXPECT_EQ(load->times.effect, load->times.started + ns(30) + 2 * ns(2) + header + array + ns(5));
  // Out of the SRAM and into the PE, whose slower link stretches the burst; the TCM port.
  EXPECT_EQ(load->times.finished, load->times.effect + 2 * ns(2) + (link - array) + ps(1));
}

/// From the launch to the end of eight loads of `bytes`, one of each PE of a cube.
Time loads_of_a_cube(const topology::Topology& machine, std::int64_t bytes, bool exact = false) {
  Bench bench(machine, exact);
  std::vector<CommandRef> loads(8);
  std::vector<ProgramRequest> programs;
  for (std::int32_t pe = 0; pe < 8; ++pe) {
    programs.push_back(bench.program(at(0, 0, pe), [&loads, pe, bytes](ProgramScope& p) {
      loads[static_cast<std::size_t>(pe)] = p.load({sram_leg(p.pe(), 0, bytes)});
    }));
  }
  bench.launch(std::move(programs));
  bench.scheduler.run();
  Time first = loads[0]->times.started, last;
  for (const CommandRef& load : loads) {
    first = std::min(first, load->times.started);
    last = std::max(last, load->times.finished);
  }
  return last - first;
}

TEST(Sram, OnePortIsBoundByTheLinkThatMostOfItGoesThroughAndManyByTheArray) {
  constexpr std::int64_t moved = 1 << 18;
  const auto machine = ahbm_1sip();
  // A row is four PEs, packets go along it first: of eight PEs six are behind the first router's link to the east.
  const Time link = transfer_time(Bytes(6 * moved), machine.cube.noc.link.bandwidth);
  const Time array = transfer_time(Bytes(8 * moved), machine.cube.sram.bandwidth);
  ASSERT_GT(link, array);
  const Time one = loads_of_a_cube(with_ports(machine, SramPorts::first_router), moved);
  EXPECT_GE(one, link);
  EXPECT_LT(one * 100, link * 102);
  const Time all = loads_of_a_cube(with_ports(machine, SramPorts::every_router), moved);
  EXPECT_GE(all, array);
  EXPECT_LT(all * 100, array * 102);
}

TEST(Sram, ContendingLoadsTakeTheTimesOfAnExactRun) {
  for (const SramPorts ports : kPorts) {
    for (const std::int64_t bytes : {1000, 12345, 1 << 17}) {
      const auto machine = with_ports(ahbm_1sip(), ports);
      EXPECT_EQ(loads_of_a_cube(machine, bytes), loads_of_a_cube(machine, bytes, true));
    }
  }
}

TEST(Sram, AMulticastFromItTakesTheLastReportTheReadAndEachMembersPath) {
  for (const SramPorts ports : kPorts) {
    Bench bench(with_ports(ahbm_1sip(), ports));
    std::vector<PeCoordinate> members;
    for (std::int32_t pe = 0; pe < 8; ++pe) members.push_back(at(0, 3, pe));
    const std::vector<DmaLeg> legs{sram_leg(members[0], 512, 30'000)};
    const auto multicast = std::make_shared<Multicast>("all", members, legs, bench.topology, Multicast::Missing());
    std::vector<CommandRef> commands(members.size());
    std::vector<ProgramRequest> programs;
    for (std::size_t i = 0; i < members.size(); ++i) {
      programs.push_back(
          bench.program(members[i], [&, i](ProgramScope& p) { commands[i] = p.multicast(multicast, i, legs); }));
    }
    bench.launch(std::move(programs));
    bench.scheduler.run();
    const Endpoint home = port_of(bench, members[0]);
    Time begin;
    for (std::size_t i = 0; i < members.size(); ++i) {
      begin = std::max(begin, commands[i]->times.started + bench.topology.pe.dma.setup +
                                  bench.message_time(Endpoint::pe_port(members[i]), home));
    }
    Time last, law_of_last;
    for (std::size_t i = 0; i < members.size(); ++i) {
      std::vector<Stage> route{sram_of(bench, members[i])};
      for (const Stage& link : bench.links(home, Endpoint::pe_port(members[i]))) route.push_back(link);
      route.push_back(bench.tcm_port(members[i]));
      const TransferTimes law = bench.transfer_times(route, legs[0].ranges, begin);
      EXPECT_EQ(commands[i]->times.effect, law.departed);
      EXPECT_GE(commands[i]->times.finished, law.delivered);
      last = std::max(last, commands[i]->times.finished);
      law_of_last = std::max(law_of_last, law.delivered);
    }
    EXPECT_EQ(last, law_of_last);
  }
}

}  // namespace
}  // namespace kernbench::hardware
