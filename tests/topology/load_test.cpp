#include "topology/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "kernbench/error.h"
#include "support/source_tree.h"
#include "topology/buffers.h"
#include "topology/checks.h"

namespace kernbench::topology::load_test {
namespace {

// The message of the ConfigurationError that `call` throws.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "no error";
}

std::string parse_error(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  return error_of([&] { parse_topology(yaml, "x.yaml", overrides); });
}

std::string tiny() {
  return source_tree::read("topologies/tiny.yaml");
}

// tiny.yaml without comments and with `from` replaced by `to`.
std::string edited(const std::string& from, const std::string& to) {
  std::string text;
  const std::string source = tiny();
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = source.find('\n', at);
    std::string line = source.substr(at, end - at);
    line.erase(std::min(line.find('#'), line.size()));
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) text += line + '\n';
    at = end + 1;
  }
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

struct Broken {
  std::string title;
  std::string from;  // of tiny.yaml
  std::string to;
};

const std::vector<Broken> kBroken{
    {"unknown key that is nearly a required one", "bandwidth: 300GB/s", "bandwidht: 300GB/s"},
    {"unknown key that is nearly an optional one", "channels: 8", "chanels: 8"},
    {"unknown key that is near none", "channels: 8", "banks: 8"},
    {"unknown section", "  sram:", "  cache:\n    size: 1\n  sram:"},
    {"unknown key at the top", "name: tiny", "name: tiny\nversion: 1"},
    {"missing required key", "    latency: 90ns\n", ""},
    {"missing required section", "  m_cpu:\n    latency: 100ns\n", ""},
    {"missing name", "name: tiny\n", ""},
    {"duplicate key", "channels: 8", "channels: 8\n    channels: 16"},
    {"duplicate section", "name: tiny", "name: tiny\nhost: {}"},
    {"time written as a bandwidth", "latency: 90ns", "latency: 8GB/s"},
    {"bandwidth written as bytes", "bandwidth: 300GB/s", "bandwidth: 300GB"},
    {"bytes written as a time", "capacity: 9GiB", "capacity: 9ns"},
    {"number without its unit", "latency: 90ns", "latency: 90"},
    {"unit in the wrong case", "bandwidth: 300GB/s", "bandwidth: 300gb/s"},
    {"unknown unit", "latency: 90ns", "latency: 90 fortnights"},
    {"count with a unit", "channels: 8", "channels: 8B"},
    {"count that YAML would read as octal", "channels: 8", "channels: 010"},
    {"count in hexadecimal", "channels: 8", "channels: 0x8"},
    {"count that YAML would read as true", "channels: 8", "channels: yes"},
    {"count with a fraction", "channels: 8", "channels: 8.0"},
    {"count of zero", "channels: 8", "channels: 0"},
    {"count below zero", "channels: 8", "channels: -8"},
    {"count beyond its range", "channels: 8", "channels: 20000"},
    {"count beyond 64 bits", "channels: 8", "channels: 99999999999999999999"},
    {"time below zero", "latency: 90ns", "latency: -90ns"},
    {"time with a leading zero", "latency: 90ns", "latency: 090ns"},
    {"time finer than a picosecond", "latency: 90ns", "latency: 0.0005ns"},
    {"time beyond its range", "latency: 90ns", "latency: 2s"},
    {"bandwidth of zero", "bandwidth: 300GB/s", "bandwidth: 0GB/s"},
    {"amount beyond 64 bits", "capacity: 9GiB", "capacity: 99999999PiB"},
    {"value missing after its key", "latency: 90ns", "latency:"},
    {"list instead of a value", "latency: 90ns", "latency: [90ns]"},
    {"mapping instead of a value", "latency: 90ns", "latency: {value: 90ns}"},
    {"value instead of a section", "  io:\n    count: 1\n    cpu_latency: 200ns\n", "  io: 3\n"},
    {"mesh with three extents", "mesh: [2, 1]", "mesh: [2, 1, 1]"},
    {"mesh of a text", "mesh: [2, 1]", "mesh: 2x1"},
    {"mesh with no rows", "mesh: [2, 1]", "mesh: [2, 0]"},
    {"misspelt choice", "topology: ring_1d", "topology: ring1d"},
    {"unknown choice", "topology: ring_1d", "topology: hypercube"},
    {"unknown component model", "model: systolic", "model: cuda"},
    {"key that is gone", "startup_cycles: 8", "startup_cycles: 8\n    transcendental_cycles: 4"},
    {"misspelt vector operation", "integer_divide: 16", "integer_devide: 16"},
    {"vector operation that there is none of", "integer_divide: 16", "gamma: 16"},
    {"vector operation of no cycles", "remainder: 18", "remainder: 0"},
    {"lane part that is no power of two", "narrowest: 4B", "narrowest: 3B"},
    {"efficiency above one", "latency: 90ns", "latency: 90ns\n    efficiency: 1.5"},
    {"efficiency of nothing", "latency: 90ns", "latency: 90ns\n    efficiency: 0"},
    {"efficiency in percent", "latency: 90ns", "latency: 90ns\n    efficiency: 92%"},
    {"packet overhead without packets", "latency: 600ns", "latency: 600ns\n    packet_overhead: 24B"},
    {"packet of nothing", "latency: 600ns", "latency: 600ns\n    packet: 0B"},
    {"rate of zero", "f32: 1/4", "f32: 0/4"},
    {"rate without a denominator", "f32: 1/4", "f32: 1/"},
    {"rate with three parts", "f32: 1/4", "f32: 1/4/2"},
    {"rate with a fraction", "f32: 1/4", "f32: 0.25"},
    {"rate as a list", "f32: 1/4", "f32: [1, 4]"},
    {"parameters of a built-in model", "model: hbm", "model: hbm\n    parameters: {row_hit: 20ns}"},
    {"parameters that are no mapping", "model: hbm", "model: hbm\n    parameters: [20ns]"},
    {"parameter that is a list", "model: hbm", "model: hbm\n    parameters: {row_hit: [20ns]}"},
    {"parameter with a blank", "model: hbm", "model: hbm\n    parameters: {row_hit: 20 ns}"},
    {"name with a blank", "name: tiny", "name: my machine"},
    {"name as a list", "name: tiny", "name: [a]"},
    {"two IO chiplets", "    count: 1\n    cpu", "    count: 2\n    cpu"},
    {"anchor", "latency: 90ns", "latency: &slow 90ns"},
    {"anchor and alias", "latency: 90ns\n", "latency: &slow 90ns\n    access: *slow\n"},
    {"merge key", "    latency: 90ns\n", "    latency: 90ns\n    <<: {access: 64B}\n"},
    {"tag", "channels: 8", "channels: !!int 8"},
    {"list as a key", "channels: 8", "channels: 8\n    [a, b]: 3"},
    {"second document", "name: tiny", "---\nname: tiny\n---\nname: other"},
    {"directive", "name: tiny", "%YAML 1.2\n---\nname: tiny"},
    {"tab as indentation", "    latency: 90ns", "\tlatency: 90ns"},
    {"list that is not closed", "mesh: [2, 1]", "mesh: [2, 1"},
    {"channels that the PEs cannot share", "mesh: [2, 1]", "mesh: [3, 1]"},
    {"capacity that is no whole number of pages", "capacity: 9GiB", "capacity: 9.000001GB"},
    {"interleave that is no power of two", "interleave: 1KiB", "interleave: 1000B"},
    {"access above the interleave", "access: 64B", "access: 2KiB"},
    {"burst that is no power of two", "burst: 1KiB", "burst: 1000B"},
    {"header above the burst", "header: 32B", "header: 2KiB"},
    {"key that was renamed", "burst: 1KiB", "chunk: 1KiB"},
    {"another one that was renamed", "latency: 90ns", "latency: 90ns\n    credits: 16"},
    {"page that is no power of two", "page: 64KiB", "page: 6KiB"},
    {"TLB without entries", "tlb_entries: 512", "tlb_entries: 0"},
    {"walk that takes bytes", "miss: 120ns", "miss: 120B"},
    {"more HBM than physical addresses have room for", "capacity: 9GiB", "capacity: 513GiB"},
    {"more TCM than physical addresses have room for", "capacity: 4MiB", "capacity: 129MiB"},
    {"more cubes than a physical address tells apart", "mesh: [1, 1]", "mesh: [1024, 2]"},
    {"TCM capacity that is no multiple of its alignment", "capacity: 4MiB", "capacity: 4000001B"},
    {"issue of zero", "issue: 4ns", "issue: 0ns"},
    {"SIP mesh on a ring", "topology: ring_1d", "topology: ring_1d\n    mesh: [1, 1]"},
    {"SIP mesh of another size", "topology: ring_1d", "topology: torus_2d\n    mesh: [2, 2]"},
};

