// Ids of parts and agents: unique, structural, and bounded with an error.
#include "hardware/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "bench.h"
#include "kernbench/error.h"

namespace kernbench::hardware {
namespace {

TEST(Layout, AgentIdsAreUniqueAndFitIntoTheirBits) {
  const auto machine = small_machine({2, 3}, {2, 2}, 3);
  const Layout layout(machine, 100);
  std::set<std::uint32_t> seen;
  const auto add = [&](sim::AgentId agent) {
    EXPECT_LT(agent.value, 1u << 26);
    EXPECT_TRUE(seen.insert(agent.value).second) << agent.value;
  };
  for (std::int32_t rank = -1; rank < 5; ++rank) add(layout.host_agent(rank));
  for (std::int32_t sip = 0; sip < 3; ++sip) {
    add(layout.host_port_agent(SipId{sip}));
    add(layout.io_cpu_agent(SipId{sip}));
    add(layout.copy_agent(SipId{sip}));
    for (std::int32_t cube = 0; cube < 6; ++cube) add(layout.m_cpu_agent({SipId{sip}, CubeId{cube}}));
  }
  for (std::int64_t index = 0; index < layout.pe_count(); ++index) {
    const PeCoordinate pe = layout.pe_at(index);
    EXPECT_EQ(layout.pe_index(pe), index);
    add(layout.control_agent(pe));
    add(layout.program_agent(pe, 0));
    add(layout.program_agent(pe, 1));
    add(layout.window_agent(pe));
    for (std::int32_t entry = 0; entry < machine.pe.ipcq.queues; ++entry) {
      add(layout.ipcq_agent(pe, entry, false));
      add(layout.ipcq_agent(pe, entry, true));
    }
    for (std::int32_t channel = 0; channel < layout.channels(); ++channel) {
      add(Layout::server_agent(layout.channel(pe, channel)));
    }
    add(Layout::server_agent(layout.tcm_port(pe)));
  }
}

TEST(Layout, ServersComeAfterTheLinksPeByPe) {
  const Layout layout(small_machine({2, 1}, {2, 1}), 100);
  EXPECT_EQ(layout.channels(), 4);
  EXPECT_EQ(layout.channel(at(0, 0, 0), 0).value, 100u);
  EXPECT_EQ(layout.tcm_port(at(0, 0, 0)).value, 104u);
  EXPECT_EQ(layout.channel(at(0, 1, 1), 3).value, 100u + 3 * 5 + 3);
  EXPECT_EQ(layout.sram({SipId{0}, CubeId{1}}).value, 100u + 4 * 5 + 1);
}

TEST(Layout, RanksFollowTheMainProgramAndHaveABound) {
  const Layout layout(tiny(), 10);
  EXPECT_LT(layout.host_agent(-1), layout.host_agent(0));
  EXPECT_LT(layout.host_agent(0), layout.host_agent(1));
  EXPECT_THROW(layout.host_agent(1 << 23), ValueError);
}

TEST(Layout, AMachineThatIsTooLargeIsAConfigurationError) {
  EXPECT_NO_THROW(Layout(small_machine({4, 4}, {4, 2}, 1024), 1'000'000));
  EXPECT_THROW(Layout(small_machine({32, 32}, {32, 32}, 16), 10), ConfigurationError);
}

TEST(Layout, ChannelsThatDoNotDivideAreAConfigurationError) {
  auto machine = tiny();
  machine.cube.hbm.channels = 7;
  EXPECT_THROW(Layout(machine, 10), ConfigurationError);
}

}  // namespace
}  // namespace kernbench::hardware
