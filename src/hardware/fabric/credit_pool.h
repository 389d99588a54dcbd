// The slots of one buffer, as the server before it sees them: at home, taken, or on their way back.
#pragma once

#include <cassert>
#include <cstdint>

#include "base/units.h"
#include "hardware/fabric/ring.h"

namespace kernbench::hardware::fabric {

/// The return of a credit is known as soon as its chunk starts on the next server, so a credit on its way back is
/// simply the time at which it will be home: no event is needed for it.
class CreditPool {
 public:
  explicit CreditPool(std::int32_t credits = 0) : home_(credits) {}

  /// The earliest time at which a credit can be taken: zero when one is at home, max when none is known to return.
  Time available() const {
    if (home_ > 0) return Time::zero();
    return returning_.empty() ? Time::max() : returning_.front();
  }

  /// Takes a credit at `now`. Requires available() <= now.
  void take(Time now) {
    assert(available() <= now);
    if (!returning_.empty() && returning_.front() <= now) {
      returning_.pop_front();
    } else {
      --home_;
    }
  }

  /// Sends a taken credit on its way; it can be taken again at `home`.
  void give(Time home) {
    returning_.push_back(home);
    for (std::size_t i = returning_.size() - 1; i > 0 && returning_[i] < returning_[i - 1]; --i) {
      std::swap(returning_[i], returning_[i - 1]);
    }
  }

  /// Counts credits that are back by `now` as at home.
  void settle(Time now) {
    while (!returning_.empty() && returning_.front() <= now) {
      returning_.pop_front();
      ++home_;
    }
  }

  /// Credits that are at home or on their way.
  std::int32_t untaken() const { return home_ + static_cast<std::int32_t>(returning_.size()); }
  std::int32_t home() const { return home_; }
  /// Arrival times of the credits on their way, ascending.
  const Ring<Time>& returning() const { return returning_; }

  /// As if newly made with `credits`, keeping the storage.
  void reset(std::int32_t credits) {
    home_ = credits;
    returning_.clear();
  }

 private:
  std::int32_t home_;
  Ring<Time> returning_;
};

}  // namespace kernbench::hardware::fabric
