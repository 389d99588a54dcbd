// Lanes that change places as their values say: by index, sorted; and how many there are of each number.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
#include <vector>

#include "numerics/conversion.h"
#include "numerics/operands.h"
#include "numerics/reduction.h"

namespace kernbench::numerics {

namespace {

/// Where the lane `at` of the line [o, *, i] stands in its tile.
std::int64_t place_of(const Extent3& extent, std::int64_t o, std::int64_t at, std::int64_t i) {
  return (o * extent.length + at) * extent.inner + i;
}

/// Calls visit(o, i) for each line along the axis.
template <class Visit>
void for_each_line(const Extent3& extent, Visit&& visit) {
  for (std::int64_t o = 0; o < extent.outer; ++o)
    for (std::int64_t i = 0; i < extent.inner; ++i) visit(o, i);
}

void copy_lane(TileContents& out, std::int64_t to, const Operand& operand, std::int64_t from) {
  const auto item = static_cast<std::size_t>(item_size(operand.dtype));
  std::memcpy(out.bytes.data() + static_cast<std::size_t>(to) * item,
              operand.data() + static_cast<std::size_t>(from) * item, item);
}

struct TakeTask {
  Extent3 from, to;  // of the tile, and of the indices and the result
  Operand operand, index;
  OwnSource own;

  void operator()(TileContents& out) const {
    const std::vector<std::int64_t> indices = whole_numbers(index);
    if (operand.has_mask() || index.has_mask()) out.sources.assign(indices.size(), kValid);
    for_each_line(to, [&](std::int64_t o, std::int64_t i) {
      for (std::int64_t at = 0; at < to.length; ++at) take(out, place_of(to, o, at, i), o, i, indices);
    });
  }

 private:
  void take(TileContents& out, std::int64_t target, std::int64_t o, std::int64_t i,
            const std::vector<std::int64_t>& indices) const {
    const std::int64_t wanted = indices[static_cast<std::size_t>(target)];
    if (wanted < 0 || wanted >= from.length) {
      const auto item = static_cast<std::size_t>(item_size(operand.dtype));
      std::memset(out.bytes.data() + static_cast<std::size_t>(target) * item, 0, item);
      out.sources.resize(indices.size(), kValid);
      out.sources[static_cast<std::size_t>(target)] = first_invalid(index.source(target), own.id(Cause::no_such_lane));
      return;
    }
    const std::int64_t source = place_of(from, o, wanted, i);
    copy_lane(out, target, operand, source);
    if (!out.sources.empty())
      out.sources[static_cast<std::size_t>(target)] = first_invalid(index.source(target), operand.source(source));
  }
};

/// Whether `a` stands before `b`; NaN counts as the largest, and is equal to NaN.
template <class T>
bool stands_before(T a, T b, bool descending) {
  if (descending) std::swap(a, b);
  const bool a_nan = a != a, b_nan = b != b;
  return a_nan || b_nan ? !a_nan && b_nan : a < b;
}

struct SortTask {
  bool descending;
  DType computation;
  Extent3 extent;
  std::int64_t kept;  // of each line, the first so many
  Operand operand;

  void operator()(TileContents& out) const {
    if (computation == DType::f32)
      sort<float>(out);
    else
      sort<std::int64_t>(out);
  }

 private:
  template <class T>
  void sort(TileContents& out) const {
    std::vector<T> values(static_cast<std::size_t>(operand.shape.numel()));
    convert(computation, reinterpret_cast<std::byte*>(values.data()), operand.dtype, operand.data(),
            operand.shape.numel());
    const Extent3 to{extent.outer, kept, extent.inner};
    if (operand.has_mask()) out.sources.assign(static_cast<std::size_t>(to.outer * to.length * to.inner), kValid);
    std::vector<std::int64_t> order(static_cast<std::size_t>(extent.length));
    for_each_line(extent, [&](std::int64_t o, std::int64_t i) {
      const auto value = [&](std::int64_t at) { return values[static_cast<std::size_t>(place_of(extent, o, at, i))]; };
      std::iota(order.begin(), order.end(), std::int64_t{0});
      std::ranges::stable_sort(
          order, [&](std::int64_t a, std::int64_t b) { return stands_before(value(a), value(b), descending); });
      SourceId source = kValid;
      for (std::int64_t at = 0; operand.has_mask() && at < extent.length; ++at)
        source = first_invalid(source, operand.source(place_of(extent, o, at, i)));
      for (std::int64_t at = 0; at < kept; ++at) {
        copy_lane(out, place_of(to, o, at, i), operand, place_of(extent, o, order[static_cast<std::size_t>(at)], i));
        if (operand.has_mask()) out.sources[static_cast<std::size_t>(place_of(to, o, at, i))] = source;
      }
    });
  }
};

struct HistogramTask {
  std::int64_t bins;
  Operand operand;
  std::optional<Operand> mask;  // boolean, of the operand's shape
  OwnSource own;

  void operator()(TileContents& out) const {
    const std::vector<std::int64_t> numbers = whole_numbers(operand);
    auto* counts = out.as<std::int32_t>();
    std::fill_n(counts, bins, 0);
    SourceId source = kValid;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if (mask) source = first_invalid(source, mask->source(at));
      if (mask && mask->data()[i] == std::byte{0}) continue;
      source = first_invalid(source, operand.source(at));
      if (numbers[i] >= 0 && numbers[i] < bins)
        ++counts[numbers[i]];
      else
        source = first_invalid(source, own.id(Cause::no_such_bin));
    }
    if (source != kValid) out.sources.assign(static_cast<std::size_t>(bins), source);
  }
};

}  // namespace

Value take_along(Executor& executor, const Value& x, const Value& index, int axis) {
  assert(axis >= 0 && static_cast<std::size_t>(axis) < x.shape().rank());
  assert(index.shape().rank() == x.shape().rank() && is_integer(index.dtype()));
  if (lacks_data({&x, &index})) return without_data(x.dtype(), index.shape());
  return compute(executor, x.dtype(), index.shape(), {&x, &index},
                 TakeTask{split(x.shape(), axis), split(index.shape(), axis), Operand(x), Operand(index),
                          OwnSource(executor.sources())});
}

Value sort(Executor& executor, const Value& x, int axis, bool descending, std::int64_t kept) {
  const auto along = static_cast<std::size_t>(axis);
  assert(axis >= 0 && along < x.shape().rank() && kept >= 0 && kept <= x.shape()[along]);
  assert(x.dtype() != DType::f64);
  Shape shape = x.shape();
  shape[along] = kept;
  return calculate(executor, x.dtype(), shape, {&x},
                   SortTask{descending, is_floating_point(x.dtype()) ? DType::f32 : DType::i64, split(x.shape(), axis),
                            kept, Operand(x)});
}

Value histogram(Executor& executor, const Value& x, const Value& mask, std::int64_t bins) {
  assert(is_integer(x.dtype()) && bins >= 0);
  assert(!mask.defined() || (mask.dtype() == DType::boolean && mask.numel() == x.numel()));
  if (lacks_data({&x, &mask})) return without_data(DType::i32, {bins});
  std::optional<Operand> counted;
  if (mask.defined()) counted.emplace(mask);
  return compute(executor, DType::i32, {bins}, {&x, &mask},
                 HistogramTask{bins, Operand(x), std::move(counted), OwnSource(executor.sources())});
}

}  // namespace kernbench::numerics
