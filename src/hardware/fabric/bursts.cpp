#include "hardware/fabric/bursts.h"

#include "base/interleaving.h"

namespace kernbench::hardware {

std::uint32_t interleave(std::uint64_t address, Bytes granule, std::uint32_t group) {
  return interleaved_part(address / static_cast<std::uint64_t>(granule.count()), group);
}

Bytes Ranges::total() const {
  Bytes total;
  for (const StridedRange& range : view()) {
    if (range.rows > 0 && range.row_bytes > Bytes(0)) total += range.total();
  }
  return total;
}

namespace fabric {

bool RowCursor::next_row(const Cut& cut) {
  while (range_ < ranges_.size()) {
    const StridedRange& range = ranges_[range_];
    if (range.row_bytes.count() <= 0 || row_ >= range.rows) {
      ++range_;
      row_ = 0;
      continue;
    }
    const auto row_bytes = static_cast<std::uint64_t>(range.row_bytes.count());
    if (row_ == 0) {
      const std::uint64_t unit = std::min(cut.burst, cut.granule);
      const auto stride = static_cast<std::uint64_t>(range.stride);
      const bool at_like_offsets = stride % unit == 0 && row_bytes <= cut.at_most(range.address);
      const bool parts_of_units = unit % row_bytes == 0 && range.address % row_bytes == 0 && stride % row_bytes == 0;
      whole_rows_ = range.stride >= 0 && cut.granule % unit == 0 && (at_like_offsets || parts_of_units);
    }
    address_ = range.address + static_cast<std::uint64_t>(row_ * range.stride);
    row_end_ = address_ + row_bytes;
    ++row_;
    return true;
  }
  return false;
}

Accesses RowCursor::take(std::uint64_t room, const Cut& cut) {
  Accesses accesses{address_, address_, static_cast<std::int64_t>(access(cut)), 0, 0};
  const auto bytes = static_cast<std::uint64_t>(accesses.bytes);
  if (bytes > room) return accesses;
  accesses.count = 1;
  if (whole_rows_) {
    const StridedRange& range = ranges_[range_];
    const std::int64_t more = std::min(range.rows - row_, static_cast<std::int64_t>(room / bytes) - 1);
    accesses.count += more;
    accesses.stride = range.stride;
    row_ += more;
    address_ = row_end_;  // of a row that is over
    return accesses;
  }
  if (bytes == cut.granule) {
    accesses.count = static_cast<std::int64_t>(std::min(room, row_end_ - address_) / bytes);
    accesses.stride = accesses.bytes;
  }
  address_ += bytes * static_cast<std::uint64_t>(accesses.count);
  return accesses;
}

BurstCursor::BurstCursor(const TransferRequest& request)
    : cut_{static_cast<std::uint64_t>(request.burst.count()), static_cast<std::uint64_t>(request.granule.count())},
      from_(request.ranges.view()),
      to_(request.landing.view()),
      lands_elsewhere_(!request.landing.view().empty()) {
  assert(request.burst.count() > 0 && request.granule.count() > 0);
}

std::int64_t BurstCursor::next_of_rows(std::vector<Accesses>& into) {
  into.clear();
  return next([&](const Accesses& accesses) { into.push_back(accesses); });
}

Accesses BurstCursor::take_both(std::uint64_t room) {
  [[maybe_unused]] const bool more = to_.settle(cut_);
  assert(more && "a transfer lands in fewer bytes than it has");
  const std::uint64_t bytes = std::min(from_.access(cut_), to_.access(cut_));
  Accesses accesses{from_.address(), to_.address(), static_cast<std::int64_t>(bytes), bytes <= room ? 1 : 0, 0};
  if (bytes > room) return accesses;
  from_.advance(bytes);
  to_.advance(bytes);
  return accesses;
}

ChannelSelector::ChannelSelector(Bytes granule, std::uint32_t group)
    : granule_(static_cast<std::uint64_t>(granule.count())), group_(group) {
  if (!std::has_single_bit(granule_) || !std::has_single_bit(group) || group == 1) return;
  granule_bits_ = std::countr_zero(granule_);
  digit_bits_ = std::countr_zero(group);
}

}  // namespace fabric
}  // namespace kernbench::hardware
