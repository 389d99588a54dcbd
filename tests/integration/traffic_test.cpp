// What TrafficMeter counts: against names of links, against single transfers, and against a whole matrix product
// counted from the placement of its operands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "built_in_bench.h"
#include "hardware/machine.h"
#include "hardware/server_kind.h"
#include "programs.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "tile/library/gemm_plan.h"
#include "topology/load.h"
#include "topology/network.h"

namespace kernbench::traffic_test {
namespace {

using hardware::ServerKind;
using ::testing::HasSubstr;
using topology::Endpoint;

// ---- kinds of servers ----------------------------------------------------------------------------------------------

TEST(ServerKinds, AreThoseOfTheLinksAndMemoriesThatTheServersAre) {
  for (const std::vector<std::string>& overrides : std::vector<std::vector<std::string>>{
           {},
           {"cube.pes.mesh=[1, 1]", "cube.hbm.channels=4"},
           {"system.sips.count=2", "sip.cubes.mesh=[2, 3]", "sip.io.attachment=west_edge"},
           {"system.sips.count=4", "system.sips.topology=switched"}}) {
    const auto topology = topology::load_topology("tiny", overrides);
    const topology::Network network(topology);
    sim::Scheduler scheduler;
    hardware::Machine machine(scheduler, topology, {});
    std::map<ServerKind, std::int64_t> counts;
    for (hardware::ServerId server; server.value < machine.fabric().server_count(); ++server.value) {
      const ServerKind kind = machine.server_kind(server);
      ++counts[kind];
      const hardware::ServerSpec& spec = machine.fabric().spec(server);
      EXPECT_EQ(spec.name, to_text(spec.part));
      if (server.value < network.links().size()) {
        EXPECT_EQ(kind, hardware::server_kind(network.links()[server.value].kind)) << spec.name;
      }
    }
    const std::int64_t pes = topology.system.sips * topology.pes_per_sip(), cubes = pes / topology.cube.pes.count();
    EXPECT_EQ(counts[ServerKind::tcm_port], pes);
    EXPECT_EQ(counts[ServerKind::sram], cubes);
    EXPECT_EQ(counts[ServerKind::hbm_channel], topology.cube.hbm.channels * cubes);
    EXPECT_EQ(counts[ServerKind::host_link], 2 * topology.system.sips);
    EXPECT_EQ(counts[ServerKind::port], cubes * 4 + pes * 4);
  }
}

// ---- counting from the routes --------------------------------------------------------------------------------------

struct Count {
  std::int64_t noc = 0, cubes = 0, hbm = 0;
  bool operator==(const Count&) const = default;
};

/// Adds up what transfers put on the links of their routes.
class Counter {
 public:
  explicit Counter(const topology::Topology& machine) : machine_(machine), network_(machine) {}

  void read(PeCoordinate reader, PeCoordinate slice, std::int64_t bytes) {
    message(Endpoint::pe_port(reader), Endpoint::hbm_slice(slice));
    move(Endpoint::hbm_slice(slice), Endpoint::pe_port(reader), bytes);
    count_.hbm += bytes;
  }
  void write(PeCoordinate writer, PeCoordinate slice, std::int64_t bytes) {
    move(Endpoint::pe_port(writer), Endpoint::hbm_slice(slice), bytes);
    message(Endpoint::hbm_slice(slice), Endpoint::pe_port(writer));
    count_.hbm += bytes;
  }
  /// Out to the programs (ascending) and back.
  void launch(const std::vector<PeCoordinate>& pes) {
    for (std::size_t i = 0; i < pes.size(); ++i) {
      const Endpoint m_cpu = Endpoint::m_cpu({pes[i].sip, pes[i].cube});
      both_ways(m_cpu, Endpoint::pe_port(pes[i]));
      if (i == 0 || pes[i].cube != pes[i - 1].cube) both_ways(Endpoint::io_cpu(pes[i].sip), m_cpu);
    }
  }
  const Count& count() const { return count_; }

 private:
  void move(Endpoint from, Endpoint to, std::int64_t bytes) {
    for (const topology::RouteHop& hop : network_.route(from, to)) {
      if (network_.link(hop.link).kind == topology::LinkKind::noc) count_.noc += bytes;
      if (network_.link(hop.link).kind == topology::LinkKind::cube) count_.cubes += bytes;
    }
  }
  void message(Endpoint from, Endpoint to) { move(from, to, machine_.cube.noc.header.count()); }
  void both_ways(Endpoint a, Endpoint b) {
    message(a, b);
    message(b, a);
  }

