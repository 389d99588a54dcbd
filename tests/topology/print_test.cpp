#include "topology/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>
#include <type_traits>

#include "support/all_cases.h"
#include "support/source_tree.h"
#include "topology/describe.h"
#include "topology/load.h"
#include "topology/schema.h"
#include "topology/values.h"

namespace kernbench::topology {
namespace {

// Fills every member with a random value of its range.
class Randomise {
 public:
  explicit Randomise(unsigned seed) : random_(seed) {}

  template <Number T>
  void field(const Field& field, T& member) {
    member = NumberTraits<T>::value(draw(field.minimum, field.maximum));
  }
  void field(const Field& field, MeshExtent& member) {
    member = {static_cast<std::int32_t>(draw(field.minimum, field.maximum)),
              static_cast<std::int32_t>(draw(field.minimum, field.maximum))};
  }
  template <class T>
  void field(const Field& description, std::optional<T>& member) {
    if (draw(0, 1) == 1) field(description, member.emplace());
  }
  void field(const Field&, bool& member) { member = draw(0, 1) == 1; }
  void field(const Field&, ModelParameterTexts& member) {
    static const std::vector<std::string> texts{"null", "20ns", "-1", "1e-3", "a/b", ".5", "+", "yes", "50%"};
    for (std::int64_t n = draw(0, 3); n > 0; --n) {
      member.emplace("key" + std::to_string(n), texts[static_cast<std::size_t>(draw(0, 8))]);
    }
  }
  void field(const Field& field, Rate& member) {
    const auto steps = static_cast<std::int32_t>(draw(field.minimum, field.maximum));
    const auto cycles = static_cast<std::int32_t>(draw(field.minimum, field.maximum));
    const std::int32_t common = std::gcd(steps, cycles);
    member = {steps / common, cycles / common};
  }
  template <class E>
    requires std::is_enum_v<E>
  void field(const Field& field, E& member) {
    member = static_cast<E>(std::uniform_int_distribution<std::size_t>(0, field.choices.size() - 1)(random_));
  }
  void field(const Field& field, std::string& member) {
    static const std::vector<std::string> names{"null", "yes", "-", "...", "12", "a.b-c_D", "NULL"};
    if (field.choices.empty()) {
      member = names[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(names.size()) - 1))];
    } else {
      member = field.choices[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(field.choices.size()) - 1))];
    }
  }
  template <class F>
  void section(std::string_view, std::string_view, F visit_keys) {
    visit_keys();
  }
  // Names of one link and one PE that every machine has; without failures, which may leave no way around.
  void parts(std::string_view, std::string_view, std::vector<PartOverride>& parts) {
    PartOverride random;
    describe(*this, random);
    if (random.bandwidth || random.latency || random.buffer) {
      parts.push_back({"sip*.io.to_host", random.bandwidth, random.latency, random.buffer, {}, {}, {}, {}});
    }
    if (random.clock || random.gemm_array || random.vector_lanes) {
      parts.push_back({"sip0.cube0.pe1", {}, {}, {}, {}, random.clock, random.gemm_array, random.vector_lanes});
    }
    if (random.failed) parts.push_back({"host.to_sip0", {}, {}, {}, false, {}, {}, {}});
  }

 private:
  // Often small or round, so that all forms of printing come up.
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    std::int64_t value = std::uniform_int_distribution<std::int64_t>(low, high)(random_);
    value >>= std::uniform_int_distribution<int>(0, 50)(random_);
    return std::clamp(value, low, high);
  }
  std::mt19937_64 random_;
};

Topology read_back(const std::string& yaml) {
  return parse_topology(yaml, "printed.yaml", {}, {{"my_hbm"}, {"my_gemm"}, {"my_vector"}, {"my_dma"}});
}

TEST(Print, ShippedTopologiesReadBackToTheSameValue) {
  for (const std::string& name : topology_names()) {
    const Topology topology = load_topology(name);
    EXPECT_EQ(read_back(to_yaml(topology)), topology) << name;
  }
}

