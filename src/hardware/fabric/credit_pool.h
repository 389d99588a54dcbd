// The slots of one buffer, as the server before it sees them: at home, taken, or on their way back.
#pragma once

#include <cassert>
#include <cstdint>

#include "hardware/fabric/ring.h"
#include "kernbench/units.h"

namespace kernbench::hardware::fabric {

/// A credit on its way back.
struct ReturningCredit {
  Time home;    // when it can be taken again
  Time waited;  // how long its chunk had to wait for its next server
  auto operator<=>(const ReturningCredit&) const = default;
};

/// The return of a credit is known as soon as its chunk starts on the next server, so a credit on its way back
/// needs no event.
class CreditPool {
 public:
  explicit CreditPool(std::int32_t credits = 0) : home_(credits) {}

  /// The earliest time at which a credit can be taken: zero when one is at home, max when none is known to return.
  Time available() const {
    if (home_ > 0) return Time::zero();
    return returning_.empty() ? Time::max() : returning_.front().home;
  }

  /// Takes a credit at `now`. Requires available() <= now. Returns how long the chunk that gave it back had waited.
  Time take(Time now) {
    assert(available() <= now);
    if (returning_.empty() || returning_.front().home > now) {
      --home_;
      return {};
    }
    const Time waited = returning_.front().waited;
    returning_.pop_front();
    return waited;
  }

  /// Sends a taken credit on its way.
  void give(ReturningCredit credit) {
    returning_.push_back(credit);
    for (std::size_t i = returning_.size() - 1; i > 0 && returning_[i] < returning_[i - 1]; --i) {
      std::swap(returning_[i], returning_[i - 1]);
    }
  }

  /// Counts credits that are back by `now` as at home.
  void settle(Time now) {
    while (!returning_.empty() && returning_.front().home <= now) {
      returning_.pop_front();
      ++home_;
    }
  }

  /// Credits that are at home or on their way.
  std::int32_t untaken() const { return home_ + static_cast<std::int32_t>(returning_.size()); }
  std::int32_t home() const { return home_; }
  /// The credits on their way, by the time at which they are home.
  const Ring<ReturningCredit>& returning() const { return returning_; }

  /// As if newly made with `credits`, keeping the storage.
  void reset(std::int32_t credits) {
    home_ = credits;
    returning_.clear();
  }

 private:
  std::int32_t home_;
  Ring<ReturningCredit> returning_;
};

/// Of the time for which a chunk had only a credit to wait for: what is due to the way of that credit, there and back,
/// not to the wait of the chunk that had it.
inline Time starved(Time waiting, Time before) {
  return waiting > before ? waiting - before : Time();
}

}  // namespace kernbench::hardware::fabric