TEST(BrokenTopology, HasExactlyTheGoldenErrors) {
  std::string log;
  for (const Broken& broken : kBroken) {
    log += "# " + broken.title + "\n" + parse_error(edited(broken.from, broken.to)) + "\n\n";
  }
  const std::vector<std::pair<std::string, std::string>> whole{
      {"empty file", ""},
      {"only comments", "# nothing\n"},
      {"list at the top", "- name: tiny\n"},
      {"value at the top", "tiny\n"},
      {"empty mapping", "{}\n"},
      {"nested too deep", "name: " + std::string(20, '[') + std::string(20, ']') + "\n"},
      {"nested far too deep", std::string(100000, '[')},
      {"too large", std::string(300000, ' ')},
      {"control characters", std::string("name: \x01\x02\n")},
      {"alias of nothing", "name: *nobody\n"},
  };
  for (const auto& [title, text] : whole) log += "# " + title + "\n" + parse_error(text) + "\n\n";
  source_tree::expect_golden("tests/topology/golden/broken_files.txt", log);
}

TEST(BrokenTopology, EachInputHasAnErrorThatNamesItsPlace) {
  for (const Broken& broken : kBroken) {
    EXPECT_THAT(parse_error(edited(broken.from, broken.to)), ::testing::StartsWith("x.yaml:")) << broken.title;
  }
}

