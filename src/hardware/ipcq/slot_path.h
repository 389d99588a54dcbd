// The ways to and from the slots of a channel.
#pragma once

#include <span>

#include "hardware/ipcq/channel.h"
#include "hardware/ipcq/memory_path.h"

namespace kernbench::hardware {

/// Moves the bytes of a channel.
class SlotPath {
 public:
  /// `path` must outlive it.
  explicit SlotPath(MemoryPath& path) : path_(path) {}

  /// What a payload passes on its way into a slot. Kept for ever.
  std::span<const Stage> way(const Channel& channel) const;
  /// From the sender's TCM into a slot, on the request network.
  void fill(const Sender& sender, const Channel& channel, std::int32_t slot, Bytes bytes, sim::Callback departed,
            sim::Callback delivered, TransferLog* log);
  /// The request for the bytes of a slot reaches its memory: at once, but for SRAM.
  void request(const Sender& sender, const Channel& channel, sim::Callback delivered);
  /// From a slot into the receiver's TCM, on the response network.
  void drain(const Sender& sender, const Channel& channel, std::int32_t slot, Bytes bytes, sim::Callback departed,
             sim::Callback delivered);

 private:
  MemoryPath& path_;
};

}  // namespace kernbench::hardware
