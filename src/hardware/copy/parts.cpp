#include "hardware/copy/parts.h"

#include <algorithm>

#include "hardware/agents.h"

namespace kernbench::hardware {
namespace {

/// As one row, where they follow each other and a row would be cut between them in any case.
StridedRange range_of(const StridedRange& accesses, std::uint64_t unit) {
  const auto bytes = static_cast<std::uint64_t>(accesses.row_bytes.count());
  const bool is_row = accesses.rows == 1 || (bytes == unit && accesses.stride == accesses.row_bytes.count());
  return is_row ? StridedRange{accesses.address, 1, accesses.total(), 0} : accesses;
}

/// Adds equal accesses. Those that go on where a row ends at a multiple of `unit`, where it is cut, become part of it.
void append(std::vector<StridedRange>& ranges, const StridedRange& accesses, std::uint64_t unit) {
  const StridedRange next = range_of(accesses, unit);
  if (next.rows == 1 && !ranges.empty() && ranges.back().rows == 1) {
    StridedRange& last = ranges.back();
    const std::uint64_t end = last.address + static_cast<std::uint64_t>(last.row_bytes.count());
    if (end == next.address && end % unit == 0) {
      last.row_bytes += next.row_bytes;
      return;
    }
  }
  ranges.push_back(next);
}

}  // namespace

Parts::Parts(std::span<const LegSides> legs, Bytes burst, Bytes granule)
    : cut_{static_cast<std::uint64_t>(burst.count()), static_cast<std::uint64_t>(granule.count())} {
  legs_.reserve(legs.size());
  for (const LegSides& sides : legs) {
    turns_.push_back(legs_.size());
    legs_.push_back(make_leg(sides, burst, granule));
  }
}

Parts::Leg Parts::make_leg(const LegSides& sides, Bytes burst, Bytes granule) {
  Leg leg{sides, Ranges(sides.from).total(), {}};
  if (leg.left <= burst) return leg;
  TransferRequest whole;
  whole.ranges = sides.from;
  whole.landing = sides.to;
  whole.burst = burst;
  whole.granule = granule;
  leg.cursor = std::make_unique<fabric::BurstCursor>(whole);
  return leg;
}

bool Parts::has_slot() const {
  return !free_.empty() || slots_.size() < kMaximumLegs || !back_.empty();
}

Part& Parts::free_slot() {
  if (free_.empty() && slots_.size() == kMaximumLegs) free_.swap(back_);
  if (free_.empty()) {
    Part& added = slots_.emplace_back();
    added.slot = added.name = slots_.size() - 1;
    return added;
  }
  const std::uint64_t slot = free_.back();
  free_.pop_back();
  return slots_[slot];
}

void Parts::give_back(std::uint64_t slot, Time now) {
  settle(now);
  back_at_ = now;
  const auto number = [this](std::uint64_t of) { return slots_[of].number; };
  back_.insert(std::ranges::upper_bound(back_, number(slot), {}, number), slot);
}

void Parts::settle(Time now) {
  if (back_.empty() || back_at_ == now) return;
  free_.insert(free_.end(), back_.begin(), back_.end());
  back_.clear();
}

const Part& Parts::take() {
  const std::uint64_t number = turns_.front();
  turns_.pop_front();
  Leg& leg = legs_[number];
  Part& part = free_slot();
  part.leg = number;
  part.number = taken_++;
  part.begun = false;
  part.bytes = leg.left;
  if (leg.cursor) cut(leg.sides, *leg.cursor, part);
  leg.left -= part.bytes;
  part.ends_leg = leg.left == Bytes(0);
  if (!part.ends_leg) turns_.push_back(number);
  return part;
}

void Parts::cut(const LegSides& sides, fabric::BurstCursor& cursor, Part& part) const {
  const std::uint64_t unit = std::min(cut_.burst, cut_.granule);
  part.from.clear();
  part.to.clear();
  part.bytes = Bytes(cursor.next([&](const fabric::Accesses& accesses) {
    StridedRange range{accesses.address, accesses.count, Bytes(accesses.bytes), accesses.stride};
    append(part.from, range, unit);
    if (sides.to.empty()) return;
    range.address = accesses.landing;
    append(part.to, range, unit);
  }));
}

Bytes Parts::bytes_left() const {
  Bytes sum;
  for (const Leg& leg : legs_) sum += leg.left;
  return sum;
}

std::vector<std::uint64_t> Parts::slots_in_use() const {
  std::vector<bool> is_free(slots_.size());
  for (const auto* const list : {&free_, &back_}) {
    for (const std::uint64_t slot : *list) is_free[slot] = true;
  }
  std::vector<std::uint64_t> used;
  for (std::uint64_t slot = 0; slot < slots_.size(); ++slot) {
    if (!is_free[slot]) used.push_back(slot);
  }
  std::ranges::sort(used, {}, [this](std::uint64_t slot) { return slots_[slot].number; });
  return used;
}

std::vector<std::uint64_t> Parts::slots() const {
  std::vector<std::uint64_t> all = slots_in_use();
  all.insert(all.end(), free_.begin(), free_.end());
  all.insert(all.end(), back_.begin(), back_.end());
  return all;
}

Parts::Ahead::Ahead(const Parts& parts) : parts_(&parts), turns_(parts.turns_), taken_(parts.taken_) {
  legs_.reserve(parts.legs_.size());
  for (const Parts::Leg& leg : parts.legs_) {
    legs_.push_back({leg.left, leg.cursor ? *leg.cursor : fabric::BurstCursor()});
  }
}

bool Parts::Ahead::next(Part& part) {
  const std::uint64_t number = turns_.front();
  Leg& leg = legs_[number];
  const Parts::Leg& of = parts_->legs_[number];
  if (!of.cursor) return false;
  parts_->cut(of.sides, leg.cursor, part);
  if (leg.left <= part.bytes) return false;
  turns_.pop_front();
  turns_.push_back(number);
  part.leg = number;
  part.number = taken_++;
  part.ends_leg = false;
  leg.left -= part.bytes;
  return true;
}

void Parts::go_on(const Ahead& ahead, Time by) {
  for (std::size_t leg = 0; leg < legs_.size(); ++leg) {
    legs_[leg].left = ahead.legs_[leg].left;
    if (legs_[leg].cursor) *legs_[leg].cursor = ahead.legs_[leg].cursor;
  }
  turns_ = ahead.turns_;
  for (Part& part : slots_) part.number += ahead.taken_ - taken_;
  back_at_ += by;
  taken_ = ahead.taken_;
}

// In the same storage: who is under way has looked at where it is.
void Parts::replace(std::uint64_t slot, const Part& later) {
  Part& part = slots_[slot];
  std::ranges::copy(later.from, part.from.begin());
  std::ranges::copy(later.to, part.to.begin());
}

std::span<const StridedRange> Parts::from(std::uint64_t slot) const {
  const Part& part = slots_[slot];
  const Leg& leg = legs_[part.leg];
  return leg.cursor ? std::span(part.from) : leg.sides.from;
}

std::span<const StridedRange> Parts::to(std::uint64_t slot) const {
  const Part& part = slots_[slot];
  const Leg& leg = legs_[part.leg];
  return leg.cursor ? std::span(part.to) : leg.sides.to;
}

}  // namespace kernbench::hardware
