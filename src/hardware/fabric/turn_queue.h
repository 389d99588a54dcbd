// The queue of turns: a sorted row as long as they are few, else buckets of time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/event_queue.h"
#include "sim/phase.h"

namespace kernbench::hardware::fabric {

/// As sim::EventQueue. Turns come soon after they were set, and nearly in order. So a heap, in which each one sinks to
/// the ground and rises again, is left to those that are far away; the others wait unsorted in the bucket of their time
/// until that one is the first (R. Brown, Calendar queues, CACM 1988; with the widths of buckets adapted to how many
/// turns they have).
class TurnQueue {
 public:
  using Entry = sim::EventQueue::Entry;

  bool empty() const { return in_buckets_ ? size_ == 0 : count_ == 0; }
  /// REQUIRES: !empty().
  Entry top() {
    if (!in_buckets_) return row_[count_ - 1];
    if (first_.empty() && early_.empty()) next_bucket();
    return is_early() ? early_.top() : first_.back();
  }

  /// Field by field, here and where it leads: a key that was stored by halves a moment ago is slow to load as one.
  [[gnu::always_inline]] void push(sim::EventKey key, std::uint32_t payload) {
    if (!in_buckets_) {
      if (count_ < kMost) return insert_into_row(key.time, key.order, payload);
      leave_row();
    }
    ++size_;
    ++pushes_;
    place(key.time, key.order, payload);
  }

  /// REQUIRES: !empty(), and top() was called since the last push().
  void pop() {
    if (!in_buckets_) {
      --count_;
      return;
    }
    take_first();
    if (--size_ == kFew) enter_row();
  }

  /// How many turns have been put into buckets of another width, all times together.
  std::size_t spread_turns() const { return spread_turns_; }

 private:
  static constexpr std::size_t kMost = 16, kFew = 4;  // turns with which it goes into buckets, and comes back
  static constexpr std::size_t kBuckets = 256, kWord = 64;
  static constexpr std::size_t kCrowd = 64;  // turns of a bucket with which it may be too wide
  static constexpr std::size_t kNear = 16;   // of the first bucket, before which a turn is looked for a place
  static constexpr std::uint32_t kWidest = 40;

  void insert_into_row(std::uint64_t time, std::uint64_t order, std::uint32_t payload) {
    std::size_t place = count_++;
    for (; place > 0 && row_[place - 1].key < sim::EventKey{time, order}; --place) row_[place] = row_[place - 1];
    set(row_[place], time, order, payload);
  }
  static void set(Entry& entry, std::uint64_t time, std::uint64_t order, std::uint32_t payload) {
    entry.key.time = time;
    entry.key.order = order;
    entry.payload = payload;
  }
  void leave_row();
  void enter_row();
  void place(std::uint64_t time, std::uint64_t order, std::uint32_t payload);
  void put_ahead(const Entry& entry);
  void place_in_bucket(std::uint64_t time, std::uint64_t order, std::uint32_t payload) {
    const std::size_t bucket = number_of(time) % kBuckets;
    set(buckets_[bucket].emplace_back(), time, order, payload);
    occupied_[bucket / kWord] |= std::uint64_t{1} << bucket % kWord;
  }
  void place_in_bucket(const Entry& entry) { place_in_bucket(entry.key.time, entry.key.order, entry.payload); }
  bool is_early() { return !early_.empty() && (first_.empty() || early_.top().key < first_.back().key); }
  void take_first() {
    if (is_early()) {
      early_.pop();
    } else {
      first_.pop_back();
    }
  }
  void next_bucket();
  void take_from_far();
  /// Turns of many times that come by turns near and far would have it spread all turns again and again: as many are
  /// pushed between two times as there are to be spread.
  bool may_spread() const { return pushes_ >= size_; }
  void spread(std::uint32_t width);

  std::uint64_t number_of(std::uint64_t time) const { return time >> width_; }
  std::uint64_t number_of(const Entry& entry) const { return number_of(entry.key.time); }

  std::array<Entry, kMost> row_;  // the latest first
  std::size_t count_ = 0;

  bool in_buckets_ = false;
  std::size_t size_ = 0;
  std::vector<Entry> first_;  // of the first bucket, sorted, the latest first
  sim::EventQueue early_;     // others of the first bucket, and those that are earlier
  std::uint64_t first_number_ = 0;
  std::uint32_t width_ = 0;                                 // buckets are 2^width_ ps wide
  std::array<std::vector<Entry>, kBuckets> buckets_;        // those behind the first one, by number
  std::array<std::uint64_t, kBuckets / kWord> occupied_{};  // a bit for each
  sim::EventQueue far_;                                     // what comes later
  std::uint32_t far_pushes_ = 0;                            // twice as many, less the others
  std::size_t pushes_ = 0;                                  // since all turns were spread
  std::size_t spread_turns_ = 0;
};

inline void TurnQueue::place(std::uint64_t time, std::uint64_t order, std::uint32_t payload) {
  const std::uint64_t number = number_of(time);
  if (number <= first_number_) {
    const Entry entry{{time, order}, payload};
    std::size_t at = first_.size();
    const std::size_t least = at > kNear ? at - kNear : 0;
    while (at > least && first_[at - 1].key < entry.key) --at;
    if (at > 0 && at == least) return early_.push(entry.key, payload);
    first_.insert(first_.begin() + static_cast<std::ptrdiff_t>(at), entry);
    return;
  }
  if (number - first_number_ >= kBuckets) {
    far_.push({time, order}, payload);
    far_pushes_ += 2;
    if (far_pushes_ > kBuckets / 2 && width_ < kWidest && may_spread()) spread(width_ + 2);
    return;
  }
  place_in_bucket(time, order, payload);
  if (far_pushes_ > 0) --far_pushes_;
}

}  // namespace kernbench::hardware::fabric
