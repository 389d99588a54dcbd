#include "tile/memory/touched_pages.h"

#include <bit>

namespace kernbench::tile {

using hardware::PageRange;

TouchedPages::TouchedPages(Bytes page)
    : bits_(std::countr_zero(static_cast<std::uint64_t>(page.count()))),
      page_(static_cast<std::uint64_t>(page.count())) {}

void TouchedPages::add(const addressing::ShardPiece& piece) {
  if (piece.rows <= 0 || piece.row_bytes <= 0) return;
  const auto stride = static_cast<std::uint64_t>(piece.stride);
  const auto row_bytes = static_cast<std::uint64_t>(piece.row_bytes);
  // Rows at most a page apart leave out no page between them.
  if (piece.rows == 1 || stride <= page_) {
    return add_run(piece.va >> bits_, (piece.va + static_cast<std::uint64_t>(span_bytes(piece)) - 1) >> bits_);
  }
  if (stride % page_ == 0) {
    const std::uint64_t first = piece.va >> bits_, last = (piece.va + row_bytes - 1) >> bits_;
    ranges_.push_back({first, last - first + 1, static_cast<std::uint64_t>(piece.rows), stride >> bits_});
    return;
  }
  for (std::int64_t row = 0; row < piece.rows; ++row) {
    const std::uint64_t va = piece.va + static_cast<std::uint64_t>(row) * stride;
    add_run(va >> bits_, (va + row_bytes - 1) >> bits_);
  }
}

void TouchedPages::add_run(std::uint64_t first, std::uint64_t last) {
  if (!ranges_.empty() && ranges_.back().rows == 1) {
    PageRange& before = ranges_.back();
    const std::uint64_t end = before.first + before.count;  // one past its last page
    if (first == end - 1 || first == end) {
      before.count += last + 1 - end;
      return;
    }
  }
  ranges_.push_back({first, last - first + 1, 1, 0});
}

}  // namespace kernbench::tile
