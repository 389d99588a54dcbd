// Common parts of all loads and stores of tensors: checks of masks and values, the legs, the issue.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "addressing/locate.h"
#include "numerics/memory/memory.h"
#include "numerics/scalar.h"
#include "tile/memory/pointer_lanes.h"
#include "tile/program/program.h"

namespace kernbench::tile {

struct MulticastPart;

/// A call of the tile language that accesses memory.
struct AccessCall {
  Program& program;
  const char* name;  // for errors: "load_async"
  const char* kind;  // of the operation: "load"
  tl::Where where;
  std::optional<PeCoordinate> reads_for = {};  // for whom it chooses among replicas, if not for this PE

  PeCoordinate reader() const { return reads_for.value_or(program.coordinate()); }
  [[noreturn]] void value_error(const std::string& message) const;
};

/// The call `name`, of an operation of this kind, by the running program.
AccessCall access_call(const char* name, const char* kind, const tl::Where& where);

/// The line of a call, good after the program's end.
Site site_of(const AccessCall& call);

/// Where an access goes: what the DMA engine moves and the MMU translates, and (with data) where each lane is.
struct Places {
  std::vector<hardware::DmaLeg> legs;
  std::vector<hardware::PageRange> pages;  // in the order of the pieces; consecutive duplicates are merged
  std::vector<numerics::Piece> pieces;
};

/// A box of a tensor: one range for each piece of a shard.
Places places_of_box(const AccessCall& call, const tl::Tensor& tensor, const tl::Extents& offsets,
                     const tl::Extents& shape);

/// A block of elements at distances `strides` from element `offset`; they go to the lanes of a tile of shape `tile` at
/// distances `lane_strides` from `lane`. All are moved, also those that name one element.
struct StridedBlock {
  std::int64_t offset = 0, lane = 0;
  tl::Extents shape, strides, lane_strides;
  tl::Extents tile;
};
/// A block that fills its tile.
StridedBlock whole_block(std::int64_t offset, const tl::Extents& shape, const tl::Extents& strides);
/// ValueError for negative strides or an empty block; OutOfBoundsError names the first lane outside of the tensor,
/// unless it is read and reads may leave tensors.
void check_strided(const AccessCall& call, const tl::Tensor& tensor, const StridedBlock& block, bool write);
/// REQUIRES: check_strided. Lanes outside of the tensor have no place. For a write, lanes that name one element come in
/// the order of lanes.
Places places_of_strided(const AccessCall& call, const tl::Tensor& tensor, const StridedBlock& block, bool write);
/// Runs of lanes; those that follow each other in memory, too, are one range.
Places places_of_lanes(const AccessCall& call, const tl::Tensor& tensor, const PointerLanes& lanes);

/// The tiles and values that take part in an access besides what is stored. All may be absent.
struct Lanes {
  const TileState* offsets = nullptr;
  const TileState* mask = nullptr;
  const TileState* other_tile = nullptr;
  std::optional<numerics::Scalar> other;
  bool mask_chooses = false;  // the mask is applied to the lanes; else the places leave out what is masked already
  ChosenLane chosen = {};     // what is known of the mask
};
/// Checks mask and `other` against the block's shape.
Lanes lanes_of(const AccessCall& call, const tl::LoadOptions& options, const tl::Extents& shape);
Lanes lanes_of(const AccessCall& call, const tl::StoreOptions& options, const tl::Extents& shape);

/// What the data side needs to apply a mask. Its validity is looked at once, whether or not anybody needs the result.
struct MaskUse {
  std::shared_ptr<TileValue> value;
  const char* call;
  Site site;
  void check(KernelCommand& mine) const;
};
MaskUse mask_use(const AccessCall& call, const TileState& mask);

/// The key of an operation that takes effect now.
numerics::OperationKey key_of(const KernelCommand& command);
/// ValueError for more legs than a descriptor has. Refused here, where the call is known; the engine's own check is the
/// last resort.
void check_legs(const AccessCall& call, const std::vector<hardware::DmaLeg>& legs);
/// Two accesses of the same bytes with the same operands are the same expression.
std::uint64_t expression_of(const std::vector<hardware::DmaLeg>& legs, std::uint64_t operands);

/// Issues the descriptor that loads `result`; `together`: as a member of a multicast, or null.
tl::Tile issue_load(const AccessCall& call, const std::shared_ptr<TileState>& result, Places places, const Lanes& lanes,
                    const MulticastPart* together = nullptr);
/// The value to store, of the tensor's type and of a shape that broadcasts to `shape` (a scalar has shape {}).
/// ValueError for a tensor that may not be written.
tl::Tile stored_value(const AccessCall& call, const tl::Tensor& tensor, const tl::Operand& value,
                      const tl::Extents& shape);
/// Issues the descriptor that stores `value` (see stored_value), broadcast to `shape`.
hardware::CommandRef issue_store(const AccessCall& call, const tl::Tile& value, const tl::Extents& shape, Places places,
                                 const Lanes& lanes);

/// What a kernel waits for by a token: a tile that is on its way, or another command.
tl::AsyncLoad started(const AccessCall& call, tl::Tile tile);
tl::Token started(const AccessCall& call, hardware::CommandRef command);

}  // namespace kernbench::tile
