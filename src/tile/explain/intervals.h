// The intervals of an operation: its duration, split by what it waited for and what it did.
#pragma once

#include <algorithm>

#include "base/part.h"
#include "hardware/bounds.h"
#include "hardware/command.h"
#include "kernbench/units.h"
#include "tile/explain/activity.h"

namespace kernbench::tile {

/// How the work of a command is split.
struct WorkSplit {
  Time finished;  // or until when it is looked at
  hardware::CommandBound bound;
  Time starved;  // DMA: for room behind `buffer`
  /// DMA that met contention: the server on the way of its longest leg that was busiest from its start to its finish.
  /// A send that took longer than it takes alone: likewise. A message on its way: the server that holds up its
  /// segments, if it is known.
  PartId busiest;
  /// DMA that waited for room: the server whose buffer is too small.
  PartId buffer;
  /// A multicast that waited for other programs: the queue of the one that came last.
  PartId slowest;
};

/// A part of an operation's duration.
struct Interval {
  Activity activity;
  Time start, end;
  const hardware::Cause* cause = nullptr;  // what ended a wait; null: no wait for a command
  PartId on = {};                          // the server that it is due to, if it is known
  Time duration() const { return end - start; }
};

/// Calls visit(interval) for the intervals of a command that are not empty, in order; they tile requested to finished.
template <class Visit>
void for_each_wait(const hardware::Command& command, Visit visit) {
  const hardware::Timeline& times = command.times;
  const auto interval = [&](Activity activity, Time start, Time end, const hardware::Cause* cause) {
    if (start < end) visit(Interval{activity, start, end, cause});
  };
  interval(Activity::tcm, times.requested, times.granted, &times.granted_by);
  interval(Activity::queue, times.granted, times.placed, &times.placed_by);
  interval(Activity::issue, times.placed, times.issued, nullptr);
  interval(times.ready_in_order ? Activity::order : Activity::operand, times.issued, times.ready, &times.ready_by);
  interval(Activity::engine, times.ready, times.started, &times.started_by);
}
template <class Visit>
void for_each_work(const hardware::Command& command, const WorkSplit& split, Visit visit) {
  const hardware::Timeline& times = command.times;
  Time at = times.started;
  const auto interval = [&](Activity activity, Time duration, const PartId& on = {}) {
    const Time end = std::min(at + duration, split.finished);
    if (at < end) visit(Interval{activity, at, end, nullptr, on});
    at = end;
  };
  if (command.engine() == hardware::EngineKind::dma) {
    interval(Activity::setup, split.bound.setup);
    interval(Activity::translation, times.translation);
    interval(Activity::request, split.bound.request);
    interval(Activity::members, times.waited, split.slowest);
    interval(Activity::latency, split.bound.latency);
    interval(Activity::data, split.bound.work);
    interval(Activity::link_buffer, split.starved, split.buffer);
    interval(Activity::contention, split.finished - at, split.busiest);
  } else if (command.engine() == hardware::EngineKind::ipcq) {
    interval(command.sends() ? Activity::credit : Activity::message, times.waited);
    interval(Activity::data, split.finished - at, split.busiest);
  } else {
    interval(Activity::compute, split.finished - at);
  }
}
template <class Visit>
void for_each_interval(const hardware::Command& command, const WorkSplit& split, Visit visit) {
  for_each_wait(command, visit);
  for_each_work(command, split, visit);
}

}  // namespace kernbench::tile
