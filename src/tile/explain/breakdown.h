// The time of a program by activity; the parts add up to its duration.
#pragma once

#include <array>
#include <cstdint>

#include "base/ring.h"
#include "hardware/work.h"
#include "kernbench/units.h"

namespace kernbench::tile {

/// Durations that add up to the program's. At each instant the first category that applies counts: a GEMM command ran,
/// a vector command ran, a DMA or queue transfer was under way, else the control processor alone worked or waited.
struct Breakdown {
  Time gemm, vector, dma, control;
  Time total() const { return gemm + vector + dma + control; }
};

/// Adds up a breakdown as commands start and finish.
class BusyTime {
 public:
  explicit BusyTime(Time start) : start_(start), at_(start) {}

  /// A command of a GEMM, vector or DMA engine begins or ends now.
  void begin(hardware::EngineKind engine, Time now);
  void end(hardware::EngineKind engine, Time now);
  /// A queue command is given to its engine; it has ended now, after it was busy since `since`. What a queue moved is
  /// known only then: so the gaps of the other engines are kept until no queue command is under way, of older ones at
  /// most kMostGaps. Beyond, a gap counts as control.
  void begin_queue(Time now);
  void end_queue(Time since, Time now);
  static constexpr std::size_t kMostGaps = 4096;

  Breakdown until(Time end) const;

 private:
  struct Gap {
    Time start, end;
  };
  void account(Time now);
  bool is_idle() const { return active_[0] == 0 && active_[1] == 0 && active_[2] == 0; }
  void close_gap(Time now);

  Time start_, at_;
  Breakdown sums_;                        // without control
  std::array<std::int32_t, 3> active_{};  // by EngineKind: dma, gemm, vector
  std::int64_t queue_commands_ = 0;       // under way
  Ring<Gap> gaps_;                        // in which nothing else ran, while queue commands are under way
  Time gap_start_;
};

}  // namespace kernbench::tile
