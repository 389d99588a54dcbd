// The running instances of a kernel on one PE: their identity, their commands under way, their live tiles.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fingerprint.h"
#include "hardware/command.h"
#include "hardware/machine.h"
#include "kernbench/coordinates.h"
#include "kernbench/result.h"
#include "kernbench/tl.h"
#include "tile/explain/activity.h"
#include "tile/program/async_state.h"
#include "tile/program/buffer_state.h"
#include "tile/program/environment.h"
#include "tile/program/kernel_command.h"
#include "tile/program/known_reads.h"
#include "tile/program/launch_record.h"
#include "tile/program/program_step.h"
#include "tile/program/tile_state.h"

namespace kernbench::tile {

/// "bench.cpp:41"
std::string to_text(const tl::Where& where);

class FusedCommand;
struct ProgramExplanation;

/// Identifies a value by the operation that makes it and those of its operands (null ones are left out).
std::uint64_t expression_of(const char* kind, std::span<const TileState* const> inputs);

/// What a launch runs on one PE: a program, or several of a grid, one after the other. Between two of them nothing is
/// under way and no tile lives; the next one starts `control.start_latency` after the one before has ended.
class Program final : public hardware::CommandObserver, public std::enable_shared_from_this<Program> {
 public:
  Program(Environment& environment, std::shared_ptr<LaunchRecord> launch, PeCoordinate at, std::int64_t id);

  /// The program that the calling fiber runs, which is now at `where`. ProgramError outside of a kernel; `call` names
  /// the operation.
  static Program& current(const char* call, const tl::Where& where);
  /// The same for a call that does not know where it stands.
  static Program& current(const char* call);
  /// True on a fiber that runs a kernel.
  static bool running();

  /// Runs `body` on the calling fiber, once for each program of the PE, and waits for all commands each time.
  void run(sim::AgentId agent, const std::function<void()>& body);

  Environment& environment() const { return environment_; }
  hardware::ProcessingElement& pe() const { return pe_; }
  PeCoordinate coordinate() const { return at_; }
  /// The number in the launch of the program that runs now.
  std::int64_t id() const { return id_; }
  /// That of the program whose operation has this number: of a grid an earlier one's may be under way still.
  std::int64_t id_of(std::uint64_t operation) const;
  const LaunchRecord& launch() const { return *launch_; }
  /// What the programs of its launch have called together.
  MulticastTable& multicasts();
  /// What the programs of its launch have allocated in SRAMs.
  CubeMemoryTable& cube_memory();
  sim::AgentId agent() const { return agent_; }
  /// Its index among the members of the launch's channels; absent when it is none, or there are no channels.
  std::optional<std::int32_t> member() const { return member_; }
  /// Of the PE's DMA queues the first so many take the operations that follow; 0: all.
  void use_dma_queues(std::int32_t count) { dma_queues_ = count; }
  /// The next number in program order, for work that is not an engine's command.
  std::uint64_t take_number() { return next_number_++; }

  /// The state of a tile that this program made; ValueError for an empty tile or another program's, ProgramError for
  /// one whose asynchronous load has not been waited for. `call` names the operation that uses it.
  const std::shared_ptr<TileState>& own(const tl::Tile& tile, const char* call, const tl::Where& where) const;

  /// Has `look` see the values of a tile of this program as soon as they are known; what it throws is the launch's
  /// error. It is not called without data. `call` as of own.
  void inspect(const tl::Tile& tile, const char* call, const tl::Where& where,
               std::function<void(const numerics::TileView&)> look);

  /// Reserves TCM for a tile of `shape` and makes its state; see contract 5 in docs/contracts.md.
  std::shared_ptr<TileState> new_tile(DType dtype, const tl::Extents& shape, const char* kind, tl::Where where);

  /// A tile without room and without a command: a value within tl::fuse.
  std::shared_ptr<TileState> new_inner_tile(DType dtype, const tl::Extents& shape, const char* kind, tl::Where where);
  /// The scope of tl::fuse that the program is in, or null.
  FusedCommand* fused() const { return fused_; }
  void set_fused(FusedCommand* scope) { fused_ = scope; }

  /// A tile of the bytes and the producer of another one. The caller sees to its value.
  std::shared_ptr<TileState> new_view(const TileState& of, DType dtype, const tl::Extents& shape, const char* kind,
                                      tl::Where where);

  /// Reserves TCM for a buffer, like new_tile.
  std::shared_ptr<BufferState> new_buffer(DType dtype, const tl::Extents& shape, tl::Where where);

  /// Reserves TCM that has no handle: it is given back when the last command that holds it has finished.
  ReservationRef reserve_bytes(Bytes bytes, const char* kind, tl::Where where);
  /// What the handles that are alive leave of the TCM.
  Bytes free_tcm() const { return pe_.tcm().capacity() - live_bytes_; }

