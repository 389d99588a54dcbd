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
  std::uint64_t name = 0;  // in the keys of what is under way for it; that of its slot, until slots are renamed
  std::uint64_t slot = 0;  // of the parts of a copy that are under way, each has its own
  Bytes bytes;
  bool ends_leg = false;
  std::uint64_t number = 0;            // of the parts of the copy, in the order in which they are taken
  bool begun = false;                  // its bytes are asked of their memory: for the readers
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
  /// Likewise where several come back and are taken at one instant, in an order that is one of names: later parts get
  /// them, in the order of the parts that had them, from the next settle() at a later time on.
  void give_back(std::uint64_t slot, Time now);
  void settle(Time now);
  /// Slots that came back so at this instant.
  std::size_t came_back_at(Time now) const { return back_at_ == now ? back_.size() : 0; }
  void begin(std::uint64_t slot) { slots_[slot].begun = true; }

  /// Parts taken so far.
  std::uint64_t taken() const { return taken_; }
  /// Legs that have more.
  std::size_t legs_left() const { return turns_.size(); }
  Bytes bytes_left() const;
  /// Slots in use, in the order of their parts.
  std::vector<std::uint64_t> slots_in_use() const;

  /// All slots: those in use, and the others in the order in which they came back.
  std::vector<std::uint64_t> slots() const;

  /// What take() would give, without slots: for who goes on from a later part.
  class Ahead;
  /// Goes on where `ahead` stands, so much later.
  void go_on(const Ahead& ahead, Time by);
  /// What is begun for the slot from now on has that name. No two slots have the same one.
  void rename(std::uint64_t slot, std::uint64_t name) { slots_[slot].name = name; }
  /// The part in a slot is the one with these ranges, and so many further on.
  void replace(std::uint64_t slot, const Part& later);

 private:
  struct Leg {
    LegSides sides;
    Bytes left;
    std::unique_ptr<fabric::BurstCursor> cursor;  // of one that is more than a burst
  };
  static Leg make_leg(const LegSides& sides, Bytes burst, Bytes granule);
  Part& free_slot();
  void cut(const LegSides& sides, fabric::BurstCursor& cursor, Part& part) const;

  fabric::Cut cut_;
  std::vector<Leg> legs_;
  std::deque<std::uint64_t> turns_;  // legs that have more
  std::deque<Part> slots_;
  std::vector<std::uint64_t> free_;
  std::vector<std::uint64_t> back_;  // come back at `back_at_`, in the order of their parts
  Time back_at_;
  std::uint64_t taken_ = 0;
};

class Parts::Ahead {
 public:
  explicit Ahead(const Parts& parts);
  /// The next one into `part`; false if that would be the last of its leg.
  bool next(Part& part);

 private:
  friend class Parts;
  struct Leg {
    Bytes left;
    fabric::BurstCursor cursor;
  };
  const Parts* parts_;
  std::vector<Leg> legs_;
  std::deque<std::uint64_t> turns_;
  std::uint64_t taken_;
};

}  // namespace kernbench::hardware
