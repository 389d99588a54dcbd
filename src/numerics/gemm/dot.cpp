#include <algorithm>
#include <cassert>
#include <limits>

#include "numerics/conversion.h"
#include "numerics/gemm/gemm.h"
#include "numerics/gemm/integer_dot.h"
#include "numerics/memory/storage.h"
#include "numerics/operations.h"

namespace kernbench::numerics {

namespace {

struct Dimensions {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
};

Dimensions dimensions_of(const Shape& a, const Shape& b) {
  assert(a.rank() == b.rank() && (a.rank() == 2 || a.rank() == 3));
  const std::size_t last = a.rank() - 1;
  assert(a[last] == b[last - 1] && (last == 1 || a[0] == b[0]));
  return {last == 2 ? a[0] : 1, a[last - 1], b[last], a[last]};
}

/// The chain c = c + a * b over k in double: multiply, round, add, round.
void multiply_doubles(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b, double* c) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      const double factor = a[i * k + p];
      for (std::int64_t j = 0; j < n; ++j) c[i * n + j] += factor * b[p * n + j];
    }
  }
}

template <class T>
void make_nans_canonical(T* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (values[i] != values[i]) values[i] = std::numeric_limits<T>::quiet_NaN();
  }
}

struct DotTask {
  Dimensions size;
  DType accumulation, result;
  Operand a, b;
  std::optional<Operand> accumulator;

  /// Computes rows [first, last) of matrix `batch` of the result.
  void compute_rows(TileContents& out, std::int64_t batch, std::int64_t first, std::int64_t last) const {
    const std::int64_t count = (last - first) * size.n;
    const std::int64_t start = (batch * size.m + first) * size.n;
    std::byte* destination = out.bytes.data() + start * item_size(result);
    AlignedBytes space;
    std::byte* sums = destination;
    if (result != accumulation) {
      space = AlignedBytes(count * item_size(accumulation));
      sums = space.data();
    }
    if (accumulator) {
      convert(accumulation, sums, accumulator->dtype, accumulator->data() + start * item_size(accumulator->dtype),
              count);
    } else {
      std::fill_n(sums, count * item_size(accumulation), std::byte{0});
    }
    multiply(sums, batch, first, last);
    if (sums != destination) convert(result, destination, accumulation, sums, count);
  }

  void compute_validity(TileContents& out) const {
    const bool accumulator_masked = accumulator && accumulator->has_mask();
    if (!a.has_mask() && !b.has_mask() && !accumulator_masked) return;
    out.sources.assign(static_cast<std::size_t>(size.batch * size.m * size.n), kValid);
    if (accumulator_masked) out.sources = accumulator->sources();
    std::vector<SourceId> columns(static_cast<std::size_t>(size.n));
    for (std::int64_t g = 0; g < size.batch; ++g) {
      std::ranges::fill(columns, kValid);
      if (b.has_mask()) {
        const SourceId* in = b.sources().data() + g * size.k * size.n;
        for (std::int64_t i = 0; i < size.k * size.n; ++i) {
          SourceId& column = columns[static_cast<std::size_t>(i % size.n)];
          column = first_invalid(column, in[i]);
        }
      }
      for (std::int64_t i = 0; i < size.m; ++i) {
        const SourceId of_row = a.has_mask() ? row_source(g * size.m + i) : kValid;
        SourceId* row = out.sources.data() + (g * size.m + i) * size.n;
        for (std::int64_t j = 0; j < size.n; ++j) {
          row[j] = first_invalid(row[j], first_invalid(of_row, columns[static_cast<std::size_t>(j)]));
        }
      }
    }
  }

 private:
  SourceId row_source(std::int64_t row) const {
    const SourceId* lanes = a.sources().data() + row * size.k;
    const SourceId* end = lanes + size.k;
    const SourceId* first = std::find_if(lanes, end, [](SourceId source) { return source != kValid; });
    return first == end ? kValid : *first;
  }

