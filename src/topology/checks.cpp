#include "topology/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <initializer_list>

#include "base/address.h"
#include "base/quantity.h"
#include "topology/buffers.h"
#include "topology/describe.h"
#include "topology/efficiency.h"
#include "topology/network.h"
#include "topology/overrides.h"
#include "topology/part_names.h"

namespace kernbench::topology {
namespace {

// An agent id has 26 bits, of which three tell the kind.
constexpr std::int64_t kMostAgents = std::int64_t{1} << 23;

bool is_power_of_two(Bytes bytes) {
  return std::has_single_bit(static_cast<std::uint64_t>(bytes.count()));
}

std::string text(MeshExtent mesh) {
  return fmt::format("[{}, {}]", mesh.width, mesh.height);
}

// An upper bound of what acts in the machine: links, channels, ports, queues, engines, programs and CPUs.
std::int64_t count_agents(const Topology& t) {
  const std::int64_t pe = 8 + 2 + t.pe.dma.queues + 2 + t.pe.contexts + 1;
  const std::int64_t cube = std::int64_t{t.cube.pes.count()} * pe + t.cube.hbm.channels + 4;
  const std::int64_t neighbours = t.system.topology == SystemTopology::fully_connected ? t.system.sips : 4;
  const std::int64_t rows = std::int64_t{t.sip.cubes.height} * t.cube.pes.height;
  return t.system.sips * (t.sip.cubes.count() * cube + neighbours + 2 * rows + 6);
}

// The key that makes the machine largest.
const char* path_of_most_parts(const Topology& t) {
  const std::int64_t sips = t.system.sips, cubes = t.sip.cubes.count(), pes = t.cube.pes.count();
  if (sips >= cubes && sips >= pes) return "system.sips.count";
  return cubes >= pes ? "sip.cubes.mesh" : "cube.pes.mesh";
}

class Checker {
 public:
  explicit Checker(const std::set<std::string>& unread) : unread_(unread) {}

