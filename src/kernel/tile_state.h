// What a tl::Tile handle shares: an immutable value, the operation that produces it, and its TCM reservation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <vector>

#include "base/units.h"
#include "data/value.h"
#include "hardware/machine.h"
#include "hardware/operation.h"
#include "kernbench/tl.h"

namespace kernbench::kernel {

class Program;

/// Bytes of a PE's TCM, given back when the last holder (a tile handle or an operation under way) lets go. Tiles that
/// are views of each other share one.
class Reservation {
 public:
  Reservation(hardware::TcmAllocator& tcm, Bytes bytes) : tcm_(tcm), bytes_(bytes) {}
  ~Reservation() { tcm_.release(bytes_); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  Bytes bytes() const { return bytes_; }
  /// Counts the live tiles in it: true for the first to come, and for the last to leave.
  bool enter() { return tiles_++ == 0; }
  bool leave() { return --tiles_ == 0; }

 private:
  hardware::TcmAllocator& tcm_;
  Bytes bytes_;
  std::int64_t tiles_ = 0;
};
using ReservationRef = std::shared_ptr<Reservation>;

/// The value of a tile once its producer has taken effect; operations under way hold it without holding the tile.
struct TileValue {
  data::Value value;
  bool bound = false;
  std::vector<std::function<void(const data::Value&)>> when_bound;

  void bind(data::Value bound_value);
  /// Calls `action` with the value: now when it is bound, else as soon as it is.
  void on_bound(std::function<void(const data::Value&)> action);
};

/// The shared state behind tl::Tile. Its lifetime is that of the handles: it counts as live in its program.
class TileState {
 public:
  TileState(Program& program, std::uint64_t number, DType dtype, tl::Extents shape, const char* kind, tl::Where where,
            ReservationRef reservation);
  ~TileState();
  TileState(const TileState&) = delete;
  TileState& operator=(const TileState&) = delete;

  Program& program() const { return *program_; }
  std::uint64_t number() const { return number_; }
  DType dtype() const { return dtype_; }
  const tl::Extents& shape() const { return shape_; }
  const char* kind() const { return kind_; }
  const tl::Where& where() const { return where_; }
  const ReservationRef& reservation() const { return reservation_; }
  const std::shared_ptr<TileValue>& value() const { return value_; }
  hardware::OperationRef producer;
  /// Identifies how the value came about (operations, operands, addresses): a kernel that reads one expression again
  /// and again, and finds the same value, polls.
  std::uint64_t expression = 0;
  /// The value when it is known before the run (see kernel/known.h), else undefined.
  data::Value known;

 private:
  friend class Program;
  std::shared_ptr<Program> program_;
  std::uint64_t number_;
  DType dtype_;
  tl::Extents shape_;
  const char* kind_;
  tl::Where where_;
  ReservationRef reservation_;
  std::shared_ptr<TileValue> value_ = std::make_shared<TileValue>();
};

}  // namespace kernbench::kernel
