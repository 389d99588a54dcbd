// One running instance of a kernel on one PE: its identity, its operations under way, its live tiles.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fingerprint.h"
#include "hardware/machine.h"
#include "hardware/operation.h"
#include "kernbench/coordinates.h"
#include "kernbench/result.h"
#include "kernbench/tl.h"
#include "tile/explain/account.h"
#include "tile/explain/breakdown.h"
#include "tile/explain/compute_work.h"
#include "tile/explain/record.h"
#include "tile/program/async_state.h"
#include "tile/program/buffer_state.h"
#include "tile/program/environment.h"
#include "tile/program/known_reads.h"
#include "tile/program/message.h"
#include "tile/program/tile_state.h"

namespace kernbench::tile {

/// "bench.cpp:41"
std::string to_text(const tl::Where& where);

/// What all programs of one launch share.
struct LaunchRecord {
  std::string name;                    // "gemm#2"
  const char* lasting_name = nullptr;  // the same, for as long as the simulation
  tl::Where called_at = {};            // the host call whose kernel it is, when the kernel is not the user's own
  std::shared_ptr<QueueTable> queues;  // channels among the programs, or null
  std::int64_t programs = 0;
  ComputeWork work;                           // that the compute engines were asked for
  Bytes hbm_bytes;                            // moved by the programs' DMA
  std::map<PeCoordinate, Bytes> slice_bytes;  // the same by HBM slice
  DistanceBytes distance;                     // the same by distance
  LaunchAccount account;                      // of the programs that have ended
  /// The program that ended last (ties: the lowest coordinate) stands for the launch in its breakdown.
  Time last_start, last_end;
  PeCoordinate last_pe;
  Breakdown last_breakdown;
  std::shared_ptr<const ProgramTrace> last_trace;  // null before any has ended
};

/// An operation together with what the tile layer knows of it.
class KernelOperation final : public hardware::Operation {
 public:
  using Operation::Operation;
  /// Of a message with its line: "recv#3 (ring.cpp:12) on sip0.cube0.pe1.ipcq.receive0".
  Name wait_name() const override;

  std::shared_ptr<Program> program;
  tl::Where where;                                    // the line of the kernel that asked for it
  std::vector<ReservationRef> holds;                  // TCM that must stay reserved until the operation has finished
  std::function<void(KernelOperation&)> take_effect;  // submits the data work, in simulated order
  std::string operand_text;                           // for the operation log
  bool acquires = false;                              // memory accesses behind it start when it has finished
  bool releases = false;                              // it starts when those before it have finished
  tl::Scope scope = tl::Scope::pe;                    // among whom it orders; changes no time
  DType widest = DType::f32;                          // vector: of the types of its operands and result
  hardware::OperationBound bound;                     // DMA: known from its start on
  /// DMA: the servers on the way of its longest leg, and how long each had been busy when it started.
  std::vector<std::pair<hardware::ServerId, Time>> on_its_way;
  std::unique_ptr<MessageEnd> message;          // of a send or a receive
  std::unique_ptr<BufferAccess> buffer;         // what it touches of a TCM buffer; `write` says how
  std::shared_ptr<sim::Completion> all_placed;  // of a composite command: all its operations are in their queues
};

class Program final : public hardware::OperationObserver, public std::enable_shared_from_this<Program> {
 public:
  Program(Environment& environment, std::shared_ptr<LaunchRecord> launch, PeCoordinate at, std::int64_t id);

  /// The program that the calling fiber runs, which is now at `where`. ProgramError outside of a kernel; `call` names
  /// the operation.
  static Program& current(const char* call, const tl::Where& where);
  /// The same for a call that does not know where it stands.
  static Program& current(const char* call);
  /// True on a fiber that runs a kernel.
  static bool running();

  /// Runs `body` on the calling fiber and waits for all of its operations.
  void run(sim::AgentId agent, const std::function<void()>& body);

  Environment& environment() const { return environment_; }
  hardware::ProcessingElement& pe() const { return pe_; }
  PeCoordinate coordinate() const { return at_; }
  std::int64_t id() const { return id_; }
  const LaunchRecord& launch() const { return *launch_; }
  sim::AgentId agent() const { return agent_; }
  /// The next number in program order, for work that is not an engine's operation.
  std::uint64_t take_number() { return next_operation_++; }

  /// The state of a tile that this program made; ValueError for an empty tile or another program's, ProgramError for
  /// one whose asynchronous load has not been waited for. `call` names the operation that uses it.
  const std::shared_ptr<TileState>& own(const tl::Tile& tile, const char* call, const tl::Where& where) const;

  /// Reserves TCM for a tile of `shape` and makes its state; see contract 5 in docs/contracts.md.
  std::shared_ptr<TileState> new_tile(DType dtype, const tl::Extents& shape, const char* kind, tl::Where where);

  /// A tile of the bytes and the producer of another one. The caller sees to its value.
  std::shared_ptr<TileState> new_view(const TileState& of, DType dtype, const tl::Extents& shape, const char* kind,
                                      tl::Where where);

