// The scalars that a program has read lately: to read them again is to poll.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace kernbench::tile {

/// A loop that reads more than kMost expressions in turn is not found.
class KnownReads {
 public:
  static constexpr std::size_t kMost = 32;

  /// Notes a read. True when the same expression had the same value when it was last read.
  bool note(std::uint64_t expression, std::uint64_t value) {
    const auto end = reads_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto known =
        std::find_if(reads_.begin(), end, [&](const Read& read) { return read.expression == expression; });
    if (known != end) {
      const bool same = known->value == value;
      known->value = value;
      return same;
    }
    if (count_ < kMost) {
      reads_[count_++] = {expression, value};
    } else {
      reads_[oldest_] = {expression, value};
      oldest_ = (oldest_ + 1) % kMost;
    }
    return false;
  }

 private:
  struct Read {
    std::uint64_t expression = 0, value = 0;
  };
  std::array<Read, kMost> reads_{};
  std::size_t count_ = 0;
  std::size_t oldest_ = 0;
};

}  // namespace kernbench::tile