TEST(BrokenTopology, ReportsAllProblemsInTheOrderOfTheFile) {
  std::string text = edited("latency: 600ns", "latency: 600");
  for (const auto& [from, to] : {std::pair{"channels: 8", "chanels: 7"}, {"lanes: 128", "lanes: 0"}}) {
    text.replace(text.find(from), std::string(from).size(), to);
  }
  EXPECT_EQ(
      parse_error(text, {"pe.clock=1s", "pe.contexts=none"}),
      "x.yaml:5:14: host.link.latency: expected a time such as 80ns, found \"600\", which has no unit (ps, ns, us, "
      "ms, s)\n"
      "x.yaml:37:5: cube.hbm.chanels: unknown key, did you mean \"channels\"?\n"
      "x.yaml:74:12: pe.vector.lanes: must be at least 1, found \"0\"\n"
      "--set pe.clock=1s: pe.clock: expected a frequency such as 1GHz, found \"1s\", which is a time\n"
      "--set pe.contexts=none: pe.contexts: expected a whole number such as 32, found \"none\"");
}

TEST(BrokenOverride, OfAKeyWithoutWhatStandsBeforeItNamesTheWholePath) {
  const std::string text = tiny();
  EXPECT_EQ(parse_error(text, {"hbm.bandwidth=2TB/s"}),
            "--set hbm.bandwidth=2TB/s: hbm: unknown key, did you mean cube.hbm?");
  EXPECT_EQ(parse_error(text, {"lanes=2"}), "--set lanes=2: lanes: unknown key, did you mean pe.vector.lanes?");
  EXPECT_EQ(parse_error(text, {"queues=2"}),
            "--set queues=2: queues: unknown key, did you mean pe.dma.queues or pe.ipcq.queues?");
  EXPECT_EQ(parse_error(text + "overrides:\n  sip0.cube0.pe1: {clock: 500MHz}\n", {"clock=1GHz"}),
            "--set clock=1GHz: clock: unknown key, did you mean pe.clock?");
}

