// Who has touched which bytes, as races are found by it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/address.h"

namespace kernbench::tile {

enum class AccessKind : std::uint8_t { read, write, atomic };

/// What an operation does to some bytes.
struct MemoryAccess {
  std::uint64_t number = 0;   // of the operation, in program order
  std::uint32_t program = 0;  // number
  std::uint32_t site = 0;     // the line and kind of operation, by number
  AccessKind kind = AccessKind::read;
  /// Whichever comes first, the other one sees another memory.
  bool conflicts_with(const MemoryAccess& other) const {
    if (kind == AccessKind::read) return other.kind != AccessKind::read;
    return kind == AccessKind::write || other.kind != AccessKind::atomic;
  }
};

/// The latest accesses of all bytes that have been touched, byte ranges with the same ones together.
class ShadowMemory {
 public:
  /// Accesses that nothing after them stands for: since the last write, the latest of each program and kind.
  using Accesses = std::vector<MemoryAccess>;

  /// Calls visit(accesses, first) for each range of addresses within [first, first + bytes) that has been touched
  /// alike; afterwards `access` is the latest one there. All bytes are of one cube.
  template <class Visit>
  void touch(std::uint64_t first, std::uint64_t bytes, const MemoryAccess& access, Visit visit) {
    const std::uint64_t end = first + bytes;
    Ranges& ranges = cubes_[first >> PhysAddr::kLocalBits];
    for (auto at = cut(ranges, first); first < end; ++at) {
      if (at == ranges.end() || at->first > first) {  // nobody has touched what is before the next one
        const std::uint64_t until = at == ranges.end() ? end : std::min(end, at->first);
        at = ranges.emplace_hint(at, first, Range{until, {}});
        ++size_;
      } else if (at->second.end > end) {
        cut(ranges, end);
      }
      visit(std::as_const(at->second.accesses), first);
      note(at->second.accesses, access);
      first = at->second.end;
    }
  }
  /// Drops accesses of which is_over(program) holds, and what has none left.
  void forget(const std::function<bool(std::uint32_t program)>& is_over);
  void clear();
  /// How many ranges it has.
  std::size_t size() const { return size_; }

 private:
  struct Range {
    std::uint64_t end = 0;
    Accesses accesses;
  };
  using Ranges = std::map<std::uint64_t, Range>;  // by the first byte; they do not touch each other's bytes

  /// Makes a range that holds both sides of `address` two. Yields the first range that begins there or behind.
  Ranges::iterator cut(Ranges& ranges, std::uint64_t address);
  static void note(Accesses& accesses, const MemoryAccess& access);

  std::unordered_map<std::uint64_t, Ranges> cubes_;
  std::size_t size_ = 0;
};

}  // namespace kernbench::tile
