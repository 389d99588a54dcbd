// Cuts a transfer into chunks, and maps each chunk to a server of an interleaved group.
#pragma once

#include <cstdint>
#include <span>

#include "hardware/fabric/fabric.h"

namespace kernbench::hardware::fabric {

/// One chunk: at most the chunk size, inside one row and one granule.
struct Chunk {
  std::uint64_t address = 0;
  std::uint64_t landing = 0;  // where it goes; its address unless the transfer says otherwise
  Bytes bytes;
};

/// Goes through the bytes of ranges in the order of ranges, rows and addresses. Empty rows have no bytes.
class RowCursor {
 public:
  explicit RowCursor(std::span<const StridedRange> ranges) : ranges_(ranges) {}
  /// Stands on the next byte, in the next row if need be; false when there is none.
  bool settle() { return address_ != row_end_ || next_row(); }
  std::uint64_t address() const { return address_; }
  /// The bytes from here to the end of the row or of the granule, whichever comes first.
  std::uint64_t until_boundary(std::uint64_t granule) const;
  void advance(std::uint64_t bytes) { address_ += bytes; }

 private:
  bool next_row();

  std::span<const StridedRange> ranges_;
  std::size_t range_ = 0;
  std::int64_t row_ = 0;
  std::uint64_t address_ = 0;
  std::uint64_t row_end_ = 0;
};

/// Goes through the chunks of `ranges`, which go to `landing` unless that is empty.
class ChunkCursor {
 public:
  ChunkCursor(std::span<const StridedRange> ranges, Bytes chunk) : ChunkCursor(ranges, {}, chunk) {}
  /// REQUIRES: `landing` is empty or has as many bytes as `ranges`.
  ChunkCursor(std::span<const StridedRange> ranges, std::span<const StridedRange> landing, Bytes chunk);
  explicit ChunkCursor(const TransferRequest& request) : ChunkCursor(request.ranges, request.landing, request.chunk) {}
  /// The next chunk into `out`; false when there is none.
  bool next(Chunk& out);

 private:
  RowCursor from_, to_;
  bool lands_elsewhere_;
  std::uint64_t chunk_;
};

/// interleave() for a run of addresses: consecutive granules cost a step instead of a digit sum.
class Interleaver {
 public:
  Interleaver(Bytes granule, std::uint32_t group)
      : granule_bytes_(static_cast<std::uint64_t>(granule.count())), group_(group) {}
  std::uint32_t server_of(std::uint64_t address);

 private:
  std::uint64_t granule_bytes_;
  std::uint32_t group_;
  std::uint64_t last_granule_ = 0;  // granule 0 belongs to server 0
  std::uint32_t last_server_ = 0;
};

/// Number of chunks of a request.
std::uint64_t count_chunks(const TransferRequest& request);

}  // namespace kernbench::hardware::fabric
