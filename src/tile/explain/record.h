// The record of a finished operation: its times, split by what it waited for and what it did.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/part.h"
#include "hardware/bounds.h"
#include "hardware/operation.h"
#include "kernbench/tl.h"
#include "kernbench/units.h"
#include "sim/phase.h"

namespace kernbench::tile {

/// What passes in an interval of an operation, of a program or of a launch.
enum class Activity : std::uint8_t {
  // An operation waits,
  tcm,      // for room in the TCM: until an operation ended, or a program let go of a tile
  queue,    // for a place in its engine's queue: until an operation there ended
  issue,    // for the control processor to issue it
  operand,  // for the operation that produces its last operand
  order,    // for an earlier operation on the same bytes
  engine,   // for its turn: until an operation before it in the queue ended, or (DMA) was set up
  credit,   // a send for free slots at the receiver
  message,  // a receive for the message
  // or is worked on.
  setup,        // DMA: the descriptor
  translation,  // DMA: walks of the page table
  request,      // DMA: the request of a read, the acknowledgement of a write
  data,         // DMA: the data on their way, at the least; queues: the message on its way
  link_buffer,  // DMA: for room behind a link whose buffer is too small for it
  contention,   // DMA: beyond what the operation would take alone
  compute,      // the command of a compute engine
  // The program itself
  value,        // waits for the value of a tile
  scalar_read,  // reads a scalar
  token,        // waits for an asynchronous access
  signal,       // waits for a signal word
  delay,        // is delayed on request
  drain,        // has returned; its operations are still under way
  sender,       // has not begun: a program that sends what another one waits for
  program,      // does something else
  // A launch is on its way to its program, or back.
  dispatch,
  completion,
};

/// "TCM full", "operand", "gemm": as results show it. `engine`: of the operation whose activity it is.
std::string_view name(Activity activity, hardware::EngineKind engine);
/// "dma", "gemm", "vector".
std::string_view name(hardware::EngineKind engine);
/// "gemm.cpp:41".
std::string place(const tl::Where& where);

/// All that is kept of an operation while its program runs.
struct OperationRecord {
  const char* kind = "";
  tl::Where where;
  std::uint64_t number = 0;
  hardware::EngineKind engine = hardware::EngineKind::dma;
  bool ready_in_order = false;
  bool sends = false;  // queues
  Time waited;         // queues: for credits or for the message
  Time requested, granted, placed, issued, ready, started, finished;
  Time translation;  // DMA
  Time starved;      // DMA: for room behind `buffer`
  hardware::OperationName granted_by, placed_by, ready_by, started_by;
  hardware::OperationBound bound;
  /// DMA that met contention: the server on the way of its longest leg that was busiest from its start to its finish.
  PartId busiest;
  /// DMA that waited for room: the server whose buffer is too small.
  PartId buffer;
};

/// The server that an interval of this activity is due to, if it is known.
PartId server_of(const OperationRecord& operation, Activity activity);

OperationRecord record_of(const hardware::Operation& operation, const tl::Where& where,
                          const hardware::OperationBound& bound);

/// The last segment of a message that a receive had to wait for: where it came from, and who had it for how long.
struct MessageWay {
  std::uint64_t number = 0;  // of the receive
  hardware::OperationName send;
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
  hardware::OperationName cause;  // what ended a wait
  Time duration() const { return end - start; }
};

/// Calls visit(interval) for the intervals of an operation that are not empty, in order; they tile requested to
/// finished.
template <class Visit>
void for_each_wait(const OperationRecord& record, Visit visit) {
  const auto interval = [&](Activity activity, Time start, Time end, const hardware::OperationName& cause) {
    if (start < end) visit(Interval{activity, start, end, cause});
  };
  interval(Activity::tcm, record.requested, record.granted, record.granted_by);
  interval(Activity::queue, record.granted, record.placed, record.placed_by);
  interval(Activity::issue, record.placed, record.issued, {});
  interval(record.ready_in_order ? Activity::order : Activity::operand, record.issued, record.ready, record.ready_by);
  interval(Activity::engine, record.ready, record.started, record.started_by);
}
template <class Visit>
void for_each_work(const OperationRecord& record, Visit visit) {
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
void for_each_interval(const OperationRecord& record, Visit visit) {
  for_each_wait(record, visit);
  for_each_work(record, visit);
}

/// An interval in which a program did not go on for a reason of its own.
struct ProgramStep {
  Activity activity = Activity::program;
  Time start, end;
  hardware::OperationName cause;  // what it waited for
  tl::Where where;
  std::int64_t count = 1;  // of intervals of one kind and line that follow each other without a gap
};

/// One program from its first instruction to its end.
struct ProgramTrace {
  sim::AgentId agent;
  Time start, end;
  std::vector<OperationRecord> operations;  // by number
  std::vector<ProgramStep> steps;           // in order of time; those of issuing operations are in `operations`
  std::vector<MessageWay> messages;         // by number, of the receives that waited

  /// Puts operations and messages into order, which come as they finish.
  void sort();
  /// How the message of this receive came, or null if it did not wait.
  const MessageWay* message(std::uint64_t receive) const;

  /// The operation with this name, or null: of another program, or not over.
  const OperationRecord* find(const hardware::OperationName& name) const;
};

}  // namespace kernbench::tile
