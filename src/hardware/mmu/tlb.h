// The translation look-aside buffer of a PE: which virtual pages it can translate without a walk of the page table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hardware/mmu/page_range.h"
#include "kernbench/units.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// What a TLB has been asked, and the time of the walks that it took.
struct TlbCounters {
  std::uint64_t hits = 0, misses = 0;
  Time walking;  // of all descriptors, added up
  bool operator==(const TlbCounters&) const = default;
};

/// Fully associative, least recently used goes first. See README.md for the law. A look-up takes constant time; memory
/// is taken only while the TLB holds more pages than ever before.
class Tlb {
 public:
  explicit Tlb(const topology::MmuSpec& spec);

  /// Looks up the pages of one descriptor in order, and takes in those that it does not have. Returns the time until
  /// all of them are translated.
  Time translate(std::span<const PageRange> pages);

  /// Whether the page is held now; changes nothing.
  bool holds(std::uint64_t page) const { return slots_[find(page)] != kNone; }
  std::size_t size() const { return entries_.size(); }
  const TlbCounters& counters() const { return counters_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;
  struct Entry {
    std::uint64_t page = 0;
    Index newer = kNone, older = kNone;
  };

  bool look_up(std::uint64_t page);
  void insert(std::uint64_t page);
  std::size_t home(std::uint64_t page) const;
  /// The slot of the page, or the free one in which it would be.
  std::size_t find(std::uint64_t page) const;
  void erase(std::uint64_t page);
  void grow();
  void unlink(Index index);
  void make_newest(Index index);

  Time miss_;
  std::size_t capacity_;
  std::uint64_t walkers_;
  std::vector<Entry> entries_;
  std::vector<Index> slots_;  // open addressing over entries_, at most half full
  int shift_;                 // of the hash
  Index newest_ = kNone, oldest_ = kNone;
  TlbCounters counters_;
};

}  // namespace kernbench::hardware
