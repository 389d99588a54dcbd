// The virtual pages that an access touches, from the pieces that it consists of.
#pragma once

#include <cstdint>
#include <vector>

#include "addressing/locate.h"
#include "hardware/mmu/page_range.h"
#include "kernbench/units.h"

namespace kernbench::tile {

/// Collects pages in the order of the pieces and of their rows. A page that comes right after itself is listed once,
/// and consecutive pages are one range.
class TouchedPages {
 public:
  /// REQUIRES: `page` is a power of two.
  explicit TouchedPages(Bytes page);

  void add(const addressing::ShardPiece& piece);
  std::vector<hardware::PageRange> take() { return std::move(ranges_); }

 private:
  void add_run(std::uint64_t first, std::uint64_t last);

  int bits_;
  std::uint64_t page_;
  std::vector<hardware::PageRange> ranges_;
};

}  // namespace kernbench::tile
