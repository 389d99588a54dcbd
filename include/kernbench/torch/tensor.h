// The host tensor: a cheap shared handle to elements on the host or on a device; views share the elements.
//
// Names, shapes and types are libtorch's; docs/host-api.md lists where a result is deliberately another. What holds for
// all members, so that each group below says only what is its own:
//
//   where     The last argument of a call is its source line, for errors and reports. Nobody writes it.
//   cost      On the host a call takes no simulated time. On a device it launches kernels of the library on the current
//             stream, and returns after the overhead of these launches, not after their work.
//   devices   All operands lie on one device, or on the host. Host tensors without dimensions may stand beside device
//             tensors. Anything else is a ValueError that names the operands.
//   errors    ValueError: shapes, types or devices that do not fit, and undefined tensors. IndexError (a ValueError): a
//             dimension or an index out of range. ProgramError: a device tensor outside of kernbench::simulate.
//             OutOfMemoryError: a slice of the device has no room for the result. A call that throws has changed
//             nothing.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/operands.h"
#include "kernbench/torch/types.h"

namespace kernbench::tensor {
class TensorImpl;
}  // namespace kernbench::tensor

namespace kernbench::torch {

namespace indexing {
class TensorIndex;
}

/// What `catch (const c10::Error&)` catches in libtorch code.
using Error = kernbench::Error;

/// An index outside of a dimension.
class IndexError : public ValueError {
 public:
  using ValueError::ValueError;
};

/// A tensor. Reading the elements of a device tensor on the host (item, cpu, printing, copy_ from it, equal, allclose)
/// waits, in simulated time, for the work that produces them, and for nothing else.
class Tensor {
 public:
  /// An undefined tensor.
  Tensor() = default;
  explicit Tensor(std::shared_ptr<tensor::TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  Tensor& operator=(const Tensor& other) & = default;
  Tensor& operator=(Tensor&& other) & = default;
  /// `x[0] = y` and `x[0] = 1.5` write the elements.
  Tensor& operator=(const TensorOperand& value) && { return copy_(value.tensor, value.where), *this; }
  Tensor& operator=(const ScalarOperand& value) && { return fill_(value.scalar, value.where), *this; }

  // Shape, type, place. They read no elements and take no time, on a device either. Sizes and strides count elements,
  // and a dimension below 0 counts from the end.
  bool defined() const { return impl_ != nullptr; }
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  std::int64_t size(std::int64_t dimension) const;
  std::int64_t stride(std::int64_t dimension) const;
  std::int64_t dim() const;
  std::int64_t numel() const;
  std::int64_t storage_offset() const;
  ScalarType dtype() const { return scalar_type(); }
  ScalarType scalar_type() const;
  Device device() const;
  TensorOptions options() const;
  bool is_cpu() const { return device().is_cpu(); }
  std::size_t itemsize() const;
  std::size_t element_size() const { return itemsize(); }
  std::size_t nbytes() const;
  bool is_contiguous() const;
  bool is_floating_point() const { return kernbench::is_floating_point(scalar_type()); }
  /// There is no tape: asking for one is a ValueError, forgoing it is accepted.
  bool requires_grad() const { return false; }
  const Tensor& requires_grad_(bool value = true, Where where = Where::current()) const;
  const Tensor& set_requires_grad(bool value, Where where = Where::current()) const {
    return requires_grad_(value, where);
  }
  /// The gradient that the program has set (`p.mutable_grad() = g`), which optimisers read; undefined before. It
  /// belongs to all handles of this tensor, not to views of it.
  const Tensor& grad() const { return mutable_grad(); }
  Tensor& mutable_grad() const;
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  /// Whether both are views of one storage.
  bool is_alias_of(const Tensor& other) const;

  /// The first element of a host tensor. T must be the C++ type of the dtype.
  template <class T>
  T* data_ptr() const {
    return static_cast<T*>(checked_data(scalar_type_of<T>()));
  }
  void* data_ptr() const;

  /// The only element. Requires one element.
  Scalar item(Where where = Where::current()) const;
  template <class T>
  T item(Where where = Where::current()) const {
    return item(where).to<T>();
  }
  /// Like item, but yields `assumed` when element values are not computed (--no-data); the times are the same.
  template <class T>
  T item_or(T assumed, Where where = Where::current()) const {
    const auto value = item_if_known(where);
    return value ? value->template to<T>() : assumed;
  }

  /// Like cpu, but yields `assumed`, a host tensor of this shape and element type, when element values are not
  /// computed; the times are the same. For what a program decides by values, as which expert a token goes to.
  Tensor cpu_or(const Tensor& assumed, Where where = Where::current()) const;

  // Views: they share the elements of this tensor, move nothing and take no time. Dimensions below 0 count from the
  // end. `view` is a ValueError where the strides do not allow the shape; `reshape` copies there.
  Tensor operator[](const IndexOperand& at) const { return select(0, at.index, at.where); }
  Tensor select(std::int64_t dimension, std::int64_t index, Where where = Where::current()) const;
  Tensor narrow(std::int64_t dimension, std::int64_t start, std::int64_t length, Where where = Where::current()) const;
  Tensor slice(std::int64_t dimension = 0, std::optional<std::int64_t> start = std::nullopt,
               std::optional<std::int64_t> end = std::nullopt, std::int64_t step = 1,
               Where where = Where::current()) const;
  Tensor transpose(std::int64_t dimension0, std::int64_t dimension1, Where where = Where::current()) const;
  Tensor swapaxes(std::int64_t axis0, std::int64_t axis1, Where where = Where::current()) const {
    return transpose(axis0, axis1, where);
  }
  Tensor t(Where where = Where::current()) const;
  Tensor permute(IntArrayRef dimensions, Where where = Where::current()) const;
  Tensor view(IntArrayRef sizes, Where where = Where::current()) const;
  Tensor view_as(const Tensor& other, Where where = Where::current()) const { return view(other.sizes(), where); }
  Tensor expand_as(const Tensor& other, Where where = Where::current()) const { return expand(other.sizes(), where); }
  Tensor unflatten(std::int64_t dimension, IntArrayRef sizes, Where where = Where::current()) const;
  /// The elements again along each dimension; leading dimensions may be added. Of `tile` missing ones are 1.
  Tensor repeat(IntArrayRef repeats, Where where = Where::current()) const;
  Tensor tile(IntArrayRef repeats, Where where = Where::current()) const;
  /// Each element `repeats` times, one after the other; flattened without a dimension.
  Tensor repeat_interleave(std::int64_t repeats, std::optional<std::int64_t> dimension = std::nullopt,
                           Where where = Where::current()) const;
  /// In reverse order along the dimensions; a copy.
  Tensor flip(IntArrayRef dimensions, Where where = Where::current()) const;
  /// Moved on along the dimensions; what leaves at the end comes in at the beginning. Flattened without dimensions.
  Tensor roll(IntArrayRef shifts, IntArrayRef dimensions = {}, Where where = Where::current()) const;
  Tensor movedim(IntArrayRef source, IntArrayRef destination, Where where = Where::current()) const;
  Tensor movedim(std::int64_t source, std::int64_t destination, Where where = Where::current()) const;
  /// The last two dimensions swapped / all dimensions reversed.
  Tensor mT(Where where = Where::current()) const;
  Tensor T(Where where = Where::current()) const;
  Tensor diagonal(std::int64_t offset = 0, std::int64_t dimension1 = 0, std::int64_t dimension2 = 1,
                  Where where = Where::current()) const;
  /// Windows of `size` elements along a dimension, `step` apart; their elements are a new last dimension.
  Tensor unfold(std::int64_t dimension, std::int64_t size, std::int64_t step, Where where = Where::current()) const;
  /// Any elements of the storage; strides and offset count elements. ValueError beyond the storage.
  Tensor as_strided(IntArrayRef size, IntArrayRef stride, std::optional<std::int64_t> storage_offset = std::nullopt,
                    Where where = Where::current()) const;
  std::vector<Tensor> unbind(std::int64_t dimension = 0, Where where = Where::current()) const;
  std::vector<Tensor> chunk(std::int64_t chunks, std::int64_t dimension = 0, Where where = Where::current()) const;
  std::vector<Tensor> split(std::int64_t size, std::int64_t dimension = 0, Where where = Where::current()) const;
  std::vector<Tensor> split(IntArrayRef sizes, std::int64_t dimension = 0, Where where = Where::current()) const;
  std::vector<Tensor> split_with_sizes(IntArrayRef sizes, std::int64_t dimension = 0,
                                       Where where = Where::current()) const;
  Tensor unsqueeze(std::int64_t dimension, Where where = Where::current()) const;
  Tensor squeeze(std::int64_t dimension, Where where = Where::current()) const;
  Tensor squeeze(Where where = Where::current()) const;
  Tensor expand(IntArrayRef sizes, Where where = Where::current()) const;
  Tensor alias(Where where = Where::current()) const;
  Tensor detach(Where where = Where::current()) const { return alias(where); }
  Tensor data(Where where = Where::current()) const { return alias(where); }

  // Views where possible, else copies. To another device or type it is always a copy: over PCIe from and to the host,
  // over the links between SIPs, or by a kernel that converts.
  Tensor reshape(IntArrayRef sizes, Where where = Where::current()) const;
  Tensor flatten(std::int64_t first = 0, std::int64_t last = -1, Where where = Where::current()) const;
  Tensor contiguous(Where where = Where::current()) const;
  /// This tensor itself where it is already as asked for, unless `copy`; else a new one. `non_blocking` is that of
  /// copy_: how long the host waits for a copy from host to device. Not given, it goes on as with true.
  Tensor to(const TensorOptions& options, std::optional<bool> non_blocking = std::nullopt, bool copy = false,
            Where where = Where::current()) const;
  Tensor to(Device device, ScalarType type, std::optional<bool> non_blocking = std::nullopt, bool copy = false,
            Where where = Where::current()) const {
    return to(TensorOptions(type).device(device), non_blocking, copy, where);
  }
  Tensor to(ScalarType type, std::optional<bool> non_blocking = std::nullopt, bool copy = false,
            Where where = Where::current()) const {
    return to(TensorOptions(type), non_blocking, copy, where);
  }
  Tensor to(Device device, std::optional<bool> non_blocking = std::nullopt, bool copy = false,
            Where where = Where::current()) const {
    return to(TensorOptions(device), non_blocking, copy, where);
  }
  Tensor to(DeviceType type, std::optional<bool> non_blocking = std::nullopt, bool copy = false,
            Where where = Where::current()) const {
    return to(Device(type), non_blocking, copy, where);
  }
  Tensor to(const char* device, std::optional<bool> non_blocking = std::nullopt, bool copy = false,
            Where where = Where::current()) const {
    return to(Device(device), non_blocking, copy, where);
  }
  Tensor to(const Tensor& other, std::optional<bool> non_blocking = std::nullopt, bool copy = false,
            Where where = Where::current()) const {
    return to(TensorOptions(other.scalar_type()).device(other.device()), non_blocking, copy, where);
  }
  Tensor cpu(Where where = Where::current()) const {
    return to(TensorOptions(Device(kCPU)), std::nullopt, false, where);
  }
  Tensor type_as(const Tensor& other, Where where = Where::current()) const {
    return to(other, std::nullopt, false, where);
  }

  // Choosing elements. Integers, slices, None and Ellipsis give views; a tensor of indices or of bools gives a copy.
  // Indices are Long or Int, masks Bool. On a device, what gives a size that depends on values is a ValueError, and so
  // are several index tensors at once.
  Tensor index(std::initializer_list<indexing::TensorIndex> indices, Where where = Where::current()) const;
  Tensor index(const std::vector<indexing::TensorIndex>& indices, Where where = Where::current()) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value,
                           Where where = Where::current()) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value,
                           Where where = Where::current()) const;
  Tensor index_select(std::int64_t dimension, const Tensor& index, Where where = Where::current()) const;
  Tensor gather(std::int64_t dimension, const Tensor& index, Where where = Where::current()) const;
  /// this[…, index[i], …] += alpha * source[…, i, …] along a dimension, in the order of i; sums are made in f32
  /// (Double: f64) and rounded once. On a device floating-point types only.
  const Tensor& index_add_(std::int64_t dimension, const Tensor& index, const Tensor& source, const Scalar& alpha = 1,
                           Where where = Where::current()) const;
  Tensor index_add(std::int64_t dimension, const Tensor& index, const Tensor& source, const Scalar& alpha = 1,
                   Where where = Where::current()) const;
  // Writes by indices (Long) that say where along a dimension each element of `source` goes; the other indices are its
  // own. Of several elements for one place the last one stays on the host. On a device, what adds takes floating-point
  // types and sums in f32, and what writes a number takes every type; other writes are a ValueError there.
  Tensor scatter(std::int64_t dimension, const Tensor& index, const Tensor& source,
                 Where where = Where::current()) const;
  Tensor scatter(std::int64_t dimension, const Tensor& index, const Scalar& value,
                 Where where = Where::current()) const;
  /// reduce: "add" or "multiply".
  Tensor scatter(std::int64_t dimension, const Tensor& index, const Tensor& source, std::string_view reduce,
                 Where where = Where::current()) const;
  Tensor scatter(std::int64_t dimension, const Tensor& index, const Scalar& value, std::string_view reduce,
                 Where where = Where::current()) const;
  const Tensor& scatter_(std::int64_t dimension, const Tensor& index, const Tensor& source,
                         Where where = Where::current()) const;
  const Tensor& scatter_(std::int64_t dimension, const Tensor& index, const Scalar& value,
                         Where where = Where::current()) const;
  const Tensor& scatter_(std::int64_t dimension, const Tensor& index, const Tensor& source, std::string_view reduce,
                         Where where = Where::current()) const;
  const Tensor& scatter_(std::int64_t dimension, const Tensor& index, const Scalar& value, std::string_view reduce,
                         Where where = Where::current()) const;
  Tensor scatter_add(std::int64_t dimension, const Tensor& index, const Tensor& source,
                     Where where = Where::current()) const;
  const Tensor& scatter_add_(std::int64_t dimension, const Tensor& index, const Tensor& source,
                             Where where = Where::current()) const;
  /// The slices along a dimension that `index` (a list) names.
  Tensor index_fill(std::int64_t dimension, const Tensor& index, const Scalar& value,
                    Where where = Where::current()) const;
  Tensor index_fill(std::int64_t dimension, const Tensor& index, const Tensor& value,
                    Where where = Where::current()) const;
  const Tensor& index_fill_(std::int64_t dimension, const Tensor& index, const Scalar& value,
                            Where where = Where::current()) const;
  const Tensor& index_fill_(std::int64_t dimension, const Tensor& index, const Tensor& value,
                            Where where = Where::current()) const;
  Tensor index_copy(std::int64_t dimension, const Tensor& index, const Tensor& source,
                    Where where = Where::current()) const;
  const Tensor& index_copy_(std::int64_t dimension, const Tensor& index, const Tensor& source,
                            Where where = Where::current()) const;
  /// Elements by their place in row-major order; negative ones count from the end.
  Tensor take(const Tensor& index, Where where = Where::current()) const;
  Tensor put(const Tensor& index, const Tensor& source, bool accumulate = false, Where where = Where::current()) const;
  const Tensor& put_(const Tensor& index, const Tensor& source, bool accumulate = false,
                     Where where = Where::current()) const;
  /// Where the elements are not 0: [count, dim]. Of device tensors it is an error: its size is known on the host only.
  Tensor nonzero(Where where = Where::current()) const;
  Tensor argwhere(Where where = Where::current()) const { return nonzero(where); }
  /// A list as the diagonal of a matrix of zeros, or a copy of the diagonal of a matrix.
  Tensor diag(std::int64_t diagonal = 0, Where where = Where::current()) const;
  /// The elements where `mask` is true. Of device tensors it is an error: its size is known on the host only.
  Tensor masked_select(const Tensor& mask, Where where = Where::current()) const;
  Tensor masked_fill(const Tensor& mask, const Scalar& value, Where where = Where::current()) const;
  Tensor masked_fill(const Tensor& mask, const Tensor& value, Where where = Where::current()) const;
  const Tensor& masked_fill_(const Tensor& mask, const Scalar& value, Where where = Where::current()) const;
  Tensor where(const Tensor& condition, const Tensor& other, Where where = Where::current()) const;
  Tensor tril(std::int64_t diagonal = 0, Where where = Where::current()) const;
  Tensor triu(std::int64_t diagonal = 0, Where where = Where::current()) const;

