#include "hardware/fabric/turns.h"

#include "sim/run_ahead.h"

namespace kernbench::hardware::fabric {

void Turns::set(std::uint32_t server, sim::AgentId agent, Time when) {
  if (server >= turns_.size()) turns_.resize(server + std::size_t{1});
  Turn& turn = turns_[server];
  const auto time = static_cast<std::uint64_t>(when.count());
  if (one_event_each_) {
    if (turn.at != UINT64_MAX) scheduler_.cancel(turn.event);
    turn.at = time;
    // A server that is always busy goes from turn to turn, whoever began: its transfers are what is under way.
    const sim::Scheduler::ActsFor nobody(scheduler_, scheduler_.origin_of_turns());
    turn.event = scheduler_.schedule(when, sim::Phase::arbitrate, agent, server, sim::call<&Turns::take>(this, server));
    return;
  }
  turn.at = time;
  queue_.push({time, sim::make_order(sim::Phase::arbitrate, agent, server)}, server);
  if (!running_ && when < armed_at_) arm();
}

void Turns::take(std::uint64_t server) {
  turns_[server].at = UINT64_MAX;
  take_.function(take_.object, server);
}

bool Turns::drop_old_turns() {
  while (!queue_.empty()) {
    const TurnQueue::Entry next = queue_.top();
    if (turns_[next.payload].at == next.key.time) return true;
    queue_.pop();
  }
  return false;
}

// All other events of an instant come before its turns or behind them: this one has a place of its own among them.
void Turns::arm() {
  if (armed_at_ != Time::max()) scheduler_.cancel(armed_);
  armed_at_ = Time::picoseconds(static_cast<std::int64_t>(queue_.top().key.time));
  const sim::Scheduler::ActsFor nobody(scheduler_, scheduler_.origin_of_turns());
  armed_ = scheduler_.schedule(armed_at_, sim::Phase::arbitrate, {}, 0, sim::call<&Turns::run>(this));
}

void Turns::run(std::uint64_t) {
  armed_at_ = Time::max();
  running_ = true;
  while (drop_old_turns()) {
    const TurnQueue::Entry next = queue_.top();
    const Time when = Time::picoseconds(static_cast<std::int64_t>(next.key.time));
    if (when != scheduler_.now() && !sim::advance(scheduler_, {next.key.time, next.key.order})) break;
    queue_.pop();
    take(next.payload);
  }
  running_ = false;
  if (!queue_.empty()) arm();
}

}  // namespace kernbench::hardware::fabric
