#include <cassert>
#include <cstring>
#include <vector>

#include "data/operations.h"
#include "data/storage.h"

namespace kernbench::data {

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

/// A contiguous copy of `x` with the given shape and element strides.
Value strided_copy(Executor& executor, const Value& x, const Shape& shape, const std::vector<std::int64_t>& strides) {
  return compute(executor, x.dtype(), shape, {&x}, [=, operand = Operand(x)](TileContents& out) {
    copy_strided(out.bytes.data(), operand.data(), item_size(operand.dtype), shape, strides);
    if (!operand.has_mask()) return;
    out.validity.resize(static_cast<std::size_t>(shape.numel()));
    copy_strided(out.validity.data(), operand.validity().data(), shape, strides);
  });
}

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

}  // namespace kernbench::data
