// The window of a PE: memory that other PEs write and read by themselves, and signal words.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "kernbench/coordinates.h"
#include "kernbench/queues.h"
#include "kernbench/units.h"

namespace kernbench::hardware {

constexpr Bytes kSignalWord{8};

/// One row of the tables of windows. Signal words are registers of the owner; their first address, together with the
/// epoch, names the window.
struct Window {
  PeCoordinate owner;
  PhysAddr memory;  // the first byte, in the owner's memory of `buffer_kind`; none when there are no bytes
  Bytes bytes;
  BufferKind buffer_kind = BufferKind::tcm;
  PhysAddr signals;  // the first word; none when there are no words
  std::int32_t words = 0;
  std::uint32_t epoch = 0;  // of the installation

  PhysAddr byte(std::int64_t offset) const { return PhysAddr(memory.value() + static_cast<std::uint64_t>(offset)); }
  PhysAddr word(std::int32_t index) const {
    return PhysAddr(signals.value() + static_cast<std::uint64_t>(index * kSignalWord.count()));
  }
};

}  // namespace kernbench::hardware
