// Overrides of single parts: what they change, and what is wrong with them.
#include "topology/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernbench/error.h"
#include "support/source_tree.h"
#include "topology/bisection.h"
#include "topology/load.h"
#include "topology/part_names.h"
#include "topology/pe_specs.h"
#include "topology/print.h"

namespace kernbench::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string tiny_with(const std::string& overrides) {
  return source_tree::read("topologies/tiny.yaml") + "overrides:\n" + overrides;
}

std::string override_error(const std::string& overrides, const std::vector<std::string>& settings = {}) {
  try {
    parse_topology(tiny_with(overrides), "x.yaml", settings);
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "no error";
}

// The place of what stands in line `line` (from 1) and column `column` of the overrides.
std::string place(int line, int column) {
  const std::string before = tiny_with("");
  return "x.yaml:" + std::to_string(std::ranges::count(before, '\n') + line) + ":" + std::to_string(column) + ": ";
}

const LinkSpec& spec_of(const Network& network, std::string_view name) {
  return std::ranges::find(network.links(), name, &Link::name)->spec;
}

// Names of the links that differ from those of the machine without overrides.
std::vector<std::string> changed_links(const Topology& topology) {
  Topology plain = topology;
  plain.overrides.clear();
  const Network before(plain), after(topology);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < after.links().size(); ++i) {
    EXPECT_EQ(before.links()[i].name, after.links()[i].name);
    const bool same = before.links()[i].spec == after.links()[i].spec && !after.links()[i].failed;
    if (!same) names.push_back(after.links()[i].name);
  }
  return names;
}

TEST(Overrides, APatternMayBeginWithAStar) {
  const Topology topology = parse_topology(tiny_with("  \"*.cube0.pe1\": {clock: 500MHz}\n"), "x.yaml");
  EXPECT_EQ(PeSpecs(topology).of({SipId{0}, CubeId{0}, PeId{1}}).clock, Frequency::megahertz(500));
}

TEST(Overrides, OfAPatternWithAStarInFrontAreWrittenSoThatTheyLoadAgain) {
  const Topology topology = load_topology("tiny", {"overrides.*.cube0.pe0.clock=500MHz"});
  const std::string text = to_yaml(topology);
  EXPECT_EQ(to_yaml(parse_topology(text, "x.yaml")), text);
  EXPECT_THAT(text, HasSubstr("\"*.cube0.pe0\":"));
}