  const topology::Topology& machine_;
  topology::Network network_;
  Count count_;
};

Count counted(const torch::ahbm::Traffic& traffic) {
  return {traffic.noc_bytes, traffic.cube_bytes, traffic.hbm_bytes};
}

std::vector<PeCoordinate> all_pes(const topology::Topology& machine) {
  std::vector<PeCoordinate> pes;
  for (std::int32_t cube = 0; cube < machine.sip.cubes.count(); ++cube)
    for (std::int32_t pe = 0; pe < machine.cube.pes.count(); ++pe) pes.push_back({SipId{0}, CubeId{cube}, PeId{pe}});
  return pes;
}

TEST(TrafficMeter, CountsEachByteOnEachLinkThatItPasses) {
  const std::vector<std::string> overrides{"sip.cubes.mesh=[2, 2]"};
  const auto machine = topology::load_topology("tiny", overrides);
  const auto pes = all_pes(machine);
  for (const bool exact : {false, true}) {
    for (std::size_t reader = 0; reader < pes.size(); ++reader) {
      auto options = testing::tiny(overrides);
      options.exact_events = exact;
      simulate(options, [&] {
        const auto x =
            torch::zeros({static_cast<std::int64_t>(pes.size()), 300}, torch::dtype(torch::kInt).device("ahbm"));
        torch::ahbm::synchronize();
        const torch::ahbm::TrafficMeter meter;
        torch::launch(
            {.pes = {{pes[reader].cube, pes[reader].pe}}}, "copy",
            [](tl::Tensor t) { tl::store(t, {7, 0}, tl::load(t, {2, 0}, {1, 300})); }, x);
        torch::ahbm::synchronize();
        Counter expected(machine);
        expected.read(pes[reader], pes[2], 1200);
        expected.write(pes[reader], pes[7], 1200);
        expected.launch({pes[reader]});
        EXPECT_EQ(counted(meter.read()), expected.count()) << reader;
      });
    }
  }
}

TEST(TrafficMeter, NamesTheServerThatWasBusyLongest) {
  simulate(testing::tiny(), [] {
    torch::ahbm::TrafficMeter meter;
    EXPECT_EQ(meter.read().busiest, "");
    EXPECT_EQ(meter.read().utilisation, 0);
    const auto x = torch::zeros({1 << 20}, torch::kInt).to("ahbm");
    torch::ahbm::synchronize();
    const auto moved = meter.read();
    EXPECT_EQ(moved.busiest, "host.to_sip0");
    EXPECT_EQ(moved.busiest_kind, "host link");
    EXPECT_GT(moved.utilisation, 0.9);
    EXPECT_LE(moved.utilisation, 1);
    EXPECT_GE(moved.host_bytes, 4 << 20);
    EXPECT_EQ(moved.hbm_bytes, 4 << 20);
    EXPECT_EQ(moved.sip_bytes, 0);
    EXPECT_EQ(torch::ahbm::TrafficMeter().read().host_bytes, 0) << "counts from its making";
  });
  EXPECT_THROW(torch::ahbm::TrafficMeter(), ProgramError);
}

// ---- gpt3_qkv ------------------------------------------------------------------------------------------------------

RunResult run_qkv(const char* topology, const std::map<std::string, std::string>& parameters,
                  std::vector<std::string> overrides = {}, bool quick_plans = false) {
  SimulateOptions options;
  options.topology = topology;
  options.data = false;
  options.overrides = std::move(overrides);
  options.quick_plans = quick_plans;
  RunResult result = run_built_in("gpt3_qkv", parameters, options);
  if (result.error) throw std::runtime_error(result.error->message);
  return result;
}

double metric(const RunResult& result, const std::string& quantity, const std::string& layout) {
  return result.metrics.at(quantity + ", " + layout).value;
}

/// A matrix cut over a machine, by rows and columns.
struct Placed {
  std::vector<ShardSpec> shards;
  Placed(const DPPolicy& policy, std::int64_t rows, std::int64_t columns, const topology::Topology& machine)
      : shards(resolve_dp_policy(policy, std::array{rows, columns}, 2, machine.cube.pes.count(),
                                 machine.sip.cubes.count(), SipId{0})) {}

  std::vector<tile::library::GemmPart> parts() const {
    std::vector<tile::library::GemmPart> parts;
    for (const auto& shard : shards) {
      tile::library::GemmPart part{.owner = {shard.sip, shard.cube, shard.pe}, .begin = {0, 0, 0}, .end = {1, 0, 0}};
      for (std::size_t d = 0; d < 2; ++d) {
        part.begin[d + 1] = shard.offset[d];
        part.end[d + 1] = shard.offset[d] + shard.shape[d];
      }
      parts.push_back(part);
    }
    return parts;
  }

