#include "tensor/placement/slice_allocator.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace kernbench::tensor {

SliceAllocator::SliceAllocator(Bytes capacity, Bytes alignment)
    : capacity_(capacity.count() / alignment.count() * alignment.count()), alignment_(alignment) {
  if (capacity_.count() > 0) insert(0, capacity_.count());
}

Bytes SliceAllocator::rounded(Bytes bytes) const {
  const std::int64_t granule = alignment_.count();
  return Bytes((std::max<std::int64_t>(bytes.count(), 1) + granule - 1) / granule * granule);
}

std::optional<std::uint64_t> SliceAllocator::allocate(Bytes bytes) {
  if (bytes > capacity_) return std::nullopt;  // also keeps the rounding from overflowing
  const std::int64_t size = rounded(bytes).count();
  const auto best = by_size_.lower_bound({size, 0});
  if (best == by_size_.end()) return std::nullopt;
  const auto [block, address] = *best;
  erase(address, block);
  if (block > size) insert(address + static_cast<std::uint64_t>(size), block - size);
  return address;
}

std::optional<std::uint64_t> SliceAllocator::highest_room(Bytes bytes, std::uint64_t end) const {
  if (bytes > capacity_) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(rounded(bytes).count());
  for (auto block = by_address_.lower_bound(end); block != by_address_.begin();) {
    const auto& [start, length] = *--block;
    const std::uint64_t stop = std::min(start + static_cast<std::uint64_t>(length), end);
    if (stop - start >= size) return stop - size;
  }
  return std::nullopt;
}

void SliceAllocator::allocate_at(std::uint64_t address, Bytes bytes) {
  const std::int64_t size = rounded(bytes).count();
  const auto block = std::prev(by_address_.upper_bound(address));
  const auto [start, length] = *block;
  const std::int64_t before = static_cast<std::int64_t>(address - start), after = length - before - size;
  assert(after >= 0);
  erase(start, length);
  if (before > 0) insert(start, before);
  if (after > 0) insert(address + static_cast<std::uint64_t>(size), after);
}

void SliceAllocator::free(std::uint64_t address, Bytes bytes) {
  std::int64_t size = rounded(bytes).count();
  assert(address + static_cast<std::uint64_t>(size) <= static_cast<std::uint64_t>(capacity_.count()));
  auto next = by_address_.lower_bound(address);
  if (next != by_address_.begin()) {
    const auto [start, length] = *std::prev(next);
    assert(start + static_cast<std::uint64_t>(length) <= address);
    if (start + static_cast<std::uint64_t>(length) == address) {
      erase(start, length);
      address = start;
      size += length;
    }
  }
  next = by_address_.lower_bound(address);
  if (next != by_address_.end() && next->first == address + static_cast<std::uint64_t>(size)) {
    const auto [start, length] = *next;
    erase(start, length);
    size += length;
  }
  insert(address, size);
}

Bytes SliceAllocator::largest_free() const {
  return Bytes(by_size_.empty() ? 0 : by_size_.rbegin()->first);
}

std::int64_t SliceAllocator::room_for(Bytes bytes) const {
  const std::int64_t each = rounded(bytes).count();
  std::int64_t requests = 0;
  for (auto block = by_size_.rbegin(); block != by_size_.rend() && block->first >= each; ++block)
    requests += block->first / each;
  return requests;
}

void SliceAllocator::insert(std::uint64_t address, std::int64_t bytes) {
  by_address_.emplace(address, bytes);
  by_size_.emplace(bytes, address);
  free_bytes_ += Bytes(bytes);
}

void SliceAllocator::erase(std::uint64_t address, std::int64_t bytes) {
  by_address_.erase(address);
  by_size_.erase({bytes, address});
  free_bytes_ -= Bytes(bytes);
}

}  // namespace kernbench::tensor
