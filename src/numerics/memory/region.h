// One mapped range of a memory: its bytes, their validity and what made them invalid, and the tasks that have not
// touched it yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "numerics/memory/executor.h"
#include "numerics/memory/intervals.h"
#include "numerics/memory/source_ranges.h"

namespace kernbench::numerics {

/// Strided bytes of a region: row r is [begin + r * stride, + row_bytes).
struct Rectangle {
  std::int64_t begin = 0;
  std::int64_t rows = 1;
  std::int64_t row_bytes = 0;
  std::int64_t stride = 0;

  std::int64_t end() const { return begin + (rows - 1) * stride + row_bytes; }
  bool operator==(const Rectangle&) const = default;
};

/// False only when the rectangles share no byte. Exact for rectangles of one stride whose rows do not run into each
/// other; otherwise their bounding ranges decide, so that a needless dependency is possible, a missing one is not.
bool may_overlap(const Rectangle& a, const Rectangle& b);

struct SharedBytes;

/// What a part of a region held at one instant (Region::keep).
class KeptBytes {
 public:
  KeptBytes() = default;
  ~KeptBytes();
  KeptBytes(const KeptBytes&) = delete;
  KeptBytes& operator=(const KeptBytes&) = delete;

 private:
  friend class Region;
  struct Invalid {
    std::int64_t begin, end;  // of the region
    SourceId source;
  };
  std::shared_ptr<SharedBytes> shared_;  // of a whole region
  std::vector<std::byte> copied_;        // else its rows, one after the other
  std::vector<Invalid> invalid_;
};

/// A mapped range. Regions that one task writes alike, as replicas of a tensor, hold their bytes together until one of
/// them is written again. Tasks hold it, so unmapping does not pull it from under them.
class Region {
 public:
  /// All bytes are zero, and invalid. Without `with_data` none are held. `start` names its first byte.
  Region(std::uint64_t address, std::int64_t size, bool with_data, NamedPlace start = {});
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::uint64_t address() const { return address_; }
  std::int64_t size() const { return size_; }
  NamedPlace place(std::int64_t offset) const { return {start_.names, start_.range, start_.offset + offset}; }
  /// The rectangle is all of it, in its order.
  bool is_whole(const Rectangle& where) const {
    return where.begin == 0 && (where.rows == 1 || where.stride == where.row_bytes) &&
           where.rows * where.row_bytes == size_;
  }

  // ---- the simulation thread, in simulated order ---------------------------------------------------------------

  /// Appends the unfinished tasks that an access to `where` has to wait for.
  void find_conflicts(const Rectangle& where, bool writes, std::vector<TaskHandle>& conflicts);
  /// Remembers an access that `task` will make. Call find_conflicts first.
  void add_access(const Rectangle& where, bool writes, const TaskHandle& task);

  /// Whether bytes stand for what was left out: a value without data has been written there.
  void set_left_out(const Rectangle& where, bool left_out);
  bool has_left_out(const Rectangle& where) const;
  /// The ranges of a rectangle that has_left_out is about.
  std::vector<std::pair<std::int64_t, std::int64_t>> left_out(const Rectangle& where) const;

  // ---- tasks, on any thread, ordered by the above --------------------------------------------------------------

  /// Bytes as they are, good while this lives.
  class View {
   public:
    const std::byte* at(std::int64_t offset) const;

   private:
    friend class Region;
    std::shared_ptr<const SharedBytes> bytes_;
  };
  View view() const;
  /// Bytes to be written by the calling task, which has said so (add_access): from now on the region's own.
  std::byte* to_write(std::int64_t offset);
  /// Has the bytes of `other` from now on, until one of the two is written: for a task that writes all of both with the
  /// same bytes. REQUIRES: the sizes are the same.
  void share_bytes_of(Region& other);
  bool shares_bytes() const;
  /// Keeps what a rectangle holds; of a whole region nothing is copied until somebody writes. For a task that reads it.
  void keep(const Rectangle& where, KeptBytes& kept);
  /// The rectangle holds that again. For a task that writes it.
  void put_back(const Rectangle& where, const KeptBytes& kept);

  /// Marks bytes valid.
  void set_valid(const Rectangle& where);
  /// Marks bytes invalid, made so by `source`; kValid: they are as if nobody had written them.
  void set_invalid(const Rectangle& where, SourceId source);
  /// The bytes of these that are invalid are so because of `source` now.
  void set_source(const Rectangle& where, SourceId source);
  /// Marks bytes that were written: valid when the source is kValid, else made invalid by it.
  void mark(const Rectangle& where, SourceId source) {
    if (source == kValid)
      set_valid(where);
    else
      set_invalid(where, source);
  }
  /// Calls visit(row, begin, end, source) for the invalid ranges of a rectangle, row by row, in bytes of the row; the
  /// source is kValid where nobody has written.
  template <class Visit>
  void for_each_invalid(const Rectangle& where, Visit&& visit) {
    const std::scoped_lock lock(validity_mutex_);
    if (valid_.contains(where.begin, where.end())) return;
    for (std::int64_t r = 0; r < where.rows; ++r) {
      const std::int64_t begin = where.begin + r * where.stride;
      valid_.for_each_gap(begin, begin + where.row_bytes, [&](std::int64_t gap, std::int64_t gap_end) {
        sources_.for_each_part(gap, gap_end, [&](std::int64_t part, std::int64_t end, SourceId source) {
          visit(r, part - begin, end - begin, source);
        });
      });
    }
  }

 private:
  struct Access {
    Rectangle where;
    bool writes;
    TaskHandle task;
  };
  /// Drops the accesses that `condition` holds for.
  template <class Condition>
  void forget(Condition&& condition) {
    std::erase_if(accesses_, [&](const Access& access) {
      const bool drop = condition(access);
      if (drop && access.writes) --writes_;
      return drop;
    });
  }
  void forget_finished();

  std::uint64_t address_;
  std::int64_t size_;
  NamedPlace start_;
  mutable std::mutex bytes_mutex_;
  std::shared_ptr<SharedBytes> bytes_;  // null without data
  std::mutex validity_mutex_;
  IntervalSet valid_;
  SourceRanges sources_;          // of bytes that were written, but are not valid
  std::vector<Access> accesses_;  // by tasks that had not finished when last looked at
  std::size_t writes_ = 0;        // of these, how many write
  IntervalSet left_out_;
  std::size_t sweep_at_ = 16;
};

}  // namespace kernbench::numerics
