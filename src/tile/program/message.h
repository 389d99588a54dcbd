// The data of a send and a receive beyond what the hardware moves.
#pragma once

#include <cstddef>
#include <memory>

#include "kernbench/tl.h"
#include "tile/messages/queue_table.h"
#include "tile/program/tile_state.h"

namespace kernbench::tile {

/// One end of a message. Outlives its program: the other end may come later.
struct MessageEnd {
  std::size_t row = 0;  // of the table
  Site site;
  DType dtype = DType::f32;
  tl::Extents shape;
  std::shared_ptr<TileValue> value;  // of a send: what it carries; of a receive: likewise, once it has its message
};

class KernelCommand;

/// A receive takes the message of a send: checks that they agree, and hands the value over.
/// ProgramError ("MessageMismatchError") names both; the receive has no value then.
void match(KernelCommand& receive, const KernelCommand& send);

}  // namespace kernbench::tile
