// The callbacks of pending events, in slots, so that a heap entry is a number and a handle can go stale safely.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scheduler.h"

namespace kernbench::sim {

/// Epochs are counted in so many bits, see Scheduler::State::poll_epoch.
inline constexpr std::uint32_t kPollEpochMask = (1u << 30) - 1;

/// What is known of one pending event.
struct EventSlot {
  Callback callback;
  std::uint32_t generation = 0;
  std::uint32_t background : 1 = 0;
  std::uint32_t cancelled : 1 = 0;
  std::uint32_t poll_epoch : 30 = 0;  // not zero: the event descends from fibers that only poll, see Scheduler::State
};

/// A pool of slots, numbered from zero. A slot's generation changes whenever it is given back.
class EventSlots {
 public:
  std::uint32_t acquire() {
    if (unused_ == kNone) {
      slots_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t index = unused_;
    unused_ = static_cast<std::uint32_t>(slots_[index].callback.argument);
    return index;
  }
  void release(std::uint32_t index) {
    EventSlot& slot = slots_[index];
    ++slot.generation;
    slot.callback.argument = unused_;
    unused_ = index;
  }
  EventSlot& operator[](std::uint32_t index) { return slots_[index]; }
  /// The slot that `handle` names, or nullptr when that event has fired or was cancelled.
  EventSlot* find(EventHandle handle) {
    if (handle.slot >= slots_.size()) return nullptr;
    EventSlot& slot = slots_[handle.slot];
    return slot.generation == handle.generation && !slot.cancelled ? &slot : nullptr;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<EventSlot> slots_;
  std::uint32_t unused_ = kNone;
};

}  // namespace kernbench::sim
