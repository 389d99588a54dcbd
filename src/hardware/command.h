// One command of a kernel to an engine of its PE: what it does, what it waits for, and when each thing happened.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/intrusive_list.h"
#include "base/reference.h"
#include "base/small_vector.h"
#include "hardware/command_name.h"
#include "hardware/journey.h"
#include "hardware/work.h"
#include "kernbench/units.h"
#include "sim/waitable.h"

namespace kernbench::hardware {

class Command;
class CommandQueue;
class Traffic;
using CommandRef = Reference<Command>;

/// When each thing happened to a command, and what ended its waits.
///
/// requested: the program asked for it. granted: it had its room in the TCM. placed: it had its place in the queue.
/// issued: the control processor had issued it, it was in its engine's queue. ready: its last dependency had finished.
/// started: the engine took it. effect: see CommandObserver. These times never decrease. In between it waits: for room,
/// for a place, for its issue, for its operands, for the engine; from started to finished the engine works on it.
struct Timeline {
  Time requested, granted, placed, issued, ready, started, effect, finished;
  /// The command that let go of room or a place, the last dependency, the command on the engine that had finished, or
  /// had been set up (DMA). Unknown where there was no wait, or where no command ended it.
  Cause granted_by, placed_by, ready_by, started_by;
  bool ready_in_order = false;  // ready_by gave no operand: it had to come first, for it touches the same bytes
  Time translation;  // DMA: from the end of its set-up, until all its pages are translated; zero when the TLB has them
  Time waited;  // between started and finished: queues for credits or the message, multicasts for the other members
  Time own;     // of the time from started to finished, what comes behind the finish of the command before
};

/// The arrival of the last segment that a receive had to wait for.
struct MessageArrival {
  Time sent;  // the segment began to leave the sender
  Time at;    // the receiving queue knew of it
  // Of its way, to the landing of its last chunk:
  ServerTime latency;  // of all servers; the one that has most of it
  ServerTime slowest;  // beyond: the last one at which it waited much
  ServerTime starved;  // of this: the buffer that was too small
};

/// Told what happens to a command. Called from events in the deliver phase, on_placed on the fiber that issues it.
class CommandObserver {
 public:
  virtual ~CommandObserver() = default;
  /// A receive takes the message of this send. May throw an error, of the program that receives; the receive goes on.
  virtual void on_match(Command& /*receive*/, Command& /*send*/) {}
  /// The instant at which the command's memory access takes effect (loads: last byte has left memory; stores: last
  /// byte has landed). Compute commands take effect when they finish.
  virtual void on_effect(Command& command) = 0;
  virtual void on_finish(Command& command) = 0;
  /// Its program was cancelled, and it will never start.
  virtual void on_dropped(Command& /*command*/) {}

  // Of commands whose stages are watched: the Timeline has the time that is reached.
  /// It has its place; `by` gave it back, or is null.
  virtual void on_placed(Command& /*command*/, Command* /*by*/) {}
  virtual void on_issued(Command& /*command*/) {}
  /// `last` was what it waited for after it was issued. Not called for one that was ready when it was issued.
  virtual void on_ready(Command& /*command*/, Command& /*last*/) {}
  /// The engine has taken it. If it had to wait for that, `before` is the one that ended the wait, else null.
  virtual void on_start(Command& /*command*/, Command* /*before*/) {}
  /// A segment has arrived that the receive has waited for. The last such call counts.
  virtual void on_arrival(Command& /*receive*/, Command& /*send*/, const MessageArrival& /*arrival*/) {}
};

/// Issued by a kernel's program in program order; executed by an engine when its operands are ready and the engine is
/// free; in order within one engine queue. Shared by reference.
class Command : public Counted, public sim::WaitNode {
 public:
  /// `what` ("load", "dot") must outlive everything that is told of the command.
  Command(Work to_do, const char* what, sim::AgentId issuer, std::uint64_t in_order)
      : work(std::move(to_do)), kind(what), agent(issuer), number(in_order), done(*this) {}