  /// Visits (owner, bytes) of the pieces of a box. REQUIRES: no replicas.
  template <class Visit>
  void for_each_piece(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                      Visit visit) const {
    for (const auto& shard : shards) {
      const auto common = [&](std::size_t d, std::int64_t begin, std::int64_t extent) {
        return std::max<std::int64_t>(
            std::min(begin + extent, shard.offset[d] + shard.shape[d]) - std::max(begin, shard.offset[d]), 0);
      };
      const std::int64_t elements = common(0, row, rows) * common(1, column, columns);
      if (elements > 0) visit(PeCoordinate{shard.sip, shard.cube, shard.pe}, 2 * elements);
    }
  }
};

/// All transfers of X W, walked as the library's quick plan says (tile/library/gemm_plan.h).
Count count_product(const topology::Topology& machine, const DPPolicy& policy, std::int64_t tokens,
                    std::int64_t hidden) {
  const std::int64_t columns = 3 * hidden;
  const Placed x({}, tokens, hidden, machine), w(policy, hidden, columns, machine), out({}, tokens, columns, machine);
  const auto pes = all_pes(machine);
  const tile::library::GemmPlan plan = tile::library::plan_gemm({.shape = {1, tokens, columns, hidden}}, pes,
                                                                {x.parts(), w.parts(), out.parts()}, machine);
  Counter counter(machine);
  counter.launch(pes);
  for (std::size_t i = 0; i < pes.size(); ++i) {
    const auto& range = plan.ranges[i];
    if (range.empty()) continue;
    const auto read = [&](PeCoordinate owner, std::int64_t bytes) { counter.read(pes[i], owner, bytes); };
    const auto write = [&](PeCoordinate owner, std::int64_t bytes) { counter.write(pes[i], owner, bytes); };
    std::int64_t step = plan.first_k;
    for (std::int64_t m = range.m[0]; m < range.m[1]; m += plan.tile_m) {
      for (std::int64_t n = range.n[0]; n < range.n[1]; n += plan.tile_n) {
        const std::int64_t rows = std::min(plan.tile_m, range.m[1] - m), wide = std::min(plan.tile_n, range.n[1] - n);
        for (std::int64_t k = 0, length = 0; k < hidden; k += length) {
          length = std::min(step, hidden - k);
          x.for_each_piece(m, rows, k, length, read);
          w.for_each_piece(k, length, n, wide, read);
          step = std::min(2 * step, plan.tile_k);
        }
        out.for_each_piece(m, rows, n, wide, write);
      }
    }
  }
  return counter.count();
}

TEST(Qkv, MovesTheBytesThatItsPlacementSays) {
  NOT_UNDER_SANITIZERS("long");
  const std::vector<std::pair<const char*, DPPolicy>> layouts{
      {"row_wise", {.cube = Placement::row_wise, .pe = Placement::row_wise}},
      {"column_wise", {.cube = Placement::column_wise, .pe = Placement::column_wise}}};
  const std::vector<std::string> overrides{"sip.cubes.mesh=[2, 2]"};
  const auto machine = topology::load_topology("tiny", overrides);
  std::size_t turn = 0;
  for (const auto& [tokens, hidden] : {std::pair{64, 256}, std::pair{200, 160}, std::pair{37, 90}}) {
    for (const auto& [name, policy] : layouts) {
      if (turn++ % one_case_in(3, 1) != 0) continue;
      const auto result =
          run_qkv("tiny", {{"hidden", std::to_string(hidden)}, {"tokens", std::to_string(tokens)}, {"placement", name}},
                  overrides, true);
      const Count expected = count_product(machine, policy, tokens, hidden);
      EXPECT_EQ(metric(result, "bytes within cubes", name), static_cast<double>(expected.noc)) << tokens;
      EXPECT_EQ(metric(result, "bytes between cubes", name), static_cast<double>(expected.cubes)) << tokens;
      EXPECT_EQ(metric(result, "bytes of HBM", name), static_cast<double>(expected.hbm)) << tokens;
    }
  }
}

constexpr const char* kLayouts[] = {"row_wise", "column_wise", "replicate_row_wise", "replicate_column_wise",
                                    "replicate"};

/// Of the last of the products of `layout`: by then translations are cached, as where a plan is measured.
Time steady_time(const RunResult& result, const std::string& layout) {
  Time time;
  for (const LaunchResult& launch : result.launches) {
    if (launch.kernel == "qkv " + layout) time = launch.end - launch.start;
  }
  return time;
}

// Programs that need the same parts of W load them together: each link carries a part once, wherever it lies.
TEST(Qkv, WhereTheWeightsLieCostsANinthOfASmallProductAtMost) {
  NOT_UNDER_SANITIZERS("long");
  const std::int64_t tokens = takes_all_cases() ? 512 : 256;
  const std::vector<std::string> quarter{"sip.cubes.mesh=[2, 2]"};
  const auto result = run_qkv("ahbm-1sip", {{"hidden", "256"}, {"tokens", std::to_string(tokens)}, {"repeat", "2"}},
                              takes_all_cases() ? std::vector<std::string>{} : quarter);
  Time least = steady_time(result, kLayouts[0]);
  for (const char* layout : kLayouts) least = std::min(least, steady_time(result, layout));
  EXPECT_GT(least, Time::zero());
  for (const char* layout : kLayouts) {
    EXPECT_LE(9 * steady_time(result, layout), 10 * least) << layout;
    // All operands and the result pass the HBM once at least.
    EXPECT_GE(metric(result, "bytes of HBM", layout), 2 * (tokens * 256 + 256 * 768 + tokens * 768)) << layout;
    EXPECT_LE(metric(result, "busiest", layout), 100) << layout;
  }
}

}  // namespace
}  // namespace kernbench::traffic_test