  void multiply(std::byte* sums, std::int64_t batch, std::int64_t first, std::int64_t last) const {
    const std::byte* left = a.data() + (batch * size.m + first) * size.k * item_size(a.dtype);
    const std::byte* right = b.data() + batch * size.k * size.n * item_size(b.dtype);
    const std::int64_t rows = last - first;
    if (accumulation == DType::f32) {
      auto* c = reinterpret_cast<float*>(sums);
      multiply_accumulate(best_instruction_set(), rows, size.n, size.k, {left, a.dtype, size.k},
                          {right, b.dtype, size.n}, c, size.n);
      make_nans_canonical(c, rows * size.n);
    } else if (accumulation == DType::f64) {
      auto* c = reinterpret_cast<double*>(sums);
      multiply_doubles(rows, size.n, size.k, reinterpret_cast<const double*>(left),
                       reinterpret_cast<const double*>(right), c);
      make_nans_canonical(c, rows * size.n);
    } else {
      multiply_integers(rows, size.n, size.k, a.dtype, left, b.dtype, right, sums);
    }
  }
};

/// Products below this many multiply-adds are one task: a tile of a kernel, say.
constexpr std::int64_t kSplitAbove = std::int64_t{1} << 24;

/// Computes a large product by several tasks of some rows each, and one that waits for them.
Value split_dot(Executor& executor, const Shape& shape, std::initializer_list<const Value*> inputs,
                const std::shared_ptr<const DotTask>& task) {
  auto storage = std::make_shared<TileStorage>(TileStorage{task->result, shape, nullptr, nullptr});
  storage->contents = std::make_shared<TileContents>();
  storage->contents->bytes = AlignedBytes(shape.numel() * item_size(task->result));
  std::vector<TaskHandle> dependencies, parts;
  for (const Value* input : inputs) dependencies.push_back(input->producer());
  const std::int64_t m = task->size.m;
  const std::int64_t pieces = std::clamp<std::int64_t>(2 * executor.threads(), 1, std::max<std::int64_t>(m / 48, 1));
  const std::weak_ptr<TileContents> result = storage->contents;
  for (std::int64_t g = 0; g < task->size.batch; ++g) {
    for (std::int64_t i = 0; i < pieces; ++i) {
      auto work = [=] {
        if (const auto out = result.lock()) task->compute_rows(*out, g, m * i / pieces, m * (i + 1) / pieces);
      };
      parts.push_back(executor.submit({}, dependencies, std::move(work)));
    }
  }
  auto join = [=] {
    if (const auto out = result.lock()) task->compute_validity(*out);
  };
  storage->producer = executor.submit({}, parts, std::move(join), shape.numel() * item_size(task->result));
  return Value(std::move(storage));
}

[[maybe_unused]] bool may_multiply(DType a, DType b) {
  const auto is_byte = [](DType type) { return type == DType::i8 || type == DType::u8; };
  return (a == b && a != DType::boolean) || (is_float8(a) && is_float8(b)) || (is_byte(a) && is_byte(b));
}

DType accumulation_type(DType operand) {
  if (is_floating_point(operand)) return operand == DType::f64 ? DType::f64 : DType::f32;
  return operand == DType::i64 ? DType::i64 : DType::i32;
}

}  // namespace

Value dot(Executor& executor, const Value& a, const Value& b, const Value& accumulator, DType result) {
  assert(may_multiply(a.dtype(), b.dtype()));
  const Dimensions size = dimensions_of(a.shape(), b.shape());
  Shape shape = a.shape();
  shape[shape.rank() - 1] = size.n;
  assert(!accumulator.defined() || accumulator.shape() == shape);
  const DType accumulation = accumulation_type(a.dtype());
  // An absent accumulator is no dependency; `a` stands in for it.
  const Value& third = accumulator.defined() ? accumulator : a;
  const std::initializer_list<const Value*> inputs = {&a, &b, &third};
  if (left_out(executor, result, inputs)) return without_data(result, shape);
  std::optional<Operand> start;
  if (accumulator.defined()) start.emplace(accumulator);
  DotTask task{size, accumulation, result, Operand(a), Operand(b), std::move(start)};
  const bool large = size.batch * size.m * size.n * size.k > kSplitAbove;
  if (large && executor.threads() > 1) {
    return split_dot(executor, shape, inputs, std::make_shared<const DotTask>(std::move(task)));
  }
  return compute(executor, result, shape, inputs, [task = std::move(task)](TileContents& out) {
    for (std::int64_t g = 0; g < task.size.batch; ++g) task.compute_rows(out, g, 0, task.size.m);
    task.compute_validity(out);
  });
}

}  // namespace kernbench::numerics
