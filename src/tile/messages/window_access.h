// Common parts of one-sided accesses: the window of the launch, the checks of places and signal words.
#pragma once

#include <cstdint>
#include <vector>

#include "hardware/command.h"
#include "numerics/memory/memory.h"
#include "tile/memory/memory_access.h"
#include "tile/messages/membership.h"
#include "tile/messages/window_table.h"

namespace kernbench::tile {

/// A call of the tile language for the windows of its launch.
struct WindowAccess {
  AccessCall call;
  QueueTable& queues;
  WindowTable& windows;
  std::int32_t self;

  /// NoMemberError when `peer` is nobody.
  std::int32_t member(const tl::Peer& peer) const;
  /// The bytes of a tile at `offset`. OutOfBoundsError when they leave the window; ValueError when they are not aligned
  /// or the tile cannot be.
  Bytes check_inside(std::int32_t member, std::int64_t offset, DType dtype, const tl::Extents& shape) const;
  /// OutOfBoundsError when members have no such signal word.
  std::int32_t signal_index(std::int64_t index) const;
  /// A command for the window of `member` that does nothing yet.
  hardware::WindowWork work_for(std::int32_t member) const;
  /// Where the bytes are.
  std::vector<numerics::Piece> pieces(std::int32_t member, std::int64_t offset, Bytes bytes) const;
};

/// ProgramError ("NoWindowError") when the launch has no window.
WindowAccess window_access(AccessCall call);

}  // namespace kernbench::tile
