// Library kernel: rotary embeddings, whose angles it computes itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tile/library/elementwise.h"
#include "tile/library/view.h"

namespace kernbench::tile::library {

struct Rotary {
  std::size_t token = 0;     // the dimension of x that counts tokens; the last one is that of pairs
  std::int64_t offset = 0;   // position of token 0, where no positions are given
  bool batched = false;      // positions depend on dimension 0, too
  bool interleaved = false;  // pairs are neighbours; else halves of the first dim elements
  bool backward = false;     // turns back
  bool in_place = false;     // elements that are not turned are there already
};

/// out = x with its pairs turned by position * frequency. `frequencies` is f32 [2, pairs], in turns, row 1 what row 0
/// lacks; `positions` has the sizes of x, and strides of 0 but for tokens and perhaps the batch. held: each program
/// turns the lines that it holds, which must be whole. spread: an equal part of all pairs.
///
/// Pairs come in blocks of at most 8 Ki, first all heads of some tokens: the cosines and sines of a token are computed
/// once for all heads of a program. Work on the vector engine: for each pair four operations and the rounding of two
/// elements, interleaved pairs four copies more; for each pair of a token 16 (its angle 7, sine and cosine 4 each).
/// TCM: eight f32 tiles of a block.
///
/// The angle: the product of position and frequency with the error of its rounding, which a fused multiply-add yields
/// exactly, less whole turns, which is exact; then the part that row 1 has. So it is within 2^-22 of the exact one.
void rotary(const View& x, const View& frequencies, const std::optional<View>& positions, const Rotary& how,
            const View& out, Share share);

/// As rotary() in place of the first heads of x [batch, queries + 2 keys, tokens, size], and stores the last 2 keys, of
/// which the first half has been turned then, in `cache` [batch, 2 keys, tokens, size], which shares no elements with
/// x. Cost: a store more for each block of turned keys; a load and a store of the others, spread over all programs.
void rotary_into_cache(const View& x, const View& frequencies, const std::optional<View>& positions, const Rotary& how,
                       const View& cache, Share share);

}  // namespace kernbench::tile::library
