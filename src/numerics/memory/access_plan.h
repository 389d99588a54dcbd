// Pieces of memory resolved to regions, and the tasks that an access to them has to wait for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "numerics/memory/memory.h"
#include "numerics/memory/region.h"

namespace kernbench::numerics {

/// The part of a Piece that lies in one region; tile places in bytes.
struct RegionPiece {
  std::shared_ptr<Region> region;
  Rectangle where;
  std::int64_t tile_offset = 0;
  std::int64_t tile_row_stride = 0;
};

class AccessPlan {
 public:
  /// The pieces of a tile with elements of `item` bytes. Throws OutOfBoundsError when one leaves mapped memory.
  AccessPlan(std::span<const Piece> pieces, std::int64_t item);
  /// One contiguous range.
  AccessPlan(const Memory& memory, std::uint64_t address, std::int64_t bytes);

  const std::vector<RegionPiece>& pieces() const { return pieces_; }
  /// The unfinished tasks that reading (or writing) the pieces has to wait for.
  std::vector<TaskHandle> conflicts(bool writes) const;
  /// Remembers `task` as reader (or writer) of the pieces.
  void record(bool writes, const TaskHandle& task) const;
  /// Whether a byte of the pieces stands for a value without data (Region::has_left_out); says which do.
  bool has_left_out() const;
  void set_left_out(bool left_out) const;
  /// Runs all conflicting tasks, for an access that is made at once.
  void wait(Executor& executor, bool writes) const;

 private:
  /// What the regions keep of this access: its pieces, or for scattered ones the bounds in each region. Every piece is
  /// held against every access that a region remembers, so thousands of them would take hours; bounds may add a
  /// needless dependency between tasks, never lose one.
  struct Footprint {
    Region* region;
    Rectangle where;
  };
  std::vector<Footprint> footprints() const;
  void add(const Memory& memory, const Rectangle& at_address_zero, std::uint64_t address, std::int64_t tile_offset,
           std::int64_t tile_row_stride);
  void add_row(const Memory& memory, std::uint64_t address, std::int64_t bytes, std::int64_t tile_offset);

  std::vector<RegionPiece> pieces_;
};

}  // namespace kernbench::numerics
