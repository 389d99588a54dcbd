#include "hardware/mmu/tlb.h"

namespace kernbench::hardware {

namespace {

constexpr int kFirstBits = 4;  // of the table of a TLB that nobody has used

}  // namespace

Tlb::Tlb(const topology::MmuSpec& spec)
    : miss_(spec.miss),
      capacity_(static_cast<std::size_t>(spec.tlb_entries)),
      walkers_(static_cast<std::uint64_t>(spec.walkers)),
      slots_(std::size_t{1} << kFirstBits, kNone),
      shift_(64 - kFirstBits) {}

Time Tlb::translate(std::span<const PageRange> pages) {
  std::uint64_t misses = 0;
  for (const PageRange& range : pages) {
    for (std::uint64_t row = 0; row < range.rows; ++row) {
      const std::uint64_t first = range.first + row * range.stride;
      for (std::uint64_t page = first; page < first + range.count; ++page) misses += look_up(page) ? 0 : 1;
    }
  }
  if (misses == 0) return Time::zero();
  const auto miss = static_cast<uint128>(miss_.count());
  const Time time = limited_time(miss * ((misses + walkers_ - 1) / walkers_));
  counters_.walking += time;
  return time;
}

bool Tlb::look_up(std::uint64_t page) {
  if (newest_ != kNone && entries_[newest_].page == page) {
    ++counters_.hits;
    return true;
  }
  const Index index = slots_[find(page)];
  if (index == kNone) {
    ++counters_.misses;
    insert(page);
    return false;
  }
  ++counters_.hits;
  unlink(index);
  make_newest(index);
  return true;
}

void Tlb::insert(std::uint64_t page) {
  Index index = oldest_;
  if (entries_.size() < capacity_) {
    if (2 * (entries_.size() + 1) > slots_.size()) grow();
    index = static_cast<Index>(entries_.size());
    entries_.emplace_back();
  } else {
    erase(entries_[index].page);
    unlink(index);
  }
  entries_[index].page = page;
  slots_[find(page)] = index;
  make_newest(index);
}

// Multiplication by 2^64 / golden ratio spreads consecutive numbers (Knuth, TAOCP 3, 6.4).
std::size_t Tlb::home(std::uint64_t page) const {
  return static_cast<std::size_t>((page * 0x9E3779B97F4A7C15u) >> shift_);
}

std::size_t Tlb::find(std::uint64_t page) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = home(page);
  while (slots_[slot] != kNone && entries_[slots_[slot]].page != page) slot = (slot + 1) & mask;
  return slot;
}

// What stands behind the gap moves up where its home is not behind the gap, so that no search ends too early.
void Tlb::erase(std::uint64_t page) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t gap = find(page);
  slots_[gap] = kNone;
  for (std::size_t slot = (gap + 1) & mask; slots_[slot] != kNone; slot = (slot + 1) & mask) {
    const std::size_t wanted = home(entries_[slots_[slot]].page);
    if (((slot - wanted) & mask) < ((slot - gap) & mask)) continue;
    slots_[gap] = slots_[slot];
    slots_[slot] = kNone;
    gap = slot;
  }
}

void Tlb::grow() {
  slots_.assign(2 * slots_.size(), kNone);
  --shift_;
  for (Index index = 0; index < entries_.size(); ++index) slots_[find(entries_[index].page)] = index;
}

void Tlb::unlink(Index index) {
  const Entry& entry = entries_[index];
  (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
  (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
}

void Tlb::make_newest(Index index) {
  entries_[index].newer = kNone;
  entries_[index].older = newest_;
  if (newest_ != kNone) entries_[newest_].newer = index;
  newest_ = index;
  if (oldest_ == kNone) oldest_ = index;
}

}  // namespace kernbench::hardware
