// Memory that the programs of a cube share: regions of its SRAM.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernbench/tl/memory.h"
#include "kernbench/tl/multicast.h"
#include "kernbench/tl/types.h"

namespace kernbench::tile {
class CubeBufferState;
}  // namespace kernbench::tile

namespace kernbench::tl {

/// Asks `alloc` for memory of the cube, by name: programs of a launch that run on one cube and give one name share one
/// region. Other cubes have a region of their own, and so has another launch.
struct CubeScope {
  std::string name;
};

/// A region of the SRAM of the program's cube. It is there from the first `alloc` of its name to the end of the launch,
/// whatever becomes of handles. Fresh bytes are invalid. Its addresses are physical: nothing is translated.
class CubeBuffer {
 public:
  explicit CubeBuffer(std::shared_ptr<tile::CubeBufferState> state) : state_(std::move(state)) {}
  DType dtype() const;
  Extents shape() const;
  const std::shared_ptr<tile::CubeBufferState>& state() const { return state_; }

 private:
  std::shared_ptr<tile::CubeBufferState> state_;
};

/// The region of this name, which the first program to ask takes from the SRAM. Nobody waits: who has been told by
/// another one (`barrier`, a signal, a message) finds there what that one has stored. ValueError for another type or
/// shape than the others gave; OutOfMemoryError when the SRAM has no room beside the slots of queues and what else
/// lives.
CubeBuffer alloc(Extents shape, DType dtype, CubeScope scope, Where where = Where::current());

/// The box of `shape` elements at `offsets`, which must lie inside of the region: SRAM to TCM by DMA, as any load.
Tile load(const CubeBuffer& buffer, Extents offsets, Extents shape, Where where = Where::current());
/// Stores `value` at `offsets`, cast to the region's element type. The program goes on at once.
void store(const CubeBuffer& buffer, Extents offsets, const Tile& value, Where where = Where::current());
/// Likewise, with a token: see load_async of a tensor.
AsyncLoad load_async(const CubeBuffer& buffer, Extents offsets, Extents shape, Where where = Where::current());
Token store_async(const CubeBuffer& buffer, Extents offsets, const Tile& value, Where where = Where::current());
/// Programs of the cube load one box together: its bytes leave the SRAM once, by the port of the group's first program.
/// All else as multicast_load of a tensor.
Tile multicast_load(const MulticastGroup& group, const CubeBuffer& buffer, Extents offsets, Extents shape,
                    Where where = Where::current());

}  // namespace kernbench::tl
