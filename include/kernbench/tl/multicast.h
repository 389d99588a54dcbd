// Multicast loads: several programs of a launch load one block together. Its bytes leave the HBM once, and cross each
// link once on their way to all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernbench/tl/memory.h"
#include "kernbench/tl/types.h"

namespace kernbench::tl {

/// Programs of a launch that load together, by number (without a grid: program_id()), each on a PE of its own. The name
/// tells groups of a launch apart; who uses one gives the same programs in the same order. The first of them stands for
/// the read: of replicas the ones nearest to it are read, and the bytes count as its own.
struct MulticastGroup {
  std::string name;
  std::vector<std::int64_t> programs;
};

/// A load that all programs of `group` call, with one block; calls of a group are matched in program order. Each gets a
/// tile of its own, as a load would have made it. The bytes set out when every program has issued its call and has
/// room for the tile in its TCM; who never calls is named by the DeadlockError. ValueError for a call with another
/// block than the others', for a group that the program is not in, or of programs that share a PE. A group of one
/// program loads as `load` does. `options` may give `other` as a scalar, and no mask: all receive the same bytes.
Tile multicast_load(const MulticastGroup& group, const Tensor& tensor, Extents offsets, Extents shape,
                    LoadOptions options = {}, Where where = Where::current());
Tile multicast_load(const MulticastGroup& group, const BlockPointer& pointer, BlockOptions options = {},
                    Where where = Where::current());
/// Likewise, with a token: see load_async.
AsyncLoad multicast_load_async(const MulticastGroup& group, const Tensor& tensor, Extents offsets, Extents shape,
                               LoadOptions options = {}, Where where = Where::current());
AsyncLoad multicast_load_async(const MulticastGroup& group, const BlockPointer& pointer, BlockOptions options = {},
                               Where where = Where::current());

}  // namespace kernbench::tl
