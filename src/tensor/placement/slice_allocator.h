// The free and used bytes of one PE's HBM slice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kernbench/units.h"

namespace kernbench::tensor {

/// Best fit (ties: lowest address) with coalescing of free neighbours. Addresses are local to the slice.
class SliceAllocator {
 public:
  SliceAllocator(Bytes capacity, Bytes alignment);
  /// An aligned address, or nothing when no free block is large enough. `bytes` is rounded up to the alignment.
  std::optional<std::uint64_t> allocate(Bytes bytes);
  /// The highest aligned address from which on `bytes` are free and end at `end` or below it, which is aligned.
  std::optional<std::uint64_t> highest_room(Bytes bytes, std::uint64_t end) const;
  /// Takes `bytes` at `address`. REQUIRES: highest_room found them free.
  void allocate_at(std::uint64_t address, Bytes bytes);
  /// Gives back what allocate(bytes) returned, or allocate_at took.
  void free(std::uint64_t address, Bytes bytes);

  /// What a request of `bytes` takes: whole granules of the alignment, at least one.
  Bytes rounded(Bytes bytes) const;

  Bytes capacity() const { return capacity_; }
  Bytes free_bytes() const { return free_bytes_; }
  Bytes largest_free() const;
  /// How many requests of so many bytes find room, one after the other.
  std::int64_t room_for(Bytes bytes) const;
  std::size_t free_blocks() const { return by_address_.size(); }

 private:
  void insert(std::uint64_t address, std::int64_t bytes);
  void erase(std::uint64_t address, std::int64_t bytes);

  Bytes capacity_, alignment_, free_bytes_;
  std::map<std::uint64_t, std::int64_t> by_address_;
  std::set<std::pair<std::int64_t, std::uint64_t>> by_size_;
};

}  // namespace kernbench::tensor
