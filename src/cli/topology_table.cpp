#include "cli/topology_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "report/text/format.h"
#include "report/text/text_table.h"
#include "topology/bisection.h"
#include "topology/buffers.h"
#include "topology/checks.h"
#include "topology/describe.h"
#include "topology/models.h"
#include "topology/network.h"
#include "topology/print.h"

namespace kernbench::cli {
namespace {

using report::Align;
using report::bytes_text;
using report::Palette;
using report::rate_text;
using report::Style;
using report::TextTable;
using topology::LinkSpec;
using topology::Topology;

std::string mesh_text(MeshExtent mesh) {
  return fmt::format("{} ({} x {})", mesh.count(), mesh.width, mesh.height);
}

double count_of(Bandwidth bandwidth) {
  return static_cast<double>(bandwidth.count());
}
double count_of(Bytes bytes) {
  return static_cast<double>(bytes.count());
}

/// An effect at another place comes after its cause: a link or a memory takes a picosecond at least.
Time simulated(Time latency) {
  return std::max(latency, Time::picoseconds(1));
}

std::string parts_section(const Topology& topology, const Palette& palette) {
  TextTable table({{"", Align::left}, {"", Align::left}});
  table.add({{"SIPs"}, {std::to_string(topology.system.sips)}});
  table.add({{"cubes in a SIP"}, {mesh_text(topology.sip.cubes)}});
  table.add({{"PEs in a cube"}, {mesh_text(topology.cube.pes)}});
  const std::int64_t all = std::int64_t{topology.pes_per_sip()} * topology.system.sips;
  table.add({{"PEs"}, {fmt::format("{} in a SIP, {} in all", topology.pes_per_sip(), all)}});
  table.add({{"PE clock"}, {to_quantity(topology.pe.clock)}});
  table.add({{"GEMM array"}, {fmt::format("{} x {}", topology.pe.gemm.array.width, topology.pe.gemm.array.height)}});
  table.add({{"vector lanes"}, {std::to_string(topology.pe.vector.lanes)}});
  table.add({{"DMA queues of a PE"}, {std::to_string(topology.pe.dma.queues)}});
  table.add({{"HBM channels of a cube"}, {std::to_string(topology.cube.hbm.channels)}});
  const auto own_model = [&](const char* label, topology::ModelKind kind, const std::string& model) {
    const auto built_in = topology::built_in_models(kind);
    if (std::ranges::find(built_in, model) == built_in.end()) table.add({{label}, {model + ", of your own"}});
  };
  own_model("HBM model", topology::ModelKind::hbm, topology.cube.hbm.model);
  own_model("GEMM model", topology::ModelKind::gemm, topology.pe.gemm.model);
  own_model("vector model", topology::ModelKind::vector, topology.pe.vector.model);
  own_model("DMA model", topology::ModelKind::dma, topology.pe.dma.model);
  return palette.paint(Style::heading, "Parts") + "\n" + table.text(palette);
}

// A figure of one PE, one cube and one SIP.
class Peaks {
 public:
  explicit Peaks(const Topology& topology)
      : pes_(topology.cube.pes.count()),
        cubes_(topology.sip.cubes.count()),
        table_({{"", Align::left}, {"PE"}, {"cube"}, {"SIP"}}) {}

  void rate(const std::string& label, double of_pe, std::string_view unit) {
    const double of_cube = of_pe * pes_;
    table_.add({{label}, {rate_text(of_pe, unit)}, {rate_text(of_cube, unit)}, {rate_text(of_cube * cubes_, unit)}});
  }
  void size(const std::string& label, double of_pe) {
    const auto text = [](double bytes) {
      constexpr double kExbi = 0x1p60;
      if (bytes >= 8 * kExbi) return fmt::format("{:.2f} EiB", bytes / kExbi);  // more than Bytes can count
      return bytes_text(Bytes(static_cast<std::int64_t>(bytes)));
    };
    table_.add({{label}, {text(of_pe)}, {text(of_pe * pes_)}, {text(of_pe * pes_ * cubes_)}});
  }
  std::string text(const Palette& palette) const { return table_.text(palette); }

