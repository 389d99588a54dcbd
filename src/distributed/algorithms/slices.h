// Parts of a PE's share of a block, by number of elements.
#pragma once

#include <cstdint>

#include "distributed/algorithms/blocks.h"

namespace kernbench::distributed {

std::int64_t elements_of(const Pieces& pieces);
/// The elements [begin, end) of the pieces, which are counted piece by piece and row by row.
Pieces slice_of(const Pieces& pieces, std::int64_t begin, std::int64_t end);
/// Part `index` of `count` parts of ceil(elements / count), the last ones shorter or empty.
Pieces part_of(const Pieces& pieces, std::int64_t index, std::int64_t count);

}  // namespace kernbench::distributed
