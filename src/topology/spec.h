// The machine as plain, checked values: what a topology file says. Every default that the shipped files rely on stands
// in those files with its source; the defaults here are those of optional keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/coordinates.h"
#include "base/units.h"

namespace kernbench::topology {

/// One direction of a link: serialisation at `bandwidth`, then `latency`; `credits` chunks fit into the receiver's
/// buffer (per virtual channel).
struct LinkSpec {
  Bandwidth bandwidth;
  Time latency;
  std::int32_t credits = 16;
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
  std::int32_t sips = 1;
  SystemTopology topology = SystemTopology::ring_1d;
  std::optional<MeshExtent> mesh;  // of SIPs, for torus_2d and mesh_2d; otherwise the most square one is taken
  LinkSpec link;                   // between SIPs
  bool operator==(const SystemSpec&) const = default;
};

/// The IO chiplet of a SIP and the IO_CPU on it.
struct IoSpec {
  std::int32_t count = 1;
  Time cpu_latency;  // IO_CPU: handling of one message
  bool operator==(const IoSpec&) const = default;
};

struct SipSpec {
  MeshExtent cubes;
  LinkSpec link;  // one edge of a cube to its neighbour, shared equally by the lanes of that edge
  IoSpec io;
  bool operator==(const SipSpec&) const = default;
};

struct NocSpec {
  LinkSpec link;      // router to router, and PE or HBM slice to router
  Bytes chunk{1024};  // largest unit of transfer
  Bytes header{32};   // size of a request, an acknowledgement and a control message
  bool operator==(const NocSpec&) const = default;
};

struct HbmSpec {
  std::string model = "hbm";   // component model, by name
  Bytes capacity;              // of the cube; each PE owns an equal slice
  Bandwidth bandwidth;         // of the cube; each channel has an equal part
  std::int32_t channels = 32;  // of the cube; each PE's slice owns an equal number
  Time latency;                // first byte after the access starts
  Bytes interleave{1024};      // consecutive granules go to different channels of the slice
  Bytes access{64};            // smallest access; a shorter one costs this much
  std::int32_t credits = 64;   // chunks each channel may have on their way out of the memory controller
  bool operator==(const HbmSpec&) const = default;
};

struct SramSpec {
  Bytes capacity;
  Bandwidth bandwidth;
  bool operator==(const SramSpec&) const = default;
};

struct ManagementCpuSpec {
  Time latency;  // M_CPU: handling of one message
  bool operator==(const ManagementCpuSpec&) const = default;
};

struct CubeSpec {
  MeshExtent pes;
  NocSpec noc;
  HbmSpec hbm;
  SramSpec sram;
  ManagementCpuSpec m_cpu;
  bool operator==(const CubeSpec&) const = default;
};

struct TcmSpec {
  Bytes capacity;
  Bandwidth bandwidth;  // of the DMA port, and of the engines' port
  Bytes alignment{64};  // reservations are rounded up to this
  std::int32_t credits = 16;
  bool operator==(const TcmSpec&) const = default;
};

struct GemmSpec {
  std::string model = "systolic";
  MeshExtent array;             // width = columns C, height = rows R
  std::int32_t f32_cycles = 4;  // cycles per accumulation step for f32 operands (f16, bf16: 1)
  std::int32_t queue = 8;       // commands
  bool operator==(const GemmSpec&) const = default;
};

struct VectorSpec {
  std::string model = "simd";
  std::int32_t lanes = 128;  // 32-bit lanes
  std::int32_t startup_cycles = 8;
  std::int32_t transcendental_cycles = 4;  // per lane group, for exp and the like
  std::int32_t queue = 8;
  bool operator==(const VectorSpec&) const = default;
};

struct DmaSpec {
  std::string model = "dma";
  std::int32_t queues = 4;
  std::int32_t depth = 8;  // descriptors per queue
  Time setup;              // per descriptor
  bool operator==(const DmaSpec&) const = default;
};

struct IpcqSpec {
  std::int32_t queues = 8;
  Time meta_latency;
  bool operator==(const IpcqSpec&) const = default;
};

struct ControlSpec {
  Time issue;          // PE control processor: one command to an engine; at least 1 ps
  Time start_latency;  // from the launch message to the first instruction
  Time scalar_read;    // reading one scalar of a tile (item)
  bool operator==(const ControlSpec&) const = default;
};

struct MmuSpec {
  Bytes page{4096};
  bool operator==(const MmuSpec&) const = default;
};

struct PeSpec {
  Frequency clock;
  std::int32_t contexts = 2;
  ControlSpec control;
  TcmSpec tcm;
  GemmSpec gemm;
  VectorSpec vector;
  DmaSpec dma;
  IpcqSpec ipcq;
  MmuSpec mmu;
  bool operator==(const PeSpec&) const = default;
};

/// A whole machine.
struct Topology {
  std::string name;
  HostSpec host;
  SystemSpec system;
  SipSpec sip;
  CubeSpec cube;
  PeSpec pe;

  std::int32_t pes_per_sip() const { return sip.cubes.count() * cube.pes.count(); }
  bool operator==(const Topology&) const = default;
};

}  // namespace kernbench::topology