TEST(Print, RandomValidTopologiesReadBackToTheSameValue) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(number_of_cases(500, 250, 60)); ++seed) {
    Topology topology;
    Randomise randomise(seed);
    describe(randomise, topology);
    // What the rules between values fix.
    topology.system.mesh.reset();
    topology.sip.cubes = {1 + static_cast<std::int32_t>(seed % 5), 2};
    topology.cube.pes = {1 + static_cast<std::int32_t>(seed % 3), 2};
    topology.system.sips = 1 + static_cast<std::int32_t>(seed % 7);
    topology.pe.mmu.page = Bytes(4096);
    for (LinkSpec* link : {&topology.host.link, &topology.system.link, &topology.sip.link, &topology.cube.noc.link}) {
      if (!link->packet) link->packet_overhead = Bytes(0);
    }
    topology.cube.hbm.efficiency = Efficiency::millionths(topology.cube.hbm.efficiency.millionths() / 2 + 500'000);
    const std::int32_t pes = topology.cube.pes.count();
    topology.cube.hbm.capacity = Bytes((1 + topology.cube.hbm.capacity.count() % 1'000'000) * 4096 * pes);
    topology.cube.hbm.channels = (1 + topology.cube.hbm.channels % 100) * pes;
    topology.cube.hbm.bandwidth = Bandwidth::bytes_per_second(topology.cube.hbm.bandwidth.count() / 2 + 32768);
    topology.cube.hbm.interleave = Bytes(std::int64_t{1} << (seed % 8 + 6));
    topology.cube.noc.burst = Bytes(std::int64_t{1} << (seed % 15 + 6));
    topology.cube.hbm.access = Bytes(std::int64_t{1} << (seed % 7));
    topology.cube.noc.header = Bytes(1 + topology.cube.noc.header.count() % topology.cube.noc.burst.count());
    if (seed % 2 == 0) {  // parameters are for models that are not built in
      topology.cube.hbm.model = "my_hbm";
      topology.pe.gemm.model = "my_gemm";
      topology.pe.vector.model = "my_vector";
      topology.pe.dma.model = "my_dma";
    } else {
      topology.cube.hbm.parameters.clear();
      topology.pe.gemm.parameters.clear();
      topology.pe.vector.parameters.clear();
      topology.pe.dma.parameters.clear();
    }
    topology.pe.vector.narrowest = Bytes(std::int64_t{1} << (seed % 3));
    topology.pe.tcm.alignment = Bytes(std::int64_t{1} << (seed % 10));
    topology.pe.tcm.capacity = topology.pe.tcm.alignment * (1 + topology.pe.tcm.capacity.count() % 10'000);
    EXPECT_EQ(read_back(to_yaml(topology)), topology) << to_yaml(topology);
  }
}

TEST(Print, TableHasOneLineForEachKey) {
  const std::string table = to_table(load_topology("tiny"));
  EXPECT_THAT(table, ::testing::ContainsRegex("\ncube.hbm.bandwidth +300GB/s +of the cube"));
  std::ptrdiff_t keys = 0;
  std::istringstream reference(reference_table());
  for (std::string line; std::getline(reference, line);) {
    keys += line.starts_with("| `") && !line.starts_with("| `overrides.") ? 1 : 0;
  }
  EXPECT_EQ(std::ranges::count(table, '\n'), keys);
}

TEST(Print, YamlOfTinyIsGolden) {
  source_tree::expect_golden("tests/topology/golden/tiny_described.yaml", to_yaml(load_topology("tiny")));
  source_tree::expect_golden("tests/topology/golden/tiny_table.txt", to_table(load_topology("tiny")));
}

/// The page holds `table` between the mark `begin` and the end of what is generated.
void expect_in_page(const std::string& path, const std::string& begin, const std::string& table) {
  source_tree::expect_golden_part(path, begin, "<!-- end of generated -->\n", table);
}

TEST(Reference, PageIsUpToDate) {
  expect_in_page("docs/topology.md", "<!-- generated: the table of all keys -->\n", reference_table());
}

TEST(Reference, PageOfAddressesIsUpToDate) {
  expect_in_page("docs/addresses.md", "<!-- generated: the address map -->\n", address_table());
}

TEST(Schema, HasTheSameKeysAndRequirementsAsTheReader) {
  const auto schema = nlohmann::json::parse(json_schema());
  EXPECT_EQ(schema.at("additionalProperties"), false);
  EXPECT_EQ(schema.at("required"), (nlohmann::json{"name", "host", "system", "sip", "cube", "pe"}));
  const auto& hbm = schema.at("properties").at("cube").at("properties").at("hbm");
  EXPECT_EQ(hbm.at("required"), (nlohmann::json{"capacity", "bandwidth", "latency"}));
  EXPECT_EQ(hbm.at("properties").at("channels").at("default"), 32);
  EXPECT_EQ(hbm.at("properties").at("model").at("examples"), nlohmann::json{"hbm"});
  EXPECT_EQ(hbm.at("properties").at("interleave").at("default"), "1KiB");
  source_tree::expect_golden("topologies/topology.schema.json", json_schema());
}

}  // namespace
}  // namespace kernbench::topology
