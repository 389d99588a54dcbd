// A table by 64-bit keys that only grows: a look-up mostly costs one cache line.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kernbench {

/// Values by key, in one array with open addressing, at most half full. Nothing is taken out. A value moves when others
/// come: keep no reference to one. `Value` is small, and made without arguments.
template <class Value>
class FlatTable {
 public:
  static constexpr std::uint64_t kNoKey = UINT64_MAX;

  /// The value of a key, and whether it is new. REQUIRES: key != kNoKey.
  std::pair<Value&, bool> find_or_add(std::uint64_t key) {
    assert(key != kNoKey);
    Slot* slot = &slots_[place_of(key)];
    if (slot->key == key) return {slot->value, false};
    if (2 * ++size_ > slots_.size()) {
      grow();
      slot = &slots_[place_of(key)];
    }
    slot->key = key;
    return {slot->value, true};
  }
  std::size_t size() const { return size_; }
  /// Calls `visit(key, value)` for each, in the order of their places, which is none.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key != kNoKey) visit(slot.key, slot.value);
    }
  }

 private:
  struct Slot {
    std::uint64_t key = kNoKey;
    Value value = {};
  };

  /// Where the key is, or the free slot in which it would be. Multiplication by 2^64 / golden ratio spreads numbers
  /// that follow each other (Knuth, TAOCP 3, 6.4).
  std::size_t place_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> shift_);
    while (slots_[place].key != key && slots_[place].key != kNoKey) place = (place + 1) & mask;
    return place;
  }
  void grow() {
    std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    --shift_;
    for (Slot& slot : before) {
      if (slot.key != kNoKey) slots_[place_of(slot.key)] = std::move(slot);
    }
  }

  static constexpr int kFirstBits = 4;
  std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << kFirstBits);
  int shift_ = 64 - kFirstBits;
  std::size_t size_ = 0;
};

}  // namespace kernbench
