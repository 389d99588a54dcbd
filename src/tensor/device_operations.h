// What the host API asks of a device: the one seam between the rules of tensors (shapes, element types, views, errors:
// src/tensor/functions/) and the library kernels that compute on a device. Host mathematics never stands in for a
// kernel.
//
// What every function may rely on, because the caller has seen to it:
//   - All tensors are on one device; `out` is defined, has the shape and the element type of the result, and is not
//     empty. Its placement is that of the first device operand unless the caller owns it (in-place operations).
//   - Elementwise operands are expanded to the shape of `out` (strides of 0 where they repeat). They may be any views:
//     transposed, sliced with steps, expanded. A kernel that wants dense operands takes `x.contiguous()`, which is a
//     launch of `copy`.
//   - `out` may be exactly one of the operands (in-place); it never overlaps an operand in another way, and no two of
//     its elements are one.
//   - Element types are already checked. `compute` is PyTorch's promoted type of the operands: operands are converted
//   to
//     it, the operation is done in it (f16, bf16 and f8 in f32), and its result is converted to the type of `out` once.
//
// What every function promises: it costs the host the launch overhead of its launches, launches on the current stream
// of the device of `out` (not of the fiber's current device), and notes the launches as producers of `out`'s storage.
// Every replica of `out` is written. It reads no device value on the host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernbench/torch/tensor.h"
#include "kernbench/torch/types.h"
#include "numerics/elementwise_table.h"
#include "tensor/random.h"

