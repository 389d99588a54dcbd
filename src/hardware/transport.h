// Routes of the machine as stages of the fabric, and the small messages that travel on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/flat_table.h"
#include "hardware/fabric/fabric.h"
#include "hardware/fabric/tree.h"
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

/// Where a transfer begins or ends: an endpoint of the network, and the servers of the memory there, if they serve it.
struct TransferEnd {
  topology::Endpoint at;
  ServerId server;
  std::uint16_t group = 0;  // 0: none
};

class Transport {
 public:
  Transport(Fabric& fabric, const topology::Network& network, const Layout& layout, const topology::CubeSpec& cube);

  TransferEnd slice(PeCoordinate owner) const;
  TransferEnd tcm(PeCoordinate pe) const;
  /// The SRAM of the PE's cube, by the port that is this PE's.
  TransferEnd sram(PeCoordinate by) const;
  /// What a leg touches: `sram(at)`, or the slice.
  TransferEnd memory(AddressSpace space, PeCoordinate at) const {
    return space == AddressSpace::sram ? sram(at) : slice(at);
  }
  /// Without a memory.
  static TransferEnd end(topology::Endpoint at) { return {at, {}, 0}; }

  /// The stages from one end to the other: the first memory, the links, the last memory. Kept for ever.
  std::span<const Stage> route(const TransferEnd& from, const TransferEnd& to, VirtualNetwork network);
  /// Likewise by way of the copy engine's end of the host link of `io`.
  std::span<const Stage> route_by_io(const TransferEnd& from, SipId io, const TransferEnd& to, VirtualNetwork network);

  /// The tree of the routes from one end to the TCMs of several PEs. Kept for ever.
  const Tree& tree(const TransferEnd& from, std::span<const PeCoordinate> to, VirtualNetwork network);

  /// Starts moving data now, and fills `log` if there is one. Called in the deliver phase, as is message(). What
  /// `ranges` refers to, the caller keeps until the transfer is delivered.
  void transfer(const Sender& sender, std::span<const Stage> route, const Ranges& ranges, sim::Callback departed,
                sim::Callback delivered, TransferLog* log = nullptr);
  /// From memory to memory: the bytes of `from` become those of `to`.
  void transfer(const Sender& sender, std::span<const Stage> route, const Ranges& from, const Ranges& to,
                sim::Callback departed, sim::Callback delivered, TransferLog* log = nullptr);
  /// The same in bursts of a size of its own.
  void transfer_in_bursts(const Sender& sender, std::span<const Stage> route, const Ranges& ranges, Bytes burst,
                          sim::Callback departed, sim::Callback delivered, TransferLog* log = nullptr);
  /// Along a tree: each receiver is told. Who calls keeps tree, receivers and log until the last one has been.
  void multicast(const Sender& sender, const Tree& tree, std::span<const Receiver> receivers, const Ranges& ranges,
                 sim::Callback departed, TransferLog* log = nullptr);
  /// Sends one header now; `delivered` is called when it arrives (at once where the ends are wired directly).
  void message(const Sender& sender, topology::Endpoint from, topology::Endpoint to, VirtualNetwork network,
               sim::Callback delivered, TransferLog* log = nullptr);
  /// Likewise a message of `bytes`, one packet.
  void message(const Sender& sender, topology::Endpoint from, topology::Endpoint to, VirtualNetwork network,
               Bytes bytes, sim::Callback delivered, TransferLog* log = nullptr);
  /// A transfer's request as it would be, without callbacks.
  TransferRequest request_of(std::span<const Stage> route, const Ranges& from, const Ranges& to) const;
  Bytes header() const { return header_; }
  Bytes burst() const { return burst_; }
  Bytes granule() const { return granule_; }
  const Fabric& fabric() const { return fabric_; }
  fabric::Skipper& skipper() { return fabric_.skipper(); }

 private:
  struct Way {
    TransferEnd from, to;
    SipId io;
    bool by_io = false;
    VirtualNetwork network = VirtualNetwork::request;
  };
  std::span<const Stage> route(const Way& way);
  /// Of a way that is not by an IO chiplet: one for each.
  std::uint64_t key_of(const Way& way) const;
  std::span<const Stage> new_route(const Way& way);
  void append_links(std::vector<Stage>& route, topology::Endpoint from, topology::Endpoint to,
                    VirtualNetwork network) const;
  TransferRequest request(const Sender& sender, std::span<const Stage> route, const Ranges& ranges,
                          sim::Callback departed, sim::Callback delivered, TransferLog* log) const;

  Fabric& fabric_;
  const topology::Network& network_;
  const Layout& layout_;
  Bytes burst_, granule_, header_;
  FlatTable<std::span<const Stage>> routes_;
  std::map<std::pair<std::int32_t, std::uint64_t>, std::span<const Stage>> routes_by_io_;  // by SIP, and the same key
  std::deque<std::vector<Stage>> stages_;                                                  // of them all
  std::map<std::tuple<topology::Endpoint, VirtualNetwork, std::vector<PeCoordinate>>, Tree> trees_;  // by its ends
};

/// Calls `callback` now.
inline void invoke(const sim::Callback& callback) {
  if (callback.function != nullptr) callback.function(callback.object, callback.argument);
}

}  // namespace kernbench::hardware