  // Two operands, element by element; operators are in torch/elementwise.h. Shapes broadcast from the last dimension
  // on, types are promoted: kind first (bool, integer, floating-point), then tensors with dimensions before those
  // without, and these before numbers. True division gives Float of integers; comparisons give Bool. f16, bf16 and the
  // 8-bit floats compute in f32 and round once. An in-place form keeps shape and type of this tensor, and is a
  // ValueError where the result would not fit them.
  Tensor add(const Tensor& other, const Scalar& alpha = 1, Where where = Where::current()) const;
  Tensor add(const Scalar& other, const Scalar& alpha = 1, Where where = Where::current()) const;
  const Tensor& add_(const Tensor& other, const Scalar& alpha = 1, Where where = Where::current()) const;
  const Tensor& add_(const Scalar& other, const Scalar& alpha = 1, Where where = Where::current()) const;
  Tensor sub(const Tensor& other, const Scalar& alpha = 1, Where where = Where::current()) const;
  Tensor sub(const Scalar& other, const Scalar& alpha = 1, Where where = Where::current()) const;
  const Tensor& sub_(const Tensor& other, const Scalar& alpha = 1, Where where = Where::current()) const;
  const Tensor& sub_(const Scalar& other, const Scalar& alpha = 1, Where where = Where::current()) const;
// Each row of elementwise/binary.def: mul, div, pow, bitwise_and, … with their forms in place; eq, lt, …; maximum, ….
#define KERNBENCH_PAIR_FUNCTION(operation, name, ...) \
  Tensor name(const Tensor& other, Where where = Where::current()) const;
#define KERNBENCH_COMPARISON(operation, name, ...)                        \
  Tensor name(const Tensor& other, Where where = Where::current()) const; \
  Tensor name(const Scalar& other, Where where = Where::current()) const;
#define KERNBENCH_BINARY_FUNCTION(operation, name, ...)                             \
  Tensor name(const Tensor& other, Where where = Where::current()) const;           \
  Tensor name(const Scalar& other, Where where = Where::current()) const;           \
  const Tensor& name##_(const Tensor& other, Where where = Where::current()) const; \
  const Tensor& name##_(const Scalar& other, Where where = Where::current()) const;
#include "kernbench/elementwise/binary.def"
  /// rounding_mode: "trunc" or "floor".
  Tensor div(const Tensor& other, std::optional<std::string_view> rounding_mode, Where where = Where::current()) const;
  Tensor div(const Scalar& other, std::optional<std::string_view> rounding_mode, Where where = Where::current()) const;
  Tensor clamp(const std::optional<Scalar>& low, const std::optional<Scalar>& high = std::nullopt,
               Where where = Where::current()) const;
  Tensor clamp(const std::optional<Tensor>& low = {}, const std::optional<Tensor>& high = {},
               Where where = Where::current()) const;
  const Tensor& clamp_(const std::optional<Scalar>& low, const std::optional<Scalar>& high = std::nullopt,
                       Where where = Where::current()) const;
  Tensor clip(const std::optional<Scalar>& low, const std::optional<Scalar>& high = std::nullopt,
              Where where = Where::current()) const {
    return clamp(low, high, where);
  }
  Tensor clamp_min(const Scalar& low, Where where = Where::current()) const;
  Tensor clamp_min(const Tensor& low, Where where = Where::current()) const;
  Tensor clamp_max(const Scalar& high, Where where = Where::current()) const;
  Tensor clamp_max(const Tensor& high, Where where = Where::current()) const;
  const Tensor& clamp_min_(const Scalar& low, Where where = Where::current()) const;
  const Tensor& clamp_max_(const Scalar& high, Where where = Where::current()) const;
  /// this + weight * (end - this).
  Tensor lerp(const Tensor& end, const Scalar& weight, Where where = Where::current()) const;
  Tensor lerp(const Tensor& end, const Tensor& weight, Where where = Where::current()) const;
  /// this + value * a * b, and with / in place of the second *.
  Tensor addcmul(const Tensor& a, const Tensor& b, const Scalar& value = 1, Where where = Where::current()) const;
  Tensor addcdiv(const Tensor& a, const Tensor& b, const Scalar& value = 1, Where where = Where::current()) const;
  /// Numbers in place of NaN, by default 0, and of the infinities, by default the largest and lowest of the type.
  Tensor nan_to_num(std::optional<double> nan = {}, std::optional<double> posinf = {},
                    std::optional<double> neginf = {}, Where where = Where::current()) const;
  const Tensor& nan_to_num_(std::optional<double> nan = {}, std::optional<double> posinf = {},
                            std::optional<double> neginf = {}, Where where = Where::current()) const;
  /// 0 below 0, `values` at 0, 1 above.
  Tensor heaviside(const Tensor& values, Where where = Where::current()) const;
  Tensor isclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false,
                 Where where = Where::current()) const;
  Tensor& operator+=(const TensorOperand& other) { return add_(other.tensor, 1, other.where), *this; }
  Tensor& operator+=(const ScalarOperand& other) { return add_(other.scalar, 1, other.where), *this; }
  Tensor& operator-=(const TensorOperand& other) { return sub_(other.tensor, 1, other.where), *this; }
  Tensor& operator-=(const ScalarOperand& other) { return sub_(other.scalar, 1, other.where), *this; }
  Tensor& operator*=(const TensorOperand& other) { return mul_(other.tensor, other.where), *this; }
  Tensor& operator*=(const ScalarOperand& other) { return mul_(other.scalar, other.where), *this; }
  Tensor& operator/=(const TensorOperand& other) { return div_(other.tensor, other.where), *this; }
  Tensor& operator/=(const ScalarOperand& other) { return div_(other.scalar, other.where), *this; }
  Tensor& operator&=(const TensorOperand& other) { return bitwise_and_(other.tensor, other.where), *this; }
  Tensor& operator|=(const TensorOperand& other) { return bitwise_or_(other.tensor, other.where), *this; }
  Tensor& operator^=(const TensorOperand& other) { return bitwise_xor_(other.tensor, other.where), *this; }

  // One operand, element by element, of the same shape. exp, log, sin and the like make Float of integers and bools;
  // the others keep the type. isnan, isinf, isfinite and logical_not give Bool.
  Tensor square(Where where = Where::current()) const;
  const Tensor& square_(Where where = Where::current()) const;
