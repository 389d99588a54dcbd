// Making tensors: libtorch's factory functions with its rules for the element type.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

/// Elements are not initialised; on the host they read as NaN or as the largest integer, so that a use shows.
Tensor empty(IntArrayRef size, const TensorOptions& options = {}, Where where = Where::current());
Tensor zeros(IntArrayRef size, const TensorOptions& options = {}, Where where = Where::current());
Tensor ones(IntArrayRef size, const TensorOptions& options = {}, Where where = Where::current());
/// Without a dtype in the options: Bool, Long or Float by the kind of `value`.
Tensor full(IntArrayRef size, const Scalar& value, const TensorOptions& options = {}, Where where = Where::current());
/// start, start + step, … below end. Without a dtype: Long when all three are integers, else Float.
Tensor arange(const Scalar& end, const TensorOptions& options = {}, Where where = Where::current());
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options = {},
              Where where = Where::current());
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options = {},
              Where where = Where::current());
/// `steps` numbers from start to end, both included, at equal distances. Without a dtype: Float.
Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps, const TensorOptions& options = {},
                Where where = Where::current());
Tensor eye(std::int64_t n, const TensorOptions& options = {}, Where where = Where::current());
Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& options = {}, Where where = Where::current());
/// Rows and columns of the elements of a [row, col] matrix on and below (above) the diagonal that is `offset` right of
/// the main one: [2, count], in row-major order. Without a dtype: Long.
Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset = 0, const TensorOptions& options = {},
                    Where where = Where::current());
Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset = 0, const TensorOptions& options = {},
                    Where where = Where::current());
/// Uniform in [0, 1), and normal with mean 0 and variance 1. Values depend on the generator's state and on the
/// element's index only: the same on every device and for every placement.
Tensor rand(IntArrayRef size, const TensorOptions& options = {}, Where where = Where::current());
Tensor randn(IntArrayRef size, const TensorOptions& options = {}, Where where = Where::current());
/// Whole numbers in [low, high). Without a dtype: Long.
Tensor randint(std::int64_t high, IntArrayRef size, const TensorOptions& options = {}, Where where = Where::current());
Tensor randint(std::int64_t low, std::int64_t high, IntArrayRef size, const TensorOptions& options = {},
               Where where = Where::current());

/// The numbers below n in an order that depends on the generator's state. Without a dtype: Long.
Tensor randperm(std::int64_t n, const TensorOptions& options = {}, Where where = Where::current());
Tensor bernoulli(const Tensor& p, Where where = Where::current());
/// Of the shape of x.
Tensor bernoulli(const Tensor& x, double p, Where where = Where::current());
Tensor multinomial(const TensorOperand& weights, std::int64_t num_samples, bool replacement = false);

/// Seeds the calling fiber's generator.
void manual_seed(std::uint64_t seed);

Tensor empty_like(const TensorOperand& other, const TensorOptions& options = {});
Tensor zeros_like(const TensorOperand& other, const TensorOptions& options = {});
Tensor ones_like(const TensorOperand& other, const TensorOptions& options = {});
Tensor full_like(const TensorOperand& other, const Scalar& value, const TensorOptions& options = {});
Tensor rand_like(const TensorOperand& other, const TensorOptions& options = {});
Tensor randn_like(const TensorOperand& other, const TensorOptions& options = {});
Tensor randint_like(const TensorOperand& other, std::int64_t low, std::int64_t high, const TensorOptions& options = {});

/// A host tensor over the caller's memory, without a copy: writes go both ways. The memory must outlive the tensor and
/// its views; `deleter`, if given, is called once with `data`, when the last of them is gone. Strides and
/// `storage_offset` count elements; without strides the elements lie densely in row-major order.
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}, Where where = Where::current());
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {},
                 Where where = Where::current());
Tensor from_blob(void* data, IntArrayRef sizes, const std::function<void(void*)>& deleter,
                 const TensorOptions& options = {}, Where where = Where::current());
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const std::function<void(void*)>& deleter,
                 const TensorOptions& options = {}, Where where = Where::current());
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::int64_t storage_offset,
                 const std::function<void(void*)>& deleter, const TensorOptions& options = {},
                 Where where = Where::current());
/// Likewise over memory that must not be written, which libtorch has not: an operation in place on the tensor or a view
/// of it is a ValueError. Nobody may write through its data_ptr().
Tensor from_blob(const void* data, IntArrayRef sizes, const TensorOptions& options = {},
                 Where where = Where::current());
Tensor from_blob(const void* data, IntArrayRef sizes, IntArrayRef strides,
                 const std::function<void(const void*)>& deleter, const TensorOptions& options = {},
                 Where where = Where::current());

namespace detail {

/// A scalar, a (nested) list or a vector as the argument of torch::tensor.
class TensorData {
 public:
  /// An empty list.
  TensorData() : sizes_{0} {}
  template <class T>
    requires std::is_arithmetic_v<T>
  TensorData(T value) : values_{value}, type_(scalar_type_of<T>()) {}  // NOLINT(google-explicit-constructor)
  TensorData(Half value) : values_{value}, type_(kHalf) {}             // NOLINT(google-explicit-constructor)
  TensorData(BFloat16 value) : values_{value}, type_(kBFloat16) {}     // NOLINT(google-explicit-constructor)
  TensorData(std::initializer_list<TensorData> list);                  // NOLINT(google-explicit-constructor)
  template <class T>
  TensorData(const std::vector<T>& values)  // NOLINT(google-explicit-constructor)
      : sizes_{static_cast<std::int64_t>(values.size())}, type_(scalar_type_of<T>()) {
    values_.reserve(values.size());
    for (const T value : values) values_.emplace_back(value);
  }

  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  const std::vector<Scalar>& values() const { return values_; }
  /// The element type of the C++ type.
  ScalarType type() const { return type_; }

 private:
  std::vector<std::int64_t> sizes_;
  std::vector<Scalar> values_;
  ScalarType type_ = kFloat;
};

}  // namespace detail

/// torch::tensor(1.5), torch::tensor({1, 2, 3}), torch::tensor({{1.0, 2.0}, {3.0, 4.0}}), torch::tensor(vector).
Tensor tensor(const detail::TensorData& data, const TensorOptions& options = {}, Where where = Where::current());

}  // namespace kernbench::torch
