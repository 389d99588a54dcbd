// Which boxes of a strided view lie in a box of its tensor: each element once, and as few boxes as the view allows.
#include "tile/library/view.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "support.h"

namespace kernbench::tile::library {
namespace {

using testing::Draw;
using testing::Sizes;

/// A view made of a tensor as programs make them: dimensions split, cut, taken in steps, exchanged, repeated.
class RandomView {
 public:
  RandomView(Draw& draw, const Sizes& shape) : sizes_(shape), strides_(shape.size()) {
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) strides_[d] = std::exchange(stride, stride * shape[d]);
    for (int change = 0; change < 5; ++change) apply(draw);
  }
  View of(const tl::Tensor& tensor) const {
    return {tensor, tl::Extents(std::span<const std::int64_t>(sizes_)),
            tl::Extents(std::span<const std::int64_t>(strides_)), offset_};
  }

 private:
  void apply(Draw& draw) {
    const auto d = static_cast<std::size_t>(draw.integer(0, static_cast<std::int64_t>(sizes_.size()) - 1));
    const std::int64_t size = sizes_[d];
    switch (draw.integer(0, 4)) {
      case 0: {  // split
        std::int64_t part = draw.integer(1, size);
        while (size % part != 0) --part;
        if (sizes_.size() == 5) return;
        const auto at = static_cast<std::ptrdiff_t>(d);
        sizes_[d] = part;
        sizes_.insert(sizes_.begin() + at, size / part);
        strides_.insert(strides_.begin() + at, strides_[d] * part);
        return;
      }
      case 1: {  // cut
        const std::int64_t first = draw.integer(0, size - 1);
        offset_ += first * strides_[d];
        sizes_[d] = draw.integer(1, size - first);
        return;
      }
      case 2: {  // every second, third, …
        const std::int64_t step = draw.integer(1, 3);
        sizes_[d] = (size + step - 1) / step;
        strides_[d] *= step;
        return;
      }
      case 3: {  // exchanged
        const auto other = static_cast<std::size_t>(draw.integer(0, static_cast<std::int64_t>(sizes_.size()) - 1));
        std::swap(sizes_[d], sizes_[other]);
        std::swap(strides_[d], strides_[other]);
        return;
      }
      default:  // repeated
        if (size == 1 && draw.chance(2)) sizes_[d] = 3, strides_[d] = 0;
    }
  }

  Sizes sizes_, strides_;
  std::int64_t offset_ = 0;
};

tl::Tensor tensor_of(const Sizes& shape) {
  auto descriptor = std::make_shared<addressing::TensorDescriptor>();
  descriptor->shape = shape;
  return tl::Tensor(descriptor);
}

/// Whether an element of the tensor, by its number in row-major order, lies in a box of it.
bool lies_in(const Sizes& shape, std::int64_t element, const Sizes& offset, const Sizes& extents) {
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::int64_t index = element % shape[d];
    element /= shape[d];
    if (index < offset[d] || index >= offset[d] + extents[d]) return false;
  }
  return true;
}

/// Calls body with each index of a box, as a number in row-major order of the view.
template <class Body>
void for_each_index(const View& view, const Box& box, const Body& body) {
  const std::int64_t count = box.shape.numel();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t left = i, number = 0, element = view.offset, below = 1;
    for (std::size_t d = view.rank(); d-- > 0;) {
      const std::int64_t index = box.offset[d] + left % box.shape[d];
      left /= box.shape[d];
      number += index * below;
      below *= view.sizes[d];
      element += index * view.strides[d];
    }
    body(number, element);
  }
}

TEST(PartsOfViews, AreItsElementsInTheBoxEachOnce) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const Sizes shape = draw.sizes(static_cast<std::size_t>(draw.integer(1, 3)), 400);
    const View view = RandomView(draw, shape).of(tensor_of(shape));
    Sizes offset, extents;
    for (const std::int64_t size : shape) {
      offset.push_back(draw.integer(0, size - 1));
      extents.push_back(draw.integer(1, size - offset.back()));
    }
    std::vector<int> expected(static_cast<std::size_t>(view.numel())), found(expected.size());
    const Box all{tl::Extents(view.sizes.span()), view.sizes};
    Box from_zero = all;
    for (std::size_t d = 0; d < view.rank(); ++d) from_zero.offset[d] = 0;
    for_each_index(view, from_zero, [&](std::int64_t number, std::int64_t element) {
      expected[static_cast<std::size_t>(number)] = lies_in(shape, element, offset, extents) ? 1 : 0;
    });
    for (const Box& part : parts_in(view, offset, extents)) {
      for_each_index(view, part, [&](std::int64_t number, std::int64_t) { ++found[static_cast<std::size_t>(number)]; });
    }
    ASSERT_EQ(found, expected);
  }
}

TEST(PartsOfViews, OfHeadsThatShareTheColumnsOfAProductAreOneBox) {
  const tl::Tensor product = tensor_of({64, 6 * 16});
  // Queries: the first four heads of 16 columns, heads before tokens.
  const Sizes sizes{1, 4, 64, 16}, strides{64 * 96, 16, 96, 1};
  const View heads{product, tl::Extents(std::span<const std::int64_t>(sizes)),
                   tl::Extents(std::span<const std::int64_t>(strides)), 0};
  const Sizes rows{8, 0}, of_rows{4, 96}, columns{8, 32}, of_columns{4, 16}, torn{8, 8}, of_torn{4, 16};
  const auto whole = parts_in(heads, rows, of_rows);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].shape.numel(), 4 * 4 * 16);
  const auto one_head = parts_in(heads, columns, of_columns);
  ASSERT_EQ(one_head.size(), 1u);
  EXPECT_EQ(one_head[0].offset[1], 2);
  EXPECT_EQ(one_head[0].shape.numel(), 4 * 16);
  EXPECT_GT(parts_in(heads, torn, of_torn).size(), 1u);
}

}  // namespace
}  // namespace kernbench::tile::library
