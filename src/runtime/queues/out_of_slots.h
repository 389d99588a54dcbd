// Slots that find no room.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "kernbench/error.h"

namespace kernbench::runtime {

/// The slots of a channel do not fit into the memory of its receiver.
class OutOfSlotsError : public OutOfMemoryError {
 public:
  OutOfSlotsError(const std::string& message, std::string memory, std::int32_t slots)
      : OutOfMemoryError(message), memory_(std::move(memory)), slots_(slots) {}
  /// "sip0.cube2.pe5.ipcq"
  const std::string& memory() const { return memory_; }
  /// So many of the channel.
  std::int32_t slots() const { return slots_; }

 private:
  std::string memory_;
  std::int32_t slots_;
};

}  // namespace kernbench::runtime
