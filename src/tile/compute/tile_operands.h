// The operands of one elementwise operation: tiles of the calling program and weakly typed scalars.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernbench/tl.h"
#include "numerics/operations.h"
#include "tile/compute/operation_table.h"
#include "tile/compute/vector_command.h"
#include "tile/program/program.h"

namespace kernbench::tile {

/// How a ComputeValue finds an operation's operands: some are among its inputs, others are scalars.
class OperandSlots {
 public:
  void add_tile() { slots_[count_++] = {tiles_++, {}}; }
  void add_scalar(numerics::Scalar scalar) { slots_[count_++] = {kScalar, scalar}; }
  numerics::Argument get(std::size_t operand, std::span<const numerics::Value> inputs) const {
    const Slot& slot = slots_[operand];
    return slot.input == kScalar ? numerics::Argument(slot.scalar) : numerics::Argument(inputs[slot.input]);
  }

 private:
  static constexpr std::size_t kScalar = SIZE_MAX;
  struct Slot {
    std::size_t input = kScalar;
    numerics::Scalar scalar;
  };
  std::array<Slot, 3> slots_{};
  std::size_t count_ = 0, tiles_ = 0;
};

/// Up to three operands, checked: ValueError for an empty tile, another program's tile, or scalars only.
class TileOperands {
 public:
  TileOperands(const Program& program, const OperationInfo& info, std::initializer_list<const tl::Operand*> operands,
               const tl::Where& where);

  const std::vector<StateRef>& tiles() const { return tiles_; }
  const OperandSlots& slots() const { return slots_; }
  /// The shape to which the tiles broadcast by numpy's rules; ValueError when they do not.
  tl::Extents shape() const;
  /// The type to which the operands from `first` on promote by Triton's rules: that of the tiles, raised by a scalar of
  /// a higher kind. Scalars alone are bool, i32 (i64 when they do not fit) or f32. ValueError when an integer scalar
  /// does not fit the type.
  DType promoted(std::size_t first = 0) const;
  /// Whether all tiles are floats.
  bool all_floats() const;

 private:
  [[noreturn]] void fail(const std::string& message) const;

  const Program& program_;
  const OperationInfo& info_;
  tl::Where where_;
  std::vector<const tl::Operand*> operands_;
  std::vector<StateRef> tiles_;
  OperandSlots slots_;
};

/// ValueError "tl::call: message", at `where`.
[[noreturn]] void refuse(const Program& program, const char* call, const std::string& message, const tl::Where& where);
/// ValueError unless `info` takes operands that promote to `type`.
void check_accepted(const Program& program, const OperationInfo& info, DType type, const tl::Where& where);
/// ValueError for f64, which exists on the host only.
void check_device_type(const Program& program, const char* call, DType type, const tl::Where& where);
/// `axis` counted from 0; ValueError unless it is a dimension of `shape` (or, counted from the end, -rank … -1).
/// `places` counts dimensions: one more than the rank for an axis to insert.
int checked_axis(const Program& program, const char* call, int axis, const tl::Extents& shape, std::size_t places,
                 const tl::Where& where);
inline int checked_axis(const Program& program, const char* call, int axis, const tl::Extents& shape,
                        const tl::Where& where) {
  return checked_axis(program, call, axis, shape, shape.size(), where);
}

/// `shape` without `axis`, which counts from 0, or without any when absent; with `keep_dims` extents of 1 stay.
tl::Extents reduced_shape(const tl::Extents& shape, std::optional<int> axis, bool keep_dims);
/// What `info` yields for operands that promote to `promoted`. REQUIRES: not `named` or `product`.
DType result_type(const OperationInfo& info, DType promoted);

}  // namespace kernbench::tile
