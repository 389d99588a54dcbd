// Products of operands in the MX formats: narrow floats that share a scale in blocks along k.
#pragma once

#include <string_view>
#include <utility>

#include "kernbench/tl/fold.h"
#include "kernbench/tl/types.h"

namespace kernbench::tl {

struct DotScaledOptions {
  /// Whether the two e2m1 of a byte of an operand follow each other along k; else along m (n).
  bool lhs_k_pack = true, rhs_k_pack = true;
  DType out_dtype = DType::f32;
  Fold fold = {};
};

/// (lhs * lhs_scale) [m, k] times (rhs * rhs_scale) [k, n], or batches of these, plus `accumulator` when given; as
/// Triton's dot_scaled. Formats are "e2m1" (u8, two elements in a byte, the first in its lower half), "e4m3" and "e5m2"
/// (these types, or u8 with their bits), "bf16" and "fp16". lhs_scale is [m, k / block], rhs_scale [n, k / block]: u8
/// with E8M0, 2^(bits - 127), for blocks of 32, or f8e4m3 for blocks of 16; undefined: no scale.
///
/// Each element is multiplied with its scale in f32, exactly unless the result leaves f32's range. The products are
/// added up as those of dot of f32, so that the result is dot of the scaled operands, rounded once to `out_dtype`.
/// GEMM engine: as dot, at the rate of the wider of the two formats (f4 when both are e2m1); scales cost nothing beside
/// their place in the TCM (assumption: the array adds exponents). ValueError for formats, types and shapes that do not
/// fit together.
Tile dot_scaled(const Tile& lhs, const Tile& lhs_scale, std::string_view lhs_format, const Tile& rhs,
                const Tile& rhs_scale, std::string_view rhs_format, const Tile& accumulator = {},
                const DotScaledOptions& options = {}, Where where = Where::current());

/// A tile of floats [.., k] in blocks of 32 as (elements, scales): e4m3, e5m2 [.., k], or u8 [.., k / 2] of e2m1, and
/// u8 [.., k / 32]; with the bits of torch::ahbm::to_mx (kernbench/torch/mx.h), which says the rule. One fused command
/// of the vector engine. All of a block depends on all of its lanes. ValueError for another format, types other than
/// floats, more than seven dimensions, and a k that 32 does not divide.
std::pair<Tile, Tile> to_mx(const Tile& x, std::string_view format, Where where = Where::current());

}  // namespace kernbench::tl