TEST(BrokenOverride, HasExactlyTheGoldenErrors) {
  const std::vector<std::vector<std::string>> cases{
      {"cube.hbm.bandwidht=2TB/s"},
      {"cube.hbm.latency=8GB/s"},
      {"cub.hbm.latency=8ns"},
      {"cube.hbm.latency"},
      {""},
      {"=3"},
      {"cube..hbm=3"},
      {"cube.hbm.latency="},
      {"cube.hbm.latency= # nothing"},
      {"cube.hbm={latency: 3ns}"},
      {"cube.hbm=3"},
      {"cube.hbm.latency.minimum=3ns"},
      {"cube.hbm.channels=[8"},
      {"cube.hbm.channels=&a 8"},
      {"cube.hbm.channels=*a"},
      {"cube.hbm.channels=8=8"},
      {"cube.hbm.channels=7"},
      {"cube.pes.mesh=[3, 1]"},
      {"sip.cubes.mesh=[512, 512]", "system.sips.count=2"},
      {"cube.hbm.latency=1", "cube.hbm.access=2"},
      {"name=\x1b[31mred"},
      {"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t=1"},
  };
  std::string log;
  for (const auto& overrides : cases) {
    log += "#";
    for (const std::string& text : overrides) log.append(" --set '").append(text).append("'");
    log.append("\n").append(parse_error(tiny(), overrides)).append("\n\n");
  }
  source_tree::expect_golden("tests/topology/golden/broken_overrides.txt", log);
}

TEST(Override, ReplacesOneValueAndTheLaterOneWins) {
  Topology expected = load_topology("tiny");
  expected.cube.hbm.bandwidth = Bandwidth::gigabytes_per_second(2000);
  expected.cube.hbm.channels = 16;
  expected.cube.pes = {4, 2};
  EXPECT_EQ(load_topology("tiny", {"cube.hbm.bandwidth=1TB/s", "cube.pes.mesh=[4, 2]", "cube.hbm.channels=16",
                                   "cube.hbm.bandwidth=2TB/s"}),
            expected);
}

TEST(Override, GivesWhatTheFileLacks) {
  const Topology topology = parse_topology(edited("    latency: 90ns\n", ""), "x.yaml", {"cube.hbm.latency=80ns"});
  EXPECT_EQ(topology.cube.hbm.latency, Time::nanoseconds(80));
}

TEST(Override, MayAddASectionOfOptionalKeys) {
  const std::string text =
      edited("  mmu:\n    page: 64KiB\n    tlb_entries: 512\n    miss: 120ns\n    walkers: 8\n", "");
  EXPECT_EQ(parse_topology(text, "x.yaml").pe.mmu.page, Bytes(65536));
  EXPECT_EQ(parse_topology(text, "x.yaml", {"pe.mmu.page=4KiB"}).pe.mmu.page, Bytes(4096));
}

TEST(Load, ReadsTheFiguresOfTheDesign) {
  const Topology t = load_topology("ahbm-2sip");
  EXPECT_EQ(t.name, "ahbm-2sip");
  EXPECT_EQ(t.system.sips, 2);
  EXPECT_EQ(t.system.topology, SystemTopology::ring_1d);
  EXPECT_EQ(t.system.link.bandwidth, Bandwidth::gigabytes_per_second(200));
  EXPECT_EQ(t.host.link.latency, Time::nanoseconds(600));
  EXPECT_EQ(t.host.launch_overhead, Time::microseconds(2));
  EXPECT_EQ(t.sip.cubes, (MeshExtent{4, 4}));
  EXPECT_EQ(t.cube.pes, (MeshExtent{4, 2}));
  EXPECT_EQ(t.pes_per_sip(), 128);
  EXPECT_EQ(t.cube.hbm.capacity.count(), std::int64_t{36} << 30);
  EXPECT_EQ(t.cube.hbm.bandwidth.count(), 1'200'000'000'000);
  EXPECT_EQ(t.pe.clock, Frequency::gigahertz(1));
  EXPECT_EQ(t.pe.gemm.array, (MeshExtent{64, 64}));
}

