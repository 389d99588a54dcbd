// Commands of the vector engine: what all operations of the tile language that run there share.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hardware/command.h"
#include "kernbench/tl.h"
#include "numerics/value.h"
#include "tile/program/tile_state.h"

namespace kernbench::tile {

using StateRef = std::shared_ptr<TileState>;

/// Makes a result's value from its operands' values (in the order of VectorCommand::inputs). Called at most once: when
/// the command takes effect, or when it is issued if the result is known (tile/program/known.h).
using ComputeValue = std::function<numerics::Value(numerics::Executor&, std::span<const numerics::Value>)>;

struct VectorCommand {
  const char* kind;  // in reports: "add"
  topology::VectorOperation cost;
  DType dtype;  // of the result
  tl::Extents shape;
  std::vector<StateRef> inputs;
  ComputeValue compute;
  std::int64_t elements = 0;  // that the engine goes through; 0: as many as the result has
  std::int64_t reduced = 1;   // of a reduction: elements that become one
  /// Whether `compute` depends on nothing but `inputs`; else the result is never known.
  bool pure = true;
};

/// Reserves the result's TCM (and may wait for it), issues the command, and binds the value when it takes effect.
tl::Tile issue_vector_command(Program& program, const VectorCommand& command, const tl::Where& where);

// What fused operations share with single ones.

Bytes tile_bytes(const TileState& tile);
hardware::VectorWork work_of(const VectorCommand& command, const TileState& result);
/// The type that decides how much of a lane an element takes; the result's among types of one width.
DType widest_of(const VectorCommand& command);
/// Gives the result its value if that is known before the run.
void make_known(Program& program, const VectorCommand& command, TileState& result, const tl::Where& where);
std::vector<const TileState*> inputs_of(const VectorCommand& command);
/// A value without elements, for runs without data.
numerics::Value absent(numerics::Executor& executor, DType dtype, const tl::Extents& shape);

/// A tile of the same bytes: it has the reservation, the producer and the elements of `of`, and costs nothing. `change`
/// makes its value (of the given type and shape) from that of `of`.
tl::Tile make_view(Program& program, const StateRef& of, const char* kind, DType dtype, const tl::Extents& shape,
                   std::function<numerics::Value(numerics::Executor&, const numerics::Value&)> change,
                   const tl::Where& where);

}  // namespace kernbench::tile
