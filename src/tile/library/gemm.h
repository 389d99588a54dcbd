// Library kernel: matrix product of any shape, with transposed and batched operands, split k, and a fused epilogue.
//
// Roof: the larger of the array's folds of the program with the most to do (docs/model-engines.md), its edges included,
// and what moves once over the slices, plus the empty launch. A product of few rows uses as many of the array's rows,
// and each command fills and drains the array: 8 x 8192 x 8192 in f16 on ahbm-1sip takes 2.0 us of launch, 8.6 us of
// folds and 0.13 us for each of some ten commands, whatever else is hidden. Of one row the vector engine takes a part,
// and the HBM is what is left: 7.6 us. docs/attained.md has the times.
#pragma once

#include <memory>
#include <optional>

#include "tile/library/activation.h"
#include "tile/library/elementwise.h"
#include "tile/library/gemm_plan.h"
#include "tile/library/view.h"

namespace kernbench::tile::library {

/// What follows the product: out = activation(alpha * product + beta * addend), in f32 (integers: i32), rounded once.
struct GemmEpilogue {
  double alpha = 1, beta = 0;
  std::optional<View> addend;  // [batch, m, n]; repeats (stride 0) where it broadcasts
  Activation activation = Activation::none;
  /// Whether there is anything to do.
  bool any() const { return alpha != 1 || addend.has_value() || activation != Activation::none; }
};

/// a [batch, m, k], b [batch, k, n], out [batch, m, n]; when the plan splits k, `out` is [split_k, m, n] of f32
/// (integers: i32) instead, holds the parts' sums, and gemm_finish makes the result of them. Each program works on its
/// range of the plan; tiling and TCM: gemm_plan.h.
///
/// Values: each element is one chain of fused multiply-adds in f32 over the program's part of k in order (with
/// KOrder::any from k_start to the end and then from the beginning), rounded once to the type of `out`, or kept in f32
/// through the epilogue.
void gemm(const View& a, const View& b, const View& out, const GemmEpilogue& epilogue,
          const std::shared_ptr<const GemmPlan>& plan);

/// out [1, m, n] = epilogue(sum of parts), parts [split_k, m, n], added as tl::sum adds them. Each program makes its
/// share of `out` in blocks of which all parts take at most half of its TCM budget: one load brings them.
void gemm_finish(const View& parts, const View& out, const GemmEpilogue& epilogue, Share share);

}  // namespace kernbench::tile::library