namespace kernbench::tensor {

using numerics::BinaryOperation;
using numerics::ComposedOperation;
using numerics::Composition;
using numerics::ElementwiseInfo;
using numerics::ReduceOperation;
using numerics::TernaryOperation;
using numerics::UnaryOperation;

/// The names that errors and launches carry: "add", "tanh".
inline const char* name(BinaryOperation operation) {
  return numerics::info(operation).name;
}
inline const char* name(UnaryOperation operation) {
  return numerics::info(operation).name;
}
const char* name(ReduceOperation operation);

/// A device tensor, or a number that is weakly typed (a C++ number or a host tensor of no dimensions).
using DeviceOperand = std::variant<torch::Tensor, torch::Scalar>;

enum class Activation : std::uint8_t { none, relu, silu, gelu, gelu_tanh };

/// out = activation(alpha * a b + beta * addend).
struct MatmulOptions {
  double alpha = 1;
  double beta = 0;
  /// Undefined when beta == 0; else expanded to the shape of `out` (a bias has strides of 0 along the rows).
  torch::Tensor addend = {};
  Activation activation = Activation::none;
};

/// Which rows of a larger table of `whole` rows a table has: those from `first`. Other indices stand for zeros, or fail
/// where they are not in the larger one.
struct EmbeddingPart {
  std::int64_t first = 0, whole = 0;
  std::int64_t padding = -1;                // an index that adds nothing to a gradient; -1: none
  const char* call = "embedding_backward";  // what reports name sums after
};

/// How pairs of a line are turned by the position of its token.
struct RotaryPairs {
  std::size_t token = 0;     // the dimension that counts tokens
  std::int64_t offset = 0;   // position of the first one, where no positions are given
  bool batched = false;      // positions depend on dimension 0, too
  bool interleaved = false;  // pairs are neighbours; else halves of the turned elements
  bool backward = false;     // turns back
  bool in_place = false;     // x is out
};

/// A step of SGD of one parameter. All tensors have its shape; parameter and buffer are written.
struct SgdUpdate {
  torch::Tensor parameter, grad;
  torch::Tensor buffer = {};  // the running sum of gradients; undefined without momentum
  double rate = 0;            // of what is taken from the parameter
  double decay = 0;           // times the parameter is added to the gradient
  double keep = 0, add = 1;   // shares of the buffer and of the gradient in the buffer
  bool is_first = false;      // the buffer becomes the gradient
  bool nesterov = false;      // taken is the gradient and `keep` times the buffer
  bool maximize = false;      // the gradient counts the other way
};

/// A step of Adam of one parameter. All tensors have its shape; all but the gradient are written.
struct AdamUpdate {
  torch::Tensor parameter, grad, mean, square;
  torch::Tensor largest = {};              // the largest mean square yet, which then stands for it; may be undefined
  double mean_keep = 0, mean_add = 1;      // shares of the mean and of the gradient in the mean
  double square_keep = 0, square_add = 1;  // and of the squares
  double step = 0;                         // of the parameter: the learning rate over the mean's bias
  double root = 1;                         // of the root of the mean square: one over the root of its bias
  double epsilon = 0;
  double decay = 0;       // times the parameter is added to the gradient
  double shrink = 1;      // the parameter is multiplied by it first
  bool is_first = false;  // means and squares, and the largest of them, are zeros that nobody has written
  bool maximize = false;  // the gradient counts the other way
};

/// A step of RMSprop or Adagrad of one parameter: the gradient over the root of a running sum of its squares. All
/// tensors have its shape; all but the gradient are written.
struct RootUpdate {
  const char* name = "";  // of the launch
  torch::Tensor parameter, grad, square;
  torch::Tensor mean = {};    // of the gradient, whose square is taken from the sum; may be undefined
  torch::Tensor buffer = {};  // the running sum of what is taken from the parameter; undefined without momentum
  double keep = 1, add = 1;   // shares of the sum and of the squares in the sum, and in the mean
  double start = 0;           // each element of the sum before the first step
  double momentum = 0;        // share of the buffer in the buffer
  double rate = 0;            // of what is taken from the parameter
  double epsilon = 0;
  double decay = 0;       // times the parameter is added to the gradient
  bool is_first = false;  // nobody has written the sum, the mean and the buffer
  bool maximize = false;  // the gradient counts the other way
};

/// layer_norm, or rms_norm, over the last `dimensions` dimensions of x, or of x + residual, which `sum` then becomes.
/// Weight and bias have the shape of these; all but x may be undefined.
struct Norm {
  torch::Tensor x, residual, weight, bias;
  std::int64_t dimensions = 1;
  double epsilon = 1e-5;
  bool centred = true;  // layer_norm
  torch::Tensor sum;    // as `out`; defined if there is a residual
  std::string name() const {
    return std::string(residual.defined() ? "add_" : "") + (centred ? "layer_norm" : "rms_norm");
  }
};

/// The gradients of layer_norm or rms_norm over the last dimension, of one epsilon, by that of its result. `grad`, and
/// `x`, have the shape of `input`. Weight (of any floating-point type), `of_weight` and `of_bias` have that of a line;
/// they may be undefined.
struct NormBackward {
  torch::Tensor x, grad, weight;
  double epsilon = 1e-5;
  bool centred = true;                      // layer_norm
  torch::Tensor input, of_weight, of_bias;  // results
  std::string name() const { return centred ? "layer_norm_backward" : "rms_norm_backward"; }
};

/// argmax_nan or argmin_nan along a dimension. Where `known` is defined (of the shape of x) its elements stand for
/// positions; else positions count from `first`.
struct ArgReduction {
  ReduceOperation operation;
  std::int64_t dimension;
  torch::Tensor known = {};
  std::int64_t first = 0;
};

/// Element i is start + i * step before place `turn`; from there on it is counted from the last one, which is `end`.
/// whole: all of these are 32-bit integers, counted from the start, and exact. Else at most 2^24 elements, computed in
/// f32: to one unit in the last place of the larger of the element and the end that it is counted from.
struct Ramp {
  const char* name;
  double start = 0, step = 0;
  bool whole = false;
  double end = 0;
  std::int64_t turn = 0;
};

/// The kernels of a backend. A function that a backend does not have throws a ValueError that says so.
class DeviceOperations {
 public:
  virtual ~DeviceOperations() = default;

  // ---- elementwise ---------------------------------------------------------------------------------------------

