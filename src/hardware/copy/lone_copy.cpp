#include "hardware/copy/lone_copy.h"

#include <algorithm>
#include <utility>

#include "hardware/agents.h"

namespace kernbench::hardware {

using End = fabric::Skipper::End;

namespace {

/// Between two looks there are so many parts at least, and one for so many servers: a look costs as much as some parts.
constexpr std::uint64_t kLeastParts = 64, kServersOfAPart = 32;
/// A copy of fewer periods is over before much could be skipped.
constexpr std::uint64_t kLeastPeriods = 3;
/// A period may be several times what is between looks. Where nothing sets the pace, states hardly ever come again.
constexpr std::uint64_t kMostLooks = 16;
constexpr std::uint64_t kLongestWait = 1 << 20;

/// The names after `periods` more, place by place, given those before and after one period: in each of them every place
/// gets the name of the same other one.
std::vector<std::uint64_t> names_after(std::int64_t periods, const std::vector<std::uint64_t>& before,
                                       const std::vector<std::uint64_t>& after) {
  std::vector<std::size_t> place(before.size());
  for (std::size_t i = 0; i < before.size(); ++i) place[before[i]] = i;
  std::vector<std::uint64_t> names(before.size());
  std::vector<bool> done(before.size());
  for (std::size_t first = 0; first < before.size(); ++first) {
    std::vector<std::size_t> cycle;
    for (std::size_t at = first; !done[at]; at = place[after[at]]) {
      done[at] = true;
      cycle.push_back(at);
    }
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      names[cycle[i]] = after[cycle[(i + static_cast<std::size_t>(periods)) % cycle.size()]];
    }
  }
  return names;
}

}  // namespace

TransferRequest LoneCopy::burst(const Part& part, std::span<const StridedRange> from,
                                std::span<const StridedRange> to) {
  return transport_.request_of(reader_.route(part.leg), from, to);
}

LoneCopy::Seen LoneCopy::seen(const Part& part, std::span<const StridedRange> from, std::span<const StridedRange> to) {
  const TransferRequest asks = burst(part, from, to);
  return {part.leg,
          part.bytes,
          from.size(),
          to.size(),
          skipper().use_of(asks, End::first),
          skipper().use_of(asks, End::last)};
}

void LoneCopy::asked(const Part& part) {
  if (!observing_) return;
  const Parts& parts = reader_.parts();
  seen_.push_back(seen(part, parts.from(part.slot), parts.to(part.slot)));
}

void LoneCopy::arrived() {
  if (reader_.parts().taken() >= next_look_ && window_.readers() == 1) look();
}

void LoneCopy::give_up() {
  observing_ = false;
  skipper().stop(this);
  wait_ = std::min(2 * wait_, kLongestWait);
  next_look_ = reader_.parts().taken() + wait_;
}

void LoneCopy::watch() {
  const Sender first = reader_.first_sender();
  skipper().watch(this, first.agent, first.operation, first.operation + 2 * kMaximumLegs);
  observing_ = true;
  seen_.clear();
  began_ = scheduler_.now();
  looks_ = 0;
}

bool LoneCopy::take(Snapshot& snapshot) {
  Parts& parts = reader_.parts();
  const Sender sender = reader_.first_sender();
  const std::uint64_t key = sender.operation, taken = parts.taken();
  const std::vector<std::uint64_t> slots = parts.slots();
  if (slots.size() == kMaximumLegs) return false;  // the order of events may decide which slots parts get
  snapshot.names.resize(slots.size());
  std::vector<std::uint64_t> slot_of(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    snapshot.names[i] = parts.at(slots[i]).name;
    slot_of[snapshot.names[i]] = slots[i];
  }
  const auto name = [&](std::uint64_t operation) -> std::int64_t {
    const std::uint64_t part = (operation - key) >> 1;
    if (operation < key || part >= slot_of.size()) return fabric::Skipper::kUnknown;
    return static_cast<std::int64_t>(parts.at(slot_of[part]).number - taken);
  };
  if (!skipper().take(sender.agent, name, snapshot)) return false;
  std::vector<std::int64_t>& state = snapshot.state;
  for (const std::uint64_t slot : parts.slots_in_use()) {
    const Part& part = parts.at(slot);
    if (part.ends_leg || taken - part.number > stride_) return false;
    const Seen now = seen(part, parts.from(slot), parts.to(slot));
    state.push_back(static_cast<std::int64_t>(part.number - taken));
    state.push_back(static_cast<std::int64_t>(part.leg));
    state.push_back(part.bytes.count());
    state.push_back(part.begun ? 1 : 0);
    for (const std::size_t ranges : {part.from.size(), part.to.size()}) {
      state.push_back(static_cast<std::int64_t>(ranges));
    }
    for (const Time time : {now.first.service, now.first.next, now.last.service, now.last.next}) {
      state.push_back(time.count());
    }
  }
  state.push_back(window_.asked().count());
  state.push_back(static_cast<std::int64_t>(parts.legs_left()));
  state.push_back(static_cast<std::int64_t>(parts.came_back_at(scheduler_.now())));
  reader_.append_state(state);
  state.push_back(static_cast<std::int64_t>(slots.size()));
  return true;
}