 private:
  double pes_, cubes_;
  TextTable table_;
};

std::string peaks_section(const Topology& topology, const Palette& palette) {
  const auto clock = static_cast<double>(topology.pe.clock.count());
  const double gemm = 2.0 * topology.pe.gemm.array.count() * clock * topology.pe.gemm.efficiency.value();
  const double pes = topology.cube.pes.count();
  const double hbm = count_of(topology.cube.slice_bandwidth());
  Peaks peaks(topology);
  for (const topology::GemmOperandInfo& operand : topology::kGemmOperands) {
    const topology::Rate rate = topology.pe.gemm.rate[operand.operand];
    peaks.rate(fmt::format("GEMM, {}", operand.key), gemm * rate.steps / rate.cycles,
               operand.integer ? "OP/s" : "FLOP/s");
  }
  peaks.rate("vector", topology.pe.vector.lanes * clock, "op/s");
  peaks.rate("HBM bandwidth", hbm, "B/s");
  peaks.rate("TCM bandwidth", count_of(topology.pe.tcm.bandwidth), "B/s");
  peaks.size("HBM capacity", count_of(topology.cube.hbm.capacity) / pes);
  peaks.size("TCM capacity", count_of(topology.pe.tcm.capacity));
  peaks.size("TLB reach", count_of(topology.pe.mmu.page) * topology.pe.mmu.tlb_entries);
  const topology::Rate f16 = topology.pe.gemm.rate[topology::GemmOperand::f16];
  const std::string balance =
      fmt::format("f16 GEMM and HBM are balanced at {:.1f} FLOP/B", gemm * f16.steps / f16.cycles / hbm);
  return palette.paint(Style::heading, "Peaks") + "\n" + peaks.text(palette) + "  " +
         palette.paint(Style::faint, balance) + "\n";
}

std::string links_section(const Topology& topology, const Palette& palette) {
  TextTable table({{"", Align::left}, {"bandwidth"}, {"of payload"}, {"latency"}, {"buffer"}});
  const auto add = [&](const std::string& label, const LinkSpec& link) {
    table.add({{label},
               {rate_text(count_of(link.bandwidth), "B/s")},
               {rate_text(count_of(link.payload_rate()), "B/s")},
               {to_quantity(simulated(link.latency))},
               {to_quantity(topology::buffer_of(link, topology.cube))}});
  };
  add("host to SIP", topology.host.link);
  if (topology.system.sips > 1) add("SIP to SIP", topology.system.link);
  add("edge of a cube to its neighbour", topology.sip.link);
  const bool spans_edge = topology.sip.io.attachment == topology::IoAttachment::west_edge;
  add(spans_edge ? "IO chiplet to each western cube" : "IO chiplet to the first router", topology.sip.link);
  add("router to router in a cube", topology.cube.noc.link);
  return palette.paint(Style::heading, "Links, each direction") + "\n" + table.text(palette);
}

// How the SIPs are wired; nothing for one SIP.
std::string system_section(const Topology& topology, const Palette& palette) {
  if (topology.system.sips == 1) return {};
  const topology::Network network(topology);
  std::set<std::pair<std::int32_t, std::int32_t>> pairs, failed;
  for (std::uint32_t id = 0; id < network.links().size(); ++id) {
    const auto hop = network.between_sips({id});
    if (!hop) continue;
    pairs.insert(std::minmax(hop->from, hop->to));
    if (network.link({id}).failed) failed.insert(std::minmax(hop->from, hop->to));
  }
  TextTable table({{"", Align::left}, {"", Align::left}});
  const bool grid = topology.system.topology == topology::SystemTopology::torus_2d ||
                    topology.system.topology == topology::SystemTopology::mesh_2d;
  const MeshExtent extent = network.system().extent();
  table.add({{"topology"},
             {std::string(topology::kSystemTopologyNames[static_cast<std::size_t>(topology.system.topology)]) +
              (grid ? fmt::format(", {} x {}", extent.width, extent.height) : "")}});
  table.add({{"links, each in both directions"},
             {std::to_string(pairs.size()) + (failed.empty() ? "" : fmt::format(", {} failed", failed.size()))}});
  table.add(
      {{"bisection bandwidth, each direction"}, {rate_text(count_of(topology::bisection_bandwidth(network)), "B/s")}});
  return "\n" + palette.paint(Style::heading, "System") + "\n" + table.text(palette);
}

// Parts that differ from the others; nothing if there are none.
std::string overrides_section(const Topology& topology, const Palette& palette) {
  if (topology.overrides.empty()) return {};
  constexpr std::string_view kPrefix = "overrides.";
  TextTable table({{"", Align::left}, {"", Align::left}});
  for (const auto& [path, value] : topology::settings(topology)) {
    if (path.starts_with(kPrefix)) table.add({{path.substr(kPrefix.size())}, {value}});
  }
  return "\n" + palette.paint(Style::heading, "Parts that differ") + "\n" + table.text(palette);
}

std::string warnings_section(const Topology& topology, const Palette& palette) {
  std::string text;
  for (const topology::Finding& finding : topology::warnings(topology)) {
    text += "  " + finding.path + ": " + finding.message + "\n";
  }
  return text.empty() ? text : "\n" + palette.paint(Style::heading, "Warnings") + "\n" + text;
}

std::string latencies_section(const Topology& topology, const Palette& palette) {
  TextTable table({{"", Align::left}, {""}});
  const auto add = [&](const std::string& label, Time time) { table.add({{label}, {to_quantity(time)}}); };
  add("launch call on the host", topology.host.launch_overhead);
  add("message in IO_CPU", topology.sip.io.cpu_latency);
  add("message in M_CPU", topology.cube.m_cpu.latency);
  add("write of a counter in the IO chiplet", topology.sip.io.counter_write);
  add("write of a counter in a cube", topology.cube.m_cpu.counter_write);
  add("start of a program on a PE", topology.pe.control.start_latency);
  add("command to an engine", topology.pe.control.issue);
  add("DMA descriptor", topology.pe.dma.setup);
  add("TLB miss", topology.pe.mmu.miss);
  add("HBM access", simulated(topology.cube.hbm.latency));
  return palette.paint(Style::heading, "Latencies") + "\n" + table.text(palette);
}

}  // namespace

std::string topology_table(const Topology& topology, bool colour) {
  const Palette palette(colour);
  return palette.paint(Style::heading, topology.name) + "\n\n" + parts_section(topology, palette) + "\n" +
         peaks_section(topology, palette) + "\n" + links_section(topology, palette) + "\n" +
         latencies_section(topology, palette) + system_section(topology, palette) +
         overrides_section(topology, palette) + warnings_section(topology, palette);
}

}  // namespace kernbench::cli
