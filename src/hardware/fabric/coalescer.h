// Transfers that have their whole route to themselves: their times from the recurrence, without events per burst.
#pragma once

#include <cstdint>

#include "hardware/fabric/exact_engine.h"
#include "hardware/fabric/recurrence.h"
#include "hardware/fabric/transfer.h"
#include "kernbench/units.h"

namespace kernbench::hardware::fabric {

/// While a transfer is coalesced, its servers keep the state that they had when it started; what it does to them is
/// added when it is delivered, or when a newcomer dissolves it.
class Coalescer {
 public:
  Coalescer(FabricState& state, ExactEngine& engine) : state_(state), engine_(engine) {}

  /// Starts a transfer now. Requires that no other transfer that is under way uses a server of its route.
  void start(TransferSlot slot);
  /// Leaves the servers as the delivered transfer has left them.
  void finish(TransferSlot slot);
  /// Turns the transfer into an exact one, in the state before the arbitrations of this instant.
  void dissolve(TransferSlot slot);
  /// Times have changed.
  void forget() { known_ = kNoTransfer; }
  /// What the transfer that has `server` to itself has done there before now. Cheap for further servers of the same
  /// transfer in the same instant.
  ServerCounters work_before_now(std::uint32_t server);

 private:
  /// Likewise, of a transfer of one burst that meets no memory and no buffer with anything in it: its times follow
  /// stage by stage. False: it is no such transfer, and has not been started.
  bool start_packet(Transfer& transfer);
  /// The events of a transfer whose times are known.
  void schedule(Transfer& transfer, TransferSlot slot);
  /// The state of the transfer's servers when it started, into the lanes.
  void load(const Transfer& transfer);
  /// The servers of the transfer are its own from now on; kNoTransfer: nobody's.
  void plan(const Transfer& transfer, TransferSlot slot);

  FabricState& state_;
  ExactEngine& engine_;
  Recurrence recurrence_;
  TransferSlot known_ = kNoTransfer;  // the transfer whose state before `known_at_` the lanes hold
  Time known_at_;
};

}  // namespace kernbench::hardware::fabric
