// Cuts a transfer into bursts of accesses, and maps accesses to the channels of an interleaved memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hardware/fabric/fabric.h"

namespace kernbench::hardware::fabric {

/// Accesses of equal length at equal distance, on both sides of a transfer.
struct Accesses {
  std::uint64_t address = 0;  // where they come from
  std::uint64_t landing = 0;  // where they go
  std::int64_t bytes = 0;     // of each
  std::int64_t count = 0;
  std::int64_t stride = 0;
};

/// The sizes that cut rows: an access crosses no granule, and is at most a burst.
struct Cut {
  std::uint64_t burst = 0;
  std::uint64_t granule = 0;
  /// The largest access that begins at `address`.
  std::uint64_t at_most(std::uint64_t address) const {
    const std::uint64_t left = granule - address % granule;
    return burst < granule ? std::min(left, burst - address % burst) : left;
  }
};

/// Goes through the bytes of ranges in the order of ranges, rows and addresses. Empty rows have no bytes.
class RowCursor {
 public:
  RowCursor() = default;
  explicit RowCursor(std::span<const StridedRange> ranges) : ranges_(ranges) {}
  /// Stands on the next byte, in the next row if need be; false when there is none.
  bool settle(const Cut& cut) { return address_ != row_end_ || next_row(cut); }
  std::uint64_t address() const { return address_; }
  /// The bytes of the access that begins here.
  std::uint64_t access(const Cut& cut) const { return std::min(row_end_ - address_, cut.at_most(address_)); }
  void advance(std::uint64_t bytes) { address_ += bytes; }
  /// Whether the next burst is a run of whole granules.
  bool granules_ahead(const Cut& cut) const {
    return row_end_ - address_ >= cut.burst && cut.burst % cut.granule == 0 && address_ % cut.granule == 0;
  }
  /// Takes as many equal accesses as there are from here on, of `room` bytes at most; none if the first has no room.
  /// REQUIRES: settle() was true.
  Accesses take(std::uint64_t room, const Cut& cut);

 private:
  bool next_row(const Cut& cut);

  std::span<const StridedRange> ranges_;
  std::size_t range_ = 0;
  std::int64_t row_ = 0;  // the next one
  std::uint64_t address_ = 0;
  std::uint64_t row_end_ = 0;
  bool whole_rows_ = false;  // each row of this range is one access
};

/// Goes through the bursts of a transfer. A burst is as many of the next accesses as have room in it.
class BurstCursor {
 public:
  BurstCursor() = default;
  explicit BurstCursor(const TransferRequest& request);

  /// The bytes of the next burst, of which each group of accesses is shown to `visit`; zero when there is none.
  template <class Visit>
  std::int64_t next(Visit&& visit) {
    std::uint64_t bytes = 0;
    while (from_.settle(cut_)) {
      const Accesses accesses = lands_elsewhere_ ? take_both(cut_.burst - bytes) : from_.take(cut_.burst - bytes, cut_);
      if (accesses.count == 0) break;
      bytes += static_cast<std::uint64_t>(accesses.bytes * accesses.count);
      visit(accesses);
      if (bytes == cut_.burst) break;
    }
    return static_cast<std::int64_t>(bytes);
  }
  std::int64_t next() {
    return next([](const Accesses&) {});
  }
  /// Likewise, with the accesses of the burst in `into`. Most bursts are a run of whole granules.
  [[gnu::always_inline]] std::int64_t next_into(std::vector<Accesses>& into) {
    if (lands_elsewhere_ || !from_.granules_ahead(cut_)) return next_of_rows(into);
    const auto granule = static_cast<std::int64_t>(cut_.granule), burst = static_cast<std::int64_t>(cut_.burst);
    if (into.size() != 1) into.resize(1);
    into[0] = {from_.address(), from_.address(), granule, burst / granule, granule};
    from_.advance(cut_.burst);
    return burst;
  }

 private:
  Accesses take_both(std::uint64_t room);
  std::int64_t next_of_rows(std::vector<Accesses>& into);

  Cut cut_;
  RowCursor from_, to_;
  bool lands_elsewhere_ = false;
};

/// interleave() for many addresses.
class ChannelSelector {
 public:
  ChannelSelector() = default;
  ChannelSelector(Bytes granule, std::uint32_t group);
  std::uint32_t operator()(std::uint64_t address) const {
    if (group_ <= 1) return 0;
    if (digit_bits_ == 0) return interleave(address, Bytes(static_cast<std::int64_t>(granule_)), group_);
    const std::uint64_t number = address >> granule_bits_;
    if (digit_bits_ == 2) return sum_of_pairs(number) & 3;
    // The sum of the digits to the base 2^b, modulo 2^b: what stands above a digit adds multiples of that.
    std::uint64_t sum = 0;
    for (std::uint64_t rest = number; rest != 0; rest >>= digit_bits_) sum += rest;
    return static_cast<std::uint32_t>(sum) & (group_ - 1);
  }
  std::uint32_t group() const { return group_; }
  /// Of `count` addresses at equal distance the first so many are in one granule. REQUIRES: count > 0.
  std::int64_t in_one_granule(std::uint64_t address, std::int64_t stride, std::int64_t count) const {
    if (count == 1 || stride == 0) return count;
    const auto granule = static_cast<std::int64_t>(granule_);
    if (stride < 0 || stride >= granule) return 1;
    return std::min(count, (granule - static_cast<std::int64_t>(address % granule_) + stride - 1) / stride);
  }
  /// The server that all of the accesses are in, by where they come from; nothing where they may be in several.
  std::optional<std::uint32_t> only_one(const Accesses& all) const {
    if (in_one_granule(all.address, all.stride, all.count) != all.count) return std::nullopt;
    return (*this)(all.address);
  }
  /// Whether `group` granules from `address` on, one after the other, are one in each server of the group.
  bool begins_round(std::uint64_t address, std::int64_t stride) const {
    return stride == static_cast<std::int64_t>(granule_) && address / granule_ % group_ == 0;
  }

 private:
  static std::uint32_t sum_of_pairs(std::uint64_t number) {
    number = (number & 0x3333333333333333u) + ((number >> 2) & 0x3333333333333333u);
    number = (number + (number >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return static_cast<std::uint32_t>((number * 0x0101010101010101u) >> 56);
  }

  std::uint64_t granule_ = 1;
  std::uint32_t group_ = 1;
  int granule_bits_ = 0;
  int digit_bits_ = 0;  // none unless both are powers of two
};

}  // namespace kernbench::hardware::fabric