TEST(Load, RatesAreFractionsInLowestTerms) {
  const Topology t = load_topology("tiny", {"pe.gemm.rate.f8=8/6", "pe.gemm.rate.f32=4/4", "pe.gemm.rate.i32=12"});
  EXPECT_EQ(t.pe.gemm.rate[GemmOperand::f8], (Rate{4, 3}));
  EXPECT_EQ(t.pe.gemm.rate[GemmOperand::f32], (Rate{1, 1}));
  EXPECT_EQ(t.pe.gemm.rate[GemmOperand::i32], (Rate{12, 1}));
  EXPECT_EQ((Rate{4, 3}).cycles_for(5), 4);
  EXPECT_EQ((Rate{1, 4}).cycles_for(5), 20);
}

TEST(Load, CyclesOfVectorOperationsAreReadByName) {
  const Topology t = load_topology("tiny", {"pe.vector.cycles.erf=77"});
  for (const VectorOperationInfo& info : kVectorOperations) {
    EXPECT_EQ(cycles(t.pe.vector, info.operation), info.operation == VectorOperation::erf ? 77 : info.cycles)
        << info.key;
  }
}

TEST(Load, ABandwidthThatEfficiencyMakesTooSmallIsRefusedWithBoth) {
  EXPECT_EQ(
      error_of([&] { load_topology("tiny", {"cube.hbm.bandwidth=8B/s", "cube.hbm.efficiency=0.001"}); }),
      "--set cube.hbm.bandwidth=8B/s: cube.hbm.bandwidth: 8B/s at cube.hbm.efficiency 0.001 is less than 1B/s for "
      "each of 8 channels");
  EXPECT_THAT(error_of([&] { load_topology("tiny", {"cube.hbm.bandwidth=7B/s"}); }),
              ::testing::HasSubstr("cube.hbm.bandwidth: 7B/s is less than 1B/s for each of 8 channels"));
}

TEST(Load, NamesTheKeyThatMakesAMachineTooLarge) {
  EXPECT_THAT(error_of([&] { load_topology("tiny", {"sip.cubes.mesh=[1024, 1024]"}); }),
              ::testing::StartsWith("--set sip.cubes.mesh=[1024, 1024]: sip.cubes.mesh: "));
  EXPECT_THAT(error_of([&] { load_topology("tiny", {"system.sips.count=4096", "sip.cubes.mesh=[32, 32]"}); }),
              ::testing::StartsWith("--set system.sips.count=4096: system.sips.count: the machine of 4096 SIPs, 1024"));
}

TEST(Load, KnowsWhereTheParametersOfModelsStand) {
  const ModelNames mine{.hbm = {"open_page"}, .gemm = {}, .vector = {}, .dma = {}};
  const Topology t = load_topology("tiny", {"cube.hbm.model=open_page", "cube.hbm.parameters.row=2KiB"}, {}, mine);
  using Places = std::map<std::string, std::string>;
  EXPECT_EQ(t.parameter_places.places, (Places{{"cube.hbm.parameters.row", "--set cube.hbm.parameters.row=2KiB"}}));
}

