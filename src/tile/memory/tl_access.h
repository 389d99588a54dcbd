// The forms of load and store that are there twice: plain, and explicitly asynchronous.
#pragma once

#include "hardware/command.h"
#include "kernbench/tl.h"
#include "tile/memory/memory_access.h"

namespace kernbench::tile {

tl::Tile load_block(const AccessCall& call, const tl::Tensor& tensor, const tl::Extents& offsets,
                    const tl::Extents& shape, const tl::LoadOptions& options, const MulticastPart* together = nullptr);
hardware::CommandRef store_block(const AccessCall& call, const tl::Tensor& tensor, const tl::Extents& offsets,
                                 const tl::Tile& value, const tl::StoreOptions& options);

/// tl::store of a strided block under a mask that is known to choose one lane of each row. REQUIRES: each row of the
/// block's last dimension is of lanes that follow each other in one shard.
void store_lane(const tl::Pointer& pointer, const tl::Extents& strides, const tl::Tile& value, const tl::Tile& mask,
                ChosenLane chosen, const tl::Where& where);

tl::Tile load_gather(const AccessCall& call, const tl::PointerTile& pointers, const tl::LoadOptions& options);

tl::Tile load_block_pointer(const AccessCall& call, const tl::BlockPointer& pointer, const tl::BlockOptions& options,
                            const MulticastPart* together = nullptr);
hardware::CommandRef store_block_pointer(const AccessCall& call, const tl::BlockPointer& pointer, const tl::Tile& value,
                                         const tl::BlockOptions& options);

}  // namespace kernbench::tile
