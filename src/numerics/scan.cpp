// Running sums.
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

template <class T>
T add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T sum = a + b;
    return sum == sum ? sum : std::numeric_limits<T>::quiet_NaN();
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}

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
  /// The running sums of whole planes [length, inner], so that conversions are long.
  template <class T>
  void scan_values(TileContents& out) const {
    const std::int64_t plane = extent.length * extent.inner;
    std::vector<T> values(static_cast<std::size_t>(plane));
    auto* bytes = reinterpret_cast<std::byte*>(values.data());
    for (std::int64_t o = 0; o < extent.outer; ++o) {
      convert(computation, bytes, operand.dtype, operand.data() + o * plane * item_size(operand.dtype), plane);
      for_each_step([&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = 0; i < extent.inner; ++i) {
          T& sum = values[static_cast<std::size_t>(to + i)];
          sum = add(values[static_cast<std::size_t>(from + i)], sum);
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

}  // namespace

Value cumsum(Executor& executor, const Value& x, int axis, bool reverse, DType result) {
  assert(axis >= 0 && static_cast<std::size_t>(axis) < x.shape().rank());
  const DType computation = computation_type({x.dtype(), result});
  return calculate(executor, result, x.shape(), {&x},
                   ScanTask{reverse, computation, result, split(x.shape(), axis), Operand(x)});
}

}  // namespace kernbench::numerics
