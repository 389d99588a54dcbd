// A management processor (IO_CPU, M_CPU), or the completion counters beside one: handles messages one at a time.
#pragma once

#include <cstdint>
#include <deque>

#include "hardware/agents.h"
#include "hardware/fabric/activity_observer.h"
#include "hardware/transport.h"
#include "kernbench/units.h"
#include "sim/scheduler.h"

namespace kernbench::hardware {

/// Handles messages in order of arrival (ties: in the order of the events that deliver them, a structural one), each
/// in `latency`; what a message causes happens at the end of its handling.
class MessageProcessor {
 public:
  /// Makes the key of the n-th event of its agent.
  using Key = std::uint64_t (*)(std::uint64_t n);
  /// `observer` may be null. Two that share an agent have different keys.
  MessageProcessor(sim::Scheduler& scheduler, sim::AgentId agent, Time latency, ActivityObserver* observer,
                   Key key = step_key)
      : scheduler_(scheduler), agent_(agent), latency_(latency), observer_(observer), key_(key) {}

  /// A message has arrived; called in the deliver phase. `handled` is called when it has been handled.
  void receive(sim::Callback handled);
  /// The key of the next message that this processor sends.
  Sender next_sender() { return {agent_, message_key(sent_++)}; }
  Time busy() const { return busy_; }
  Time latency() const { return latency_; }

 private:
  void start();
  void finish(std::uint64_t);

  sim::Scheduler& scheduler_;
  sim::AgentId agent_;
  Time latency_, busy_;
  ActivityObserver* observer_;
  Key key_;
  std::uint64_t sent_ = 0;
  std::deque<sim::Callback> messages_;  // the first is being handled
};

}  // namespace kernbench::hardware
