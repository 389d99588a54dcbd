// Strided views as lists of boxes (boxes_of_view of locate.h).
#include "addressing/box_cutter.h"
#include "addressing/locate.h"

namespace kernbench::addressing {

std::vector<ViewBox> boxes_of_view(std::span<const std::int64_t> base, std::span<const std::int64_t> sizes,
                                   std::span<const std::int64_t> strides, std::int64_t storage_offset) {
  std::vector<std::int64_t> dense(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) dense[i - 1] = dense[i] * sizes[i];
  std::vector<ViewBox> boxes;
  BoxCutter cutter(base, [&](const LaneBox& box) {
    const auto vector = [&](const Indices& values) {
      return std::vector(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(box.rank));
    };
    boxes.push_back({vector(box.offset), vector(box.shape), vector(box.lane_strides), box.lane});
  });
  cutter.cut({storage_offset, 0, sizes, strides, dense});
  return boxes;
}

}  // namespace kernbench::addressing
