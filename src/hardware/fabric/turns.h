// The turns of the arbiters, in simulated order.
#pragma once

#include <cstdint>
#include <vector>

#include "hardware/fabric/turn_queue.h"
#include "kernbench/units.h"
#include "sim/phase.h"
#include "sim/scheduler.h"

namespace kernbench::hardware::fabric {

/// A queue of the fabric's own: its turns follow each other within one event of the scheduler until something else is
/// due. They take the places in the order of events that events of their own would take.
class Turns {
 public:
  /// `take` is called for each turn, with the server as argument. With `one_event_each` every turn is an event of the
  /// scheduler: the same order, for comparison.
  Turns(sim::Scheduler& scheduler, bool one_event_each, sim::Callback take)
      : scheduler_(scheduler), one_event_each_(one_event_each), take_(take) {}

  /// The turn of `server`, which has the structural id `agent`, is at `when`, and not when it was to be before.
  /// Requires when >= now(), and a later time than that of a turn which is being taken by the same server.
  void set(std::uint32_t server, sim::AgentId agent, Time when);
  /// Called in a turn: before this time no other server has one, but at this instant at the latest, and no event is
  /// due. REQUIRES: not one event each.
  Time quiet_until();
  /// Between the two calls there is no event for the turns; by the second one they are so much later. REQUIRES: not
  /// called in a turn, not one event each.
  void hold();
  void go_on(Time by);
  /// The server has no turn any more. REQUIRES: not one event each.
  void forget(std::uint32_t server) {
    if (server < turns_.size()) turns_[server].at = UINT64_MAX;
  }

 private:
  struct Turn {
    std::uint64_t at = UINT64_MAX;  // none
    sim::EventHandle event;         // with one event each
  };

  void run(std::uint64_t);
  void take(std::uint64_t server);
  void arm();
  bool drop_old_turns();  // from the front; false when none is left
  bool find_next();       // into next_of_taking_

  sim::Scheduler& scheduler_;
  bool one_event_each_;
  sim::Callback take_;
  std::vector<Turn> turns_;  // by server
  TurnQueue queue_;          // turns that were set to an earlier time since are still in it
  bool running_ = false;
  std::uint32_t taking_ = UINT32_MAX;  // the server whose turn it is
  bool kept_ = false;                  // its next turn is this one, which is not in the queue
  TurnQueue::Entry next_of_taking_;
  Time armed_at_ = Time::max();
  sim::EventHandle armed_;
};

}  // namespace kernbench::hardware::fabric
