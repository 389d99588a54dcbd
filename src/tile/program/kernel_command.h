// A command together with what the tile layer knows of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/inline_function.h"
#include "base/pool.h"
#include "base/small_vector.h"
#include "hardware/command.h"
#include "kernbench/dtype.h"
#include "kernbench/tl.h"
#include "tile/explain/command_explanation.h"
#include "tile/program/buffer_state.h"
#include "tile/program/message.h"
#include "tile/stream/operation_record.h"

namespace kernbench::tile {

/// Which lanes a mask leaves of an access: of `lanes` elements of `item` bytes each, counted from the start of each row
/// of its legs, number `lane`. Without elements: not known.
struct ChosenLane {
  std::uint8_t item = 0, lane = 0, lanes = 0;
};

/// Comes from a pool and goes back there. What it holds of its program, it lets go when it has finished or is dropped.
class KernelCommand final : public hardware::Command {
 public:
  /// Submits the data work, in simulated order.
  using TakeEffect = InlineFunction<void(KernelCommand&), 192>;

  static Reference<KernelCommand> make(Pool& pool, hardware::Work to_do, const char* what, sim::AgentId issuer,
                                       std::uint64_t in_order) {
    void* room = pool.store().take(sizeof(KernelCommand));
    return Reference<KernelCommand>(::new (room) KernelCommand(pool.store(), std::move(to_do), what, issuer, in_order));
  }

  /// Of a message with its line: "recv#3 (ring.cpp:12) on sip0.cube0.pe1.ipcq.receive0".
  Name wait_name() const override;
  /// Lets go of what it holds of the TCM and of its program's data.
  void let_go() {
    holds.clear();
    take_effect = nullptr;
    buffer.reset();
  }

  std::shared_ptr<Program> program;      // until it has finished
  SmallVector<ReservationRef, 4> holds;  // TCM that must stay reserved until it has finished
  TakeEffect take_effect;
  SmallVector<std::uint64_t, 4> reads_tiles;  // see OperationRecord
  std::uint64_t makes_tile = OperationRecord::kNoTile;
  SmallVector<HappensBefore, 4> happens_before;  // if anybody reads them
  std::uint64_t window_offset = 0;               // of a one-sided access, in its window
  bool acquires = false;                         // memory accesses behind it start when it has finished
  bool releases = false;                         // it starts when those before it have finished
  bool masks_lanes = false;                      // of the bytes of its legs only those of some lanes are touched
  tl::Scope scope = tl::Scope::pe;               // among whom it orders; changes no time
  DType widest = DType::f32;                     // vector: of the types of its operands and result
  ChosenLane chosen_lane;                        // which, where lanes are masked
  std::optional<MessageEnd> message_end;         // of a send or a receive
  std::optional<BufferAccess> buffer;            // what it touches of a TCM buffer
  std::shared_ptr<sim::Completion> all_placed;   // of a composite command: all its commands are in their queues
  mutable CommandExplanation explained;          // of the explanation alone
  ListLink<KernelCommand> in_program;            // among those of its program that have not finished

 private:
  KernelCommand(Pool::Store& store, hardware::Work to_do, const char* what, sim::AgentId issuer, std::uint64_t in_order)
      : Command(std::move(to_do), what, issuer, in_order), store_(store) {}
  ~KernelCommand() override = default;
  void dispose() noexcept override {
    Pool::Store& store = store_;
    this->~KernelCommand();
    store.give_back(this, sizeof(KernelCommand));
  }

  Pool::Store& store_;
};

using KernelCommandRef = Reference<KernelCommand>;

// All commands of a PE's engines are those of kernels.
inline KernelCommand& command_of(hardware::Command& command) {
  return static_cast<KernelCommand&>(command);
}
inline KernelCommand* command_of(hardware::Command* command) {
  return static_cast<KernelCommand*>(command);
}
inline const KernelCommand& command_of(const hardware::Command& command) {
  return static_cast<const KernelCommand&>(command);
}
inline const KernelCommand* command_of(const hardware::Command* command) {
  return static_cast<const KernelCommand*>(command);
}

}  // namespace kernbench::tile