  /// out = operation(operands), of which at least one is a tensor. The condition of `where` is bool, whatever
  /// `compute`.
  virtual void elementwise(const ElementwiseInfo& operation, std::span<const DeviceOperand> operands, DType compute,
                           const torch::Tensor& out);
  /// Views of equal shape, element types converted. True when it was done; false sends the caller through the host.
  virtual bool copy(const torch::Tensor& from, const torch::Tensor& to);
  /// The numbers of a ramp, of one dimension, converted to the type of `out`. True when it was done.
  virtual bool ramp(const Ramp& ramp, const torch::Tensor& out);
  /// Zero above (upper: below) the diagonal that is `diagonal` places right of the main one, of the last two
  /// dimensions.
  virtual void triangle(const torch::Tensor& x, std::int64_t diagonal, bool upper, const torch::Tensor& out);

  // ---- over dimensions -----------------------------------------------------------------------------------------

  /// `dimensions`: ascending, not empty. `out` keeps them with extent 1, also where the caller's result does not.
  /// Any but the indices; logical_and and logical_or give bool.
  virtual void reduce(ReduceOperation operation, const torch::Tensor& x, std::span<const std::int64_t> dimensions,
                      DType compute, const torch::Tensor& out);
  /// sum of (x - mean)^2 / (count - correction), over the dimensions, which `out` keeps with extent 1.
  virtual void variance(const torch::Tensor& x, std::span<const std::int64_t> dimensions, std::int64_t correction,
                        const torch::Tensor& out);
  /// The norm of order p over the dimensions, which `out` keeps with extent 1: how many elements are not 0 (p = 0), the
  /// largest or smallest magnitude (p infinite), else (sum of |x|^p)^(1/p).
  virtual void norm(const torch::Tensor& x, std::span<const std::int64_t> dimensions, double p,
                    const torch::Tensor& out);
  /// log(sum of e^x) over the dimensions, which `out` keeps with extent 1. x has elements.
  virtual void logsumexp(const torch::Tensor& x, std::span<const std::int64_t> dimensions, const torch::Tensor& out);
  /// Index of the largest (smallest) element along a dimension, which `out` (an integer type, or f32) keeps with extent
  /// 1, and the element itself, if `values`, placed as `out`, is defined. The first one of equals; a NaN counts as
  /// largest (smallest).
  virtual void arg_reduce(const ArgReduction& reduction, const torch::Tensor& x, const torch::Tensor& out,
                          const torch::Tensor& values);
  /// The elements that come first along a dimension, the largest (smallest) first, and where they were; of equals the
  /// first one. `values` has the type of x, `indices` an integer type; their extent there is how many are asked for.
  virtual void top_k(const torch::Tensor& x, std::int64_t dimension, bool largest, const torch::Tensor& values,
                     const torch::Tensor& indices);
  /// The elements along a dimension in order, and where they were; of equals (zeros of both signs are) the first comes
  /// first. A NaN counts as largest. `values` and `indices` (an integer type) have the shape of x, whose integers have
  /// 32 bits at most.
  virtual void sort(const torch::Tensor& x, std::int64_t dimension, bool descending, const torch::Tensor& values,
                    const torch::Tensor& indices);
  virtual void cumulative_sum(const torch::Tensor& x, std::int64_t dimension, const torch::Tensor& out);
  virtual void softmax(const torch::Tensor& x, std::int64_t dimension, bool logarithm, const torch::Tensor& out);
  virtual void normalize(const Norm& norm, const torch::Tensor& out);
  /// In f32, each result rounded once. x has elements.
  virtual void normalize_backward(const NormBackward& norm);

  // ---- steps of an optimiser -----------------------------------------------------------------------------------

