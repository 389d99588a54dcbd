// Strided views of device tensors in library kernels: which parts of a view a PE holds, and loading and storing blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "addressing/tensor_descriptor.h"
#include "kernbench/tl.h"

namespace kernbench::topology {
struct Topology;
}  // namespace kernbench::topology

namespace kernbench::tile::library {

/// A box of indices.
using Box = tl::Tensor::Box;

/// A strided view of a device tensor: element (i0, i1, …) is the element offset + i0 * strides[0] + … of the tensor in
/// row-major order. A stride of 0 repeats elements.
struct View {
  tl::Tensor tensor;
  tl::Extents sizes, strides;
  std::int64_t offset = 0;

  DType dtype() const { return tensor.dtype(); }
  std::size_t rank() const { return sizes.size(); }
  std::int64_t numel() const { return sizes.numel(); }
};

/// The whole tensor.
View view_of(const tl::Tensor& tensor);
/// The common part; nothing when it is empty.
std::optional<Box> intersection(const Box& a, const Box& b);

/// The boxes of the view whose elements lie in the box `shard` of its tensor: each such element once. Elements that the
/// view repeats count where they are repeated.
std::vector<Box> parts_in(const View& view, std::span<const std::int64_t> shard_offset,
                          std::span<const std::int64_t> shard_shape);
/// Likewise for each of the tensor's shards.
std::vector<std::vector<Box>> parts_by_shard(const View& view);
/// The boxes of the view that the calling PE holds.
std::vector<Box> local_boxes(const View& view);

/// Loads the box of `shape` at `offsets`, which must lie inside of the view. The DMA reads in the order of the memory;
/// a view with its dimensions in another order costs a permutation on the vector engine. Dimensions that repeat
/// (stride 0) have extent 1 in the tile, which broadcasts.
tl::Tile load(const View& view, const tl::Extents& offsets, const tl::Extents& shape,
              tl::Where where = tl::Where::current());
/// Likewise by multicast, with the programs of a group that all load this block.
tl::Tile load(const tl::MulticastGroup& mates, const View& view, const tl::Extents& offsets, const tl::Extents& shape,
              tl::Where where = tl::Where::current());
/// A load under way that the kernel itself waits for.
struct PendingLoad {
  tl::AsyncLoad load;
  tl::Extents back;  // the permutation that is left to do; empty: none
};
PendingLoad load_async(const View& view, const tl::Extents& offsets, const tl::Extents& shape,
                       tl::Where where = tl::Where::current());
/// Likewise by multicast, with the programs of a group that all load this block.
PendingLoad load_async(const tl::MulticastGroup& mates, const View& view, const tl::Extents& offsets,
                       const tl::Extents& shape, tl::Where where = tl::Where::current());
/// Suspends the program until the load has finished; the tile as `load` yields it.
tl::Tile wait(PendingLoad pending, tl::Where where = tl::Where::current());
/// Stores `tile` (of the view's rank) at `offsets`, cast to the view's type; permutes first where the view does.
void store(const View& view, const tl::Extents& offsets, const tl::Tile& tile, tl::Where where = tl::Where::current());
/// Likewise; elements that lie closer together in their shard than the smallest access of the HBM are stored with the
/// gaps between them, which a mask leaves as they are: an access then has many elements in place of one. A block that
/// does not lie in one shard with its gaps is stored without them. REQUIRES: room in the TCM for one more tile, of
/// lanes_of_store() times the lanes, and for kBytesOfMask.
void store_with_gaps(const View& view, const tl::Extents& offsets, const tl::Tile& tile,
                     tl::Where where = tl::Where::current());
/// Reads an element of each row of memory of a block that will be stored to: the TLB then has the pages when the store
/// comes, which walks to them would delay.
void touch(const View& view, const tl::Extents& offsets, const tl::Extents& shape,
           tl::Where where = tl::Where::current());

/// A block shape of at most `limit` elements (at least one) within `shape`: each of the dimensions in `fast` gets up to
/// 128 elements first, so that transfers have long rows on every side, then the last dimensions are filled up.
tl::Extents block_shape(const tl::Extents& shape, std::int64_t limit, std::span<const std::size_t> fast = {});
/// The dimension of the smallest stride that is not 0 (of more than one element); nothing when there is none.
std::optional<std::size_t> fast_dimension(const View& view);

/// Elements of a block of `shape` that follow each other in memory, that is in a shard: columns of a tensor that is cut
/// into columns do.
std::int64_t run_of(const View& view, const tl::Extents& shape);

/// What plans of library kernels need to know of a machine, in bytes.
struct MachineLimits {
  std::int64_t tcm = 0;        // tcm_budget()
  std::int64_t access = 0;     // the smallest access of the HBM
  double walk = 0;             // what a slice of the HBM moves while an entry of a page table is read
  double lane = 0;             // and while the vector engine copies what one of its lanes holds
  std::int64_t narrowest = 1;  // what an element occupies of a lane at least
};
MachineLimits limits_of(const topology::Topology& topology);
/// Of the machine that the calling program runs on.
MachineLimits machine_limits();

/// Lanes that store_with_gaps moves at most for each element of the view: 1 where it stores none, because elements have
/// no gaps in their shards, or to copy an element and its gap and to move them would take as long as an access for it
/// alone.
std::int64_t lanes_of_store(const View& view, const MachineLimits& limits);

/// Calls body(offsets, shape) for each block of `box`, in row-major order, the last ones shorter.
template <class Body>
void for_each_block(const Box& box, const tl::Extents& block, const Body& body) {
  if (box.shape.numel() == 0) return;
  tl::Extents at = box.offset;
  while (true) {
    tl::Extents shape = block;
    for (std::size_t d = 0; d < at.size(); ++d) shape[d] = std::min(block[d], box.offset[d] + box.shape[d] - at[d]);
    body(at, shape);
    std::size_t d = at.size();
    while (d > 0) {
      at[d - 1] += block[d - 1];
      if (at[d - 1] < box.offset[d - 1] + box.shape[d - 1]) break;
      --d;
      at[d] = box.offset[d];
    }
    if (d == 0) return;
  }
}

/// Bytes of TCM that the mask of store_with_gaps takes at most, with what it is made of: one i32 and one bool for each
/// lane, of which there are fewer than bytes of an access, on lines of their own.
inline constexpr std::int64_t kBytesOfMask = 1024;

/// Bytes of an element of a tile that has the largest type of these views, or f32.
std::int64_t widest_item(std::span<const View> views);

/// Elements of a block of the elementwise kernels, the reductions and the normalisations at most.
inline constexpr std::int64_t kLargestBlock = 16 * 1024;

/// Bytes of TCM that a library kernel's live tiles may hold: an equal part for each of the PE's contexts, so that
/// programs that run at the same time can never wait for each other's tiles.
std::int64_t tcm_budget();

}  // namespace kernbench::tile::library
