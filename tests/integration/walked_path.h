// The critical path by a walk back over records of all operations: the reference for the one that is folded forward.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "hardware/machine.h"
#include "kernbench/result.h"
#include "tile/explain/activity.h"
#include "tile/program/program.h"
#include "tile/program/program_step.h"

namespace kernbench::testing {

using tile::Activity;
using tile::ProgramStep;

/// All that is kept of an operation while its program runs.
struct WalkedOperation {
  const char* kind = "";
  tl::Where where;
  std::uint64_t number = 0;
  hardware::EngineKind engine = hardware::EngineKind::dma;
  bool ready_in_order = false;
  bool sends = false;  // queues
  Time waited;         // queues: for credits or for the message; multicasts: for the other members
  Time requested, granted, placed, issued, ready, started, finished;
  Time translation;  // DMA
  Time starved;      // DMA: for room behind `buffer`
  hardware::CommandName granted_by, placed_by, ready_by, started_by;
  hardware::CommandBound bound;
  /// DMA that met contention: the server on the way of its longest leg that was busiest from its start to its finish.
  /// A send that was held up: likewise.
  PartId busiest;
  /// DMA that waited for room: the server whose buffer is too small.
  PartId buffer;
  PartId last_member;  // multicasts: the queue whose request came last
};

/// The last segment of a message that a receive had to wait for: where it came from, and who had it for how long.
struct MessageWay {
  std::uint64_t number = 0;  // of the receive
  hardware::CommandName send;
  Time sent, arrived;
  Time slowest_time;  // of its way: until the last server that held it up let it go on
  PartId slowest;     // that server
  Time starved;       // of its way: for room behind `buffer`
  PartId buffer;
};

/// A part of an operation's duration.
struct Interval {
  Activity activity;
  Time start, end;
  hardware::CommandName cause;  // what ended a wait
  Time duration() const { return end - start; }
};

/// Calls visit(interval) for the intervals of an operation that are not empty, in order; they tile requested to
/// finished.
template <class Visit>
void for_each_wait(const WalkedOperation& record, Visit visit) {
  const auto interval = [&](Activity activity, Time start, Time end, const hardware::CommandName& cause) {
    if (start < end) visit(Interval{activity, start, end, cause});
  };
  interval(Activity::tcm, record.requested, record.granted, record.granted_by);
  interval(Activity::queue, record.granted, record.placed, record.placed_by);
  interval(Activity::issue, record.placed, record.issued, {});
  interval(record.ready_in_order ? Activity::order : Activity::operand, record.issued, record.ready, record.ready_by);
  interval(Activity::engine, record.ready, record.started, record.started_by);
}
template <class Visit>
void for_each_work(const WalkedOperation& record, Visit visit) {
  Time at = record.started;
  const auto interval = [&](Activity activity, Time duration) {
    const Time end = std::min(at + duration, record.finished);
    if (at < end) visit(Interval{activity, at, end, {}});
    at = end;
  };
  if (record.engine == hardware::EngineKind::dma) {
    interval(Activity::setup, record.bound.setup);
    interval(Activity::translation, record.translation);
    interval(Activity::request, record.bound.request);
    interval(Activity::members, record.waited);
    interval(Activity::latency, record.bound.latency);
    interval(Activity::data, record.bound.work);
    interval(Activity::link_buffer, record.starved);
    interval(Activity::contention, record.finished - at);
  } else if (record.engine == hardware::EngineKind::ipcq) {
    interval(record.sends ? Activity::credit : Activity::message, record.waited);
    interval(Activity::data, record.finished - at);
  } else {
    interval(Activity::compute, record.finished - at);
  }
}
template <class Visit>
void for_each_interval(const WalkedOperation& record, Visit visit) {
  for_each_wait(record, visit);
  for_each_work(record, visit);
}

/// One program from its first instruction to its end.
struct WalkedProgram {
  sim::AgentId agent;
  Time start, end;
  std::vector<WalkedOperation> operations;  // by number, once it is sorted
  std::vector<ProgramStep> steps;           // in order of time
  std::vector<MessageWay> messages;         // by number, of the receives that waited
  void sort();
  const MessageWay* message(std::uint64_t receive) const;
  const WalkedOperation* find(const hardware::CommandName& name) const;
};

/// A part of a critical path: an interval of an operation, or of the program itself.
struct WalkedSegment {
  Activity activity = Activity::program;
  Time start, end;
  const char* kind = "";
  hardware::EngineKind engine = hardware::EngineKind::dma;
  tl::Where where;
  bool has_where = false;
  PartId on;
};

/// Keeps all that passes, and walks when a launch is asked for.
class Walker final : public tile::OperationConsumer {
 public:
  void subscribe_to(tile::OperationStream& stream);
  /// What the result of a launch should have, but for dispatch and completion.
  struct Path {
    std::vector<PathPart> parts;  // by texts
    std::vector<WalkedSegment> segments;
  };
  Path path(const std::string& launch) const;
  const WalkedProgram* program(sim::AgentId agent, Time at) const;

  void on_operation(const tile::OperationRecord& operation) override;
  void on_program_begin(tile::Program& program) override;
  void on_program_end(tile::Program& program, bool stands) override;
  void on_step(tile::Program& program, const ProgramStep& step, const hardware::Command* cause) override;

 private:
  std::map<std::uint32_t, std::shared_ptr<WalkedProgram>> running_;
  std::vector<std::shared_ptr<WalkedProgram>> all_;
  std::map<std::string, std::shared_ptr<WalkedProgram>> stands_;  // by launch
};

}  // namespace kernbench::testing
