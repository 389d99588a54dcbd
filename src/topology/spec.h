// The machine as plain, checked values: what a topology file says. The defaults here are those of optional keys; the
// shipped files name all figures, with the same sources in more words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/packets.h"
#include "kernbench/coordinates.h"
#include "kernbench/units.h"
#include "topology/efficiency.h"
#include "topology/engine_operations.h"

namespace kernbench::topology {

/// Free parameters of a model that is not built in, as the file writes them.
using ModelParameterTexts = std::map<std::string, std::string>;

/// One direction of a link: serialisation at `bandwidth`, then `latency`; `buffer` bytes fit into the receiver's buffer
/// (per virtual channel). Without a value it follows from bandwidth and latency (buffers.h). With `packet` it carries
/// payload in packets of at most so many bytes, and serialises `packet_overhead` bytes more with each.
struct LinkSpec {
  Bandwidth bandwidth;
  Time latency;
  std::optional<Bytes> buffer;
  std::optional<Bytes> packet = {};
  Bytes packet_overhead{0};
  Packets packets() const { return {packet.value_or(Bytes(0)), packet_overhead}; }
  /// Payload in each second when all packets are full.
  Bandwidth payload_rate() const { return packets().payload_rate(bandwidth); }
  bool operator==(const LinkSpec&) const = default;
};

/// The host and its PCIe link to each SIP's IO chiplet.
struct HostSpec {
  LinkSpec link;
  Time launch_overhead;  // host time that one launch call costs
  bool operator==(const HostSpec&) const = default;
};

enum class SystemTopology : std::uint8_t { ring_1d, torus_2d, mesh_2d, fully_connected, switched };

struct SystemSpec {
  std::int32_t sips = 1;                              // assumption: one device unless asked for more
  SystemTopology topology = SystemTopology::ring_1d;  // assumption: the fewest links
  std::optional<MeshExtent> mesh;  // of SIPs, for torus_2d and mesh_2d; otherwise the most square one is taken
  LinkSpec link;                   // between SIPs
  bool operator==(const SystemSpec&) const = default;
};

/// How an IO chiplet is bonded to the mesh of cubes: by one link to the first router, or along the west edge, by a link
/// to each cube there.
enum class IoAttachment : std::uint8_t { corner, west_edge };

/// The IO chiplet of a SIP and the IO_CPU on it.
struct IoSpec {
  std::int32_t count = 1;                          // assumption: the only number that is modelled
  IoAttachment attachment = IoAttachment::corner;  // assumption: the fewest links
  Time cpu_latency;                                // IO_CPU: handling of one message or interrupt
  // Completion counters: one write. assumption: read, decrement and compare a register, two cycles of 1 GHz.
  Time counter_write = Time::nanoseconds(2);
  // Launches of one stream that the SIP holds. assumption: as many as CUDA takes of one stream before a further one
  // makes its host wait, which is about a thousand.
  std::int32_t queue = 1024;
  bool operator==(const IoSpec&) const = default;
};

struct SipSpec {
  MeshExtent cubes;
  LinkSpec link;  // one edge of a cube to its neighbour, shared equally by the lanes of that edge
  IoSpec io;
  bool operator==(const SipSpec&) const = default;
};

struct NocSpec {
  LinkSpec link;  // router to router, and PE or HBM slice to router
  // The most bytes that cross the machine as one unit. Measured (docs/model-fabric.md): the largest that moved no
  // bench by more than 2 % against 256 B over links of 128 GB/s.
  Bytes burst{1024};
  // Size of a request, an acknowledgement and a control message; assumption: address, length, route and tag.
  Bytes header{32};
  bool operator==(const NocSpec&) const = default;
};

struct HbmSpec {
  std::string model = "hbm";  // component model, by name
  ModelParameterTexts parameters;
  Bytes capacity;         // of the cube; each PE owns an equal slice
  Bandwidth bandwidth;    // of the cube; each channel has an equal part
  Efficiency efficiency;  // the part of it that refresh and turning the bus round leave to accesses
  // Of the cube; each PE's slice owns an equal number. source: JESD238, 16 channels of two pseudo channels.
  std::int32_t channels = 32;
  Time latency;  // first byte after the access starts
  // From the landing of an atomic's operand to its answer; assumption: a few cycles of the memory controller.
  Time atomic = Time::nanoseconds(5);
  // Consecutive granules go to different channels of the slice. source: JESD238, page of a pseudo channel.
  Bytes interleave{1024};
  // Smallest access; a shorter one costs this much. source: JESD238, a burst is 32 B; assumption: two of them.
  Bytes access{64};
  // Bytes of each read that each channel may have on their way out of the memory controller; as for links.
  std::optional<Bytes> buffer;
  /// Of one channel, what accesses get.
  Bandwidth channel_bandwidth() const {
    return efficiency.of(Bandwidth::bytes_per_second(bandwidth.count() / channels));
  }
  bool operator==(const HbmSpec&) const = default;
};

/// Where the SRAM of a cube meets the network: behind the router of PE 0, or behind each router by a port of its own.
enum class SramPorts : std::uint8_t { first_router, every_router };

struct SramSpec {
  Bytes capacity;
  Bandwidth bandwidth;
  Time latency = Time::nanoseconds(5);        // assumption: a few cycles of a banked array
  SramPorts ports = SramPorts::first_router;  // assumption: the fewest wires
  bool operator==(const SramSpec&) const = default;
};

struct ManagementCpuSpec {
  Time latency;  // M_CPU: handling of one message or interrupt
  // Completion counters: one write; assumption: as in the IO chiplet.
  Time counter_write = Time::nanoseconds(2);
  bool operator==(const ManagementCpuSpec&) const = default;
};

struct CubeSpec {
  MeshExtent pes;
  NocSpec noc;
  HbmSpec hbm;
  SramSpec sram;
  ManagementCpuSpec m_cpu;
  /// Of one PE's slice of the HBM: its channels together.
  Bandwidth slice_bandwidth() const {
    return Bandwidth::bytes_per_second(hbm.channel_bandwidth().count() * (hbm.channels / pes.count()));
  }
  bool operator==(const CubeSpec&) const = default;
};

struct TcmSpec {
  Bytes capacity;
  Bandwidth bandwidth;          // of the DMA port, and of the engines' port
  Bytes alignment{64};          // reservations are rounded up to this; assumption: one line
  std::optional<Bytes> buffer;  // as for links
  bool operator==(const TcmSpec&) const = default;
};

struct GemmSpec {
  std::string model = "systolic";
  ModelParameterTexts parameters;
  MeshExtent array;        // width = columns C, height = rows R
  GemmRates rate;          // steps of k for each cycle, by operand type
  Efficiency efficiency;   // the part of the cycles in which the array takes a step
  std::int32_t queue = 8;  // commands; assumption
  bool operator==(const GemmSpec&) const = default;
};

struct VectorSpec {
  std::string model = "simd";
  ModelParameterTexts parameters;
  std::int32_t lanes = 128;         // 32-bit lanes; assumption
  Bytes narrowest{4};               // smaller elements occupy this much of a lane; assumption: lanes do not divide
  std::int32_t startup_cycles = 8;  // assumption: depth of the pipeline
  VectorCycles cycles;              // for each group of lanes, by operation
  std::int32_t queue = 8;           // commands; assumption
  bool operator==(const VectorSpec&) const = default;
};

/// Cycles of one group of lanes.
constexpr std::int32_t cycles(const VectorSpec& spec, VectorOperation operation) {
  return spec.cycles[operation];
}

struct DmaSpec {
  std::string model = "dma";
  ModelParameterTexts parameters;
  std::int32_t queues = 4;  // assumption
  std::int32_t depth = 8;   // descriptors per queue; assumption
  // Descriptors of one queue under way at a time; assumption: with setup of 30 ns they cover an HBM access.
  std::int32_t outstanding = 4;
  Time setup;  // per descriptor
  bool operator==(const DmaSpec&) const = default;
};

struct SchedulerSpec {
  Time issue = Time::nanoseconds(1);  // one operation of a composite command to an engine; at least 1 ps; assumption
  std::int32_t queue = 2;             // composite commands, the one under way included; assumption
  bool operator==(const SchedulerSpec&) const = default;
};

struct IpcqSpec {
  std::int32_t queues = 8;  // to send, and as many to receive; assumption
  std::int32_t depth = 8;   // commands per queue; assumption
  Time meta_latency;
  Time wake = Time::nanoseconds(20);           // of a sleeping queue by a credit; assumption: leaving a clock gate
  Time poll_interval = Time::nanoseconds(10);  // assumption: ten cycles of a loop that reads one register
  Bytes capacity{1 << 20};                     // for slots of kind tcm; assumption: a quarter of a usual TCM
  std::int32_t signals = 8192;                 // words; assumption: far more than a set of a few dozen members asks for
  bool operator==(const IpcqSpec&) const = default;
};

struct ControlSpec {
  Time issue;          // PE control processor: one command to an engine; at least 1 ps
  Time start_latency;  // from the launch message to the first instruction
  Time scalar_read;    // reading one scalar of a tile (item)
  bool operator==(const ControlSpec&) const = default;
};

struct MmuSpec {
  // Unit of translation and of allocation. source: NVIDIA, "Pascal MMU Format" (open-gpu-doc): 4 KiB, 64 KiB and 2 MiB.
  Bytes page{65536};
  std::int32_t tlb_entries = 512;      // assumption: they reach 32 MiB, eight TCMs of 4 MiB
  Time miss = Time::nanoseconds(120);  // of one walk; assumption: one entry from the HBM, upper levels are cached
  std::int32_t walkers = 8;            // walks of one descriptor that overlap; assumption
  bool operator==(const MmuSpec&) const = default;
};

struct PeSpec {
  Frequency clock;
  std::int32_t contexts = 2;  // assumption: one program computes while another one communicates
  ControlSpec control;
  TcmSpec tcm;
  GemmSpec gemm;
  VectorSpec vector;
  DmaSpec dma;
  SchedulerSpec scheduler;
  IpcqSpec ipcq;
  MmuSpec mmu;
  bool operator==(const PeSpec&) const = default;
};

/// What is different of the parts with one name, or of all whose names fit a pattern; what has no value here is as
/// for the others. Keys of links are for links, keys of PEs for PEs.
struct PartOverride {
  std::string part;  // "sip1.cube2.pe5", "sip0.io.to_sip1"; '*' stands for any characters but '.'
  std::optional<Bandwidth> bandwidth;
  std::optional<Time> latency;
  std::optional<Bytes> buffer;
  std::optional<bool> failed;  // the link carries nothing
  std::optional<Frequency> clock;
  std::optional<MeshExtent> gemm_array;
  std::optional<std::int32_t> vector_lanes;
  bool operator==(const PartOverride&) const = default;
};

/// Where the file or an override has a parameter of a model: "cube.hbm.parameters.row" is at "x.yaml:12:7". It is no
/// part of what a machine is.
struct ModelParameterPlaces {
  std::map<std::string, std::string> places;
  bool operator==(const ModelParameterPlaces&) const { return true; }
};

/// A whole machine.
struct Topology {
  std::string name;
  HostSpec host;
  SystemSpec system;
  SipSpec sip;
  CubeSpec cube;
  PeSpec pe;
  std::vector<PartOverride> overrides;  // of one part, the later one wins, value by value
  ModelParameterPlaces parameter_places;

  std::int32_t pes_per_sip() const { return sip.cubes.count() * cube.pes.count(); }
  bool operator==(const Topology&) const = default;
};

}  // namespace kernbench::topology
