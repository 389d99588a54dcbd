// Library kernel: one tile function applied to every element of views that broadcast.
#pragma once

#include <functional>
#include <vector>

#include "tile/library/view.h"

namespace kernbench::tile::library {

/// Makes the tile of a block of the result from the same blocks of the operands. Where an operand repeats, its tile has
/// extent 1 and broadcasts. `block` is where the block lies in the result.
using TileFunction = std::function<tl::Tile(const std::vector<tl::Tile>& operands, const Box& block)>;

/// Which part of a result a program makes. held: what its PE holds, so that every replica is written. spread: an equal
/// part of the largest dimension, wherever it lies; for results that few PEs hold.
enum class Share : std::uint8_t { held, spread };
std::vector<Box> share_of(const View& out, Share share);
/// The same of whole lines along the dimensions `along`. held: lines that lie whole on one PE. spread: lines as even
/// as they go, the lines of a program one after the other, so that most of them are near to where a balanced placement
/// has them.
std::vector<Box> lines_of(const View& out, const std::vector<bool>& along, Share share);

/// out = function(operands), all of one shape, converted to the type of `out`. Each program makes its share block by
/// block: at most 16 Ki elements, and `live_tiles` f32 tiles of a block within the TCM budget. The blocks have long
/// rows in the memory of every operand. Cost: one load for each operand (one in all for what repeats), the vector
/// commands of `function`, one store.
void elementwise(const View& out, const std::vector<View>& operands, const TileFunction& function, int live_tiles = 8,
                 Share share = Share::held);

/// The tile with the shape of the block: repeats what broadcasts.
tl::Tile fill_out(const tl::Tile& tile, const tl::Extents& shape);

}  // namespace kernbench::tile::library
