// Virtual addresses: every device tensor has one contiguous range of them, and every PE a page table that maps it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/interleaving.h"
#include "kernbench/coordinates.h"
#include "kernbench/error.h"
#include "kernbench/units.h"

namespace kernbench::addressing {

/// Where a virtual address leads: a byte of a PE's HBM slice, or of an interleaved region, which decodes it further.
struct Translation {
  PeCoordinate slice;         // of a region the first one
  std::uint64_t address = 0;  // local to the slice, or in the region
  std::optional<InterleavedRegion> region = std::nullopt;
};

/// Part of a tensor's range that one slice holds, or several together. Replicas have the same `offset` and `bytes`.
struct Mapping {
  std::uint64_t offset = 0;  // from the range's start, page-aligned
  Bytes bytes;
  PeCoordinate slice;              // the first of an interleaved region
  std::uint64_t address = 0;       // local to the slice, and the same in all slices of a region
  Interleaving interleaving = {};  // of a region; that of no slices for one slice
};

/// Which of several copies a PE reads: its own, else the lowest of its own cube, else the lowest. `copies` ascend by
/// coordinate and are not empty. Returns an index.
std::size_t nearest_copy(std::span<const PeCoordinate> copies, PeCoordinate reader);

/// An access to addresses that a reader's page table does not map.
class UnmappedAccess : public OutOfBoundsError {
 public:
  UnmappedAccess(const std::string& message, std::optional<std::uint64_t> range)
      : OutOfBoundsError(message), range_(range) {}
  /// Where the range begins, mapped or freed, to which the first address belongs; none if it is nobody's.
  std::optional<std::uint64_t> range() const { return range_; }

 private:
  std::optional<std::uint64_t> range_;
};

/// The virtual address space of one simulation. All PEs see the same addresses; their page tables differ only where a
/// tensor is replicated. A range is never used again, and a guard page separates ranges, so that a stale or overrun
/// address is always caught.
class VirtualAddressSpace {
 public:
  explicit VirtualAddressSpace(Bytes page);

  Bytes page() const { return page_; }
  /// Maps a new range for tensor `name` and returns its first address. `bytes` is the tensor's extent for error texts;
  /// mappings of one box are equal (replicas) or disjoint.
  std::uint64_t map(std::string name, Bytes bytes, std::vector<Mapping> mappings);
  /// Frees the range that starts at `va`, which must be mapped.
  void unmap(std::uint64_t va);

  /// What `reader`'s page table says for the `bytes` bytes at `va`, which must lie in one shard. UnmappedAccess names
  /// the tensor and what is valid.
  Translation translate(PeCoordinate reader, std::uint64_t va, Bytes bytes) const;

  std::size_t live_ranges() const { return ranges_.size(); }

 private:
  struct Piece {
    std::uint64_t offset = 0;
    Bytes bytes;
    std::vector<PeCoordinate> copies;      // ascending
    std::vector<std::uint64_t> addresses;  // one per copy
    Interleaving interleaving;
  };
  struct Range {
    std::string name;
    Bytes bytes;                // with padding between shards
    std::vector<Piece> pieces;  // by offset
  };
  struct Tombstone {
    std::uint64_t start = 0;
    std::string name;
    Bytes bytes;
  };
  [[noreturn]] void fail(std::uint64_t va, Bytes bytes) const;

  Bytes page_;
  std::uint64_t next_;
  std::map<std::uint64_t, Range> ranges_;
  std::deque<Tombstone> freed_;
};

}  // namespace kernbench::addressing
