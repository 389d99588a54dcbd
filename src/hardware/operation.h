// One operation of a kernel on an engine of its PE: what it waits for, and when each thing happened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "hardware/fabric/fabric.h"
#include "hardware/journey.h"
#include "hardware/mmu/page_range.h"
#include "hardware/operation_name.h"
#include "kernbench/coordinates.h"
#include "kernbench/queues.h"
#include "kernbench/units.h"
#include "sim/waitable.h"
#include "topology/engine_operations.h"

namespace kernbench::hardware {

enum class EngineKind : std::uint8_t { dma, gemm, vector, ipcq };

/// The part of a DMA operation that touches one HBM slice.
struct DmaLeg {
  PeCoordinate slice;
  std::vector<StridedRange> ranges;  // addresses local to the slice
  Bytes total() const {
    Bytes sum{0};
    for (const StridedRange& range : ranges) sum += range.total();
    return sum;
  }
};

/// The work of a GEMM command: C[m,n] += A[m,k] B[k,n].
struct GemmWork {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  topology::GemmOperand operand = topology::GemmOperand::f16;
};

/// The work of a vector command: one operation on each of `elements` elements.
struct VectorWork {
  std::int64_t elements = 0;
  topology::VectorOperation operation = topology::VectorOperation::add;
  std::int64_t item_bytes = 4;  // of the widest element type among operands and result
  std::int64_t reduced = 1;     // of a reduction: elements that become one
  Bytes operand_bytes{0};       // read and written in TCM
};

/// The work of a queue command: one message, sent or received.
struct IpcqWork {
  bool sends = false;
  PhysAddr channel;  // its first slot
  std::uint32_t epoch = 0;
  std::uint64_t tag = 0;
  Bytes bytes;
};

/// What a signal does to its word.
enum class SignalUpdate : std::uint8_t { set, add };

/// The work of a one-sided command: bytes to or from the window of a PE, an update of one of its signal words, or bytes
/// and then an update. IpcqWork::bytes are its bytes.
struct WindowWork {
  PeCoordinate target;                       // whose window it is
  BufferKind buffer_kind = BufferKind::tcm;  // of its memory
  PhysAddr memory;                           // the first byte
  Bytes chunk;                               // largest unit on the way
  bool reads = false;                        // a get
  bool signals = false;                      // it ends with an update of a word
  PhysAddr word;
  std::uint32_t epoch = 0;  // of the window's installation
  SignalUpdate update = SignalUpdate::set;
  std::int64_t value = 0;
};

class CommandQueue;
class Operation;

/// The arrival of the last segment that a receive had to wait for.
struct MessageArrival {
  OperationName send;
  Time sent;           // the segment began to leave the sender
  Time at;             // the receiving queue knew of it
  ServerTime slowest;  // of its way: until the last server let it go on where it waited much
  ServerTime starved;  // of this: the buffer that was too small
};

using OperationRef = std::shared_ptr<Operation>;

/// Told what happens to an operation. Called from events in the deliver phase.
class OperationObserver {
 public:
  virtual ~OperationObserver() = default;
  /// The engine has taken a DMA operation.
  virtual void on_start(Operation& /*operation*/) {}
  /// A receive takes the message of this send. May throw an error, of the program that receives; the receive goes on.
  virtual void on_match(Operation& /*receive*/, Operation& /*send*/) {}
  /// The instant at which the operation's memory access takes effect (loads: last byte has left memory; stores: last
  /// byte has landed). Compute operations take effect when they finish.
  virtual void on_effect(Operation& operation) = 0;
  virtual void on_finish(Operation& operation) = 0;
};

/// Issued by a kernel's program in program order; executed by an engine when its operands are ready and the engine is
/// free; in order within one engine queue.
class Operation : public sim::WaitNode {
 public:
  Operation(EngineKind on_engine, const char* what, sim::AgentId issuer, std::uint64_t in_order, std::string text)
      : engine(on_engine), kind(what), agent(issuer), number(in_order), name(std::move(text)) {
    done.describe_as([this] { return wait_name(); });
    done.provided_by([this](std::vector<sim::WaitEdge>& edges) { waits_for(edges); });
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  const EngineKind engine;
  const char* const kind;      // "load", "store", "dot", "add"
  const sim::AgentId agent;    // the program that issued it
  const std::uint64_t number;  // in program order
  const std::string name;      // for reports; may be empty
  sim::Origin origin;          // whose doing it is (see this_fiber::note_poll); known when it is in its queue

  // The work; which part is used follows from `engine`.
  bool write = false;   // DMA: TCM to HBM
  bool atomic = false;  // DMA: a write that brings the old values back; `write` is true, too
  std::vector<DmaLeg> legs;
  std::vector<PageRange> pages;  // DMA: what the MMU translates for it; empty: its addresses are physical
  GemmWork gemm;
  VectorWork vector;
  IpcqWork ipcq;
  std::optional<WindowWork> window;  // queues: a one-sided command, not one of a channel

  std::vector<OperationRef> dependencies;  // must have finished before this one starts; cleared when it is ready
  std::size_t operands = 0;                // so many of the first dependencies produce operands; the others are order
  OperationObserver* observer = nullptr;   // must outlive the operation's finish

  // requested: the program asked for it. granted: it had its room in the TCM. placed: it had its place in the queue.
  // issued: the control processor had issued it, it was in its engine's queue. ready: its last dependency had finished.
  // started: the engine took it. effect: see OperationObserver. These times never decrease. In between it waits: for
  // room, for a place, for its issue, for its operands, for the engine; from started to finished the engine works on
  // it.
  Time requested, granted, placed, issued, ready, started, effect, finished;
  // What ended each of these waits: the operation that let go of room or a place, the last dependency, the operation
  // on the engine that had finished, or had been set up (DMA). Unknown where there was no wait, or where no operation
  // ended it.
  OperationName granted_by, placed_by, ready_by, started_by;
  Time translation;  // DMA: from the end of its set-up, until all its pages are translated; zero when the TLB has them
  Time waited;       // queues: for credits or for the message, between started and finished
  std::unique_ptr<MessageArrival> arrival;  // of a receive that waited
  ServerTime starved;  // DMA: the buffer on the way of the leg that finished last that was too small for its link
  bool ready_in_order = false;  // ready_by gave no operand: it had to come first, for it touches the same bytes
  sim::Completion done;

  OperationName operation_name() const { return {agent, number}; }
  /// "load#7 on sip0.cube0.pe1.dma.queue2".
  Name wait_name() const override;
  /// Its unfinished dependencies, its turn in the engine's queue, or what the engine needs to go on.
  void waits_for(std::vector<sim::WaitEdge>& edges) const override;
  sim::WaitRole wait_role() const override { return sim::WaitRole::call; }

  // Bookkeeping of the engines.
  CommandQueue* queue = nullptr;  // in which it waits or is executed
  bool under_way = false;         // started and not finished
  bool cancelled = false;         // its program was: it does not start any more
  std::int32_t unfinished_dependencies = 0;
  std::vector<Operation*> dependents;
};

}  // namespace kernbench::hardware