  /// Reserves TCM for a buffer, like new_tile.
  std::shared_ptr<BufferState> new_buffer(DType dtype, const tl::Extents& shape, tl::Where where);

  /// Reserves TCM that has no handle: it is given back when the last operation that holds it has finished.
  ReservationRef reserve_bytes(Bytes bytes, const char* kind, tl::Where where);
  /// What the handles that are alive leave of the TCM.
  Bytes free_tcm() const { return pe_.tcm().capacity() - live_bytes_; }

  /// An asynchronous access that this program has just issued; every one must be waited for.
  std::shared_ptr<AsyncState> add_async(hardware::OperationRef operation, const char* call, tl::Where where);
  /// Suspends until `access` has finished, and counts it as waited for.
  void wait_for(AsyncState& access);
  /// Waits for all asynchronous accesses but the `pending` latest.
  void wait_for_all_but(std::int64_t pending);

  /// A new operation of this program that produces `result` (may be null) from `inputs` (null ones are left out).
  std::shared_ptr<KernelOperation> new_operation(hardware::EngineKind engine, const char* kind,
                                                 const std::shared_ptr<TileState>& result,
                                                 std::span<const TileState* const> inputs);
  std::shared_ptr<KernelOperation> new_operation(hardware::EngineKind engine, const char* kind,
                                                 const std::shared_ptr<TileState>& result,
                                                 std::initializer_list<const TileState*> inputs) {
    return new_operation(engine, kind, result, std::span(inputs.begin(), inputs.size()));
  }
  /// Adds the dependencies on earlier memory operations that touch the same bytes, and submits.
  void issue(const std::shared_ptr<KernelOperation>& operation);
  /// Likewise for the operations of a composite command with a number of its own; among each other they have all the
  /// dependencies that they need.
  void issue_composite(std::uint64_t number, const std::vector<std::shared_ptr<KernelOperation>>& operations);

  /// What made the lanes that its operation `kind` at `where` makes invalid.
  numerics::Source source(const char* kind, const tl::Where& where) const;
  /// "kernel gemm#0 on sip0.cube1.pe3 (program 11), bench.cpp:41"
  std::string place(const tl::Where& where) const;

  /// Tells the livelock guard of a read of a scalar: a poll when the expression has been read before, with this value.
  void note_read(std::uint64_t expression, std::uint64_t value_bits);

  /// While it lives the program waits, or is busy, for the reason given: an interval of its critical path. `cause` is
  /// the operation that it waits for, if it is one.
  class Step {
   public:
    Step(Program& program, Activity activity, const tl::Where& where, hardware::OperationName cause = {})
        : program_(program), step_{activity, program.environment_.scheduler.now(), {}, cause, where} {}
    ~Step() { program_.end_step(step_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Program& program_;
    ProgramStep step_;
  };

  void on_start(hardware::Operation& operation) override;
  void on_match(hardware::Operation& receive, hardware::Operation& send) override;
  void on_effect(hardware::Operation& operation) override;
  void on_finish(hardware::Operation& operation) override;

 private:
  friend class TcmObject;
  /// What the program asks for now, from the moment it asked for the operation's first tile.
  struct Asking {
    bool open = false;
    Time requested, granted;
    hardware::OperationName granted_by;
  };
  void begin_asking();
  ReservationRef reserve(const TcmObjectInfo& info);
  void count(const KernelOperation& operation);
  void wait_until_placed(const KernelOperation& operation);
  void add_memory_dependencies(KernelOperation& operation);
  void add_buffer_dependencies(KernelOperation& operation);
  void run_body(const std::function<void()>& body);
  void check_all_awaited() const;
  void end_step(ProgramStep& step);
  OperationRecord record_of_finished(const KernelOperation& operation) const;
  void note_message(const KernelOperation& operation);
  void finish();
  /// After an error: what is under way and the tiles still alive hold nothing of this program or of the TCM any more.
  void abandon();
  std::string live_objects_text() const;
  std::string program_text() const;
  /// The program and the last line of it that is known.
  std::string last_place() const;

  Environment& environment_;
  std::shared_ptr<LaunchRecord> launch_;
  PeCoordinate at_;
  std::int64_t id_;
  hardware::ProcessingElement& pe_;
  sim::AgentId agent_;
  std::uint64_t next_operation_ = 0;
  std::uint64_t next_object_ = 0;
  std::uint64_t next_async_ = 0;
  std::vector<std::shared_ptr<KernelOperation>> pending_;  // in program order
  std::vector<TcmObject*> live_objects_;
  std::vector<std::shared_ptr<AsyncState>> unawaited_;  // in order of issue
  Bytes live_bytes_;
  KnownReads reads_;
  tl::Where where_;  // of the latest call of the tile language
  Asking asking_;
  BusyIntervals intervals_;
  std::shared_ptr<ProgramTrace> trace_ = std::make_shared<ProgramTrace>();
  Bytes dma_bytes_;
};

}  // namespace kernbench::tile
