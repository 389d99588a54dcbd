// Memory in the tile language: loads and stores between HBM and TCM by DMA, their asynchronous forms, TCM buffers.
//
// Every load and store runs asynchronously: a program goes on at once, and whatever uses a loaded tile waits for it.
// Operations of one instance on overlapping bytes take effect in program order.
//
// What moves: a block moves all its bytes that lie in the tensor, whatever its mask says (the mask is byte enables); a
// tile of pointers moves the elements of the lanes that are not masked, neighbours in one piece. Masks, offsets and
// `other` tiles are operands: the access starts when they have been computed. docs/model.md has the laws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "kernbench/tl/types.h"

namespace kernbench::tile {
class BufferState;
struct AsyncState;
}  // namespace kernbench::tile

namespace kernbench::tl {

struct LoadOptions {
  /// Value of the lanes that are masked or outside of the tensor, cast to the element type: a scalar or a tile that
  /// broadcasts to the block. Without it such lanes are invalid: using one in an address, a branch, a host read or a
  /// check is an error.
  std::optional<Operand> other = std::nullopt;
  /// Boolean tile that broadcasts to the block: lanes that are false are not loaded.
  Tile mask = {};
};

struct StoreOptions {
  /// Boolean tile that broadcasts to the block: lanes that are false are not stored.
  Tile mask = {};
};

// ---- blocks of a tensor ----------------------------------------------------------------------------------------

/// Loads the box of `shape` elements at `offsets` into a tile: HBM to TCM by DMA. Lanes past the end are masked
/// (see LoadOptions::other); a negative offset or an offset beyond the end is an OutOfBoundsError.
/// Rank of offsets and shape is that of the tensor.
Tile load(const Tensor& tensor, Extents offsets, Extents shape, LoadOptions options = {},
          Where where = Where::current());

/// Stores `value` at `offsets`; lanes past the end are dropped. The value is cast to the tensor's element type.
void store(const Tensor& tensor, Extents offsets, const Tile& value, StoreOptions options = {},
           Where where = Where::current());
void store(const In& tensor, Extents offsets, const Tile& value, StoreOptions options = {},
           Where where = Where::current()) = delete;

// ---- pointers --------------------------------------------------------------------------------------------------

/// One element as a tile of shape {}.
Tile load(const Pointer& pointer, LoadOptions options = {}, Where where = Where::current());
/// The strided block of `shape` elements from `pointer`; strides in elements, not negative (0 repeats). Every lane must
/// lie in the tensor, masked or not. Lanes that name one element are moved once each.
Tile load(const Pointer& pointer, Extents shape, Extents strides, LoadOptions options = {},
          Where where = Where::current());
/// Gathers one element for each lane. Lanes that are not masked must lie in the tensor. Offsets or a mask that are not
/// known (see PointerTile) are waited for, at the cost of one read of a scalar.
Tile load(const PointerTile& pointers, LoadOptions options = {}, Where where = Where::current());

/// `value` is broadcast to the shape of the pointers and cast to the element type. Of lanes that name one element the
/// last one in row-major order wins.
void store(const Pointer& pointer, const Operand& value, StoreOptions options = {}, Where where = Where::current());
void store(const Pointer& pointer, Extents strides, const Tile& value, StoreOptions options = {},
           Where where = Where::current());
void store(const PointerTile& pointers, const Operand& value, StoreOptions options = {},
           Where where = Where::current());

// ---- block pointers --------------------------------------------------------------------------------------------

/// What lanes outside of the parent's shape read as, in the dimensions that are checked.
enum class Padding : std::uint8_t { undefined, zero, nan };

/// Which dimensions a block access checks against the parent's shape; in the others every lane must lie inside.
struct BlockOptions {
  Extents boundary_check = {};  // dimensions, in any order
  Padding padding = Padding::undefined;
};

/// A block of a strided parent that starts at `base` (all in elements).
struct BlockPointer {
  Pointer base;
  Extents shape, strides;
  Extents offsets;
  Extents block_shape;
};

/// ValueError unless all extents have one rank and block extents are positive.
BlockPointer make_block_ptr(const Pointer& base, Extents shape, Extents strides, Extents offsets, Extents block_shape,
                            Where where = Where::current());
/// A block pointer whose offsets are larger by `offsets`; the given one does not change.
BlockPointer advance(BlockPointer pointer, Extents offsets, Where where = Where::current());
Tile load(const BlockPointer& pointer, BlockOptions options = {}, Where where = Where::current());
void store(const BlockPointer& pointer, const Tile& value, BlockOptions options = {}, Where where = Where::current());

// ---- tensor descriptors ----------------------------------------------------------------------------------------

/// A description of a strided tensor in memory that checks every access: lanes outside read as zero and are not
/// written. The base and all strides but the last are multiples of 16 bytes, the last stride is 1, and the innermost
/// offset is a multiple of 16 bytes; else ValueError.
class TensorDescriptor {
 public:
  TensorDescriptor(BlockPointer block) : block_(std::move(block)) {}  // NOLINT(google-explicit-constructor)
  const Extents& shape() const { return block_.shape; }
  const Extents& strides() const { return block_.strides; }
  const Extents& block_shape() const { return block_.block_shape; }
  Tile load(Extents offsets, Where where = Where::current()) const;
  void store(Extents offsets, const Tile& value, Where where = Where::current()) const;

