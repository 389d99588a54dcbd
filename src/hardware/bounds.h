// Lower bounds: the least time that commands can take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/flat_table.h"
#include "hardware/command.h"
#include "hardware/layout.h"
#include "kernbench/coordinates.h"
#include "kernbench/units.h"
#include "topology/network.h"
#include "topology/pe_specs.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// The least time of a command, in parts.
struct CommandBound {
  Time setup;    // DMA: of the descriptor
  Time request;  // DMA: the request of a read, the acknowledgement of a write, the answer of an atomic
  Time latency;  // DMA: of the memory and of the route, for data
  Time work;     // DMA: beyond that, from the first byte leaving its memory to the last byte's arrival; compute: the
                 // command
  std::size_t leg = 0;  // DMA: the one that takes longest
  Time total() const { return setup + request + latency + work; }
};

/// Payload in each second when all packets are full, rounded up.
Bandwidth at_best(const topology::LinkSpec& link);

/// Closed forms, all of them at most the real times:
///   leg     = latencies of its route + the longest of: all bytes on the slowest link, on the TCM port; all accesses
///   spread
///             evenly over the slice's channels; the largest access on one channel
///   DMA     = setup + the longest over its legs of (message + leg); of an atomic (leg + hbm.atomic + its answer); of a
///             multicast with the message to its home slice before that one's to the slice
///   queue   = all bytes on the TCM port
///   compute = the cycles of an array (of lanes) that is full in every one: no filling, draining, partial fold or group
/// What a model of the caller's own decides counts as nothing. Not for use by several threads.
class Bounds {
 public:
  /// The references must outlive the bounds.
  Bounds(const topology::Topology& topology, const topology::PeSpecs& pe_specs, const topology::Network& network,
         const Layout& layout)
      : topology_(topology), pe_specs_(pe_specs), network_(network), layout_(layout) {}

  /// Of a command of a program on `pe`.
  CommandBound of(PeCoordinate pe, const Command& command);

 private:
  /// What a route between a PE, or its slice, and a memory adds.
  struct Path {
    Time latency;
    Bandwidth slowest;  // 0 where there is no link
  };
  enum class Way : std::uint8_t { to_slice, from_slice, between_slices, to_sram, from_sram };
  Path path(PeCoordinate pe, PeCoordinate other, Way way);
  static Way way_of(const DmaLeg& leg, bool to_memory);
  Time message(const Path& path) const;
  Time request(PeCoordinate pe, const DmaWork& work, const DmaLeg& leg);
  Time answer(const Path& path, const DmaLeg& leg) const;
  /// The bytes of a leg on their way.
  struct Move {
    Time latency, service;
  };
  Move data(const Path& path, const DmaLeg& leg) const;
  Move sram_data(const Path& path, const DmaLeg& leg) const;
  CommandBound dma(PeCoordinate pe, const DmaWork& work);

  const topology::Topology& topology_;
  const topology::PeSpecs& pe_specs_;
  const topology::Network& network_;
  const Layout& layout_;
  FlatTable<Path> paths_;
};

}  // namespace kernbench::hardware
