// Virtual pages that a DMA descriptor touches, by number.
#pragma once

#include <cstdint>

namespace kernbench::hardware {

/// `rows` runs of `count` consecutive pages, `stride` pages from the start of one to that of the next.
struct PageRange {
  std::uint64_t first = 0;
  std::uint64_t count = 1;
  std::uint64_t rows = 1;
  std::uint64_t stride = 0;
  bool operator==(const PageRange&) const = default;
};

}  // namespace kernbench::hardware
