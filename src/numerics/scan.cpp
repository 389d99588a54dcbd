// Running sums and products.
#include <algorithm>
#include <cassert>
#include <limits>
#include <type_traits>
#include <vector>

#include "numerics/conversion.h"
#include "numerics/kernels.h"
#include "numerics/reduction.h"

namespace kernbench::numerics {

namespace {

struct RunningSum {
  template <class T>
  static T of(T a, T b) {
    return a + b;
  }
};
struct RunningProduct {
  template <class T>
  static T of(T a, T b) {
    return a * b;
  }
};

/// Integers wrap; a NaN is the positive quiet one.
template <class Operation, class T>
T combined(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T result = Operation::of(a, b);
    return result == result ? result : std::numeric_limits<T>::quiet_NaN();
  } else {
    return static_cast<T>(Operation::of(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  }
}

template <class Operation>
struct ScanTask {
  bool reverse;
  DType computation, result;
  Extent3 extent;
  Operand operand;

  void operator()(TileContents& out) const {
    if (computation == DType::f32)
      scan_values<float>(out);
    else if (computation == DType::f64)
      scan_values<double>(out);
    else
      scan_values<std::int64_t>(out);
    if (operand.has_mask()) scan_validity(out);
  }

 private:
  /// The running results of whole planes [length, inner], so that conversions are long.
  template <class T>
  void scan_values(TileContents& out) const {
    const std::int64_t plane = extent.length * extent.inner;
    std::vector<T> values(static_cast<std::size_t>(plane));
    auto* bytes = reinterpret_cast<std::byte*>(values.data());
    for (std::int64_t o = 0; o < extent.outer; ++o) {
      convert(computation, bytes, operand.dtype, operand.data() + o * plane * item_size(operand.dtype), plane);
      for_each_step([&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = 0; i < extent.inner; ++i) {
          T& result_so_far = values[static_cast<std::size_t>(to + i)];
          result_so_far = combined<Operation>(values[static_cast<std::size_t>(from + i)], result_so_far);
        }
      });
      convert(result, out.bytes.data() + o * plane * item_size(result), computation, bytes, plane);
    }
  }

  void scan_validity(TileContents& out) const {
    out.sources = operand.sources();
    const std::int64_t plane = extent.length * extent.inner;
    for (std::int64_t o = 0; o < extent.outer; ++o) {
      SourceId* lanes = out.sources.data() + o * plane;
      for_each_step([&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = 0; i < extent.inner; ++i) lanes[to + i] = first_invalid(lanes[from + i], lanes[to + i]);
      });
    }
  }

  /// Calls visit(row, next row) along the axis, in elements of a plane.
  template <class Visit>
  void for_each_step(Visit&& visit) const {
    for (std::int64_t step = 1; step < extent.length; ++step) {
      const std::int64_t from = reverse ? extent.length - step : step - 1;
      visit(from * extent.inner, (reverse ? from - 1 : from + 1) * extent.inner);
    }
  }
};

template <class Operation>
Value scan(Executor& executor, const Value& x, int axis, bool reverse, DType result) {
  assert(axis >= 0 && static_cast<std::size_t>(axis) < x.shape().rank());
  const DType computation = computation_type({x.dtype(), result});
  return calculate(executor, result, x.shape(), {&x},
                   ScanTask<Operation>{reverse, computation, result, split(x.shape(), axis), Operand(x)});
}

}  // namespace

Value cumsum(Executor& executor, const Value& x, int axis, bool reverse, DType result) {
  return scan<RunningSum>(executor, x, axis, reverse, result);
}
Value cumprod(Executor& executor, const Value& x, int axis, bool reverse, DType result) {
  return scan<RunningProduct>(executor, x, axis, reverse, result);
}

}  // namespace kernbench::numerics
