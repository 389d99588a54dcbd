// The ways between the TCM of one PE and memory of another one that serves communication.
#pragma once

#include <span>

#include "base/address.h"
#include "hardware/transport.h"
#include "kernbench/coordinates.h"
#include "kernbench/queues.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// Bytes that PEs reach through the fabric: queue memory behind the port of the owner's TCM, its HBM slice, or the SRAM
/// of its cube.
struct MemoryPlace {
  BufferKind buffer_kind = BufferKind::tcm;
  PeCoordinate owner;
  PhysAddr address;
  Bytes bytes;
  Bytes chunk;  // largest unit on the way
};

/// Moves bytes. The references must outlive it. Called in the deliver phase.
class MemoryPath {
 public:
  MemoryPath(Transport& transport, const topology::Topology& topology) : transport_(transport), topology_(topology) {}

  /// The memory of an owner in the network.
  TransferEnd end_of(BufferKind buffer_kind, PeCoordinate owner) const;

  /// What bytes that `writer` writes pass. Kept for ever.
  std::span<const Stage> way(PeCoordinate writer, const MemoryPlace& place) const;
  /// From the TCM of `writer`, on the request network.
  void write(const Sender& sender, PeCoordinate writer, const MemoryPlace& place, sim::Callback departed,
             sim::Callback delivered, TransferLog* log = nullptr);
  /// A request of `reader` reaches the memory: at once where both are one endpoint.
  void request(const Sender& sender, PeCoordinate reader, const MemoryPlace& place, sim::Callback delivered);
  /// Into the TCM of `reader`, on the response network. The route that it takes.
  std::span<const Stage> read(const Sender& sender, PeCoordinate reader, const MemoryPlace& place,
                              sim::Callback departed, sim::Callback delivered);

 private:
  TransferEnd end_of(const MemoryPlace& place) const { return end_of(place.buffer_kind, place.owner); }
  void move(const Sender& sender, std::span<const Stage> route, const MemoryPlace& place, sim::Callback departed,
            sim::Callback delivered, TransferLog* log);

  Transport& transport_;
  const topology::Topology& topology_;
};

}  // namespace kernbench::hardware