  // Reports at the first of `paths`, unless one of them is unread; `broken` gives the message, or "" if all is well.
  void rule(std::initializer_list<const char*> paths, const std::function<std::string()>& broken) {
    if (std::ranges::any_of(paths, [&](const char* path) { return unread_.contains(path); })) return;
    if (std::string message = broken(); !message.empty()) findings_.push_back({*paths.begin(), std::move(message)});
  }
  void power_of_two(const char* path, Bytes value) {
    rule({path}, [&] {
      return is_power_of_two(value) ? "" : fmt::format("must be a power of two, found {}", to_quantity(value));
    });
  }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  const std::set<std::string>& unread_;
  std::vector<Finding> findings_;
};

void check_system(Checker& checker, const SystemSpec& system) {
  checker.rule({"system.sips.mesh", "system.sips.topology", "system.sips.count"}, [&]() -> std::string {
    if (!system.mesh) return "";
    if (system.topology != SystemTopology::torus_2d && system.topology != SystemTopology::mesh_2d) {
      return "only torus_2d and mesh_2d have a mesh; leave it out";
    }
    if (std::int64_t{system.mesh->width} * system.mesh->height == system.sips) return "";
    return fmt::format("{} does not hold the {} SIPs of system.sips.count", text(*system.mesh), system.sips);
  });
}

// A physical address has so many bits for each.
void check_counts(Checker& checker, const Topology& topology) {
  const auto look = [&](const char* path, MeshExtent mesh, const char* what, std::int64_t limit) {
    checker.rule({path}, [&] {
      return mesh.count() <= limit ? ""
                                   : fmt::format("{} has {} {}; a physical address tells {} apart", text(mesh),
                                                 mesh.count(), what, limit);
    });
  };
  look("sip.cubes.mesh", topology.sip.cubes, "cubes", PhysAddr::kMaximumCubes);
  look("cube.pes.mesh", topology.cube.pes, "PEs", PhysAddr::kMaximumPes);
}

void check_hbm(Checker& checker, const CubeSpec& cube, const PeSpec& pe) {
  const HbmSpec& hbm = cube.hbm;
  const std::int64_t pes = cube.pes.count();
  checker.rule({"cube.hbm.channels", "cube.pes.mesh"}, [&] {
    return hbm.channels % pes == 0
               ? ""
               : fmt::format(
                     "{} channels cannot be divided equally among the {} PEs of a cube (cube.pes.mesh is {}); "
                     "use a multiple of {}",
                     hbm.channels, pes, text(cube.pes), pes);
  });
  checker.rule({"cube.hbm.capacity", "cube.pes.mesh", "pe.mmu.page"}, [&] {
    const std::int64_t unit = pes * pe.mmu.page.count();
    return hbm.capacity.count() % unit == 0
               ? ""
               : fmt::format("{} cannot be divided into {} equal slices of whole pages of {}; use a multiple of {}",
                             to_quantity(hbm.capacity), pes, to_quantity(pe.mmu.page), to_quantity(Bytes(unit)));
  });
  checker.rule({"cube.hbm.bandwidth", "cube.hbm.channels", "cube.hbm.efficiency"}, [&] {
    if (hbm.channel_bandwidth().count() > 0) return std::string();
    const bool whole = hbm.efficiency == Efficiency();
    return fmt::format(
        "{}{} is less than 1B/s for each of {} channels", to_quantity(hbm.bandwidth),
        whole ? "" : fmt::format(" at cube.hbm.efficiency {}", print_efficiency(hbm.efficiency.millionths())),
        hbm.channels);
  });
  checker.power_of_two("cube.hbm.interleave", hbm.interleave);
  checker.power_of_two("cube.hbm.access", hbm.access);
  checker.rule({"cube.hbm.interleave", "cube.hbm.access"}, [&] {
    return hbm.interleave >= hbm.access ? ""
                                        : fmt::format("{} is less than one access (cube.hbm.access is {})",
                                                      to_quantity(hbm.interleave), to_quantity(hbm.access));
  });
}

void check_packets(Checker& checker, const char* overhead_path, const char* packet_path, const LinkSpec& link) {
  checker.rule({overhead_path, packet_path}, [&] {
    return link.packet || link.packet_overhead == Bytes(0)
               ? ""
               : fmt::format("is of each packet, but {} does not say how much a packet carries; add it", packet_path);
  });
}

void check_parameters(Checker& checker, const char* path, const char* model_path, ModelKind kind,
                      const std::string& model, const ModelParameterTexts& parameters) {
  checker.rule({path, model_path}, [&]() -> std::string {
    const auto built_in = built_in_models(kind);
    if (parameters.empty() || std::ranges::find(built_in, model) == built_in.end()) return "";
    return fmt::format("the built-in model {} takes none; they are for a model of your own", model);
  });
}

void check_pe(Checker& checker, const PeSpec& pe) {
  checker.power_of_two("pe.mmu.page", pe.mmu.page);
  checker.power_of_two("pe.tcm.alignment", pe.tcm.alignment);
  checker.power_of_two("pe.vector.narrowest", pe.vector.narrowest);
  checker.rule({"pe.tcm.capacity", "pe.tcm.alignment"}, [&] {
    return pe.tcm.capacity.count() % pe.tcm.alignment.count() == 0
               ? ""
               : fmt::format("{} is no multiple of pe.tcm.alignment, which is {}", to_quantity(pe.tcm.capacity),
                             to_quantity(pe.tcm.alignment));
  });
}

}  // namespace

std::vector<Finding> check(const Topology& topology, const std::set<std::string>& unread) {
  Checker checker(unread);
  check_system(checker, topology.system);
  check_counts(checker, topology);
  check_hbm(checker, topology.cube, topology.pe);
  check_packets(checker, "host.link.packet_overhead", "host.link.packet", topology.host.link);
  check_packets(checker, "system.sips.link.packet_overhead", "system.sips.link.packet", topology.system.link);
  check_packets(checker, "sip.cubes.link.packet_overhead", "sip.cubes.link.packet", topology.sip.link);
  check_packets(checker, "cube.noc.link.packet_overhead", "cube.noc.link.packet", topology.cube.noc.link);
  checker.power_of_two("cube.noc.burst", topology.cube.noc.burst);
  checker.rule({"cube.noc.header", "cube.noc.burst"}, [&] {
    const NocSpec& noc = topology.cube.noc;
    return noc.header <= noc.burst ? ""
                                   : fmt::format("{} is more than a burst (cube.noc.burst is {})",
                                                 to_quantity(noc.header), to_quantity(noc.burst));
  });
  check_pe(checker, topology.pe);
  const HbmSpec& hbm = topology.cube.hbm;
  const PeSpec& pe = topology.pe;
  check_parameters(checker, "cube.hbm.parameters", "cube.hbm.model", ModelKind::hbm, hbm.model, hbm.parameters);
  check_parameters(checker, "pe.gemm.parameters", "pe.gemm.model", ModelKind::gemm, pe.gemm.model, pe.gemm.parameters);
  check_parameters(checker, "pe.vector.parameters", "pe.vector.model", ModelKind::vector, pe.vector.model,
                   pe.vector.parameters);
  check_parameters(checker, "pe.dma.parameters", "pe.dma.model", ModelKind::dma, pe.dma.model, pe.dma.parameters);
  const char* const of_most = path_of_most_parts(topology);
  checker.rule({of_most, "system.sips.count", "system.sips.topology", "sip.cubes.mesh", "cube.pes.mesh",
                "cube.hbm.channels", "pe.dma.queues", "pe.contexts"},
               [&] {
                 const std::int64_t agents = count_agents(topology);
                 return agents < kMostAgents ? ""
                                             : fmt::format(
                                                   "the machine of {} SIPs, {} cubes in each and {} PEs in each of "
                                                   "these has about {} parts that act; at most {} can be told apart: "
                                                   "use fewer SIPs, cubes or PEs",
                                                   topology.system.sips, topology.sip.cubes.count(),
                                                   topology.cube.pes.count(), agents, kMostAgents);
               });
  return checker.take();
}

namespace {

/// Of the links and memories whose buffer is too small for their bandwidth, the one of each key that needs most.
class BufferWarnings {
 public:
  explicit BufferWarnings(Bytes burst) : burst_(burst) {}

