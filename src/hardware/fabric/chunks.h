// How a transfer falls into chunks, and which server of an interleaved group each chunk belongs to.
#pragma once

#include <cstdint>
#include <span>

#include "hardware/fabric/fabric.h"

namespace kernbench::hardware::fabric {

/// One chunk: at most the chunk size, inside one row and one granule.
struct Chunk {
  std::uint64_t address = 0;
  Bytes bytes;
};

/// Goes through the chunks of `ranges` in the order of ranges, rows and addresses. Empty rows have no chunk.
class ChunkCursor {
 public:
  ChunkCursor(std::span<const StridedRange> ranges, Bytes chunk);
  /// The next chunk into `out`; false when there is none.
  bool next(Chunk& out);

 private:
  bool next_row();

  std::span<const StridedRange> ranges_;
  std::uint64_t chunk_;
  std::size_t range_ = 0;
  std::int64_t row_ = 0;
  std::uint64_t address_ = 0;
  std::uint64_t row_end_ = 0;
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
