// The ways to and from the slots of a channel.
#pragma once

#include "hardware/ipcq/channel.h"
#include "hardware/ipcq/memory_path.h"

namespace kernbench::hardware {

/// Moves the bytes of a channel.
class SlotPath {
 public:
  /// `path` must outlive it.
  explicit SlotPath(MemoryPath& path) : path_(path) {}

  /// From the sender's TCM into a slot, on the request network. The route that it takes.
  std::span<const Stage> fill(const Sender& sender, const Channel& channel, std::int32_t slot, Bytes bytes,
                              sim::Callback departed, sim::Callback delivered, TransferLog* log);
  /// The request for the bytes of a slot reaches its memory: at once, but for SRAM.
  void request(const Sender& sender, const Channel& channel, sim::Callback delivered);
  /// From a slot into the receiver's TCM, on the response network.
  void drain(const Sender& sender, const Channel& channel, std::int32_t slot, Bytes bytes, sim::Callback departed,
             sim::Callback delivered);

 private:
  MemoryPath& path_;
};

}  // namespace kernbench::hardware
