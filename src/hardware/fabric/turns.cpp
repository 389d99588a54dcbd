#include "hardware/fabric/turns.h"

#include <algorithm>
#include <utility>

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
  const sim::EventKey key{time, sim::make_order(sim::Phase::arbitrate, agent, server)};
  if (server == taking_) {
    kept_ = true;
    next_of_taking_ = {key, server};
    return;
  }
  queue_.push(key, server);
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

/// The next turn into `next_of_taking_`; false when there is none. What a server does from turn to turn while the
/// others wait never goes through the queue.
bool Turns::find_next() {
  const bool others = drop_old_turns();
  if (kept_ && (!others || next_of_taking_.key < queue_.top().key)) return true;
  if (!others) return false;
  const TurnQueue::Entry next = queue_.top();
  queue_.pop();
  if (kept_) queue_.push(next_of_taking_.key, next_of_taking_.payload);
  kept_ = true;
  next_of_taking_ = next;
  return true;
}

// What another server does reaches this one later than its turn.
Time Turns::quiet_until() {
  const Time events = sim::quiet_until(scheduler_);
  if (!drop_old_turns()) return events;
  return std::min(events, Time::picoseconds(static_cast<std::int64_t>(queue_.top().key.time) + 1));
}

void Turns::hold() {
  if (armed_at_ != Time::max()) scheduler_.cancel(armed_);
  armed_at_ = Time::max();
}

void Turns::go_on(Time by) {
  std::vector<TurnQueue::Entry> pending;
  const auto more = static_cast<std::uint64_t>(by.count());
  while (drop_old_turns()) {
    TurnQueue::Entry next = queue_.top();
    queue_.pop();
    turns_[next.payload].at = UINT64_MAX;
    next.key.time += more;
    pending.push_back(next);
  }
  for (const TurnQueue::Entry& next : pending) {
    turns_[next.payload].at = next.key.time;
    queue_.push(next.key, next.payload);
  }
  if (!queue_.empty()) arm();
}

void Turns::run(std::uint64_t) {
  armed_at_ = Time::max();
  running_ = true;
  while (find_next()) {
    const TurnQueue::Entry next = next_of_taking_;
    const Time when = Time::picoseconds(static_cast<std::int64_t>(next.key.time));
    if (when != scheduler_.now() && !sim::advance(scheduler_, {next.key.time, next.key.order})) break;
    kept_ = false;
    taking_ = next.payload;
    take(next.payload);
  }
  running_ = false;
  taking_ = UINT32_MAX;
  if (std::exchange(kept_, false)) queue_.push(next_of_taking_.key, next_of_taking_.payload);
  if (!queue_.empty()) arm();
}

}  // namespace kernbench::hardware::fabric
