// The host tensor: a cheap shared handle to elements on the host or on a device; views share the elements.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "kernbench/torch/types.h"

namespace kernbench::runtime {
class TensorImpl;
}

namespace kernbench::torch {

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
  Tensor to(ScalarType type) const;
  Tensor to(Device device) const;
  Tensor to(Device device, ScalarType type) const;
  Tensor to(const TensorOptions& options) const;
  Tensor to(DeviceType type) const { return to(Device(type)); }
  Tensor to(const char* device) const { return to(Device(device)); }
  Tensor cpu() const { return to(Device(kCPU)); }

  // Writes. They return this tensor.
  Tensor& copy_(const Tensor& source);
  const Tensor& copy_(const Tensor& source) const;
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
