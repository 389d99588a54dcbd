#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "addressing/locate.h"

namespace kernbench::tile {
namespace {

using Extents = std::vector<std::int64_t>;

struct View {
  Extents sizes, strides;
  std::int64_t offset = 0;

  std::int64_t numel() const {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  }
};

View whole(const Extents& shape) {
  View view{shape, Extents(shape.size(), 1), 0};
  for (std::size_t i = shape.size(); i-- > 1;) view.strides[i - 1] = view.strides[i] * shape[i];
  return view;
}

std::int64_t below(std::mt19937_64& random, std::int64_t limit) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
}

/// Random slices, steps, selections, transposes, reshapes of contiguous views, and expansions.
View random_view(const Extents& base, std::mt19937_64& random) {
  View view = whole(base);
  bool contiguous = true;
  for (int change = 0; change < 3; ++change) {
    const auto rank = view.sizes.size();
    if (rank == 0) break;
    const auto i = random() % rank, j = random() % rank;
    switch (random() % 5) {
      case 0: {
        const std::int64_t start = below(random, view.sizes[i]);
        const std::int64_t step = random() % 3 == 0 ? 2 : 1;
        view.offset += start * view.strides[i];
        view.sizes[i] = (1 + below(random, view.sizes[i] - start) + step - 1) / step;
        view.strides[i] *= step;
        contiguous = contiguous && i == 0 && step == 1;
        break;
      }
      case 1:
        view.offset += below(random, view.sizes[i]) * view.strides[i];
        view.sizes.erase(view.sizes.begin() + static_cast<std::ptrdiff_t>(i));
        view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(i));
        contiguous = contiguous && i == 0;
        break;
      case 2:
        std::swap(view.sizes[i], view.sizes[j]);
        std::swap(view.strides[i], view.strides[j]);
        contiguous = contiguous && i == j;
        break;
      case 3:
        if (contiguous) {
          const std::int64_t n = view.numel();
          const std::int64_t rows = n % 3 == 0 ? 3 : n % 2 == 0 ? 2 : 1;
          View reshaped = whole({rows, n / rows});
          reshaped.offset = view.offset;
          view = reshaped;
        }
        break;
      default:
        if (view.sizes[i] == 1 && random() % 2 == 0) {
          view.sizes[i] = 3;
          view.strides[i] = 0;
          contiguous = false;
        }
    }
  }
  return view;
}

/// The tensor's element (row-major) behind each element of the view.
Extents elements(const View& view) {
  Extents result;
  Extents index(view.sizes.size(), 0);
  for (std::int64_t n = view.numel(); n > 0; --n) {
    std::int64_t at = view.offset;
    for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * view.strides[i];
    result.push_back(at);
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < view.sizes[i]) break;
      index[i] = 0;
    }
  }
  return result;
}

TEST(BoxesOfView, EveryElementOfAnyViewIsInExactlyOneBox) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20'000; ++round) {
    Extents base;
    for (std::uint64_t rank = random() % 5; rank > 0; --rank) base.push_back(1 + below(random, 6));
    const View view = random_view(base, random);
    const Extents expected = elements(view);
    Extents found(expected.size(), -1);
    for (const addressing::ViewBox& box : addressing::boxes_of_view(base, view.sizes, view.strides, view.offset)) {
      const View in_tensor = whole(base);
      View source{box.shape, in_tensor.strides, 0}, destination{box.shape, box.view_strides, box.view_offset};
      for (std::size_t i = 0; i < base.size(); ++i) {
        ASSERT_LE(box.offset[i] + box.shape[i], base[i]);
        source.offset += box.offset[i] * in_tensor.strides[i];
      }
      const Extents from = elements(source), to = elements(destination);
      for (std::size_t i = 0; i < from.size(); ++i) {
        auto& slot = found.at(static_cast<std::size_t>(to[i]));
        ASSERT_EQ(slot, -1) << "twice";
        slot = from[i];
      }
    }
    ASSERT_EQ(found, expected) << "round " << round;
  }
}

std::size_t boxes(const Extents& base, const Extents& sizes, const Extents& strides, std::int64_t offset) {
  return addressing::boxes_of_view(base, sizes, strides, offset).size();
}

TEST(BoxesOfView, CommonViewsAreOneBox) {
  const Extents base{8, 16, 4};
  EXPECT_EQ(boxes(base, {8, 16, 4}, {64, 4, 1}, 0), 1u);    // all
  EXPECT_EQ(boxes(base, {512}, {1}, 0), 1u);                // flattened
  EXPECT_EQ(boxes(base, {2, 4, 64}, {256, 64, 1}, 0), 1u);  // reshaped
  EXPECT_EQ(boxes(base, {16, 4}, {4, 1}, 3 * 64), 1u);      // selected
  EXPECT_EQ(boxes(base, {8, 4}, {64, 1}, 4 * 4), 1u);
  EXPECT_EQ(boxes(base, {3, 5, 2}, {64, 4, 1}, 65), 1u);  // sliced
  EXPECT_EQ(boxes(base, {4, 16, 8}, {1, 4, 64}, 0), 1u);  // transposed
  EXPECT_EQ(boxes(base, {}, {}, 77), 1u);                 // one element
  EXPECT_EQ(boxes(base, {0, 4}, {4, 1}, 0), 0u);
}

TEST(BoxesOfView, ARunAcrossRowsTakesFewBoxes) {
  EXPECT_EQ(boxes({1000, 1000}, {500'000}, {1}, 17), 3u);  // the end of a row, whole rows, the start of a row
}

TEST(BoxesOfView, SteppedRowsAreOneBoxEach) {
  EXPECT_EQ(boxes({8, 6}, {4, 6}, {12, 1}, 0), 4u);
}

}  // namespace
}  // namespace kernbench::tile