// Each row of elementwise/unary.def: neg, exp, floor, relu, …, with an underscore in place; isnan, ….
#define KERNBENCH_QUESTION(operation, name, ...) Tensor name(Where where = Where::current()) const;
#define KERNBENCH_TENSOR_FUNCTION(operation, name, ...) \
  Tensor name(Where where = Where::current()) const;    \
  const Tensor& name##_(Where where = Where::current()) const;
#include "kernbench/elementwise/unary.def"

  // Reductions: over all dimensions (a tensor of no dimensions), over one, or over several, which are left out of the
  // shape or, with `keepdim`, stay with size 1. Sums and products of integers and bools are Long unless `type` says
  // otherwise; `var`, `std`, `mean`, `norm` and `logsumexp` need a floating-point type. Of no elements `max`, `min` and
  // their like are a ValueError. cumsum, softmax and log_softmax keep the shape.
  Tensor sum(std::optional<ScalarType> type = std::nullopt, Where where = Where::current()) const;
  Tensor sum(OptionalIntArrayRef dimensions, bool keepdim = false, std::optional<ScalarType> type = std::nullopt,
             Where where = Where::current()) const;
  Tensor mean(std::optional<ScalarType> type = std::nullopt, Where where = Where::current()) const;
  Tensor mean(OptionalIntArrayRef dimensions, bool keepdim = false, std::optional<ScalarType> type = std::nullopt,
              Where where = Where::current()) const;
  Tensor prod(std::optional<ScalarType> type = std::nullopt, Where where = Where::current()) const;
  Tensor prod(std::int64_t dimension, bool keepdim = false, std::optional<ScalarType> type = std::nullopt,
              Where where = Where::current()) const;
  Tensor max(Where where = Where::current()) const;
  Tensor min(Where where = Where::current()) const;
  /// Values and indices.
  std::tuple<Tensor, Tensor> max(std::int64_t dimension, bool keepdim = false, Where where = Where::current()) const;
  std::tuple<Tensor, Tensor> min(std::int64_t dimension, bool keepdim = false, Where where = Where::current()) const;
  Tensor max(const Tensor& other, Where where = Where::current()) const { return maximum(other, where); }
  Tensor min(const Tensor& other, Where where = Where::current()) const { return minimum(other, where); }
  Tensor amax(IntArrayRef dimensions = {}, bool keepdim = false, Where where = Where::current()) const;
  Tensor amin(IntArrayRef dimensions = {}, bool keepdim = false, Where where = Where::current()) const;
  Tensor argmax(std::optional<std::int64_t> dimension = std::nullopt, bool keepdim = false,
                Where where = Where::current()) const;
  Tensor argmin(std::optional<std::int64_t> dimension = std::nullopt, bool keepdim = false,
                Where where = Where::current()) const;
  /// The k largest (smallest) elements along a dimension, in order, and where they were; of equals the first, which
  /// PyTorch leaves open. A NaN counts as largest.
  std::tuple<Tensor, Tensor> topk(std::int64_t k, std::int64_t dimension = -1, bool largest = true, bool sorted = true,
                                  Where where = Where::current()) const;
  /// The elements along a dimension in order, and where they were. Stable: of equals (zeros of both signs are) the
  /// first comes first. A NaN counts as largest. On a device a line that one PE does not sort soonest is sorted by all,
  /// in launches that follow each other.
  std::tuple<Tensor, Tensor> sort(std::int64_t dimension = -1, bool descending = false,
                                  Where where = Where::current()) const;
  std::tuple<Tensor, Tensor> sort(std::optional<bool> /*stable*/, std::int64_t dimension = -1, bool descending = false,
                                  Where where = Where::current()) const {
    return sort(dimension, descending, where);
  }
  Tensor argsort(std::int64_t dimension = -1, bool descending = false, Where where = Where::current()) const;
  Tensor var(bool unbiased = true, Where where = Where::current()) const;
  Tensor var(OptionalIntArrayRef dimensions, bool unbiased = true, bool keepdim = false,
             Where where = Where::current()) const;
  Tensor var(int dimension, Where where = Where::current()) const { return var({dimension}, true, false, where); }
  Tensor std(bool unbiased = true, Where where = Where::current()) const;
  Tensor std(OptionalIntArrayRef dimensions, bool unbiased = true, bool keepdim = false,
             Where where = Where::current()) const;
  Tensor std(int dimension, Where where = Where::current()) const { return std({dimension}, true, false, where); }
  Tensor norm(const Scalar& p = 2, Where where = Where::current()) const;
  Tensor norm(const std::optional<Scalar>& p, IntArrayRef dimensions, bool keepdim = false,
              Where where = Where::current()) const;
  Tensor logsumexp(IntArrayRef dimensions, bool keepdim = false, Where where = Where::current()) const;
  Tensor all(Where where = Where::current()) const;
  Tensor all(std::int64_t dimension, bool keepdim = false, Where where = Where::current()) const;
  Tensor any(Where where = Where::current()) const;
  Tensor any(std::int64_t dimension, bool keepdim = false, Where where = Where::current()) const;
  Tensor cumsum(std::int64_t dimension, std::optional<ScalarType> type = std::nullopt,
                Where where = Where::current()) const;
  Tensor cumprod(std::int64_t dimension, std::optional<ScalarType> type = std::nullopt,
                 Where where = Where::current()) const;
  Tensor logcumsumexp(std::int64_t dimension, Where where = Where::current()) const;
  /// The largest (smallest) element so far, and where it was: the last one of equals. A NaN stays.
  std::tuple<Tensor, Tensor> cummax(std::int64_t dimension, Where where = Where::current()) const;
  std::tuple<Tensor, Tensor> cummin(std::int64_t dimension, Where where = Where::current()) const;
  /// The lower one of the elements in the middle, and where it was; NaN where there is one.
  Tensor median(Where where = Where::current()) const;
  std::tuple<Tensor, Tensor> median(std::int64_t dimension, bool keepdim = false, Where where = Where::current()) const;
  /// The share q in [0, 1] of the elements, of Float or Double, is not above the result; of several q (a list) a new
  /// first dimension. Between two elements: "linear", "lower", "higher", "midpoint" or "nearest".
  Tensor quantile(double q, std::optional<std::int64_t> dimension = std::nullopt, bool keepdim = false,
                  std::string_view interpolation = "linear", Where where = Where::current()) const;
  Tensor quantile(const Tensor& q, std::optional<std::int64_t> dimension = std::nullopt, bool keepdim = false,
                  std::string_view interpolation = "linear", Where where = Where::current()) const;
  Tensor trace(Where where = Where::current()) const;
  Tensor softmax(std::int64_t dimension, std::optional<ScalarType> type = std::nullopt,
                 Where where = Where::current()) const;
  Tensor log_softmax(std::int64_t dimension, std::optional<ScalarType> type = std::nullopt,
                     Where where = Where::current()) const;

  // Products of matrices: [m, k] x [k, n]; `bmm` and `matmul` with leading dimensions, which `matmul` broadcasts. Both
  // operands have one type, which is the result's; sums are one chain over k in f32 (integers: exact). On a device the
  // plan (tiles, split of k) is chosen for the machine; torch::ahbm::matmul takes it as options.
  Tensor matmul(const Tensor& other, Where where = Where::current()) const;
  Tensor mm(const Tensor& other, Where where = Where::current()) const;
  Tensor bmm(const Tensor& other, Where where = Where::current()) const;
  Tensor mv(const Tensor& vector, Where where = Where::current()) const;
  Tensor dot(const Tensor& other, Where where = Where::current()) const;
  Tensor outer(const Tensor& other, Where where = Where::current()) const;
  Tensor addmm(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1,
               Where where = Where::current()) const;
  /// beta * this + alpha * a b of batches, and likewise with the sum over the batch.
  Tensor baddbmm(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1,
                 Where where = Where::current()) const;
  Tensor addbmm(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1,
                Where where = Where::current()) const;
  /// The cross product of vectors of 3 along a dimension, by default the first one of 3.
  Tensor cross(const Tensor& other, std::optional<std::int64_t> dimension = std::nullopt,
               Where where = Where::current()) const;

  // New tensors of this one's type and device, unless the options say otherwise.
  Tensor new_empty(IntArrayRef size, const TensorOptions& options = {}, Where where = Where::current()) const;
  Tensor new_zeros(IntArrayRef size, const TensorOptions& options = {}, Where where = Where::current()) const;
  Tensor new_ones(IntArrayRef size, const TensorOptions& options = {}, Where where = Where::current()) const;
  Tensor new_full(IntArrayRef size, const Scalar& value, const TensorOptions& options = {},
                  Where where = Where::current()) const;

  // Writes. They return this tensor, keep its shape and type, and convert what they are given; sources broadcast.
  Tensor& copy_(const Tensor& source, Where where = Where::current());
  const Tensor& copy_(const Tensor& source, Where where = Where::current()) const;
  /// The same, and how long the host waits for a copy from host to device, whose source is captured at the call either
  /// way: with `non_blocking` it goes on once the copy is in its stream, as it does with copy_(source); without, when
  /// the elements have landed. A copy to the host always waits, as PyTorch's to memory that is not pinned; one from
  /// device to device waits no longer than copy_(source).
  Tensor& copy_(const Tensor& source, bool non_blocking, Where where = Where::current());
  const Tensor& copy_(const Tensor& source, bool non_blocking, Where where = Where::current()) const;
  Tensor& fill_(const Scalar& value, Where where = Where::current());
  const Tensor& fill_(const Scalar& value, Where where = Where::current()) const;
  Tensor& zero_(Where where = Where::current()) { return fill_(0, where); }
  const Tensor& zero_(Where where = Where::current()) const { return fill_(0, where); }
  /// Random numbers of the calling fiber's generator, in [from, to), and with this mean and standard deviation; of a
  /// floating-point type, which is never rounded up to `to`. They depend on the generator's state and the element's
  /// index alone.
  const Tensor& uniform_(double from = 0, double to = 1, Where where = Where::current()) const;
  const Tensor& normal_(double mean = 0, double std = 1, Where where = Where::current()) const;
  /// Whole numbers in [from, to), of any type; without bounds in [0, the largest that the type counts up to].
  const Tensor& random_(std::int64_t from, std::optional<std::int64_t> to, Where where = Where::current()) const;
  const Tensor& random_(std::int64_t to, Where where = Where::current()) const { return random_(0, to, where); }
  const Tensor& random_(Where where = Where::current()) const;
  /// 1 with probability p, else 0.
  const Tensor& bernoulli_(double p = 0.5, Where where = Where::current()) const;
  const Tensor& bernoulli_(const Tensor& p, Where where = Where::current()) const;
  /// 1 with the probability that each element says, else 0.
  Tensor bernoulli(Where where = Where::current()) const;
  /// Places of elements, drawn with their weights along the last dimension.
  Tensor multinomial(std::int64_t num_samples, bool replacement = false, Where where = Where::current()) const;
  Tensor clone(Where where = Where::current()) const;
  /// Every handle of this tensor is one of `data`'s elements, shape, type and device from now on; views made before
  /// keep the elements that they have.
  void set_data(const Tensor& data, Where where = Where::current()) const;

  // Comparisons as a whole: host reads, which wait for the elements of both.
  bool equal(const Tensor& other, Where where = Where::current()) const;
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false,
                Where where = Where::current()) const;

  const std::shared_ptr<tensor::TensorImpl>& impl() const { return impl_; }

 private:
  void* checked_data(ScalarType type) const;
  std::optional<Scalar> item_if_known(Where where) const;

  std::shared_ptr<tensor::TensorImpl> impl_;
};

/// Prints values and, on the last line, "[ CPUFloatType{2,3} ]". The layout may change.
std::ostream& operator<<(std::ostream& out, const TensorOperand& tensor);

/// Same sizes and values (NaN differs from NaN).
bool equal(const TensorOperand& a, const Tensor& b);
/// |a - b| <= atol + rtol * |b| everywhere, with broadcasting.
bool allclose(const TensorOperand& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

}  // namespace kernbench::torch