  Work work;
  const char* const kind;
  const sim::AgentId agent;    // the program that issued it
  const std::uint64_t number;  // in program order
  std::source_location where;  // the line that asked for it; line 0: not known
  sim::Origin origin;          // whose doing it is (see this_fiber::note_poll); known when it is in its queue

  EngineKind engine() const { return static_cast<EngineKind>(std::min<std::size_t>(work.index(), 3)); }
  // REQUIRES for each: the work is of this kind.
  DmaWork& dma() { return *std::get_if<DmaWork>(&work); }
  const DmaWork& dma() const { return *std::get_if<DmaWork>(&work); }
  GemmWork& gemm() { return *std::get_if<GemmWork>(&work); }
  const GemmWork& gemm() const { return *std::get_if<GemmWork>(&work); }
  VectorWork& vector() { return *std::get_if<VectorWork>(&work); }
  const VectorWork& vector() const { return *std::get_if<VectorWork>(&work); }
  MessageWork& message() { return *std::get_if<MessageWork>(&work); }
  const MessageWork& message() const { return *std::get_if<MessageWork>(&work); }
  WindowWork& window() { return *std::get_if<WindowWork>(&work); }
  const WindowWork& window() const { return *std::get_if<WindowWork>(&work); }
  bool is_window() const { return std::holds_alternative<WindowWork>(work); }
  /// A message sent, or a put or signal.
  bool sends() const;
  /// Tells `traffic`, if there is one, of bytes on a route.
  void count_moved(std::span<const Stage> route, Bytes bytes) const;
  /// Of queue commands.
  Bytes queue_bytes() const { return is_window() ? window().bytes : message().bytes; }

  SmallVector<CommandRef, 4> dependencies;  // must have finished before this one starts; cleared when it is ready
  std::size_t operands = 0;                 // so many of the first dependencies produce operands; the others are order
  const Command* adds_to = nullptr;         // GEMM: the dependency that computes the sums which this one begins with
  std::int32_t dma_queues = 0;              // DMA: the first so many of the PE's queues take turns; 0: all of them
  CommandObserver* observer = nullptr;      // must outlive the command's finish
  bool watched = false;                     // the observer is told of its stages, and its transfers are logged
  Traffic* traffic = nullptr;               // is told of what it moves, if there is one; outlives it

  Timeline times;
  ServerTime starved;  // DMA that is watched: the buffer on the way of the last leg that was too small for its link
  /// A send that is watched and took longer than its bytes alone: the server on its way to the slots that was busiest
  /// meanwhile. No time: it did not, or is a short one behind one that did not.
  ServerTime held_up;

  /// Set when it has finished; a wait for it is a wait for the command.
  class Done final : public sim::Completion {
   public:
    explicit Done(const Command& of) : command_(of) {}
    Name wait_name() const override { return command_.wait_name(); }
    void waits_for(std::vector<sim::WaitEdge>& edges) const override {
      const std::size_t before = edges.size();
      command_.waits_for(edges);
      if (edges.size() == before) edges.push_back({nullptr, missing()});
    }
    sim::WaitRole wait_role() const override { return sim::WaitRole::call; }

   private:
    const Command& command_;
  };
  Done done;

  CommandName command_name() const { return {agent, number}; }
  Cause as_cause() const { return {command_name(), kind, where}; }
  /// "load#7 on sip0.cube0.pe1.dma.queue2".
  Name wait_name() const override;
  /// Its unfinished dependencies, its turn in the engine's queue, or what the engine needs to go on.
  void waits_for(std::vector<sim::WaitEdge>& edges) const override;
  sim::WaitRole wait_role() const override { return sim::WaitRole::call; }

  // Bookkeeping of the engines.
  CommandQueue* queue = nullptr;  // in which it waits or is executed
  bool under_way = false;         // started and not finished
  bool cancelled = false;         // its program was: it does not start any more
  bool continues = false;         // adds_to is directly before it in the queue
  std::int32_t unfinished_dependencies = 0;
  SmallVector<Command*, 4> dependents;
  ListLink<Command> in_queue;  // on its way to the queue, waiting in it, or under way
};

using CommandList = IntrusiveList<Command, &Command::in_queue>;

}  // namespace kernbench::hardware
