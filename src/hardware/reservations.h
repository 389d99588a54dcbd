// A finite number of units (bytes, places in a queue) that fibers take in order of arrival.
#pragma once

#include <cstdint>
#include <vector>

#include "hardware/command.h"
#include "sim/waitable.h"

namespace kernbench::hardware {

/// Units are granted strictly first come, first served: a small request never overtakes a large one. A grant happens
/// where the units come back, so that the fiber that wakes already holds them.
class Reservations : public sim::Waitable {
 public:
  explicit Reservations(std::int64_t capacity) : capacity_(capacity) {}

 protected:
  /// Suspends the calling fiber until `units` are free. A cancelled fiber that unwinds takes them without waiting.
  /// Returns the command that ended the wait by giving units back; null when there was no wait, or no command.
  CommandRef take(std::int64_t units);
  /// `by`: the command that gives back, so that whoever waits can say what it waited for; may be null.
  void give_back(std::int64_t units, Command* by = nullptr);
  std::int64_t units_taken() const { return taken_; }
  /// Of the request that is granted next; 0: nobody waits.
  std::int64_t units_wanted() const { return requests_.empty() ? 0 : requests_.front()->units; }

 private:
  struct Request {
    std::int64_t units;
    bool granted = false;
    CommandRef by = {};  // whose units made the grant possible
  };
  bool fits(std::int64_t units) const { return taken_ + units <= capacity_; }
  void grant_in_order(Command* by);
  void withdraw(const Request& request);

  std::int64_t capacity_;
  std::int64_t taken_ = 0;
  std::vector<Request*> requests_;  // of suspended fibers, on their stacks, in order of arrival
};

}  // namespace kernbench::hardware
