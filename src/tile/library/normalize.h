// Library kernels that normalise whole lines in the TCM: softmax, layer_norm, rms_norm. For lines that fit and that one
// PE holds, or that are as many as the PEs; other lines are put together from `reduce` and `elementwise` by the caller.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tile/library/elementwise.h"
#include "tile/library/view.h"

namespace kernbench::tile::library {

/// Whether a line of `elements` fits: so many f32 tiles of it within the budget.
bool line_fits(std::int64_t elements, std::int64_t budget, std::int64_t tiles);
constexpr std::int64_t kLineTiles = 6;
/// Where a second operand is loaded, and the sum of both is written too.
constexpr std::int64_t kLineTilesWithSum = 9;

/// exp(x - max) / sum, or its logarithm x - max - log(sum), along one dimension, in f32 and rounded once. Each program
/// takes its share of the lines, as many at a time as 16 Ki elements (at least one). TCM: six f32 tiles of these.
/// Vector work for each element: max, subtract, exp, sum, multiply.
void softmax(const View& x, std::size_t dimension, bool logarithm, const View& out, Share share = Share::held);

struct NormOptions {
  std::size_t dimensions = 1;  // the last so many are normalised
  double epsilon = 1e-5;
  bool centred = true;  // layer_norm; false: rms_norm, which subtracts no mean
};
/// Views of one shape; weight and bias have strides of 0 in the dimensions that are not normalised.
struct NormOperands {
  View x;
  std::optional<View> residual = {}, weight = {}, bias = {};
};
struct NormResults {
  View out;
  std::optional<View> sum = {};  // of x and the residual; lies as `out` does
};
/// (x - mean) / sqrt(mean of squares + epsilon) * weight + bias over the last dimensions, in f32 and rounded once; with
/// a residual of x + residual, rounded to its type as elementwise sums are, which is written too. Each program loads
/// weight and bias once. Tiling and TCM as softmax, nine tiles with a residual.
void normalize(const NormOperands& operands, const NormOptions& options, const NormResults& results,
               Share share = Share::held);

/// Blocks of backwards that are alive at a time: three operands, a result, and two of running sums, old and new, and
/// their lines.
constexpr std::int64_t kLineTilesOfBackward = 10;
struct NormBackwardOperands {
  View x, grad;
  std::optional<View> weight = {};  // of the shape of x, with strides of 0
};
struct NormBackwardResults {
  View input;
  /// Of a line for each program, [programs, elements] in f32: what its lines add to the gradients. Either may be there
  /// alone.
  std::optional<View> weight = {}, bias = {};
};
/// The gradients of `normalize` over the last dimension, without a residual. With h = (x - mean) r, r = 1 / sqrt(mean
/// of (x - mean)^2 + epsilon) and g = grad * weight, that of x is (g - mean(g) - h mean(g h)) r, without mean and
/// mean(g) where it is not centred: in f32 as fma(h, -mean(g h) r, fma(g, r, -mean(g) r)), rounded once. h is computed
/// anew.
///
/// The sums over lines of grad * h (fma) and of grad: a program adds line i of each block of its lines to running sum
/// i; before a block of another shape, and at the end, these are added to each other by the vector engine's pairwise
/// tree, and to what was so added before. A program without lines has sums of 0. `counts_once`: no line is held twice;
/// else the programs take even shares of all lines for the sums, in a second reading of x and grad.
///
/// Each program takes its share of the lines, blocks of at most 16 Ki elements (at least a line), the loads of three
/// under way. TCM: kLineTilesOfBackward f32 tiles of a block. Vector work for each element: 15 operations; 11 where it
/// is not centred, without a bias.
void normalize_backward(const NormBackwardOperands& operands, const NormOptions& options,
                        const NormBackwardResults& results, Share share, bool counts_once);

/// What programs have found, [programs, elements], and where its sum over the programs goes, [1, elements].
struct SumOfParts {
  View parts, out;
};
/// Each sum by the vector engine's pairwise tree over the programs, rounded once; the loads of all are under way
/// together. Results lie alike where shares are held. A program makes its share of each in blocks of 16 Ki elements of
/// the parts. TCM: three f32 tiles of a block for each sum.
void add_parts(const std::vector<SumOfParts>& sums, Share share);

/// By the lines of a part, the number of the first one in the order of their dimensions and how many: the programs that
/// hold such a part, and load its lines together.
using LineReaders = std::map<std::pair<std::int64_t, std::int64_t>, tl::MulticastGroup>;
/// REQUIRES: a program for each PE that holds a part of `out`, in the order of the PEs.
LineReaders line_readers(const View& out, const std::vector<bool>& along);

/// The same values, bit for bit, where there are few lines and many programs hold parts of them: they read whole lines
/// by multicast, and each normalises and writes what it holds. A line that one program writes to all holders touches a
/// page of each.
void normalize_parts(const NormOperands& operands, const NormOptions& options, const NormResults& results,
                     const LineReaders& readers);
/// Likewise of softmax.
void softmax_parts(const View& x, std::size_t dimension, bool logarithm, const View& out, const LineReaders& readers);

}  // namespace kernbench::tile::library
