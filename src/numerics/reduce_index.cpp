// The place of the largest or smallest lane.
#include <algorithm>
#include <vector>

#include "numerics/conversion.h"
#include "numerics/kernels.h"
#include "numerics/reduction.h"

namespace kernbench::numerics {

namespace {

/// Whether a lane takes the place of the best one before it; equal ones never do.
template <class T>
bool beats(ReduceOperation operation, T lane, T best) {
  const bool lane_nan = lane != lane, best_nan = best != best;
  switch (operation) {
    case ReduceOperation::argmax:
      return lane > best || (best_nan && !lane_nan);
    case ReduceOperation::argmin:
      return lane < best || (best_nan && !lane_nan);
    case ReduceOperation::argmax_nan:
      return !best_nan && (lane > best || lane_nan);
    default:
      return !best_nan && (lane < best || lane_nan);
  }
}

template <class T>
class IndexTask {
 public:
  IndexTask(ReduceOperation operation, DType computation, const Operand& operand, const Extent3& extent)
      : operation_(operation), computation_(computation), operand_(operand), extent_(extent), buffer_(kColumns) {}

  /// The index for each of the lines [outer, column …), `columns` of them.
  void find(std::int64_t outer, std::int64_t column, std::int64_t columns, std::int64_t* indices) {
    std::fill_n(indices, columns, std::int64_t{0});
    std::vector<T> best(static_cast<std::size_t>(columns));
    // Rows of one element are converted many at a time.
    const std::int64_t step = extent_.inner == 1 ? kColumns : 1;
    for (std::int64_t row = 0; row < extent_.length; row += step) {
      const std::int64_t rows = std::min(step, extent_.length - row);
      convert(computation_, reinterpret_cast<std::byte*>(buffer_.data()), operand_.dtype, lane(outer, row, column),
              rows * columns);
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        const auto at = static_cast<std::size_t>(i % columns);
        const T value = buffer_[static_cast<std::size_t>(i)];
        const std::int64_t index = row + i / columns;
        if (index > 0 && !beats(operation_, value, best[at])) continue;
        best[at] = value;
        indices[at] = index;
      }
    }
  }

 private:
  const std::byte* lane(std::int64_t outer, std::int64_t row, std::int64_t column) const {
    return operand_.data() + ((outer * extent_.length + row) * extent_.inner + column) * item_size(operand_.dtype);
  }

  ReduceOperation operation_;
  DType computation_;
  const Operand& operand_;
  Extent3 extent_;
  std::vector<T> buffer_;
};

template <class T>
void find_all(TileContents& out, ReduceOperation operation, DType computation, const Operand& operand,
              const Extent3& extent, DType result) {
  IndexTask<T> task(operation, computation, operand, extent);
  std::vector<std::int64_t> indices(kColumns);
  for (std::int64_t o = 0; o < extent.outer; ++o) {
    for (std::int64_t column = 0; column < extent.inner; column += kColumns) {
      const std::int64_t columns = std::min(kColumns, extent.inner - column);
      task.find(o, column, columns, indices.data());
      convert(result, out.bytes.data() + (o * extent.inner + column) * item_size(result), DType::i64,
              reinterpret_cast<const std::byte*>(indices.data()), columns);
    }
  }
}

}  // namespace

void reduce_to_index(TileContents& out, ReduceOperation operation, const Operand& operand, const Extent3& extent,
                     DType result, const OwnSource& own) {
  const DType computation = computation_type({operand.dtype});
  if (computation == DType::f32)
    find_all<float>(out, operation, computation, operand, extent, result);
  else if (computation == DType::f64)
    find_all<double>(out, operation, computation, operand, extent, result);
  else
    find_all<std::int64_t>(out, operation, computation, operand, extent, result);
  // No lane is none of the lanes.
  const std::int64_t lines = extent.outer * extent.inner;
  if (extent.length == 0 && lines > 0) out.sources.assign(static_cast<std::size_t>(lines), own.id(Cause::no_lanes));
}

}  // namespace kernbench::numerics
