// Library kernels that choose elements: by an index tensor, or by position relative to a diagonal.
#pragma once

#include <cstdint>

#include "tile/library/view.h"

namespace kernbench::tile::library {

/// out[…, i, …] = x[…, index[…, i, …], …] along `dimension`; `index` is a view of integers with the sizes of `out`
/// (stride 0 where it repeats). Each program makes what it holds, in blocks of at most 4 Ki elements: one load of
/// indices (one in all where they are the same for each line and fit), one gather by DMA, one store. An index outside
/// of x is an OutOfBoundsError; with `from_end` negative ones count from the end. TCM: six tiles of a block, and a
/// quarter for indices.
void gather(const View& x, std::size_t dimension, const View& index, const View& out, bool from_end = false);

/// out = x where column - row <= diagonal (upper: >=), else 0, in the last two dimensions. Tiling as elementwise.
void triangle(const View& x, std::int64_t diagonal, bool upper, const View& out);

}  // namespace kernbench::tile::library
