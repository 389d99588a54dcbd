// The host tensor: a cheap shared handle to elements on the host or on a device; views share the elements.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "kernbench/torch/types.h"

namespace kernbench::runtime {
class TensorImpl;
}

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
  explicit Tensor(std::shared_ptr<runtime::TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  Tensor& operator=(const Tensor& other) & = default;
  Tensor& operator=(Tensor&& other) & = default;
  /// `x[0] = y` and `x[0] = 1.5` write the elements.
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): a copy of elements to themselves changes nothing
  Tensor& operator=(const Tensor& other) && { return copy_(other), *this; }
  // NOLINTNEXTLINE(performance-noexcept-move-constructor): it copies elements, which may fail
  Tensor& operator=(Tensor&& other) && { return copy_(other), *this; }
  Tensor& operator=(const Scalar& value) && { return fill_(value), *this; }

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
  Scalar item() const;
  template <class T>
  T item() const {
    return item().to<T>();
  }
  /// Like item, but yields `assumed` when element values are not computed (--no-data); the times are the same.
  template <class T>
  T item_or(T assumed) const {
    const auto value = item_if_known();
    return value ? value->template to<T>() : assumed;
  }

  // Views: they share the elements of this tensor.
  Tensor operator[](std::int64_t index) const { return select(0, index); }
  Tensor select(std::int64_t dimension, std::int64_t index) const;
  Tensor narrow(std::int64_t dimension, std::int64_t start, std::int64_t length) const;
  Tensor slice(std::int64_t dimension = 0, std::optional<std::int64_t> start = std::nullopt,
               std::optional<std::int64_t> end = std::nullopt, std::int64_t step = 1) const;
  Tensor transpose(std::int64_t dimension0, std::int64_t dimension1) const;
  Tensor t() const;
  Tensor permute(IntArrayRef dimensions) const;
  Tensor view(IntArrayRef sizes) const;
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  Tensor unflatten(std::int64_t dimension, IntArrayRef sizes) const;
  Tensor movedim(IntArrayRef source, IntArrayRef destination) const;
  Tensor movedim(std::int64_t source, std::int64_t destination) const;
  /// The last two dimensions swapped / all dimensions reversed.
  Tensor mT() const;
  Tensor T() const;
  Tensor diagonal(std::int64_t offset = 0, std::int64_t dimension1 = 0, std::int64_t dimension2 = 1) const;
  std::vector<Tensor> unbind(std::int64_t dimension = 0) const;
  std::vector<Tensor> chunk(std::int64_t chunks, std::int64_t dimension = 0) const;
  std::vector<Tensor> split(std::int64_t size, std::int64_t dimension = 0) const;
  std::vector<Tensor> split(IntArrayRef sizes, std::int64_t dimension = 0) const;
  std::vector<Tensor> split_with_sizes(IntArrayRef sizes, std::int64_t dimension = 0) const;
  Tensor unsqueeze(std::int64_t dimension) const;
  Tensor squeeze(std::int64_t dimension) const;
  Tensor squeeze() const;
  Tensor expand(IntArrayRef sizes) const;
  Tensor alias() const;
  Tensor detach() const { return alias(); }

  // Views where possible, else copies.
  Tensor reshape(IntArrayRef sizes) const;
  Tensor flatten(std::int64_t first = 0, std::int64_t last = -1) const;
  Tensor contiguous() const;
  /// This tensor itself where it is already as asked for, unless `copy`; else a new one. `non_blocking` is that of
  /// copy_: how long the host waits for a copy from host to device. Not given, it goes on as with true.
  Tensor to(const TensorOptions& options, std::optional<bool> non_blocking = std::nullopt, bool copy = false) const;
  Tensor to(Device device, ScalarType type, std::optional<bool> non_blocking = std::nullopt, bool copy = false) const {
    return to(TensorOptions(type).device(device), non_blocking, copy);
  }
  Tensor to(ScalarType type, std::optional<bool> non_blocking = std::nullopt, bool copy = false) const {
    return to(TensorOptions(type), non_blocking, copy);
  }
  Tensor to(Device device, std::optional<bool> non_blocking = std::nullopt, bool copy = false) const {
    return to(TensorOptions(device), non_blocking, copy);
  }
  Tensor to(DeviceType type, std::optional<bool> non_blocking = std::nullopt, bool copy = false) const {
    return to(Device(type), non_blocking, copy);
  }
  Tensor to(const char* device, std::optional<bool> non_blocking = std::nullopt, bool copy = false) const {
    return to(Device(device), non_blocking, copy);
  }
  Tensor to(const Tensor& other, std::optional<bool> non_blocking = std::nullopt, bool copy = false) const {
    return to(TensorOptions(other.scalar_type()).device(other.device()), non_blocking, copy);
  }
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor type_as(const Tensor& other) const { return to(other); }

  // Choosing elements. Integers, slices, None and Ellipsis give views; a tensor of indices or of bools gives a copy.
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor index(const std::vector<indexing::TensorIndex>& indices) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) const;
  Tensor index_select(std::int64_t dimension, const Tensor& index) const;
  Tensor gather(std::int64_t dimension, const Tensor& index) const;
  /// The elements where `mask` is true. Of device tensors it is an error: its size is known on the host only.
  Tensor masked_select(const Tensor& mask) const;
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const;
  Tensor masked_fill(const Tensor& mask, const Tensor& value) const;
  const Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const;
  Tensor where(const Tensor& condition, const Tensor& other) const;
  Tensor tril(std::int64_t diagonal = 0) const;
  Tensor triu(std::int64_t diagonal = 0) const;

  // Arithmetic; operators are in torch/operations.h. Two operands broadcast and promote as in PyTorch; an in-place form
  // keeps the shape and the type of this tensor, and is an error where the result would not fit them.
  Tensor add(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor add(const Scalar& other, const Scalar& alpha = 1) const;
  const Tensor& add_(const Tensor& other, const Scalar& alpha = 1) const;
  const Tensor& add_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor sub(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor sub(const Scalar& other, const Scalar& alpha = 1) const;
  const Tensor& sub_(const Tensor& other, const Scalar& alpha = 1) const;
  const Tensor& sub_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor mul(const Tensor& other) const;
  Tensor mul(const Scalar& other) const;
  const Tensor& mul_(const Tensor& other) const;
  const Tensor& mul_(const Scalar& other) const;
  Tensor div(const Tensor& other) const;
  Tensor div(const Scalar& other) const;
  const Tensor& div_(const Tensor& other) const;
  const Tensor& div_(const Scalar& other) const;
  Tensor floor_divide(const Tensor& other) const;
  Tensor floor_divide(const Scalar& other) const;
  const Tensor& floor_divide_(const Tensor& other) const;
  const Tensor& floor_divide_(const Scalar& other) const;
  Tensor remainder(const Tensor& other) const;
  Tensor remainder(const Scalar& other) const;
  const Tensor& remainder_(const Tensor& other) const;
  const Tensor& remainder_(const Scalar& other) const;
  Tensor fmod(const Tensor& other) const;
  Tensor fmod(const Scalar& other) const;
  const Tensor& fmod_(const Tensor& other) const;
  const Tensor& fmod_(const Scalar& other) const;
  Tensor pow(const Tensor& other) const;
  Tensor pow(const Scalar& other) const;
  const Tensor& pow_(const Tensor& other) const;
  const Tensor& pow_(const Scalar& other) const;
  Tensor bitwise_and(const Tensor& other) const;
  Tensor bitwise_and(const Scalar& other) const;
  const Tensor& bitwise_and_(const Tensor& other) const;
  const Tensor& bitwise_and_(const Scalar& other) const;
  Tensor bitwise_or(const Tensor& other) const;
  Tensor bitwise_or(const Scalar& other) const;
  const Tensor& bitwise_or_(const Tensor& other) const;
  const Tensor& bitwise_or_(const Scalar& other) const;
  Tensor bitwise_xor(const Tensor& other) const;
  Tensor bitwise_xor(const Scalar& other) const;
  const Tensor& bitwise_xor_(const Tensor& other) const;
  const Tensor& bitwise_xor_(const Scalar& other) const;
  Tensor bitwise_left_shift(const Tensor& other) const;
  Tensor bitwise_left_shift(const Scalar& other) const;
  const Tensor& bitwise_left_shift_(const Tensor& other) const;
  const Tensor& bitwise_left_shift_(const Scalar& other) const;
  Tensor bitwise_right_shift(const Tensor& other) const;
  Tensor bitwise_right_shift(const Scalar& other) const;
  const Tensor& bitwise_right_shift_(const Tensor& other) const;
  const Tensor& bitwise_right_shift_(const Scalar& other) const;
  /// rounding_mode: "trunc" or "floor".
  Tensor div(const Tensor& other, std::optional<std::string_view> rounding_mode) const;
  Tensor div(const Scalar& other, std::optional<std::string_view> rounding_mode) const;
  Tensor eq(const Tensor& other) const;
  Tensor eq(const Scalar& other) const;
  Tensor ne(const Tensor& other) const;
  Tensor ne(const Scalar& other) const;
  Tensor lt(const Tensor& other) const;
  Tensor lt(const Scalar& other) const;
  Tensor le(const Tensor& other) const;
  Tensor le(const Scalar& other) const;
  Tensor gt(const Tensor& other) const;
  Tensor gt(const Scalar& other) const;
  Tensor ge(const Tensor& other) const;
  Tensor ge(const Scalar& other) const;
  Tensor maximum(const Tensor& other) const;
  Tensor minimum(const Tensor& other) const;
  Tensor logical_and(const Tensor& other) const;
  Tensor logical_or(const Tensor& other) const;
  Tensor logical_xor(const Tensor& other) const;
  Tensor clamp(const std::optional<Scalar>& low, const std::optional<Scalar>& high = std::nullopt) const;
  Tensor clamp(const std::optional<Tensor>& low = {}, const std::optional<Tensor>& high = {}) const;
  const Tensor& clamp_(const std::optional<Scalar>& low, const std::optional<Scalar>& high = std::nullopt) const;
  Tensor clamp_min(const Scalar& low) const;
  Tensor clamp_min(const Tensor& low) const;
  Tensor clamp_max(const Scalar& high) const;
  Tensor clamp_max(const Tensor& high) const;
  const Tensor& clamp_min_(const Scalar& low) const;
  const Tensor& clamp_max_(const Scalar& high) const;
  /// this + weight * (end - this).
  Tensor lerp(const Tensor& end, const Scalar& weight) const;
  Tensor lerp(const Tensor& end, const Tensor& weight) const;
  /// this + value * a * b, and with / in place of the second *.
  Tensor addcmul(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor addcdiv(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor isclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;
  Tensor& operator+=(const Tensor& other) { return add_(other), *this; }
  Tensor& operator+=(const Scalar& other) { return add_(other), *this; }
  Tensor& operator-=(const Tensor& other) { return sub_(other), *this; }
  Tensor& operator-=(const Scalar& other) { return sub_(other), *this; }
  Tensor& operator*=(const Tensor& other) { return mul_(other), *this; }
  Tensor& operator*=(const Scalar& other) { return mul_(other), *this; }
  Tensor& operator/=(const Tensor& other) { return div_(other), *this; }
  Tensor& operator/=(const Scalar& other) { return div_(other), *this; }
  Tensor& operator&=(const Tensor& other) { return bitwise_and_(other), *this; }
  Tensor& operator|=(const Tensor& other) { return bitwise_or_(other), *this; }
  Tensor& operator^=(const Tensor& other) { return bitwise_xor_(other), *this; }
  Tensor operator-() const { return neg(); }
  Tensor operator~() const { return bitwise_not(); }
  Tensor neg() const;
  const Tensor& neg_() const;
  Tensor abs() const;
  const Tensor& abs_() const;
  Tensor sqrt() const;
  const Tensor& sqrt_() const;
  Tensor rsqrt() const;
  const Tensor& rsqrt_() const;
  Tensor reciprocal() const;
  const Tensor& reciprocal_() const;
  Tensor square() const;
  const Tensor& square_() const;
  Tensor exp() const;
  const Tensor& exp_() const;
  Tensor exp2() const;
  const Tensor& exp2_() const;
  Tensor expm1() const;
  const Tensor& expm1_() const;
  Tensor log() const;
  const Tensor& log_() const;
  Tensor log2() const;
  const Tensor& log2_() const;
  Tensor log10() const;
  const Tensor& log10_() const;
  Tensor log1p() const;
  const Tensor& log1p_() const;
  Tensor sin() const;
  const Tensor& sin_() const;
  Tensor cos() const;
  const Tensor& cos_() const;
  Tensor tanh() const;
  const Tensor& tanh_() const;
  Tensor erf() const;
  const Tensor& erf_() const;
  Tensor sigmoid() const;
  const Tensor& sigmoid_() const;
  Tensor floor() const;
  const Tensor& floor_() const;
  Tensor ceil() const;
  const Tensor& ceil_() const;
  Tensor round() const;
  const Tensor& round_() const;
  Tensor trunc() const;
  const Tensor& trunc_() const;
  Tensor sign() const;
  const Tensor& sign_() const;
  Tensor bitwise_not() const;
  const Tensor& bitwise_not_() const;
  Tensor logical_not() const;
  const Tensor& logical_not_() const;
  Tensor relu() const;
  const Tensor& relu_() const;
  Tensor isnan() const;
  Tensor isinf() const;
  Tensor isfinite() const;
  // Reductions: over all dimensions, over one, or over several.
  Tensor sum(std::optional<ScalarType> type = std::nullopt) const;
  Tensor sum(OptionalIntArrayRef dimensions, bool keepdim = false, std::optional<ScalarType> type = std::nullopt) const;
  Tensor mean(std::optional<ScalarType> type = std::nullopt) const;
  Tensor mean(OptionalIntArrayRef dimensions, bool keepdim = false,
              std::optional<ScalarType> type = std::nullopt) const;
  Tensor prod(std::optional<ScalarType> type = std::nullopt) const;
  Tensor prod(std::int64_t dimension, bool keepdim = false, std::optional<ScalarType> type = std::nullopt) const;
  Tensor max() const;
  Tensor min() const;
  /// Values and indices.
  std::tuple<Tensor, Tensor> max(std::int64_t dimension, bool keepdim = false) const;
  std::tuple<Tensor, Tensor> min(std::int64_t dimension, bool keepdim = false) const;
  Tensor max(const Tensor& other) const { return maximum(other); }
  Tensor min(const Tensor& other) const { return minimum(other); }
  Tensor amax(IntArrayRef dimensions = {}, bool keepdim = false) const;
  Tensor amin(IntArrayRef dimensions = {}, bool keepdim = false) const;
  Tensor argmax(std::optional<std::int64_t> dimension = std::nullopt, bool keepdim = false) const;
  Tensor argmin(std::optional<std::int64_t> dimension = std::nullopt, bool keepdim = false) const;
  Tensor var(bool unbiased = true) const;
  Tensor var(OptionalIntArrayRef dimensions, bool unbiased = true, bool keepdim = false) const;
  Tensor std(bool unbiased = true) const;
  Tensor std(OptionalIntArrayRef dimensions, bool unbiased = true, bool keepdim = false) const;
  Tensor norm(const Scalar& p = 2) const;
  Tensor norm(const std::optional<Scalar>& p, IntArrayRef dimensions, bool keepdim = false) const;
  Tensor logsumexp(IntArrayRef dimensions, bool keepdim = false) const;
  Tensor all() const;
  Tensor all(std::int64_t dimension, bool keepdim = false) const;
  Tensor any() const;
  Tensor any(std::int64_t dimension, bool keepdim = false) const;
  Tensor cumsum(std::int64_t dimension, std::optional<ScalarType> type = std::nullopt) const;
  Tensor softmax(std::int64_t dimension, std::optional<ScalarType> type = std::nullopt) const;
  Tensor log_softmax(std::int64_t dimension, std::optional<ScalarType> type = std::nullopt) const;

  // Matrices.
  Tensor matmul(const Tensor& other) const;
  Tensor mm(const Tensor& other) const;
  Tensor bmm(const Tensor& other) const;
  Tensor mv(const Tensor& vector) const;
  Tensor dot(const Tensor& other) const;
  Tensor outer(const Tensor& other) const;
  Tensor addmm(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) const;

  // Writes. They return this tensor.
  Tensor& copy_(const Tensor& source);
  const Tensor& copy_(const Tensor& source) const;
  /// The same, and how long the host waits for a copy from host to device, whose source is captured at the call either
  /// way: with `non_blocking` it goes on once the copy is in its stream, as it does with copy_(source); without, when
  /// the elements have landed. A copy to the host always waits, as PyTorch's to memory that is not pinned; one from
  /// device to device waits no longer than copy_(source).
  Tensor& copy_(const Tensor& source, bool non_blocking);
  const Tensor& copy_(const Tensor& source, bool non_blocking) const;
  Tensor& fill_(const Scalar& value);
  const Tensor& fill_(const Scalar& value) const;
  Tensor& zero_() { return fill_(0); }
  Tensor clone() const;

  bool equal(const Tensor& other) const;
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;

  const std::shared_ptr<runtime::TensorImpl>& impl() const { return impl_; }

 private:
  void* checked_data(ScalarType type) const;
  std::optional<Scalar> item_if_known() const;

  std::shared_ptr<runtime::TensorImpl> impl_;
};

/// Prints values and, on the last line, "[ CPUFloatType{2,3} ]". The layout may change.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

/// Same sizes and values (NaN differs from NaN).
bool equal(const Tensor& a, const Tensor& b);
/// |a - b| <= atol + rtol * |b| everywhere, with broadcasting.
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

}  // namespace kernbench::torch