TEST(Overrides, ChangeTheNamedLinkAndNoOther) {
  const Topology topology = parse_topology(
      tiny_with("  sip0.cube0.pe0.router.east: {bandwidth: 1GB/s, latency: 7ns, buffer: 3KiB}\n"), "x.yaml");
  EXPECT_THAT(changed_links(topology), UnorderedElementsAre("sip0.cube0.pe0.router.east"));
  EXPECT_EQ(spec_of(Network(topology), "sip0.cube0.pe0.router.east"),
            (LinkSpec{Bandwidth::bytes_per_second(1'000'000'000), Time::nanoseconds(7), Bytes(3072)}));
}

TEST(Overrides, APatternStandsForAllNamesThatFitAndTheLaterOneWinsValueByValue) {
  const Topology topology = parse_topology(
      tiny_with("  sip*.io.to_host: {bandwidth: 32GB/s, latency: 1us}\n  sip1.io.to_host: {latency: 2us}\n"), "x.yaml",
      {"system.sips.count=3"});
  EXPECT_THAT(changed_links(topology), UnorderedElementsAre("sip0.io.to_host", "sip1.io.to_host", "sip2.io.to_host"));
  const Network network(topology);
  EXPECT_EQ(spec_of(network, "sip1.io.to_host").latency, Time::microseconds(2));
  EXPECT_EQ(spec_of(network, "sip1.io.to_host").bandwidth, Bandwidth::bytes_per_second(32'000'000'000));
  EXPECT_EQ(spec_of(network, "sip2.io.to_host").latency, Time::microseconds(1));
}

TEST(Overrides, APatternBehindTheEntryOfAPartWinsToo) {
  const Topology topology =
      parse_topology(tiny_with("  sip1.io.to_host: {latency: 2us}\n  sip1.cube0.pe0: {clock: 500MHz}\n"
                               "  sip*.io.to_host: {latency: 1us}\n  sip*.cube0.pe0: {clock: 400MHz}\n"),
                     "x.yaml", {"system.sips.count=2"});
  EXPECT_EQ(spec_of(Network(topology), "sip1.io.to_host").latency, Time::microseconds(1));
  EXPECT_EQ(PeSpecs(topology).of({SipId{1}, CubeId{0}, PeId{0}}).clock, Frequency::megahertz(400));
}

TEST(Overrides, GiveAPeItsOwnFiguresAndLeaveTheOthers) {
  const Topology topology = parse_topology(
      tiny_with("  sip1.cube0.pe*: {clock: 500MHz}\n  sip1.cube0.pe1: {gemm_array: [32, 16], vector_lanes: 64}\n"),
      "x.yaml", {"system.sips.count=2"});
  const PeSpecs pes(topology);
  EXPECT_THAT(pes.own(), SizeIs(2));
  EXPECT_EQ(pes.of({SipId{0}, CubeId{0}, PeId{1}}), topology.pe);
  PeSpec slow = topology.pe;
  slow.clock = Frequency::hertz(500'000'000);
  EXPECT_EQ(pes.of({SipId{1}, CubeId{0}, PeId{0}}), slow);
  slow.gemm.array = {32, 16};
  slow.vector.lanes = 64;
  EXPECT_EQ(pes.of({SipId{1}, CubeId{0}, PeId{1}}), slow);
  EXPECT_THAT(changed_links(topology), IsEmpty());
}

TEST(Overrides, CanBeSetFromTheCommandLine) {
  const Topology topology =
      load_topology("tiny", {"system.sips.count=2", "overrides.sip0.io.to_sip1.bandwidth=50GB/s",
                             "overrides.sip0.cube0.pe1.clock=2GHz", "overrides.sip0.io.to_sip1.latency=1us"});
  ASSERT_THAT(topology.overrides, SizeIs(2));
  EXPECT_EQ(topology.overrides[0].part, "sip0.io.to_sip1");
  EXPECT_EQ(topology.overrides[0].latency, Time::microseconds(1));
  EXPECT_EQ(topology.overrides[0].bandwidth, Bandwidth::bytes_per_second(50'000'000'000));
  EXPECT_EQ(topology.overrides[1].clock, Frequency::hertz(2'000'000'000));
  EXPECT_EQ(override_error("  sip0.cube0.pe1: {clock: 2GHz}\n", {"overrides.sip0.cube0.pe1.clock=fast"}).substr(0, 90),
            "--set overrides.sip0.cube0.pe1.clock=fast: overrides.sip0.cube0.pe1.clock: expected a freq");
}

TEST(Overrides, ALaterOneOfTheCommandLineWinsOverAPatternThatStandsBehindItsEntry) {
  const std::string one = "overrides.sip0.cube0.pe0.clock=", all = "overrides.sip*.cube*.pe*.clock=";
  const auto clock = [&](const std::string& overrides, const std::vector<std::string>& settings) {
    const Topology topology = parse_topology(tiny_with(overrides), "x.yaml", settings);
    return PeSpecs(topology).of({SipId{0}, CubeId{0}, PeId{0}}).clock;
  };
  const std::string file = "  sip0.cube0.pe0: {clock: 500MHz}\n  sip*.cube*.pe*: {clock: 1GHz}\n";
  EXPECT_EQ(clock(file, {}), Frequency::gigahertz(1));
  EXPECT_EQ(clock(file, {one + "250MHz"}), Frequency::megahertz(250));
  EXPECT_EQ(clock(file, {one + "250MHz", all + "2GHz"}), Frequency::gigahertz(2));
  EXPECT_EQ(clock("  {}\n", {one + "100MHz", all + "200MHz", one + "400MHz"}), Frequency::megahertz(400));
  const std::string cube = "overrides.*.cube0.pe0.clock=", sip = "overrides.sip0.*.pe0.clock=";
  EXPECT_EQ(clock("  {}\n", {cube + "1GHz", sip + "2GHz", cube + "100MHz"}), Frequency::megahertz(100))
      << "neither pattern is one of the other";
  // Another key of the entry would win then, too.
  const std::string two_keys =
      "  sip0.cube0.pe0: {clock: 500MHz, vector_lanes: 8}\n  sip*.cube*.pe*: {clock: 1GHz, vector_lanes: 16}\n";
  EXPECT_EQ(override_error(two_keys, {one + "250MHz"}),
            "--set overrides.sip0.cube0.pe0.clock=250MHz: has no effect: \"sip*.cube*.pe*\" comes later, changes this "
            "key and another one of sip0.cube0.pe0, too; in the file, write sip0.cube0.pe0 behind it");
}

TEST(Overrides, AppearAmongTheSettings) {
  const Topology topology =
      parse_topology(tiny_with("  sip0.cube0.pe1: {clock: 500MHz}\n  host.to_sip0: {failed: false}\n"), "x.yaml");
  const auto all = settings(topology);
  const auto value = [&](const std::string& path) {
    const auto found = std::ranges::find(all, path, &std::pair<std::string, std::string>::first);
    return found == all.end() ? "none" : found->second;
  };
  EXPECT_EQ(value("overrides.sip0.cube0.pe1.clock"), "500MHz");
  EXPECT_EQ(value("overrides.sip0.cube0.pe1.vector_lanes"), "none");
  EXPECT_EQ(value("overrides.host.to_sip0.failed"), "false");
  EXPECT_THAT(to_table(topology), ::testing::ContainsRegex("\noverrides.sip0.cube0.pe1.clock +500MHz +of PEs\n"));
  EXPECT_THAT(changed_links(topology), IsEmpty());
}

TEST(Overrides, AllThatIsWrongIsReportedInItsPlace) {
  EXPECT_EQ(override_error("  sip0.cube0.pe1: {clok: 1GHz}\n"),
            place(1, 20) + "overrides.sip0.cube0.pe1.clok: unknown key, did you mean \"clock\"?");
  EXPECT_EQ(override_error("  sip0.cube0.pe1: {clock: 0Hz}\n"),
            place(1, 27) + "overrides.sip0.cube0.pe1.clock: must be at least 1Hz, found \"0Hz\"");
  EXPECT_EQ(override_error("  host.to_sip0: {failed: yes}\n"),
            place(1, 26) + "overrides.host.to_sip0.failed: expected one of false, true, found \"yes\"");
  EXPECT_EQ(override_error("  sip0.cube0.pe7: {clock: 1GHz}\n"),
            place(1, 3) +
                "overrides.sip0.cube0.pe7: sip0.cube0 has no \"pe7\", did you mean \"pe0\"?; there are m_cpu, sram, "
                "pe0, pe1");
  EXPECT_EQ(override_error("  sip0.cube0.pe1: {clock: 1GHz}\n  sip*.oi.to_host: {latency: 1ns}\n"),
            place(2, 3) + "overrides.sip*.oi.to_host: sip* has no \"oi\", did you mean \"io\"?; there are io, cube0");
  EXPECT_EQ(
      override_error("  sip0.cube0: {clock: 1GHz}\n"),
      place(1, 3) + "overrides.sip0.cube0: sip0.cube0 is no link and no PE; there are m_cpu, sram, pe0, pe1 below it");
  EXPECT_EQ(override_error("  sip0.cube0.pe1: {latency: 1ns}\n"),
            place(1, 3) + "overrides.sip0.cube0.pe1: this is a PE; its keys are clock, gemm_array and vector_lanes");
  EXPECT_EQ(override_error("  host.to_sip0: {clock: 1GHz}\n"),
            place(1, 3) + "overrides.host.to_sip0: this is a link; its keys are bandwidth, latency, buffer and failed");
  EXPECT_EQ(override_error("  host.to_sip0: {}\n"),
            place(1, 3) +
                "overrides.host.to_sip0: changes nothing; the keys here are bandwidth, latency, buffer and "
                "failed");
  EXPECT_EQ(override_error("  host.to_sip0: {latency: 1ns, clock: 1GHz}\n"),
            place(1, 3) +
                "overrides.host.to_sip0: bandwidth, latency, buffer and failed are keys of links, clock, "
                "gemm_array and vector_lanes are keys of PEs; a part is one or the other");
  EXPECT_THAT(override_error("  \"sip0 cube0\": {clock: 1GHz}\n"),
              HasSubstr("expected the name of a part such as sip0.cube0.pe1"));
  EXPECT_THAT(override_error("  - sip0.cube0.pe1\n"), HasSubstr("overrides: expected parts by name such as"));
  EXPECT_THAT(override_error("  sip0.cube0.pe1: 500MHz\n"),
              HasSubstr("overrides.sip0.cube0.pe1: expected a mapping, found \"500MHz\""));
}

TEST(Overrides, AFailedLinkWithoutAWayAroundIsAnErrorThatNamesWhoIsCutOff) {
  EXPECT_EQ(override_error("  sip0.cube0.pe0.router.east: {failed: true}\n"),
            place(1, 40) +
                "overrides.sip0.cube0.pe0.router.east.failed: without sip0.cube0.pe0.router.east, "
                "sip0.cube0.pe0 cannot reach sip0.cube0.pe1: only routes between SIPs can go another way; "
                "leave it out, or give the link less bandwidth");
  EXPECT_EQ(override_error("  sip0.io.to_sip1:\n    failed: true\n", {"system.sips.count=2"}),
            place(2, 13) +
                "overrides.sip0.io.to_sip1.failed: without sip0.io.to_sip1, sip0 cannot reach sip1: no way "
                "around is left; leave it out, or wire the SIPs in another way (system.sips.topology)");
  EXPECT_THAT(
      override_error("  sip3.io.to_switch: {failed: true}\n", {"system.sips.count=4", "system.sips.topology=switched"}),
      HasSubstr("without sip3.io.to_switch, sip0 cannot reach sip3"));
  EXPECT_EQ(override_error("  sip0.io.to_sip1: {failed: true}\n", {"system.sips.count=3"}), "no error");
  EXPECT_EQ(override_error("  sip*.io.to_host: {failed: true}\n  sip*.io.*_host: {failed: false}\n"), "no error");
}

TEST(Overrides, EveryLinkWithinASipThatFailsNamesTwoEndpointsWhoseRouteUsesIt) {
  Topology topology = load_topology("tiny");
  topology.sip.cubes = {2, 2};
  topology.cube.pes = {2, 2};
  topology.system.sips = 2;
  for (const IoAttachment attachment : {IoAttachment::corner, IoAttachment::west_edge}) {
    topology.sip.io.attachment = attachment;
    const Network network(topology);
    for (std::uint32_t id = 0; id < network.links().size(); ++id) {
      if (network.between_sips(LinkId{id})) continue;
      const auto [from, to] = network.users_of(LinkId{id});
      const auto route = network.route(from, to);
      EXPECT_EQ(std::ranges::count(route, LinkId{id}, &RouteHop::link), 1) << network.link(LinkId{id}).name;
    }
  }
}

TEST(Overrides, WarnWhenABufferDoesNotCoverTheWay) {
  const auto found =
      warnings(load_topology("tiny", {"host.link.buffer=128KiB", "overrides.host.to_sip0.latency=10us"}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].path, "overrides.host.to_sip0");
  EXPECT_THAT(found[0].message, HasSubstr("128KiB do not cover a burst of 1KiB and the way there and back"));
  EXPECT_THAT(warnings(load_topology("tiny", {"overrides.host.to_sip0.latency=10us"})), SizeIs(0));
}

// A pattern stands for many links; the one that needs most speaks for it.
TEST(Overrides, WarnOfTheLinkOfAPatternThatNeedsMost) {
  const auto found =
      warnings(load_topology("tiny", {"overrides.*.*.pe*.router.*.buffer=8KiB",
                                      "overrides.*.*.pe1.router.*.latency=1us", "sip.cubes.mesh=[2, 1]"}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].path, "overrides.*.*.pe1.router.*");
  EXPECT_THAT(found[0].message, HasSubstr("and 1us; sip0.cube0.pe1.router."));
}

// Bandwidth of one link: 1 GB/s; the middle of the longer side, or of the numbers.
TEST(Bisection, CountsTheLinksBetweenTheHalves) {
  const auto links = [](SystemTopology kind, std::int32_t sips) {
    Topology topology = load_topology("tiny");
    topology.system.topology = kind;
    topology.system.sips = sips;
    topology.system.link.bandwidth = Bandwidth::bytes_per_second(1'000'000'000);
    return static_cast<double>(bisection_bandwidth(Network(topology)).count()) * 1e-9;
  };
  EXPECT_EQ(links(SystemTopology::ring_1d, 1), 0);
  EXPECT_EQ(links(SystemTopology::ring_1d, 2), 1);
  EXPECT_EQ(links(SystemTopology::ring_1d, 3), 2);
  EXPECT_EQ(links(SystemTopology::ring_1d, 8), 2);
  EXPECT_EQ(links(SystemTopology::torus_2d, 8), 4);   // 4 x 2
  EXPECT_EQ(links(SystemTopology::torus_2d, 16), 8);  // 4 x 4
  EXPECT_EQ(links(SystemTopology::mesh_2d, 16), 4);
  EXPECT_EQ(links(SystemTopology::mesh_2d, 6), 2);  // 3 x 2
  EXPECT_EQ(links(SystemTopology::fully_connected, 5), 6);
  EXPECT_EQ(links(SystemTopology::switched, 5), 2);
  EXPECT_EQ(links(SystemTopology::switched, 6), 3);
  Topology failed = load_topology("tiny", {"system.sips.count=8", "overrides.sip4.io.to_sip3.failed=true",
                                           "overrides.sip7.io.to_sip0.bandwidth=70GB/s"});
  EXPECT_EQ(bisection_bandwidth(Network(failed)), Bandwidth::bytes_per_second(70'000'000'000));
}

TEST(PartNames, AStarStandsForAnythingWithinOneWord) {
  EXPECT_TRUE(fits("sip0.io.to_host", "sip0.io.to_host"));
  EXPECT_TRUE(fits("sip*.io.to_*", "sip12.io.to_host"));
  EXPECT_TRUE(fits("*.*.*", "sip12.io.to_host"));
  EXPECT_TRUE(fits("sip1*.io.*t", "sip1.io.to_host"));
  EXPECT_TRUE(fits("s*p*1*", "sip111"));
  EXPECT_FALSE(fits("sip*", "sip12.io"));
  EXPECT_FALSE(fits("sip*.io.to_*", "sip0.cube0.pe1"));
  EXPECT_FALSE(fits("sip0.io.to_host", "sip0.io.to_host2"));
  EXPECT_FALSE(fits("sip0.io.to_host*x", "sip0.io.to_host2"));
  EXPECT_FALSE(fits("", "sip0"));
}

TEST(PartNames, TwoPatternsMeetWhereANameFitsBoth) {
  // All patterns and names of up to four of these characters.
  const std::string letters = "ab.*";
  std::vector<std::string> all{""};
  for (std::size_t begin = 0, length = 0; length < 4; ++length) {
    const std::size_t end = all.size();
    for (; begin < end; ++begin)
      for (const char letter : letters) all.push_back(all[begin] + letter);
  }
  std::vector<std::string> names;
  for (const std::string& text : all)
    if (text.find('*') == std::string::npos) names.push_back(text);
  int meet = 0;
  for (const std::string& a : all) {
    for (const std::string& b : all) {
      if (a.size() + b.size() > 6) continue;  // else a name that fits both may be longer than four
      const bool found =
          std::ranges::any_of(names, [&](const std::string& name) { return fits(a, name) && fits(b, name); });
      meet += found ? 1 : 0;
      EXPECT_TRUE(!found || may_meet(a, b)) << a << " and " << b;
      if (a.find('*') == a.npos || b.find('*') == b.npos) {
        EXPECT_EQ(may_meet(a, b), found) << a << " and " << b;
      }
    }
  }
  EXPECT_GT(meet, 1000);
  EXPECT_TRUE(may_meet("*.cube0.pe0", "sip0.*.pe0"));
  EXPECT_TRUE(may_meet("a*b", "*c*b"));
  EXPECT_FALSE(may_meet("*.cube0.pe0", "sip0.*.pe1"));
  EXPECT_FALSE(may_meet("sip*", "sip0.io"));
  EXPECT_FALSE(may_meet("a*", "b*"));
}

}  // namespace
}  // namespace kernbench::topology