  // In place, in f32, each written tensor rounded once: one launch for all updates, at least one, whose parameters lie
  // on one device. What a parameter's steps keep lies best as the parameter does.
  virtual void sgd(std::span<const SgdUpdate> updates);
  virtual void adam(std::span<const AdamUpdate> updates);
  virtual void root_step(std::span<const RootUpdate> updates);
  // Of floating-point tensors on one device, in place, likewise.
  /// Each times max_norm / (total_norm + 1e-6) where that is below 1; `total_norm` is a tensor of one element there.
  virtual void scale(std::span<const torch::Tensor> tensors, const torch::Tensor& total_norm, double max_norm);
  virtual void zero(std::span<const torch::Tensor> tensors);
  /// Each element between these; NaN stays.
  virtual void clamp(std::span<const torch::Tensor> tensors, double low, double high);
  /// out, of one element, becomes the norm of order p of all elements, in f32. True when it was done.
  virtual bool total_norm(std::span<const torch::Tensor> tensors, double p, const torch::Tensor& out);

  // ---- matrices, joining, choosing -----------------------------------------------------------------------------

  /// a [m,k] b [k,n], or [g,m,k] [g,k,n] (a batch stride may be 0); equal element types. Transposed views are usual.
  virtual void matmul(const torch::Tensor& a, const torch::Tensor& b, const MatmulOptions& options,
                      const torch::Tensor& out);
  /// out = softmax(q k^T scale) v; q [b,h,l,e], k [b,g,s,e], v [b,g,s,d], out [b,h,l,d] of one type, h a multiple of g.
  /// Causal: row i sees the keys 0 to i.
  virtual void attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, double scale,
                         bool causal, const torch::Tensor& out);
  /// out = x with its pairs turned by position * frequency; `frequencies` as torch::ahbm::rotary_frequencies makes
  /// them. `positions` (integers; may be undefined) is expanded to the shape of x.
  virtual void rotary(const torch::Tensor& x, const torch::Tensor& frequencies, const torch::Tensor& positions,
                      const RotaryPairs& pairs, const torch::Tensor& out);
  /// Likewise in place of all heads of x [batch, queries + 2 keys, tokens, size] but the last `keys`; the last 2 keys
  /// go to `cache` [batch, 2 keys, tokens, size], too. `positions` is expanded to the shape of what is turned.
  virtual void rotary_into_cache(const torch::Tensor& x, const torch::Tensor& frequencies,
                                 const torch::Tensor& positions, const RotaryPairs& pairs, const torch::Tensor& cache);
  /// All of the type of `out`.
  virtual void cat(std::span<const torch::Tensor> tensors, std::int64_t dimension, const torch::Tensor& out);
  /// out[…, i, …] = x[…, index[i], …]; `index` is an integer device tensor of one dimension. With `from_end` negative
  /// ones count from the end.
  virtual void index_select(const torch::Tensor& x, std::int64_t dimension, const torch::Tensor& index, bool from_end,
                            const torch::Tensor& out);
  /// out[i, :] = table[index[i] - first, :]. `table` and `out` have two dimensions; `index` (integers) has the shape of
  /// `out` and repeats along the columns.
  virtual void embedding(const torch::Tensor& table, const torch::Tensor& index, const EmbeddingPart& part,
                         const torch::Tensor& out);
  /// out[index[i, c] - first, c] += grad[i, c], in the order of i; `out` is f32 and not replicated. `index` (integers)
  /// has the shape of `grad`, and repeats along the columns where whole rows are added.
  virtual void embedding_backward(const torch::Tensor& grad, const torch::Tensor& index, const EmbeddingPart& part,
                                  const torch::Tensor& out);
  /// out[…, i, …] = x[…, index[…, i, …], …] along `dimension`; `index` has the shape of `out`.
  virtual void gather(const torch::Tensor& x, std::int64_t dimension, const torch::Tensor& index,
                      const torch::Tensor& out);

  // ---- random numbers ------------------------------------------------------------------------------------------

  /// Each element of `out` becomes that of `numbers` at its place in row-major order, bit for bit. True when it was
  /// done; false sends the caller through the host.
  virtual bool random(const RandomNumbers& numbers, const torch::Tensor& out);
  /// out = x * (1 / (1 - p)) where the number of `chance` (f32) at the element's place is at least p, else 0, rounded
  /// as multiply rounds.
  virtual void dropout(const torch::Tensor& x, const RandomNumbers& chance, double p, const torch::Tensor& out);
};

}  // namespace kernbench::tensor
