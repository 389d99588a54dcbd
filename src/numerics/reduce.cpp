#include <algorithm>
#include <cassert>
#include <limits>
#include <type_traits>

#include "numerics/conversion.h"
#include "numerics/kernels.h"
#include "numerics/memory/storage.h"
#include "numerics/operations.h"
#include "numerics/reduction.h"

namespace kernbench::numerics {

namespace {

Shape reduced_shape(const Shape& shape, std::optional<int> axis, bool keep_dims) {
  Shape result;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const bool reduced = !axis || static_cast<std::size_t>(*axis) == i;
    if (!reduced)
      result.push_back(shape[i]);
    else if (keep_dims)
      result.push_back(1);
  }
  return result;
}

constexpr std::int64_t kBlock = 8;  // consecutive lanes added from left to right

/// Whether the order of the lanes matters.
constexpr bool is_ordered(ReduceOperation operation) {
  return operation == ReduceOperation::sum || operation == ReduceOperation::product;
}

/// Reduces the rows of a [length, columns] array in computation type T. Rows come in order through `add_row`.
template <class T>
class ColumnReducer {
 public:
  ColumnReducer(ReduceOperation operation, DType computation, std::int64_t columns)
      : kernel_(binary_kernel(binary_operation(operation), computation)), columns_(columns), operation_(operation) {}

  void add_row(const T* row) {
    const std::int64_t in_block = rows_++ % (is_ordered(operation_) ? kBlock : INT64_MAX);
    if (in_block == 0) {
      partials_.resize((depth_ + 1) * static_cast<std::size_t>(columns_));
      std::copy_n(row, columns_, partial(depth_++));
    } else {
      combine(partial(depth_ - 1), row);
    }
    if (in_block == kBlock - 1 && is_ordered(operation_)) merge_equal_partials();
  }

  /// The same as add_row for each of `count` values of the only column; overwrites them.
  /// REQUIRES: whole blocks were added before.
  void add_values(T* values, std::int64_t count) {
    if (!is_ordered(operation_)) {
      // The order does not matter, so the halves are folded onto each other.
      for (std::int64_t half = count / 2; half > 0; half = count / 2) {
        kernel_(bytes(values), bytes(values + (count - half)), reinterpret_cast<std::byte*>(values), half);
        count -= half;
      }
      add_row(values);
      return;
    }
    const bool adds = operation_ == ReduceOperation::sum;
    for (; count > 0; count -= kBlock, values += kBlock) {
      const std::int64_t block = std::min(kBlock, count);
      T total = values[0];
      for (std::int64_t i = 1; i < block; ++i) total = adds ? add(total, values[i]) : multiply(total, values[i]);
      partials_.resize(depth_ + 1);
      *partial(depth_++) = total;
      rows_ += block;
      if (block == kBlock) merge_equal_partials();
    }
  }

  const T* finish() {
    if (rows_ == 0) return identity();
    while (depth_ > 1) merge_last_two();
    for (T& value : std::span(partial(0), static_cast<std::size_t>(columns_))) value = finished(value);
    return partial(0);
  }

 private:
  static BinaryOperation binary_operation(ReduceOperation operation) {
    switch (operation) {
      case ReduceOperation::product:
        return BinaryOperation::multiply;
      case ReduceOperation::maximum:
        return BinaryOperation::maximum;
      case ReduceOperation::minimum:
        return BinaryOperation::minimum;
      case ReduceOperation::maximum_nan:
        return BinaryOperation::maximum_nan;
      case ReduceOperation::minimum_nan:
        return BinaryOperation::minimum_nan;
      case ReduceOperation::logical_and:
        return BinaryOperation::logical_and;
      case ReduceOperation::logical_or:
        return BinaryOperation::logical_or;
      default:
        return BinaryOperation::add;
    }
  }

  /// The first lane of all may not have met the operation's kernel.
  T finished(T value) const {
    using enum ReduceOperation;
    if (operation_ == logical_and || operation_ == logical_or) return static_cast<T>(value != 0);
    if constexpr (std::is_floating_point_v<T>) {
      if (value != value && operation_ != maximum && operation_ != minimum) return std::numeric_limits<T>::quiet_NaN();
    }
    return value;
  }

  static const std::byte* bytes(const T* values) { return reinterpret_cast<const std::byte*>(values); }

  static T add(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a + b;
    else
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }

  static T multiply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }

  T* partial(std::size_t index) { return partials_.data() + index * static_cast<std::size_t>(columns_); }

  void combine(T* into, const T* from) {
    kernel_(bytes(into), bytes(from), reinterpret_cast<std::byte*>(into), columns_);
  }

  void merge_last_two() {
    combine(partial(depth_ - 2), partial(depth_ - 1));
    --depth_;
  }