void LoneCopy::begin() {
  const Parts& parts = reader_.parts();
  if (parts.all_taken()) return;
  const std::uint64_t legs = parts.legs_left();
  const std::vector<std::uint64_t> slots = parts.slots_in_use();
  const std::uint64_t oldest = slots.empty() ? 0 : parts.taken() - parts.at(slots.front()).number;
  const std::uint64_t least = std::max<std::uint64_t>(
      {kLeastParts, 2 * slots.size(), oldest, transport_.fabric().server_count() / kServersOfAPart});
  stride_ = (least + legs - 1) / legs * legs;
  const auto left = static_cast<std::uint64_t>(parts.bytes_left().count() / transport_.burst().count());
  if (left < kLeastPeriods * stride_) {
    next_look_ = UINT64_MAX;  // the rest is short
    return;
  }
  if (!take(first_)) return give_up();
  watch();
  next_look_ = parts.taken() + stride_;
}

void LoneCopy::look() {
  if (!observing_) return begin();
  const Parts& parts = reader_.parts();
  Snapshot now;
  const bool may_repeat = parts.taken() == next_look_ && !parts.all_taken() && skipper().undisturbed(this);
  if (!may_repeat || !take(now)) return give_up();
  if (now.state == first_.state) {
    const std::int64_t skipped = skip(now);
    give_up();
    if (skipped > 0) {
      wait_ = 1;
      next_look_ = parts.taken() + seen_.size();
    }
    return;
  }
  next_look_ += stride_;
  if (++looks_ < most_looks_) return;
  // Another first one, and more time for a longer period.
  if (most_looks_ >= kMostLooks) {
    most_looks_ = 1;
    wait_ = std::max(wait_, kMostLooks * stride_);
    return give_up();
  }
  most_looks_ *= 2;
  first_ = std::move(now);
  watch();
}

/// The next period, if its parts ask the same as those that were seen.
bool LoneCopy::repeats(Parts::Ahead& ahead, std::vector<Part>& period) {
  period.resize(seen_.size());
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    Part& part = period[i];
    if (!ahead.next(part) || seen(part, part.from, part.to) != seen_[i]) return false;
  }
  return true;
}

void LoneCopy::count(const std::vector<Part>& period) {
  for (const Part& part : period) {
    const TransferRequest request = burst(part, part.from, part.to);
    for (const End end : {End::first, End::last}) skipper().count(request, end, 1);
  }
}

// What channels do now was not compared, and is not what they would do then. So one period more is left, in which each
// memory takes a burst.
LoneCopy::Later LoneCopy::look_ahead(std::int64_t most) {
  Later later{0, Parts::Ahead(reader_.parts()), {}};
  Parts::Ahead ahead = later.there;
  std::vector<Part> next, further;
  for (bool again = repeats(ahead, next); again && later.periods < most; ++later.periods) {
    Parts::Ahead behind_next = ahead;
    again = repeats(ahead, further);
    if (!again) break;
    count(next);
    later.there = std::move(behind_next);
    std::swap(later.last, next);
    std::swap(next, further);
  }
  return later;
}

// What is under way is so many periods further on, too. What its memories have not taken yet they take when it comes
// there; the parts that came to be in its place have been counted instead.
void LoneCopy::put_in_their_place(const Later& later, const Snapshot& now) {
  Parts& parts = reader_.parts();
  for (const std::uint64_t slot : parts.slots_in_use()) {
    const Part& part = parts.at(slot);
    const std::uint64_t age = parts.taken() - part.number;
    const bool unread = !part.begun;
    const bool unlanded =
        unread || std::ranges::find(now.not_landed, -static_cast<std::int64_t>(age)) != now.not_landed.end();
    if (!unlanded) continue;
    const Part& is = later.last[later.last.size() - age];
    const TransferRequest before = burst(part, part.from, part.to), after = burst(is, is.from, is.to);
    for (const End end : {End::first, End::last}) {
      if (end == End::first && !unread) continue;
      skipper().count(before, end, 1);
      skipper().count(after, end, -1);
    }
    parts.replace(slot, is);
  }
}

std::int64_t LoneCopy::skip(const Snapshot& now) {
  Parts& parts = reader_.parts();
  const Time period = scheduler_.now() - began_, quiet = skipper().hold() - scheduler_.now();
  const Later later = look_ahead(quiet.count() / period.count() - 1);
  if (later.periods > 0) {
    const std::vector<std::uint64_t> names = names_after(later.periods, first_.names, now.names);
    const std::vector<std::uint64_t> slots = parts.slots();
    const std::uint64_t first = reader_.first_sender().operation;
    fabric::Skipper::Renamed operations;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      operations[first + 2 * now.names[i]] = first + 2 * names[i];
      parts.rename(slots[i], names[i]);
    }
    put_in_their_place(later, now);
    parts.go_on(later.there, period * later.periods);
    skipper().skip(period, later.periods, first_, now, operations);
  }
  skipper().go_on(period * later.periods);
  return later.periods;
}

}  // namespace kernbench::hardware
