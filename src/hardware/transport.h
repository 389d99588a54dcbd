// Routes of the machine as stages of the fabric, and the small messages that travel on them.
#pragma once

#include <vector>

#include "hardware/fabric/fabric.h"
#include "hardware/layout.h"
#include "kernbench/coordinates.h"
#include "kernbench/units.h"
#include "topology/network.h"

namespace kernbench::hardware {

/// Who sends: the agent and its own operation number, which break the ties of what it sends.
struct Sender {
  sim::AgentId agent;
  std::uint64_t operation = 0;
};

class Transport {
 public:
  Transport(Fabric& fabric, const topology::Network& network, const Layout& layout, const topology::CubeSpec& cube);

  /// Appends the links from one endpoint to another; nothing where they are wired directly.
  void append_links(std::vector<Stage>& route, topology::Endpoint from, topology::Endpoint to,
                    VirtualNetwork network) const;
  Stage channels(PeCoordinate slice, VirtualNetwork network) const;
  Stage tcm_port(PeCoordinate pe, VirtualNetwork network) const;
  Stage sram(CubeCoordinate cube, VirtualNetwork network) const;

  /// Starts moving data now, and fills `log` if there is one. Called in the deliver phase, as is message().
  void transfer(const Sender& sender, std::vector<Stage> route, std::vector<StridedRange> ranges,
                sim::Callback departed, sim::Callback delivered, TransferLog* log = nullptr);
  /// From memory to memory: the bytes of `from` become those of `to`.
  void transfer(const Sender& sender, std::vector<Stage> route, std::vector<StridedRange> from,
                std::vector<StridedRange> to, sim::Callback departed, sim::Callback delivered,
                TransferLog* log = nullptr);
  /// The same in chunks of a size of its own, which divides the network's where the route has HBM channels.
  void transfer_in_chunks(const Sender& sender, std::vector<Stage> route, std::vector<StridedRange> ranges, Bytes chunk,
                          sim::Callback departed, sim::Callback delivered, TransferLog* log = nullptr);
  /// Sends one header now; `delivered` is called when it arrives (at once where the ends are wired directly).
  void message(const Sender& sender, topology::Endpoint from, topology::Endpoint to, VirtualNetwork network,
               sim::Callback delivered, TransferLog* log = nullptr);
  /// Likewise a message of `bytes`.
  void message(const Sender& sender, topology::Endpoint from, topology::Endpoint to, VirtualNetwork network,
               Bytes bytes, sim::Callback delivered, TransferLog* log = nullptr);
  Bytes header() const { return header_; }
  const Fabric& fabric() const { return fabric_; }

 private:
  Fabric& fabric_;
  const topology::Network& network_;
  const Layout& layout_;
  Bytes chunk_, header_;
};

/// Calls `callback` now.
inline void invoke(const sim::Callback& callback) {
  if (callback.function != nullptr) callback.function(callback.object, callback.argument);
}

}  // namespace kernbench::hardware
