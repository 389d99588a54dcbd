// Where in an HBM slice the accesses of a launch were, in the room of a few addresses.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernbench/units.h"

namespace kernbench::tile {

/// Amounts by address, of which the few largest are kept (Misra and Gries): with n entries, one that has more than
/// 1 / (n + 1) of all is among them, and lacks at most as much.
class FrequentAddresses {
 public:
  struct Entry {
    std::uint64_t address = 0;  // the first one that was met
    std::int64_t amount = 0;    // 0: none
  };

  /// Addresses in one granule count as one.
  void add(std::uint64_t address, std::int64_t amount, Bytes granule) {
    const auto size = static_cast<std::uint64_t>(granule.count());
    for (Entry& entry : entries_) {
      if (entry.amount == 0 || entry.address / size != address / size) continue;
      entry.amount += amount;
      return;
    }
    Entry& least = *std::ranges::min_element(entries_, {}, &Entry::amount);
    const std::int64_t cut = std::min(least.amount, amount);
    for (Entry& entry : entries_) entry.amount -= cut;
    if (least.amount == 0) least = {address, amount - cut};
  }
  const std::array<Entry, 4>& entries() const { return entries_; }

 private:
  std::array<Entry, 4> entries_;
};

/// Where the accesses of a launch to one HBM slice were.
struct SlicePlaces {
  Bytes bytes;               // without those of atomics
  Bytes read;                // of these
  FrequentAddresses blocks;  // of these bytes, by 64 KiB
  std::int64_t all_atomics = 0;
  FrequentAddresses atomics;  // of these, by access of the HBM
};
inline constexpr Bytes kUseBlock{64 << 10};

}  // namespace kernbench::tile
