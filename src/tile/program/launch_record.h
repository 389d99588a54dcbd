// What all programs of one launch share, and what is added up of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kernbench/coordinates.h"
#include "kernbench/result.h"
#include "kernbench/tl.h"
#include "kernbench/units.h"
#include "tile/explain/compute_work.h"

namespace kernbench::tile {

class QueueTable;
struct LaunchExplanation;

/// What the busiest program of a launch needed of its PE's engines and of its TCM's port.
struct BusiestProgram {
  Time gemm, vector;
  Bytes tcm_bytes;
};

struct LaunchRecord {
  std::string name;                                // "gemm#2"
  std::shared_ptr<const std::string> shared_name;  // the same, for those who outlive the launch
  const char* lasting_name = nullptr;              // the same, for as long as the simulation
  tl::Where called_at = {};            // the host call whose kernel it is, when the kernel is not the user's own
  std::shared_ptr<QueueTable> queues;  // channels among the programs, or null
  std::int64_t programs = 0;
  ComputeWork work;                           // that the compute engines were asked for
  Bytes hbm_bytes;                            // moved by the programs' DMA
  std::map<PeCoordinate, Bytes> slice_bytes;  // the same by HBM slice
  DistanceBytes distance;                     // the same by distance
  BusiestProgram busiest;                     // of the programs that have ended
  /// The program that ended last (ties: the lowest coordinate) stands for the launch.
  Time last_start, last_end;
  PeCoordinate last_pe;
  std::shared_ptr<LaunchExplanation> explanation;  // null when nobody explains
};

}  // namespace kernbench::tile
