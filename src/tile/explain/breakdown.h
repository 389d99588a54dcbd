// The time of a program by activity; the parts add up to its duration.
#pragma once

#include <array>
#include <cstdint>

#include "hardware/work.h"
#include "kernbench/units.h"

namespace kernbench::tile {

/// Durations that add up to the program's. At each instant the first category that applies counts: a GEMM command ran,
/// a vector command ran, a DMA was under way, a message was (it was sent and had no room, was waited for, or was on its
/// way), else the control processor alone worked or waited.
struct Breakdown {
  Time gemm, vector, dma, messages, control;
  Time total() const { return gemm + vector + dma + messages + control; }
};

/// Adds up a breakdown as commands start and finish.
class BusyTime {
 public:
  explicit BusyTime(Time start) : start_(start), at_(start) {}

  /// A command of an engine begins or ends now; one of a queue begins when the queue is given it.
  void begin(hardware::EngineKind engine, Time now);
  void end(hardware::EngineKind engine, Time now);

  Breakdown until(Time end) const;

 private:
  /// Of the category that applies now; null: control.
  Time* current(Breakdown& sums) const;
  void account(Time now);

  Time start_, at_;
  Breakdown sums_;                        // without control
  std::array<std::int32_t, 4> active_{};  // by EngineKind
};

}  // namespace kernbench::tile
