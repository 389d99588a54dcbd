#include "tensor/strided.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernbench/error.h"

namespace kernbench::tensor {

namespace {

struct Loop {
  std::int64_t count, to, from;
};

/// The loops from the outermost inwards, those that continue each other joined. The last one is the row.
std::vector<Loop> loops_of(std::span<const std::int64_t> to, std::span<const std::int64_t> from,
                           std::span<const std::int64_t> sizes) {
  std::vector<Loop> loops;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    const Loop next{sizes[i], to[i], from[i]};
    if (!loops.empty() && loops.back().to == next.to * next.count && loops.back().from == next.from * next.count)
      loops.back() = {loops.back().count * next.count, next.to, next.from};
    else
      loops.push_back(next);
  }
  if (loops.empty()) loops.push_back({1, 1, 1});
  return loops;
}

template <std::size_t kItem>
void copy_row(std::byte* to, const std::byte* from, const Loop& row) {
  if (row.to == 1 && row.from == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(row.count) * kItem);
    return;
  }
  constexpr auto kStep = static_cast<std::int64_t>(kItem);
  for (std::int64_t i = 0; i < row.count; ++i) std::memcpy(to + i * row.to * kStep, from + i * row.from * kStep, kItem);
}

using CopyRow = void (*)(std::byte*, const std::byte*, const Loop&);

CopyRow row_copier(std::int64_t item) {
  switch (item) {
    case 1:
      return copy_row<1>;
    case 2:
      return copy_row<2>;
    case 4:
      return copy_row<4>;
    default:
      assert(item == 8);
      return copy_row<8>;
  }
}

}  // namespace

Extents dense_strides(std::span<const std::int64_t> sizes) {
  Extents strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(sizes[i], 1);
  return strides;
}

std::int64_t checked_numel(std::span<const std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    // Eight bytes an element must fit as well.
    if (__builtin_mul_overflow(product, size, &product) || product > INT64_MAX / 16)
      throw ValueError(
          fmt::format("a tensor of shape [{}] is too large: it has more than 2^59 elements", fmt::join(sizes, ", ")));
  }
  return product;
}

bool is_dense(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return true;
  std::int64_t expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

void copy_strided(StridedBytes to, ConstStridedBytes from, std::span<const std::int64_t> sizes, std::int64_t item) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  const std::vector<Loop> loops = loops_of(to.strides, from.strides, sizes);
  const CopyRow copy = row_copier(item);
  const std::size_t outer = loops.size() - 1;
  Extents at(outer, 0);
  while (true) {
    copy(to.data, from.data, loops.back());
    std::size_t level = outer;
    while (level > 0) {
      const Loop& loop = loops[level - 1];
      to.data += loop.to * item;
      from.data += loop.from * item;
      if (++at[level - 1] < loop.count) break;
      to.data -= loop.to * loop.count * item;
      from.data -= loop.from * loop.count * item;
      at[--level] = 0;
    }
    if (level == 0) return;
  }
}

}  // namespace kernbench::tensor
