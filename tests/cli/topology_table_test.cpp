#include "cli/topology_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/topologies.h"
#include "kernbench/error.h"
#include "topology/load.h"

namespace kernbench::cli {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(TopologyTableTest, PeaksFollowFromCountsAndClocks) {
  topology::Topology topology = topology::load_topology("tiny");
  topology.system.sips = 3;
  topology.sip.cubes = {2, 2};
  topology.cube.pes = {5, 2};
  topology.pe.clock = Frequency::gigahertz(1);
  topology.pe.gemm.array = {50, 10};
  topology.pe.gemm.rate[topology::GemmOperand::f32] = {1, 4};
  topology.pe.gemm.rate[topology::GemmOperand::i8] = {3, 1};
  topology.cube.hbm.channels = 20;
  topology.cube.hbm.bandwidth = Bandwidth::gigabytes_per_second(1000);
  topology.cube.hbm.capacity = Bytes(std::int64_t{20} << 30);
  const std::string table = topology_table(topology, false);
  EXPECT_THAT(table, AllOf(HasSubstr("4 (2 x 2)"), HasSubstr("10 (5 x 2)"), HasSubstr("40 in a SIP, 120 in all")));
  EXPECT_THAT(table, ContainsRegex("GEMM, f16 +1.00 TFLOP/s +10.0 TFLOP/s +40.0 TFLOP/s"));
  EXPECT_THAT(table, ContainsRegex("GEMM, i8 +3.00 TOP/s +30.0 TOP/s +120.0 TOP/s"));
  EXPECT_THAT(table, ContainsRegex("GEMM, f32 +250.0 GFLOP/s +2.50 TFLOP/s +10.0 TFLOP/s"));
  EXPECT_THAT(table, ContainsRegex("HBM bandwidth +100.0 GB/s +1.00 TB/s +4.00 TB/s"));
  EXPECT_THAT(table, ContainsRegex("HBM capacity +2.00 GiB +20.00 GiB +80.00 GiB"));
  EXPECT_THAT(table, HasSubstr("balanced at 10.0 FLOP/B"));
  EXPECT_THAT(table, HasSubstr("SIP to SIP"));
}

TEST(TopologyTableTest, NamesModelsThatAreNotBuiltIn) {
  DescribeCommand command;
  command.topology = "tiny";
  command.overrides = {"cube.hbm.model=open_page", "cube.hbm.parameters.row=2KiB"};
  const std::string table = describe_topology(command, false);
  EXPECT_THAT(table, HasSubstr("HBM model               open_page, of your own\n"));
  EXPECT_THAT(table, Not(HasSubstr("GEMM model")));
  command.overrides = {"cube.hbm.model=-/-"};
  EXPECT_THROW(describe_topology(command, false), ConfigurationError);
}

TEST(TopologyTableTest, ShowsWhatAMemoryManagementUnitReachesHoweverMuchItIs) {
  topology::Topology topology = topology::load_topology("tiny");
  topology.sip.cubes = {32, 32};
  topology.cube.pes = {16, 16};
  topology.pe.mmu.page = Bytes(256 << 20);
  topology.pe.mmu.tlb_entries = 1 << 20;
  EXPECT_THAT(topology_table(topology, false), ContainsRegex("TLB reach +256.00 TiB +64.00 PiB +64.00 EiB\n"));
}

TEST(TopologyTableTest, ShowsThePicosecondThatALinkTakesAtLeast) {
  const std::string table =
      topology_table(topology::load_topology("tiny", {"cube.noc.link.latency=0ps", "cube.hbm.latency=0ps"}), false);
  EXPECT_THAT(table, ContainsRegex("router to router in a cube .* 1ps +"));
  EXPECT_THAT(table, ContainsRegex("HBM access +1ps\n"));
}

TEST(TopologyTableTest, SaysWhatTheIoChipletIsBondedTo) {
  topology::Topology topology = topology::load_topology("tiny");
  EXPECT_THAT(topology_table(topology, false),
              ContainsRegex("IO chiplet to the first router +256.0 GB/s +256.0 GB/s +8ns +16KiB\n"));
  topology.sip.io.attachment = topology::IoAttachment::west_edge;
  EXPECT_THAT(topology_table(topology, false),
              ContainsRegex("IO chiplet to each western cube +256.0 GB/s +256.0 GB/s +8ns +16KiB\n"));
}

TEST(TopologyTableTest, ShowsTheSystemAndThePartsThatDiffer) {
  const std::string one = topology_table(topology::load_topology("tiny"), false);
  EXPECT_THAT(one, Not(HasSubstr("System")));
  EXPECT_THAT(one, Not(HasSubstr("Parts that differ")));
  EXPECT_THAT(one, Not(HasSubstr("Warnings")));
  const std::string table = topology_table(
      topology::load_topology("tiny", {"system.sips.count=8", "system.sips.topology=torus_2d",
                                       "overrides.sip4.io.to_sip5.failed=true", "overrides.sip1.cube0.pe1.clock=500MHz",
                                       "host.link.buffer=128KiB", "overrides.host.to_sip0.latency=10us"}),
      false);
  EXPECT_THAT(table, ContainsRegex("topology +torus_2d, 4 x 2"));
  EXPECT_THAT(table, ContainsRegex("links, each in both directions +12, 1 failed"));
  EXPECT_THAT(table, ContainsRegex("bisection bandwidth, each direction +800.0 GB/s"));
  EXPECT_THAT(table, ContainsRegex("sip1.cube0.pe1.clock +500MHz\n"));
  EXPECT_THAT(table, ContainsRegex("Warnings\n  overrides.host.to_sip0: 128KiB do not cover"));
}

TEST(TopologyTableTest, EveryShippedTopologyFitsAHundredColumns) {
  for (const std::string& name : topology::topology_names()) {
    const std::string table = topology_table(topology::load_topology(name), false);
    std::size_t start = 0;
    for (std::size_t end; (end = table.find('\n', start)) != std::string::npos; start = end + 1) {
      EXPECT_LE(end - start, 100u);
    }
  }
}

}  // namespace
}  // namespace kernbench::cli
