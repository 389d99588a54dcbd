// The bytes of one buffer, as the server before it sees them: free, taken, or on their way back.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "base/ring.h"
#include "kernbench/units.h"

namespace kernbench::hardware::fabric {

/// Room on its way back.
struct ReturningRoom {
  Time home;    // when it can be taken again
  Time waited;  // how long its burst had to wait for its next server
  std::int64_t bytes = 0;
  auto operator<=>(const ReturningRoom&) const = default;
};

/// The return of room is known as soon as its burst starts on the next server, so room on its way back needs no event.
/// A burst that is larger than the buffer takes all of it.
class Room {
 public:
  explicit Room(Bytes buffer = Bytes(0)) : buffer_(buffer.count()), free_(buffer.count()) {}

  /// The earliest time at which a burst can enter: zero when there is room, max when not enough is known to return.
  Time available(std::int64_t bytes) const {
    const std::int64_t needed = std::min(bytes, buffer_);
    if (free_ >= needed) return Time::zero();
    std::int64_t sum = free_;
    for (std::size_t i = 0; i < returning_.size(); ++i) {
      sum += returning_[i].bytes;
      if (sum >= needed) return returning_[i].home;
    }
    return Time::max();
  }

  /// A burst enters at `now`. Requires available(bytes) <= now. Returns how long the burst whose room came just in time
  /// had waited.
  Time take(std::int64_t bytes, Time now) {
    assert(available(bytes) <= now);
    const std::int64_t needed = std::min(bytes, buffer_);
    Time waited;
    while (!returning_.empty() && returning_.front().home <= now) {
      if (free_ < needed) waited = returning_.front().waited;
      free_ += returning_.front().bytes;
      returning_.pop_front();
    }
    free_ -= needed;
    return waited;
  }

  /// Sends the room of a burst on its way back. (Inlined for its argument, as Ring::push_back.)
  [[gnu::always_inline]] void give(ReturningRoom room) {
    room.bytes = std::min(room.bytes, buffer_);
    returning_.push_back(room);
    for (std::size_t i = returning_.size() - 1; i > 0 && returning_[i] < returning_[i - 1]; --i) {
      std::swap(returning_[i], returning_[i - 1]);
    }
  }

  /// Counts what is back by `now` as free.
  void settle(Time now) {
    while (!returning_.empty() && returning_.front().home <= now) {
      free_ += returning_.front().bytes;
      returning_.pop_front();
    }
  }

  /// Bytes that are free or on their way back.
  bool untaken() const {
    std::int64_t sum = free_;
    for (std::size_t i = 0; i < returning_.size(); ++i) sum += returning_[i].bytes;
    return sum == buffer_;
  }
  std::int64_t free() const { return free_; }
  bool all_free() const { return free_ == buffer_; }
  /// What is on its way back, by the time at which it is home.
  const Ring<ReturningRoom>& returning() const { return returning_; }

  /// What is on its way back comes so much later.
  void shift(Time by) {
    for (std::size_t i = 0; i < returning_.size(); ++i) returning_[i].home += by;
  }
  /// As if newly made for a buffer, keeping the storage.
  void reset(Bytes buffer) {
    buffer_ = free_ = buffer.count();
    returning_.clear();
  }
  /// Whether a burst can enter without the room that is on its way back.
  bool has(std::int64_t bytes) const { return free_ >= std::min(bytes, buffer_); }
  /// Undoes take_before(), and give() of the same room.
  void untake(std::int64_t bytes) { free_ += std::min(bytes, buffer_); }
  void ungive(ReturningRoom room) {
    room.bytes = std::min(room.bytes, buffer_);
    std::size_t place = returning_.size() - 1;
    while (returning_[place] != room) --place;
    returning_.erase(place);
  }
  /// Takes `bytes` that are known to come back later (give()).
  void take_before(std::int64_t bytes) { free_ -= std::min(bytes, buffer_); }

 private:
  std::int64_t buffer_;
  std::int64_t free_;
  Ring<ReturningRoom> returning_;
};

/// For how long a server stood idle for want of room behind it.
struct RoomWaits {
  Time kept;     // by bursts that had to wait further on
  Time starved;  // for the way of the room, there and back
  Time total() const { return kept + starved; }
  RoomWaits& operator+=(const RoomWaits& more) {
    kept += more.kept;
    starved += more.starved;
    return *this;
  }
};

/// A burst had only room to wait for, and the burst that had it had waited for `before` itself.
inline RoomWaits room_waits(Time waiting, Time before) {
  const Time kept = std::min(waiting, before);
  return {kept, waiting - kept};
}

}  // namespace kernbench::hardware::fabric
