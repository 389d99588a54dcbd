// The tightly coupled memory of a PE: room for tiles, and the port through which the DMA engine reaches it.
#pragma once

#include <string>

#include "hardware/fabric/fabric.h"
#include "hardware/reservations.h"
#include "kernbench/coordinates.h"
#include "kernbench/units.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// The port of the DMA engine: the last server of a read, the first of a write.
ServerSpec tcm_port_spec(const topology::Topology& topology, PeCoordinate pe, sim::AgentId agent);

/// Reservations of one PE's TCM, in aligned bytes without fragmentation, granted in order of arrival.
class TcmAllocator : public Reservations {
 public:
  TcmAllocator(Bytes capacity, Bytes alignment)
      : Reservations(capacity.count()), capacity_(capacity), alignment_(alignment) {}
  Bytes capacity() const { return capacity_; }
  Bytes used() const { return Bytes(units_taken()); }
  /// What a request really takes: whole multiples of the alignment.
  Bytes rounded(Bytes request) const;
  /// Suspends the calling fiber, in order of arrival, until `request` (rounded) fits, and takes it.
  /// Requires rounded(request) <= capacity().
  /// Returns the command whose end made room; null when there was no wait, or when a program let a tile go.
  CommandRef reserve(Bytes request);
  void release(Bytes request);
  /// " (1 MiB wanted, 512 KiB of 4 MiB free)" while somebody waits, else empty.
  std::string wanted_text() const;
  /// What is released from now on is let go by this command; null: by programs.
  void released_by(Command* command) { releaser_ = command; }

 private:
  Bytes capacity_, alignment_;
  Command* releaser_ = nullptr;
};

}  // namespace kernbench::hardware
