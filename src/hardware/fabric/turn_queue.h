// The queue of turns: a sorted row as long as they are few, which is cheaper than a heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/event_queue.h"
#include "sim/phase.h"

namespace kernbench::hardware::fabric {

/// As sim::EventQueue. A new turn goes into the row before those that are later, and few are earlier: a server that has
/// served is soon free again.
class TurnQueue {
 public:
  using Entry = sim::EventQueue::Entry;

  bool empty() const { return in_heap_ ? heap_.empty() : count_ == 0; }
  /// REQUIRES: !empty().
  Entry top() { return in_heap_ ? heap_.top() : row_[count_ - 1]; }

  void push(sim::EventKey key, std::uint32_t payload) {
    if (!in_heap_ && count_ == kMost) leave_row();
    if (in_heap_) return heap_.push(key, payload);
    std::size_t place = count_++;
    for (; place > 0 && row_[place - 1].key < key; --place) row_[place] = row_[place - 1];
    row_[place] = {key, payload};
  }

  /// REQUIRES: !empty().
  void pop() {
    if (!in_heap_) {
      --count_;
      return;
    }
    heap_.pop();
    if (heap_.size() == kFew) enter_row();
  }

 private:
  static constexpr std::size_t kMost = 16, kFew = 4;  // turns with which it goes into the heap, and comes back

  void leave_row() {
    for (std::size_t i = 0; i < count_; ++i) heap_.push(row_[i].key, row_[i].payload);
    count_ = 0;
    in_heap_ = true;
  }
  void enter_row() {
    for (count_ = kFew; count_ > 0; --count_) row_[count_ - 1] = heap_.pop();
    count_ = kFew;
    in_heap_ = false;
  }

  std::array<Entry, kMost> row_;  // the latest first
  std::size_t count_ = 0;
  sim::EventQueue heap_;
  bool in_heap_ = false;
};

}  // namespace kernbench::hardware::fabric
