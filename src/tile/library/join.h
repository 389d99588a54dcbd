// Library kernel: tensors one behind the other along a dimension, in one launch.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/library/view.h"

namespace kernbench::tile::library {

/// A tensor that is joined with others: where it begins along the dimension.
struct JoinedPart {
  View source;
  std::int64_t start = 0;
};

/// out[…, start + i, …] = source[…, i, …] along `dimension`, for each of the parts, which fill `out` in ascending
/// order. Each program makes what its PE holds, in blocks of at most 16 Ki elements, all parts in one pipeline: the
/// loads of the next blocks are under way while one is stored, also where they are of another part. With `apart`
/// programs begin at different places. Where parts are so narrow that some would be stored in pieces shorter than an
/// access of the HBM, blocks have several parts, which are joined in the TCM and stored as whole rows. TCM: the loads
/// under way, and four tiles of a block.
void join(const View& out, const std::vector<JoinedPart>& parts, std::size_t dimension, bool apart);

/// Whether programs should begin apart, as of elementwise functions (programs_meet).
bool joins_meet(const View& out, const std::vector<JoinedPart>& parts, std::size_t dimension);

}  // namespace kernbench::tile::library