TEST(Load, KnowsTheModelsOfTheCaller) {
  const ModelNames mine{.hbm = {"open_page", "closed_page"}, .gemm = {"spatial"}, .vector = {}, .dma = {}};
  const std::vector<std::string> overrides{"cube.hbm.model=open_page", "cube.hbm.parameters.row=2KiB",
                                           "cube.hbm.parameters.banks=16", "pe.gemm.model=spatial"};
  const Topology t = load_topology("tiny", overrides, {}, mine);
  EXPECT_EQ(t.cube.hbm.model, "open_page");
  EXPECT_EQ(t.cube.hbm.parameters, (ModelParameterTexts{{"banks", "16"}, {"row", "2KiB"}}));
  EXPECT_EQ(t.pe.gemm.model, "spatial");
  EXPECT_THAT(error_of([&] { load_topology("tiny", {"cube.hbm.model=open_pag"}, {}, mine); }),
              ::testing::HasSubstr("expected one of hbm, open_page, closed_page, found \"open_pag\"; did you mean "
                                   "\"open_page\"?"));
  EXPECT_THAT(error_of([&] { load_topology("tiny", {"pe.vector.model=spatial"}, {}, mine); }),
              ::testing::HasSubstr("pe.vector.model: expected simd, found"));
}

TEST(Load, ShippedTopologiesHaveNoWarningsAndAnswerToTheirNames) {
  EXPECT_THAT(topology_names(), ::testing::IsSupersetOf({"tiny", "ahbm-1sip", "ahbm-2sip"}));
  for (const std::string& name : topology_names()) {
    const Topology topology = load_topology(name);
    EXPECT_EQ(topology.name, name);
    EXPECT_THAT(warnings(topology), ::testing::IsEmpty()) << name;
  }
}

TEST(Load, EveryNumberOfAShippedTopologyHasItsSource) {
  for (const std::string& name : topology_names()) {
    const std::string text = source_tree::read("topologies/" + name + ".yaml");
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      const std::size_t comment = std::min(line.find('#'), line.size());
      const std::string content = line.substr(0, comment);
      const std::size_t colon = content.find(':');
      const bool number = colon != std::string::npos && content.find_first_of("0123456789", colon) < comment;
      const bool shape_or_name = content.starts_with("name:") || content.find("count:") != std::string::npos ||
                                 content.find("topology:") != std::string::npos ||
                                 content.find("mesh:") != std::string::npos;
      EXPECT_TRUE(!number || shape_or_name || comment + 2 < line.size()) << name << ": " << line;
    }
  }
}

