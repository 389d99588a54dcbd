#include "hardware/fabric/chunks.h"

#include <algorithm>
#include <cassert>

namespace kernbench::hardware {

std::uint32_t interleave(std::uint64_t address, Bytes granule, std::uint32_t group) {
  if (group <= 1) return 0;
  std::uint64_t sum = 0;
  for (std::uint64_t rest = address / static_cast<std::uint64_t>(granule.count()); rest != 0; rest /= group) {
    sum += rest % group;
  }
  return static_cast<std::uint32_t>(sum % group);
}

namespace fabric {

bool RowCursor::next_row() {
  while (range_ < ranges_.size()) {
    const StridedRange& range = ranges_[range_];
    if (range.row_bytes.count() <= 0 || row_ >= range.rows) {
      ++range_;
      row_ = 0;
      continue;
    }
    address_ = range.address + static_cast<std::uint64_t>(row_ * range.stride);
    row_end_ = address_ + static_cast<std::uint64_t>(range.row_bytes.count());
    ++row_;
    return true;
  }
  return false;
}

std::uint64_t RowCursor::until_boundary(std::uint64_t granule) const {
  return std::min(row_end_, (address_ / granule + 1) * granule) - address_;
}

ChunkCursor::ChunkCursor(std::span<const StridedRange> ranges, std::span<const StridedRange> landing, Bytes chunk)
    : from_(ranges),
      to_(landing),
      lands_elsewhere_(!landing.empty()),
      chunk_(static_cast<std::uint64_t>(chunk.count())) {
  assert(chunk.count() > 0);
}

bool ChunkCursor::next(Chunk& out) {
  if (!from_.settle()) return false;
  std::uint64_t bytes = from_.until_boundary(chunk_);
  out.address = out.landing = from_.address();
  if (lands_elsewhere_) {
    [[maybe_unused]] const bool more = to_.settle();
    assert(more);
    bytes = std::min(bytes, to_.until_boundary(chunk_));
    out.landing = to_.address();
    to_.advance(bytes);
  }
  from_.advance(bytes);
  out.bytes = Bytes(static_cast<std::int64_t>(bytes));
  return true;
}

std::uint32_t Interleaver::server_of(std::uint64_t address) {
  if (group_ <= 1) return 0;
  const std::uint64_t granule = address / granule_bytes_;
  if (granule == last_granule_) return last_server_;
  if (granule != last_granule_ + 1) {
    last_server_ = interleave(address, Bytes(static_cast<std::int64_t>(granule_bytes_)), group_);
  } else {
    // Adding one turns each trailing digit group-1 into 0, which modulo `group` adds one to the sum, too.
    std::uint32_t step = 1;
    for (std::uint64_t rest = granule; rest % group_ == 0; rest /= group_) ++step;
    last_server_ = (last_server_ + step) % group_;
  }
  last_granule_ = granule;
  return last_server_;
}

std::uint64_t count_chunks(const TransferRequest& request) {
  const auto chunk = static_cast<std::uint64_t>(request.chunk.count());
  std::uint64_t count = 0;
  if (!request.landing.empty()) {
    ChunkCursor cursor(request);
    for (Chunk piece; cursor.next(piece);) ++count;
    return count;
  }
  for (const StridedRange& range : request.ranges) {
    if (range.row_bytes.count() <= 0 || range.rows <= 0) continue;
    const auto length = static_cast<std::uint64_t>(range.row_bytes.count());
    const bool same_offsets = range.stride % request.chunk.count() == 0;  // all rows fall into chunks alike
    const std::int64_t distinct = same_offsets ? 1 : range.rows;
    std::uint64_t in_rows = 0;
    for (std::int64_t row = 0; row < distinct; ++row) {
      const std::uint64_t first = range.address + static_cast<std::uint64_t>(row * range.stride);
      in_rows += (first + length - 1) / chunk - first / chunk + 1;
    }
    count += same_offsets ? in_rows * static_cast<std::uint64_t>(range.rows) : in_rows;
  }
  return count;
}

}  // namespace fabric
}  // namespace kernbench::hardware
