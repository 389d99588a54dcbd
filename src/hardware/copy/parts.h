// The legs of a copy that reads a SIP's memory, in the parts in which they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "hardware/fabric/bursts.h"
#include "hardware/fabric/fabric.h"
#include "kernbench/units.h"

namespace kernbench::hardware {

/// Where the bytes of a leg are and, from memory to memory, where they go; empty: to no memory.
struct LegSides {
  std::span<const StridedRange> from, to;
};

/// What is asked for at once, of one leg.
struct Part {
  std::uint64_t leg = 0;
  std::uint64_t slot = 0;  // of the parts of a copy that are under way, each has its own
  Bytes bytes;
  bool ends_leg = false;
  std::vector<StridedRange> from, to;  // of a part of a leg; of a whole one those of the leg count
};

/// Gives the bursts of legs, one of each leg in turn. Accesses and bursts are those of the whole legs. Takes memory for
/// the legs and for the parts that are under way, none for each part.
///
/// A part is no more than a burst: of longer ones, which a memory serves burst by burst in turns, the first would have
/// left it when nearly all have.
class Parts {
 public:
  /// What the sides refer to, the caller keeps.
  Parts(std::span<const LegSides> legs, Bytes burst, Bytes granule);

  bool all_taken() const { return turns_.empty(); }
  /// Of at most kMaximumLegs, whose keys they share.
  bool has_slot() const;
  /// REQUIRES: not all are taken, and there is a slot.
  const Part& take();
  const Part& at(std::uint64_t slot) const { return slots_[slot]; }
  std::span<const StridedRange> from(std::uint64_t slot) const;
  std::span<const StridedRange> to(std::uint64_t slot) const;
  /// The part is not under way any more. The next one gets the slot that came back last.
  void give_back(std::uint64_t slot) { free_.push_back(slot); }

 private:
  struct Leg {
    LegSides sides;
    Bytes left;
    std::unique_ptr<fabric::BurstCursor> cursor;  // of one that is more than a burst
  };
  static Leg make_leg(const LegSides& sides, Bytes burst, Bytes granule);
  Part& free_slot();
  void cut(Leg& leg, Part& part) const;

  fabric::Cut cut_;
  std::vector<Leg> legs_;
  std::deque<std::uint64_t> turns_;  // legs that have more
  std::deque<Part> slots_;
  std::vector<std::uint64_t> free_;
};

}  // namespace kernbench::hardware
