// How the scheduler tells polling that nothing can end from polling that waits for something.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/errors.h"
#include "sim/report.h"
#include "sim/scheduler_state.h"

namespace kernbench::sim {

namespace {

// The scheduler looks at the fibers that often: each of those that poll has polled in between, unless it is slower than
// the others by such a factor.
constexpr std::uint64_t kPollsPerJudgement = 65'536;

}  // namespace

Origin Scheduler::origin() const {
  return {state_->caller_poll_epoch()};
}

Origin Scheduler::origin_of_turns() const {
  return {state_->poll_epoch};
}

Origin Scheduler::begin_work() {
  const Origin begun = origin();
  if (begun.poll_epoch == 0) ++state_->other_work;
  return begun;
}

void Scheduler::end_work(Origin begun) {
  if (begun.poll_epoch == 0) --state_->other_work;
}

Scheduler::ActsFor::ActsFor(Scheduler& scheduler, Origin origin)
    : scheduler_(scheduler), before_(std::exchange(scheduler.state_->acting_for, origin.poll_epoch)) {}

Scheduler::ActsFor::~ActsFor() {
  scheduler_.state_->acting_for = before_;
}

std::uint64_t Scheduler::State::least_tries() const {
  return limits.max_polls != 0 ? limits.max_polls : kPollsOfEach;
}

std::uint64_t Scheduler::State::least_tries_of_all(std::uint64_t polling) const {
  if (limits.max_polls != 0) return limits.max_polls;
  return polling > 1 ? kPollsOfAll : kPollsOfOne;
}

void Scheduler::State::begin_stretch() {
  ++poll_stretch;
  idle_polls = 0;
  events_before_polls = owner.events_processed_;
  next_judgement = limits.max_polls != 0 ? limits.max_polls : std::min(kPollsOfOne, 2 * kDearPollsOfEach);
}

void Scheduler::State::note_poll() {
  Fiber::Implementation& fiber = running->implementation();
  fiber.poll_epoch = poll_epoch;
  fiber.resumed_since_poll = 0;
  polled = true;
  if (foreground_events != polling_events || other_work > 0) {
    if (idle_polls > 0) begin_stretch();
    return;
  }
  if (idle_polls == 0) begin_stretch();
  if (fiber.poll_stretch != poll_stretch) {
    fiber.poll_stretch = poll_stretch;
    fiber.tries = fiber.tries_when_judged = 0;
  }
  ++fiber.tries;
  if (++idle_polls <= next_judgement) return;
  next_judgement = idle_polls + std::clamp<std::uint64_t>(least_tries(), 64, kPollsPerJudgement);
  polling_in_vain = all_poll_in_vain();
}

bool Scheduler::State::polls_were_dear() const {
  const std::uint64_t events = owner.events_processed_ - events_before_polls;
  return limits.max_polls == 0 && events > std::max(limits.dear_poll_events, events_before_polls);
}

bool Scheduler::State::all_poll_in_vain() {
  const std::uint64_t least = least_tries();
  std::uint64_t polling = 0, fewest = idle_polls;
  bool all = true;
  for (Fiber* fiber = first_live; fiber != nullptr; fiber = fiber->implementation().next_live) {
    Fiber::Implementation& state = fiber->implementation();
    if (state.options.background) continue;
    const bool polls = state.poll_stretch == poll_stretch;
    const bool polled_again = polls && state.tries > std::exchange(state.tries_when_judged, state.tries);
    // A fiber that is blocked and does not poll waits for something that polling does not bring.
    if (!polled_again && state.status == FiberStatus::blocked) continue;
    if (!polls || state.tries <= least) all = false;
    if (polls) fewest = std::min(fewest, state.tries);
    ++polling;
  }
  if (!all) return false;
  if (polling > 1 && fewest > kDearPollsOfEach && polls_were_dear()) return true;
  return idle_polls > least_tries_of_all(polling);
}

void Scheduler::State::note_progress() {
  if (!polled) return;
  polled = false;
  idle_polls = 0;
  polling_events = 0;
  poll_epoch = (poll_epoch + 1) & kPollEpochMask;
  if (poll_epoch == 0) poll_epoch = 1;
}

void Scheduler::State::raise_polling() {
  std::vector<Fiber*> culprits = live_fibers();
  const auto polls = [this](const Fiber* fiber) { return fiber->implementation().poll_stretch == poll_stretch; };
  std::vector<Fiber*> waiting = culprits;
  std::erase_if(waiting,
                [&](const Fiber* fiber) { return polls(fiber) || fiber->implementation().options.background; });
  std::erase_if(culprits, [&](const Fiber* fiber) { return !polls(fiber); });
  std::vector<const WaitNode*> unfinished;
  if (limits.append_unfinished) limits.append_unfinished(unfinished);
  const std::string causes = describe_polling(live_fibers(), unfinished);
  std::uint64_t fewest = idle_polls;
  for (const Fiber* fiber : culprits) fewest = std::min(fewest, fiber->implementation().tries);
  throw LivelockError(fmt::format(
      "livelock at {}: {}after {} polls in vain ({}), all that still happens is more polling, and nobody is left that "
      "could change what is polled. If the program ends its polling by itself, let each fiber try more often: "
      "--max-polls {}, SimulateOptions::max_polls. Fibers that poll:{}\n{}",
      to_text(owner.now_), causes, idle_polls,
      culprits.size() == 1 ? "of one fiber" : fmt::format("of {} fibers, {} or more of each", culprits.size(), fewest),
      std::max<std::uint64_t>(10 * fewest, 1'000'000), list_fibers(culprits),
      waiting.empty() ? "nothing else is under way" : "fibers that wait for something else:" + list_fibers(waiting)));
}

}  // namespace kernbench::sim
