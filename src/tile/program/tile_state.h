// The state behind a tl::Tile: an immutable value, the operation that produces it, its TCM reservation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "hardware/command.h"
#include "numerics/value.h"
#include "tile/program/tcm_object.h"

namespace kernbench::tile {

struct AsyncState;

/// The value of a tile once its producer has taken effect; operations under way hold it without holding the tile.
struct TileValue {
  numerics::Value value;
  bool bound = false;
  std::vector<std::function<void(const numerics::Value&)>> when_bound;

  void bind(numerics::Value bound_value);
  /// Calls `action` with the value: now when it is bound, else as soon as it is.
  void on_bound(std::function<void(const numerics::Value&)> action);
};

/// The shared state behind tl::Tile. Its lifetime is that of the handles: it counts as live in its program.
class TileState final : public TcmObject {
 public:
  TileState(Program& program, const TcmObjectInfo& info, ReservationRef reservation);

  const std::shared_ptr<TileValue>& value() const { return value_; }
  hardware::CommandRef producer;
  /// Identifies how the value came about (operations, operands, addresses): a kernel that reads one expression again
  /// and again, and finds the same value, polls.
  std::uint64_t expression = 0;
  /// The value when it is known before the run (see tile/program/known.h), else undefined.
  numerics::Value known;
  /// `known` is what a run without data takes the value for (see assume), or follows from it.
  bool assumed = false;
  /// The asynchronous load that produces it, if it was one; must have been waited for before any use.
  std::shared_ptr<const AsyncState> async;

 private:
  std::shared_ptr<TileValue> value_;
};

}  // namespace kernbench::tile
