// The one description of every spec: keys, documentation, ranges and defaults. Reading a file, checking, printing, the
// reference table and the JSON schema are visitors over it; there is no second list of the keys.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/address.h"
#include "topology/models.h"
#include "topology/spec.h"

namespace kernbench::topology {

/// What is known of one key besides its value. The default of a key that is not required is the value of its member in
/// a default-constructed Topology. Bounds are counts in the base unit of the member's type (ps, B, B/s, Hz, 1), and
/// inclusive; of a mesh, they hold for both extents, of a rate for both parts of the fraction.
struct Field {
  std::string_view key;
  std::string_view documentation;
  bool required = false;
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
  std::span<const std::string_view> choices = {};  // the only valid texts, if not empty
  ModelKind models = ModelKind::none;              // whose names are valid texts, too
};

/// The names of SystemTopology's values, in their order.
inline constexpr std::array<std::string_view, 5> kSystemTopologyNames{"ring_1d", "torus_2d", "mesh_2d",
                                                                      "fully_connected", "switched"};

/// The names of IoAttachment's values, in their order.
inline constexpr std::array<std::string_view, 2> kIoAttachmentNames{"corner", "west_edge"};
/// Likewise SramPorts.
inline constexpr std::array<std::string_view, 2> kSramPortsNames{"first_router", "every_router"};

/// How a yes or no is written: false, then true.
inline constexpr std::array<std::string_view, 2> kTruthNames{"false", "true"};

namespace limits {

// Wide enough for any machine, narrow enough that no sum or product of the model overflows.
inline constexpr std::int64_t time = 1'000'000'000'000;           // 1 s
inline constexpr std::int64_t bytes = std::int64_t{1} << 50;      // 1 PiB
inline constexpr std::int64_t bandwidth = 1'000'000'000'000'000;  // 1 PB/s
inline constexpr std::int64_t frequency = 1'000'000'000'000;      // 1 THz: a cycle is at least 1 ps
// What a physical address can say.
inline constexpr std::int64_t hbm = address_limit(AddressSpace::hbm).count();
inline constexpr std::int64_t sram = address_limit(AddressSpace::sram).count();
inline constexpr std::int64_t tcm = address_limit(AddressSpace::tcm).count();
inline constexpr std::int64_t buffer = std::int64_t{1} << 40;
inline constexpr std::int64_t packet = 1 << 16;
inline constexpr std::int64_t least_efficiency = 1'000;  // a thousandth
inline constexpr std::int64_t mesh = 1 << 10;
inline constexpr std::int64_t sips = 1 << 12;

}  // namespace limits

/// S is Spec or const Spec.
template <class S, class Spec>
concept SpecOf = std::same_as<std::remove_const_t<S>, Spec>;

// A visitor V has
//   template <class T> void field(const Field&, T& member);             one key
//   template <class F> void section(std::string_view key, std::string_view documentation, F visit_keys);   a mapping
//   void parts(std::string_view key, std::string_view documentation, std::vector<PartOverride>&);   a mapping by name
// and is called in the order in which the keys are printed.

template <class V, SpecOf<LinkSpec> S>
void describe(V& visit, S& link) {
  visit.field({"bandwidth", "bytes serialised per second", true, 1, limits::bandwidth}, link.bandwidth);
  visit.field({"latency", "from the end of serialisation to the far end; 0ps counts as 1ps", true, 0, limits::time},
              link.latency);
  visit.field(
      {"buffer",
       "bytes that fit into the receiver's buffer, per virtual channel and traffic class; without it, enough for "
       "the bandwidth",
       false, 1, limits::buffer},
      link.buffer);
  visit.field({"packet", "largest payload of a packet; without it, packets cost nothing", false, 1, limits::packet},
              link.packet);
  visit.field({"packet_overhead", "bytes that each packet has beside its payload: headers, checks, framing", false, 0,
               limits::packet},
              link.packet_overhead);
}

template <class V, SpecOf<HostSpec> S>
void describe(V& visit, S& host) {
  visit.section("link", "PCIe between the host and the IO chiplet of each SIP, each direction",
                [&] { describe(visit, host.link); });
  visit.field({"launch_overhead", "host time that one launch call costs", true, 0, limits::time}, host.launch_overhead);
}

template <class V, SpecOf<SystemSpec> S>
void describe(V& visit, S& system) {
  visit.section("sips", "the SIPs of the system and how their IO chiplets are wired", [&] {
    visit.field({"count", "number of SIPs (devices)", false, 1, limits::sips}, system.sips);
    visit.field({"topology", "how the SIPs are wired", false, 0, 0, kSystemTopologyNames}, system.topology);
    visit.field({"mesh", "extents of torus_2d and mesh_2d; without it the most square ones", false, 1, limits::sips},
                system.mesh);
    visit.section("link", "between the IO chiplets of two neighbouring SIPs, or one and the switch, each direction",
                  [&] { describe(visit, system.link); });
  });
}

template <class V, SpecOf<IoSpec> S>
void describe(V& visit, S& io) {
  visit.field({"count", "IO chiplets of a SIP; one is modelled", false, 1, 1}, io.count);
  visit.field({"attachment", "one link to the router at (0, 0), or one to each cube of the west edge", false, 0, 0,
               kIoAttachmentNames},
              io.attachment);
  visit.field({"cpu_latency", "IO_CPU: handling of one message or interrupt", true, 0, limits::time}, io.cpu_latency);
  visit.field({"counter_write", "completion counters: one write, by a cube that has ended", false, 0, limits::time},
              io.counter_write);
  visit.field(
      {"queue", "launches of one stream that the SIP holds; a further one makes the host wait", false, 1, 1 << 16},
      io.queue);
}

template <class V, SpecOf<SipSpec> S>
void describe(V& visit, S& sip) {
  visit.section("cubes", "the cubes of a SIP", [&] {
    visit.field({"mesh", "extents of the mesh of cubes", true, 1, limits::mesh}, sip.cubes);
    visit.section("link", "one edge of a cube to its neighbour, each direction; the lanes of the edge share it equally",
                  [&] { describe(visit, sip.link); });
  });
  visit.section("io", "the IO chiplet", [&] { describe(visit, sip.io); });
}

template <class V, SpecOf<NocSpec> S>
void describe(V& visit, S& noc) {
  visit.section("link", "router to router within a cube, and router to PE, HBM slice or M_CPU, each direction",
                [&] { describe(visit, noc.link); });
  visit.field({"burst", "largest unit of transfer, of as many rows as it holds", false, 1, 1 << 20}, noc.burst);
  visit.field({"header", "size of a request, an acknowledgement and a control message", false, 1, 1 << 16}, noc.header);
}

template <class V, class S>
void describe_model(V& visit, ModelKind kind, S& component) {
  visit.field({"model", "component model", false, 0, 0, built_in_models(kind), kind}, component.model);
  visit.field({"parameters", "of a model that is not built in", false}, component.parameters);
}

template <class V, SpecOf<HbmSpec> S>
void describe(V& visit, S& hbm) {
  describe_model(visit, ModelKind::hbm, hbm);
  visit.field({"capacity", "of the cube; each PE's slice is an equal part", true, 1, limits::hbm}, hbm.capacity);
  visit.field({"bandwidth", "of the cube; each channel has an equal part", true, 1, limits::bandwidth}, hbm.bandwidth);
  visit.field({"efficiency", "the part of the bandwidth that refresh and turning the bus round leave to accesses",
               false, limits::least_efficiency, Efficiency::kOne},
              hbm.efficiency);
  visit.field({"channels", "of the cube; each PE's slice owns an equal number", false, 1, 1 << 14}, hbm.channels);
  visit.field({"latency", "from the start of an access to its first byte; 0ps counts as 1ps", true, 0, limits::time},
              hbm.latency);
  visit.field({"atomic", "from the landing of an atomic's operand to its answer", false, 0, limits::time}, hbm.atomic);
  visit.field(
      {"interleave", "granule of which consecutive ones go to different channels of a slice", false, 1, 1 << 20},
      hbm.interleave);
  visit.field({"access", "smallest access; a shorter one costs this much", false, 1, 1 << 20}, hbm.access);
  visit.field(
      {"buffer",
       "bytes of a read that each channel may have on their way out of the memory controller; without it, enough for "
       "the bandwidth",
       false, 1, limits::buffer},
      hbm.buffer);
}

template <class V, SpecOf<SramSpec> S>
void describe(V& visit, S& sram) {
  visit.field({"capacity", "of the cube", true, 1, limits::sram}, sram.capacity);
  visit.field({"bandwidth", "of the cube", true, 1, limits::bandwidth}, sram.bandwidth);
  visit.field({"latency", "from the start of an access to its first byte; 0ps counts as 1ps", false, 0, limits::time},
              sram.latency);
  visit.field(
      {"ports", "one at the router of PE 0, or one at every router, for the PE there", false, 0, 0, kSramPortsNames},
      sram.ports);
}

template <class V, SpecOf<ManagementCpuSpec> S>
void describe(V& visit, S& m_cpu) {
  visit.field({"latency", "M_CPU: handling of one message or interrupt", true, 0, limits::time}, m_cpu.latency);
  visit.field({"counter_write", "completion counters: one write, by a PE that has ended", false, 0, limits::time},
              m_cpu.counter_write);
}

template <class V, SpecOf<CubeSpec> S>
void describe(V& visit, S& cube) {
  visit.section("pes", "the PEs of a cube", [&] {
    visit.field({"mesh", "extents of the mesh of PEs, each with a router", true, 1, limits::mesh}, cube.pes);
  });
  visit.section("noc", "the network on the logic die", [&] { describe(visit, cube.noc); });
  visit.section("hbm", "the HBM stack", [&] { describe(visit, cube.hbm); });
  visit.section("sram", "the SRAM that the PEs of a cube share", [&] { describe(visit, cube.sram); });
  visit.section("m_cpu", "the management CPU, which starts the cube's PEs", [&] { describe(visit, cube.m_cpu); });
}

template <class V, SpecOf<ControlSpec> S>
void describe(V& visit, S& control) {
  visit.field({"issue", "one command to an engine", true, 1, limits::time}, control.issue);
  visit.field({"start_latency", "from the launch message to the first instruction", true, 0, limits::time},
              control.start_latency);
  visit.field({"scalar_read", "reading one scalar of a tile", true, 0, limits::time}, control.scalar_read);
}

template <class V, SpecOf<TcmSpec> S>
void describe(V& visit, S& tcm) {
  visit.field({"capacity", "of the PE", true, 1, limits::tcm}, tcm.capacity);
  visit.field({"bandwidth", "of the DMA port, and of the engines' port", true, 1, limits::bandwidth}, tcm.bandwidth);
  visit.field({"alignment", "reservations are rounded up to a multiple of this", false, 1, 1 << 20}, tcm.alignment);
  visit.field({"buffer", "bytes that fit into the port's buffer; without it, enough for the bandwidth", false, 1,
               limits::buffer},
              tcm.buffer);
}

template <class V, SpecOf<GemmSpec> S>
void describe(V& visit, S& gemm) {
  describe_model(visit, ModelKind::gemm, gemm);
  visit.field({"array", "columns and rows of the array of multiply-accumulate cells", true, 1, 1 << 12}, gemm.array);
  visit.section("rate", "steps of k that the array takes in each cycle, by the type of the operands", [&] {
    for (const GemmOperandInfo& info : kGemmOperands) {
      visit.field({info.key, info.documentation, false, 1, 1 << 10}, gemm.rate[info.operand]);
    }
  });
  visit.field({"efficiency", "the part of the cycles in which the array takes a step of its rate", false,
               limits::least_efficiency, Efficiency::kOne},
              gemm.efficiency);
  visit.field({"queue", "commands that wait before the PE stalls", false, 1, 1 << 16}, gemm.queue);
}

template <class V, SpecOf<VectorSpec> S>
void describe(V& visit, S& vector) {
  describe_model(visit, ModelKind::vector, vector);
  visit.field({"lanes", "32-bit lanes", false, 1, 1 << 16}, vector.lanes);
  visit.field({"narrowest", "smallest part of a lane: with 2B or 1B, smaller elements share a lane", false, 1, 4},
              vector.narrowest);
  visit.field({"startup_cycles", "cycles before the first result", false, 0, 1 << 16}, vector.startup_cycles);
  visit.section("cycles", "cycles for each group of lanes, by operation", [&] {
    for (const VectorOperationInfo& info : kVectorOperations) {
      visit.field({info.key, info.documentation, false, 1, 1 << 10}, vector.cycles[info.operation]);
    }
  });
  visit.field({"queue", "commands that wait before the PE stalls", false, 1, 1 << 16}, vector.queue);
}

template <class V, SpecOf<DmaSpec> S>
void describe(V& visit, S& dma) {
  describe_model(visit, ModelKind::dma, dma);
  visit.field({"queues", "queues that work side by side", false, 1, 1 << 8}, dma.queues);
  visit.field({"depth", "descriptors per queue", false, 1, 1 << 16}, dma.depth);
  visit.field({"outstanding", "descriptors of one queue under way at a time, at most its depth", false, 1, 1 << 10},
              dma.outstanding);
  visit.field({"setup", "per descriptor", true, 0, limits::time}, dma.setup);
}

template <class V, SpecOf<SchedulerSpec> S>
void describe(V& visit, S& scheduler) {
  visit.field({"issue", "one operation of a composite command to an engine", false, 1, limits::time}, scheduler.issue);
  visit.field({"queue", "composite commands that wait, the one under way included", false, 1, 1 << 16},
              scheduler.queue);
}

template <class V, SpecOf<IpcqSpec> S>
void describe(V& visit, S& ipcq) {
  visit.field({"queues", "queues of a PE to send, and as many to receive", false, 1, 1 << 10}, ipcq.queues);
  visit.field({"depth", "commands per queue", false, 1, 1 << 16}, ipcq.depth);
  visit.field({"meta_latency", "update of a queue's pointers", true, 0, limits::time}, ipcq.meta_latency);
  visit.field({"wake", "a credit wakes a queue that sleeps for want of one", false, 0, limits::time}, ipcq.wake);
  visit.field({"poll_interval", "between two looks for a credit of a queue that polls", false, 1, limits::time},
              ipcq.poll_interval);
  visit.field({"capacity", "memory for slots of kind tcm, behind the TCM's port", false, 1, 1 << 26}, ipcq.capacity);
  visit.field({"signals", "signal words of a PE, registers of 64 bits", false, 1, 1 << 20}, ipcq.signals);
}

template <class V, SpecOf<MmuSpec> S>
void describe(V& visit, S& mmu) {
  visit.field({"page", "unit of translation and of allocation, a power of two", false, 1, std::int64_t{1} << 30},
              mmu.page);
  visit.field(
      {"tlb_entries", "translations that a PE keeps; times the page this is the TLB's reach", false, 1, 1 << 20},
      mmu.tlb_entries);
  visit.field({"miss", "one walk of the page table", false, 0, limits::time}, mmu.miss);
  visit.field({"walkers", "walks of one descriptor that overlap", false, 1, 1 << 10}, mmu.walkers);
}

template <class V, SpecOf<PeSpec> S>
void describe(V& visit, S& pe) {
  visit.field({"clock", "of the engines", true, 1, limits::frequency}, pe.clock);
  visit.field({"contexts", "programs that run at a time", false, 1, 1 << 8}, pe.contexts);
  visit.section("control", "the control processor", [&] { describe(visit, pe.control); });
  visit.section("tcm", "the tightly coupled scratchpad", [&] { describe(visit, pe.tcm); });
  visit.section("gemm", "the GEMM engine", [&] { describe(visit, pe.gemm); });
  visit.section("vector", "the vector engine", [&] { describe(visit, pe.vector); });
  visit.section("dma", "the DMA engine", [&] { describe(visit, pe.dma); });
  visit.section("scheduler", "the scheduler of composite commands", [&] { describe(visit, pe.scheduler); });
  visit.section("ipcq", "the inter-PE communication queues", [&] { describe(visit, pe.ipcq); });
  visit.section("mmu", "address translation", [&] { describe(visit, pe.mmu); });
}

template <class V, SpecOf<PartOverride> S>
void describe(V& visit, S& part) {
  visit.field({"bandwidth", "of links", false, 1, limits::bandwidth}, part.bandwidth);
  visit.field({"latency", "of links; 0ps counts as 1ps", false, 0, limits::time}, part.latency);
  visit.field({"buffer", "of links", false, 1, limits::buffer}, part.buffer);
  visit.field(
      {"failed", "of links: nothing goes over them, in either direction between SIPs", false, 0, 0, kTruthNames},
      part.failed);
  visit.field({"clock", "of PEs", false, 1, limits::frequency}, part.clock);
  visit.field({"gemm_array", "of PEs, as pe.gemm.array", false, 1, 1 << 12}, part.gemm_array);
  visit.field({"vector_lanes", "of PEs, as pe.vector.lanes", false, 1, 1 << 16}, part.vector_lanes);
}

template <class V, SpecOf<Topology> S>
void describe(V& visit, S& topology) {
  visit.field({"name", "letters, digits, '.', '_' and '-'", true}, topology.name);
  visit.section("host", "the host", [&] { describe(visit, topology.host); });
  visit.section("system", "all SIPs", [&] { describe(visit, topology.system); });
  visit.section("sip", "one SIP; all are equal but for overrides", [&] { describe(visit, topology.sip); });
  visit.section("cube", "one cube; all are equal", [&] { describe(visit, topology.cube); });
  visit.section("pe", "one PE; all are equal but for overrides", [&] { describe(visit, topology.pe); });
  visit.parts("overrides", "links and PEs that differ from the others, by name", topology.overrides);
}

}  // namespace kernbench::topology