TEST(Load, WarnsWhereABufferDoesNotCoverABurstAndTheRoundTrip) {
  const auto found = warnings(load_topology("tiny", {"host.link.buffer=75KiB"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "host.link.buffer");
  EXPECT_EQ(found[0].message,
            "75KiB do not cover a burst of 1KiB and the way there and back at 64GB/s and 600ns; host.to_sip0 reaches "
            "its bandwidth with 76KiB or more, and without this key");
  EXPECT_THAT(warnings(load_topology("tiny", {"host.link.buffer=76KiB"})), ::testing::IsEmpty());
}

TEST(Load, WarnsWhereMoreDescriptorsAreToBeUnderWayThanAQueueHolds) {
  const auto found = warnings(load_topology("tiny", {"pe.dma.outstanding=16"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "pe.dma.outstanding");
  EXPECT_EQ(found[0].message,
            "a queue holds 8 descriptors (pe.dma.depth), so that no more than these are under way, and 16 change "
            "nothing; raise pe.dma.depth with it");
  EXPECT_THAT(warnings(load_topology("tiny", {"pe.dma.outstanding=16", "pe.dma.depth=16"})), ::testing::IsEmpty());
}

// A lane has its part of an edge's bandwidth, and the links of the SRAM have that of the SRAM.
TEST(Load, WarnsOfEachKindOfLinkAtItsOwnBandwidth) {
  const std::vector<std::string> one_row{"sip.cubes.mesh=[2, 1]", "cube.pes.mesh=[2, 4]", "sip.io.attachment=west_edge",
                                         "sip.cubes.link.bandwidth=400GB/s", "sip.cubes.link.latency=100ns"};
  const auto with = [&](const std::string& more) {
    auto overrides = one_row;
    overrides.push_back(more);
    return warnings(load_topology("tiny", overrides));
  };
  // A lane: 100 GB/s for 200 ns, and a burst.
  EXPECT_THAT(with("sip.cubes.link.buffer=21024B"), ::testing::IsEmpty());
  const auto lane = with("sip.cubes.link.buffer=21023B");
  ASSERT_EQ(lane.size(), 1u);
  EXPECT_THAT(lane[0].message, ::testing::HasSubstr("at 100GB/s and 100ns"));

  const Topology tiny = load_topology("tiny");
  const auto& noc = tiny.cube.noc.link;
  const std::string fast = "cube.sram.bandwidth=" + std::to_string(8 * noc.bandwidth.count()) + "B/s";
  const auto buffer = [&](Bytes bytes) { return "cube.noc.link.buffer=" + std::to_string(bytes.count()) + "B"; };
  const Bytes enough = covering_buffer(Bandwidth::bytes_per_second(8 * noc.bandwidth.count()),
                                       std::max(noc.latency, tiny.cube.sram.latency), tiny.cube.noc.burst);
  EXPECT_THAT(warnings(load_topology("tiny", {fast, buffer(enough)})), ::testing::IsEmpty());
  const auto sram = warnings(load_topology("tiny", {fast, buffer(enough - Bytes(1))}));
  ASSERT_EQ(sram.size(), 1u);
  EXPECT_EQ(sram[0].path, "cube.noc.link.buffer");
  EXPECT_THAT(sram[0].message, ::testing::HasSubstr("sip0.cube0.sram"));
}

TEST(Load, AllowsMachinesOf131072Pes) {
  const Topology topology = load_topology("ahbm-1sip", {"system.sips.count=1024", "system.sips.topology=torus_2d"});
  EXPECT_EQ(topology.system.sips * topology.pes_per_sip(), 131'072);
}

TEST(Load, UnknownNameSuggestsAndListsTheKnown) {
  EXPECT_THAT(
      error_of([] { load_topology("ahbm-3sip"); }),
      ::testing::StartsWith("no topology is named \"ahbm-3sip\"; did you mean \"ahbm-1sip\"? (known: ahbm-1sip, "));
  EXPECT_EQ(error_of([] { load_topology("x", {}, {{}, false}); }),
            "no topology is named \"x\" (none are known; a path contains '/' or ends in .yaml)");
  EXPECT_EQ(error_of([] { load_topology("/nowhere/x.yaml"); }), "/nowhere/x.yaml: there is no such file");
  EXPECT_EQ(error_of([] { load_topology("nowhere/x.yaml"); }),
            "nowhere/x.yaml: there is no such file; relative paths begin at the working directory, " +
                std::filesystem::current_path().string());
  EXPECT_EQ(error_of([] { load_topology("/dev/null/x.yaml"); }), "/dev/null/x.yaml: cannot be opened: Not a directory");
  EXPECT_EQ(error_of([] { load_topology("/tmp/"); }), "/tmp/: is a directory, expected a topology file");
}

TEST(Load, LooksInTheCallersDirectoriesFirst) {
  const std::filesystem::path directory = std::filesystem::path(::testing::TempDir()) / "kernbench_topologies";
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "tiny.yaml") << edited("name: tiny", "name: mine");
  EXPECT_EQ(load_topology("tiny", {}, {{directory.string()}}).name, "mine");
  EXPECT_EQ(load_topology((directory / "tiny.yaml").string()).name, "mine");
  EXPECT_EQ(load_topology("tiny").name, "tiny");
  EXPECT_THAT(error_of([&] { load_topology("tiny", {"pe.clock=1"}, {{directory.string()}}); }),
              ::testing::StartsWith("--set pe.clock=1: pe.clock: expected a frequency"));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace kernbench::topology::load_test
