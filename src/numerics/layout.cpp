#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "numerics/memory/storage.h"
#include "numerics/operations.h"

namespace kernbench::numerics {

namespace {

/// Element strides of a row-major tile.
std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.rank(), 1);
  for (std::size_t i = shape.rank(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Copies a strided source to a contiguous result of `shape`, elements of type T.
template <class T>
void copy_strided(T* out, const T* in, const Shape& shape, const std::vector<std::int64_t>& strides) {
  if (shape.numel() == 0) return;
  if (shape.rank() == 0) {
    *out = *in;
    return;
  }
  const std::size_t last = shape.rank() - 1;
  Shape index(std::vector<std::int64_t>(shape.rank(), 0));
  std::int64_t source = 0;
  for (T* const end = out + shape.numel(); out < end; out += shape[last]) {
    for (std::int64_t i = 0; i < shape[last]; ++i) out[i] = in[source + i * strides[last]];
    for (std::size_t d = last; d-- > 0;) {
      source += strides[d];
      if (++index[d] < shape[d]) break;
      source -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

void copy_strided(std::byte* out, const std::byte* in, std::int64_t item, const Shape& shape,
                  const std::vector<std::int64_t>& strides) {
  const auto copy = [&]<class T>(T) {
    copy_strided(reinterpret_cast<T*>(out), reinterpret_cast<const T*>(in), shape, strides);
  };
  if (item == 1)
    copy(std::uint8_t{});
  else if (item == 2)
    copy(std::uint16_t{});
  else if (item == 4)
    copy(std::uint32_t{});
  else
    copy(std::uint64_t{});
}

/// A contiguous copy of `x` from element `start` on, with the given shape and element strides.
Value strided_copy(Executor& executor, const Value& x, const Shape& shape, const std::vector<std::int64_t>& strides,
                   std::int64_t start = 0) {
  return compute(executor, x.dtype(), shape, {&x}, [=, operand = Operand(x)](TileContents& out) {
    const std::int64_t item = item_size(operand.dtype);
    copy_strided(out.bytes.data(), operand.data() + start * item, item, shape, strides);
    if (!operand.has_mask()) return;
    out.sources.resize(static_cast<std::size_t>(shape.numel()));
    copy_strided(out.sources.data(), operand.sources().data() + start, shape, strides);
  });
}

/// Puts tiles one after the other along an axis, of which `inner` elements make one step.
struct CatTask {
  std::int64_t outer, inner, length;
  struct Part {
    Operand operand;
    std::int64_t length;
  };
  std::vector<Part> parts;

  void operator()(TileContents& out) const {
    const std::int64_t item = item_size(parts[0].operand.dtype);
    copy(out.bytes.data(), item, [](const Operand& operand) { return operand.data(); });
    const bool masked = std::ranges::any_of(parts, [](const Part& part) { return part.operand.has_mask(); });
    if (!masked) return;
    out.sources.assign(static_cast<std::size_t>(outer * length * inner), kValid);
    copy(reinterpret_cast<std::byte*>(out.sources.data()), sizeof(SourceId), [](const Operand& operand) {
      return operand.has_mask() ? reinterpret_cast<const std::byte*>(operand.sources().data()) : nullptr;
    });
  }

 private:
  template <class Source>
  void copy(std::byte* out, std::int64_t item, Source&& source) const {
    std::int64_t before = 0;
    for (const Part& part : parts) {
      const std::int64_t row = part.length * inner * item;
      const std::byte* in = source(part.operand);
      for (std::int64_t o = 0; in != nullptr && row > 0 && o < outer; ++o) {
        std::memcpy(out + (o * length + before) * inner * item, in + o * row, static_cast<std::size_t>(row));
      }
      before += part.length;
    }
  }
};

}  // namespace

Value permute(Executor& executor, const Value& x, std::span<const int> order) {
  assert(order.size() == x.shape().rank());
  const std::vector<std::int64_t> source = strides_of(x.shape());
  Shape shape;
  std::vector<std::int64_t> strides;
  for (const int dimension : order) {
    shape.push_back(x.shape()[static_cast<std::size_t>(dimension)]);
    strides.push_back(source[static_cast<std::size_t>(dimension)]);
  }
  return strided_copy(executor, x, shape, strides);
}

Value transpose(Executor& executor, const Value& x) {
  const int rank = static_cast<int>(x.shape().rank());
  assert(rank >= 2);
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return permute(executor, x, order);
}

Value reshape(Executor&, const Value& x, const Shape& shape) {
  assert(shape.numel() == x.numel());
  // Same elements, same producer: nothing to compute.
  return Value(
      std::make_shared<TileStorage>(TileStorage{x.dtype(), shape, x.storage()->producer, x.storage()->contents}));
}

Value expand_dims(Executor& executor, const Value& x, int axis) {
  assert(axis >= 0 && static_cast<std::size_t>(axis) <= x.shape().rank());
  Shape shape;
  for (std::size_t i = 0; i <= x.shape().rank(); ++i) {
    if (i == static_cast<std::size_t>(axis)) shape.push_back(1);
    if (i < x.shape().rank()) shape.push_back(x.shape()[i]);
  }
  return reshape(executor, x, shape);
}

Value broadcast_to(Executor& executor, const Value& x, const Shape& shape) {
  assert(broadcast_shapes(x.shape(), shape) == shape);
  const std::vector<std::int64_t> source = strides_of(x.shape());
  const std::size_t skipped = shape.rank() - x.shape().rank();
  std::vector<std::int64_t> strides(shape.rank(), 0);
  for (std::size_t i = 0; i < source.size(); ++i) strides[skipped + i] = x.shape()[i] == 1 ? 0 : source[i];
  return strided_copy(executor, x, shape, strides);
}

Value cat(Executor& executor, std::span<const Value> values, int axis) {
  assert(!values.empty() && axis >= 0 && static_cast<std::size_t>(axis) < values[0].shape().rank());
  const auto joined = static_cast<std::size_t>(axis);
  Shape shape = values[0].shape();
  CatTask task{1, 1, 0, {}};
  std::vector<TaskHandle> dependencies;
  bool complete = true;
  for (const Value& value : values) {
    assert(value.dtype() == values[0].dtype());
    complete = complete && value.has_data();
    task.length += value.shape()[joined];
    task.parts.push_back({Operand(value), value.shape()[joined]});
    dependencies.push_back(value.producer());
  }
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i != joined) (i < joined ? task.outer : task.inner) *= shape[i];
  }
  shape[joined] = task.length;
  if (!complete) return without_data(values[0].dtype(), shape);
  return compute(executor, values[0].dtype(), shape, {}, std::move(task), {}, std::move(dependencies));
}

Value narrow(Executor& executor, const Value& x, int axis, std::int64_t start, std::int64_t length, std::int64_t step) {
  const auto cut = static_cast<std::size_t>(axis);
  assert(axis >= 0 && cut < x.shape().rank() && start >= 0 && length >= 0 && step >= 1);
  assert(length == 0 || start + (length - 1) * step < x.shape()[cut]);
  std::vector<std::int64_t> strides = strides_of(x.shape());
  const std::int64_t first = start * strides[cut];
  Shape shape = x.shape();
  shape[cut] = length;
  strides[cut] *= step;
  return strided_copy(executor, x, shape, strides, length == 0 ? 0 : first);
}

Value flip(Executor& executor, const Value& x, int axis) {
  const auto turned = static_cast<std::size_t>(axis);
  assert(axis >= 0 && turned < x.shape().rank());
  std::vector<std::int64_t> strides = strides_of(x.shape());
  const std::int64_t last = (x.shape()[turned] - 1) * strides[turned];
  strides[turned] = -strides[turned];
  return strided_copy(executor, x, x.shape(), strides, x.numel() == 0 ? 0 : last);
}

}  // namespace kernbench::numerics
