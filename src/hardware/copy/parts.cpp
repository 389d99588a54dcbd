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
  return !free_.empty() || slots_.size() < kMaximumLegs;
}

Part& Parts::free_slot() {
  if (free_.empty()) {
    Part& added = slots_.emplace_back();
    added.slot = slots_.size() - 1;
    return added;
  }
  const std::uint64_t slot = free_.back();
  free_.pop_back();
  return slots_[slot];
}

const Part& Parts::take() {
  const std::uint64_t number = turns_.front();
  turns_.pop_front();
  Leg& leg = legs_[number];
  Part& part = free_slot();
  part.leg = number;
  part.bytes = leg.left;
  if (leg.cursor) cut(leg, part);
  leg.left -= part.bytes;
  part.ends_leg = leg.left == Bytes(0);
  if (!part.ends_leg) turns_.push_back(number);
  return part;
}

void Parts::cut(Leg& leg, Part& part) const {
  const std::uint64_t unit = std::min(cut_.burst, cut_.granule);
  part.from.clear();
  part.to.clear();
  part.bytes = Bytes(leg.cursor->next([&](const fabric::Accesses& accesses) {
    StridedRange range{accesses.address, accesses.count, Bytes(accesses.bytes), accesses.stride};
    append(part.from, range, unit);
    if (leg.sides.to.empty()) return;
    range.address = accesses.landing;
    append(part.to, range, unit);
  }));
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