  /// An asynchronous access that this program has just issued; every one must be waited for.
  std::shared_ptr<AsyncState> add_async(hardware::CommandRef command, const char* call, tl::Where where);
  /// Suspends until `access` has finished, and counts it as waited for.
  void wait_for(AsyncState& access);
  /// Waits for all asynchronous accesses but the `pending` latest.
  void wait_for_all_but(std::int64_t pending);

  /// A new command of this program that produces `result` (may be null) from `inputs` (null ones are left out).
  KernelCommandRef new_command(hardware::Work work, const char* kind, const std::shared_ptr<TileState>& result,
                               std::span<const TileState* const> inputs);
  KernelCommandRef new_command(hardware::Work work, const char* kind, const std::shared_ptr<TileState>& result,
                               std::initializer_list<const TileState*> inputs) {
    return new_command(std::move(work), kind, result, std::span(inputs.begin(), inputs.size()));
  }
  /// Adds the dependencies on earlier memory accesses that touch the same bytes, and submits.
  void issue(const KernelCommandRef& command);
  /// Likewise for the commands of a composite command with a number of its own; among each other they have all the
  /// dependencies that they need.
  void issue_composite(std::uint64_t number, const std::vector<KernelCommandRef>& commands);

  /// What made the lanes that its operation `kind` at `where` makes invalid.
  numerics::Source source(const char* kind, const tl::Where& where) const;
  /// "kernel gemm#0 on sip0.cube1.pe3 (program 11), bench.cpp:41"
  std::string place(const tl::Where& where) const;

  /// Tells the livelock guard of a read of a scalar: a poll when the expression has been read before, with this value.
  void note_read(std::uint64_t expression, std::uint64_t value_bits);

  /// While it lives the program waits, or is busy, for the reason given: an interval of its critical path. `cause` is
  /// the command that it waits for, if it is one; it must outlive the step.
  class Step {
   public:
    Step(Program& program, Activity activity, const tl::Where& where, const hardware::Command* cause = nullptr);
    ~Step() { program_.end_step(step_, cause_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Program& program_;
    const hardware::Command* cause_;
    ProgramStep step_;
  };

  void on_match(hardware::Command& receive, hardware::Command& send) override;
  void on_effect(hardware::Command& command) override;
  void on_finish(hardware::Command& command) override;
  void on_dropped(hardware::Command& command) override;
  void on_placed(hardware::Command& command, hardware::Command* by) override;
  void on_issued(hardware::Command& command) override;
  void on_ready(hardware::Command& command, hardware::Command& last) override;
  void on_start(hardware::Command& command, hardware::Command* before) override;
  void on_arrival(hardware::Command& receive, hardware::Command& send,
                  const hardware::MessageArrival& arrival) override;

  /// When its first instruction ran, and its end.
  Time started() const { return started_; }
  Time ended() const { return ended_; }
  /// What the consumer that explains keeps of it.
  std::shared_ptr<ProgramExplanation> explanation;

 private:
  friend class TcmObject;
  /// What the program asks for now, from the moment it asked for the operation's first tile.
  struct Asking {
    bool open = false;
    Time requested, granted;
    hardware::CommandRef granted_by;
  };
  void begin_asking();
  ReservationRef reserve(const TcmObjectInfo& info);
  void count(const KernelCommand& command);
  void note_places(SlicePlaces& places, hardware::DmaKind kind, const hardware::DmaLeg& leg);
  static void wait_until_placed(const KernelCommand& command);
  void add_memory_dependencies(KernelCommand& command);
  void add_buffer_dependencies(KernelCommand& command);
  void add_edges(KernelCommand& command) const;
  void drain();
  void check_no_tiles();
  void run_body(const std::function<void()>& body);
  bool go_on();
  void check_all_awaited() const;
  void end_step(ProgramStep& step, const hardware::Command* cause);
  void add_busy(const KernelCommand& command);
  void finish();
  void leave_launch();
  /// Whether this PE has another program of the launch behind this one; and how many, for an error.
  bool has_next() const;
  Name programs_behind() const;
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
  std::uint64_t next_number_ = 0;
  std::vector<std::uint64_t> begins_;  // the first operations of the PE's programs behind the first one
  std::uint64_t next_object_ = 0;
  std::uint64_t next_async_ = 0;
  IntrusiveList<KernelCommand, &KernelCommand::in_program> pending_;  // in program order
  std::vector<TcmObject*> live_objects_;
  std::vector<std::shared_ptr<AsyncState>> unawaited_;  // in order of issue
  Bytes live_bytes_;
  KnownReads reads_;
  tl::Where where_;  // of the latest call of the tile language
  Asking asking_;
  FusedCommand* fused_ = nullptr;
  std::optional<std::int32_t> member_;
  std::int32_t dma_queues_ = 0;
  Time started_, ended_;
  BusiestProgram busy_;
};

}  // namespace kernbench::tile
