// The time of a program by activity; the parts add up to its duration.
#pragma once

#include <cstdint>
#include <vector>

#include "kernbench/units.h"

namespace kernbench::hardware {
enum class EngineKind : std::uint8_t;
}

namespace kernbench::tile {

/// Durations that add up to the program's. At each instant the first category that applies counts: a GEMM command ran,
/// a vector command ran, a DMA or queue transfer was under way, else the control processor alone worked or waited.
struct Breakdown {
  Time gemm, vector, dma, control;
  Time total() const { return gemm + vector + dma + control; }
};

/// Busy intervals of one program's engines.
class BusyIntervals {
 public:
  void add(hardware::EngineKind engine, Time start, Time end);
  /// Tiles [start, end); all intervals must lie within.
  Breakdown tile(Time start, Time end) const;

 private:
  struct Edge {
    Time at;
    hardware::EngineKind engine;
    std::int32_t step;  // +1 begins, -1 ends
  };
  std::vector<Edge> edges_;
};

}  // namespace kernbench::tile