 private:
  BlockPointer block_;
};
TensorDescriptor make_tensor_descriptor(const Pointer& base, Extents shape, Extents strides, Extents block_shape,
                                        Where where = Where::current());

// ---- explicit asynchrony ---------------------------------------------------------------------------------------

/// An asynchronous access under way. Every token must be waited for before the kernel ends.
class Token {
 public:
  Token() = default;
  explicit Token(std::shared_ptr<tile::AsyncState> state) : state_(std::move(state)) {}
  bool defined() const { return state_ != nullptr; }
  const std::shared_ptr<tile::AsyncState>& state() const { return state_; }

 private:
  std::shared_ptr<tile::AsyncState> state_;
};

/// A load whose tile must not be used before its token has been waited for: `auto [tile, token] = load_async(…)`.
struct AsyncLoad {
  Tile tile;
  Token token;
};

/// Like load and store, but the program itself says when it needs the result: using the tile before `wait` is an error
/// that names both places, and so is a kernel that ends with a token that nobody waited for.
AsyncLoad load_async(const Tensor& tensor, Extents offsets, Extents shape, LoadOptions options = {},
                     Where where = Where::current());
AsyncLoad load_async(const BlockPointer& pointer, BlockOptions options = {}, Where where = Where::current());
AsyncLoad load_async(const PointerTile& pointers, LoadOptions options = {}, Where where = Where::current());
Token store_async(const Tensor& tensor, Extents offsets, const Tile& value, StoreOptions options = {},
                  Where where = Where::current());
Token store_async(const In& tensor, Extents offsets, const Tile& value, StoreOptions options = {},
                  Where where = Where::current()) = delete;
Token store_async(const BlockPointer& pointer, const Tile& value, BlockOptions options = {},
                  Where where = Where::current());
/// Suspends the program until the access has finished. Waiting again costs nothing.
void wait(const Token& token, Where where = Where::current());
/// Suspends the program until at most the `pending` latest asynchronous accesses are unfinished.
void wait_group(std::int64_t pending, Where where = Where::current());

// ---- TCM buffers -----------------------------------------------------------------------------------------------

/// Bytes of the PE's TCM that a kernel writes and reads as it likes, freed when the last handle is gone. Fresh bytes
/// are invalid. Copies between buffers and tiles run on the vector engine.
class Buffer {
 public:
  explicit Buffer(std::shared_ptr<tile::BufferState> state) : state_(std::move(state)) {}
  DType dtype() const;
  Extents shape() const;
  const std::shared_ptr<tile::BufferState>& state() const { return state_; }

 private:
  std::shared_ptr<tile::BufferState> state_;
};
Buffer alloc(Extents shape, DType dtype, Where where = Where::current());
/// The box of `shape` elements at `offsets`, which must lie inside of the buffer.
Tile load(const Buffer& buffer, Extents offsets, Extents shape, Where where = Where::current());
void store(const Buffer& buffer, Extents offsets, const Tile& value, Where where = Where::current());

}  // namespace kernbench::tl