  /// Like carrying in a binary counter of blocks: the pairwise tree, without ever holding a whole level of it.
  void merge_equal_partials() {
    for (std::int64_t blocks = rows_ / kBlock; blocks % 2 == 0; blocks /= 2) merge_last_two();
  }

  /// The result of no lanes.
  const T* identity() {
    partials_.assign(static_cast<std::size_t>(columns_), identity_value());
    return partials_.data();
  }

  T identity_value() const {
    using Limits = std::numeric_limits<T>;
    constexpr T kHighest = std::is_floating_point_v<T> ? Limits::infinity() : Limits::max();
    constexpr T kLowest = std::is_floating_point_v<T> ? -Limits::infinity() : Limits::min();
    switch (operation_) {
      case ReduceOperation::product:
      case ReduceOperation::logical_and:
        return T{1};
      case ReduceOperation::maximum:
      case ReduceOperation::maximum_nan:
        return kLowest;
      case ReduceOperation::minimum:
      case ReduceOperation::minimum_nan:
        return kHighest;
      default:
        return T{0};
    }
  }

  BinaryKernel kernel_;
  std::int64_t columns_;
  ReduceOperation operation_;
  std::int64_t rows_ = 0;
  std::size_t depth_ = 0;
  std::vector<T> partials_;
};

struct ReduceTask {
  ReduceOperation operation;
  DType computation, result;
  Extent3 extent;
  Operand operand;
  OwnSource own;

  void operator()(TileContents& out) const {
    if (yields_index(operation))
      reduce_to_index(out, operation, operand, extent, result, own);
    else if (computation == DType::f32)
      reduce_values<float>(out);
    else if (computation == DType::f64)
      reduce_values<double>(out);
    else
      reduce_values<std::int64_t>(out);
    if (operand.has_mask()) reduce_validity(out);
  }

  template <class T>
  void reduce_values(TileContents& out) const {
    // Rows of one element are converted many at a time.
    const std::int64_t step = extent.inner == 1 ? kColumns : 1;
    std::vector<T> buffer(static_cast<std::size_t>(kColumns));
    auto* converted = reinterpret_cast<std::byte*>(buffer.data());
    for (std::int64_t o = 0; o < extent.outer; ++o) {
      for (std::int64_t column = 0; column < extent.inner; column += kColumns) {
        const std::int64_t columns = std::min(kColumns, extent.inner - column);
        ColumnReducer<T> reducer(operation, computation, columns);
        for (std::int64_t row = 0; row < extent.length; row += step) {
          const std::int64_t rows = std::min(step, extent.length - row);
          convert(computation, converted, operand.dtype, lane(o, row, column), rows * columns);
          if (extent.inner == 1)
            reducer.add_values(buffer.data(), rows);
          else
            reducer.add_row(buffer.data());
        }
        std::byte* destination = out.bytes.data() + (o * extent.inner + column) * item_size(result);
        convert(result, destination, computation, reinterpret_cast<const std::byte*>(reducer.finish()), columns);
      }
    }
  }

  const std::byte* lane(std::int64_t outer, std::int64_t row, std::int64_t column) const {
    return operand.data() + ((outer * extent.length + row) * extent.inner + column) * item_size(operand.dtype);
  }

  void reduce_validity(TileContents& out) const {
    if (extent.length == 0) return;
    out.sources.assign(static_cast<std::size_t>(extent.outer * extent.inner), kValid);
    const SourceId* in = operand.sources().data();
    for (std::int64_t o = 0; o < extent.outer; ++o) {
      SourceId* row = out.sources.data() + o * extent.inner;
      for (std::int64_t i = 0; i < extent.length * extent.inner; ++i, ++in) {
        row[i % extent.inner] = first_invalid(row[i % extent.inner], *in);
      }
    }
  }
};

}  // namespace

Extent3 split(const Shape& shape, std::optional<int> axis) {
  if (!axis) return {1, shape.numel(), 1};
  Extent3 result;
  const auto reduced = static_cast<std::size_t>(*axis);
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    (i < reduced ? result.outer : i == reduced ? result.length : result.inner) *= shape[i];
  }
  return result;
}

Value reduce(Executor& executor, ReduceOperation operation, const Value& x, std::optional<int> axis, bool keep_dims,
             DType result) {
  assert(!axis || (*axis >= 0 && static_cast<std::size_t>(*axis) < x.shape().rank()));
  const bool logical = operation == ReduceOperation::logical_and || operation == ReduceOperation::logical_or;
  const DType computation = logical ? computation_type({x.dtype()}) : computation_type({x.dtype(), result});
  return calculate(
      executor, result, reduced_shape(x.shape(), axis, keep_dims), {&x},
      ReduceTask{operation, computation, result, split(x.shape(), axis), Operand(x), OwnSource(executor.sources())});
}

}  // namespace kernbench::numerics