  static bool is_short(const LinkSpec& link, Bytes burst) {
    return link.buffer && *link.buffer < covering_buffer(link.bandwidth, link.latency, burst);
  }

  /// `name`: what has these figures.
  void look(const std::string& path, const std::string& name, const LinkSpec& link) {
    if (!is_short(link, burst_)) return;
    const Bytes needed = covering_buffer(link.bandwidth, link.latency, burst_);
    const Finding finding{
        path, fmt::format("{} do not cover a burst of {} and the way there and back at {} and {}; {} reaches its "
                          "bandwidth with {} or more, and without this key",
                          to_quantity(*link.buffer), to_quantity(burst_), to_quantity(link.bandwidth),
                          to_quantity(link.latency), name, to_quantity(needed))};
    const auto known = std::ranges::find(findings_, path, &Finding::path);
    if (known == findings_.end()) {
      findings_.push_back(finding);
      most_.push_back(needed);
    } else if (Bytes& most = most_[static_cast<std::size_t>(known - findings_.begin())]; most < needed) {
      *known = finding;
      most = needed;
    }
  }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  Bytes burst_;
  std::vector<Finding> findings_;
  std::vector<Bytes> most_;  // of each finding
};

/// The key of the buffers of links of a kind.
const char* buffer_key(LinkKind kind) {
  switch (kind) {
    case LinkKind::host:
      return "host.link.buffer";
    case LinkKind::sip:
      return "system.sips.link.buffer";
    case LinkKind::io:
    case LinkKind::cube:
      return "sip.cubes.link.buffer";
    case LinkKind::noc:
    case LinkKind::endpoint:
      break;
  }
  return "cube.noc.link.buffer";
}

/// One SIP, with what links it to the host: all others have the same links but for overrides.
Network network_of_one_sip(Topology topology) {
  topology.overrides.clear();
  topology.system = SystemSpec();
  return Network(topology);
}

void look_at_overridden_links(const Topology& topology, BufferWarnings& warnings) {
  if (std::ranges::none_of(topology.overrides, is_of_links)) return;
  const Network network(topology);
  const PartNames names = names_of(network.links());
  std::vector<const PartOverride*> last(network.links().size());
  for (const PartOverride& change : topology.overrides) {
    if (is_of_links(change)) names.for_each(change.part, [&](std::size_t link) { last[link] = &change; });
  }
  for (std::size_t id = 0; id < last.size(); ++id) {
    const Link& link = network.links()[id];
    if (last[id] == nullptr || link.failed || !BufferWarnings::is_short(link.spec, topology.cube.noc.burst)) continue;
    warnings.look("overrides." + last[id]->part, link.name, link.spec);
  }
}

}  // namespace

std::vector<Finding> warnings(const Topology& topology) {
  const CubeSpec& cube = topology.cube;
  BufferWarnings warnings(cube.noc.burst);
  if (topology.host.link.buffer || topology.sip.link.buffer || cube.noc.link.buffer) {
    const Network plain = network_of_one_sip(topology);
    for (const Link& link : plain.links()) warnings.look(buffer_key(link.kind), link.name, link.spec);
  }
  if (topology.system.sips > 1) warnings.look(buffer_key(LinkKind::sip), "a link of sip0", topology.system.link);
  warnings.look("cube.noc.link.buffer", "sip0.cube0.sram",
                {cube.sram.bandwidth, cube.sram.latency, cube.noc.link.buffer, {}, {}});
  warnings.look("cube.hbm.buffer", "a channel",
                {cube.hbm.channel_bandwidth(), cube.hbm.latency, cube.hbm.buffer, {}, {}});
  warnings.look("pe.tcm.buffer", "a port",
                {topology.pe.tcm.bandwidth, Time::picoseconds(1), topology.pe.tcm.buffer, {}, {}});
  look_at_overridden_links(topology, warnings);
  std::vector<Finding> found = warnings.take();
  const DmaSpec& dma = topology.pe.dma;
  if (dma.outstanding > dma.depth) {
    found.push_back(
        {"pe.dma.outstanding",
         fmt::format("a queue holds {} descriptor{} (pe.dma.depth), so that no more than these are under way, "
                     "and {} change nothing; raise pe.dma.depth with it",
                     dma.depth, dma.depth == 1 ? "" : "s", dma.outstanding)});
  }
  return found;
}

}  // namespace kernbench::topology
