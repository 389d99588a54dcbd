// What all programs of one launch share, and what is added up of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/reference.h"
#include "hardware/hbm/slice_use.h"
#include "hardware/traffic.h"
#include "kernbench/coordinates.h"
#include "kernbench/result.h"
#include "kernbench/tl.h"
#include "kernbench/units.h"
#include "tile/explain/compute_work.h"
#include "tile/program/slice_places.h"

namespace kernbench::tile {

class CubeMemoryTable;
class MulticastTable;
class QueueTable;
struct LaunchExplanation;

/// What the busiest program of a launch needed of its PE's engines and of its TCM's port.
struct BusiestProgram {
  Time gemm, vector;
  Bytes tcm_bytes;
};

/// How many programs a launch has along each axis; axis 0 counts fastest.
struct ProgramGrid {
  std::array<std::int64_t, 3> extents{1, 1, 1};
  std::int64_t count() const { return extents[0] * extents[1] * extents[2]; }
  /// Of program number `program` along `axis`.
  std::int64_t coordinate(std::int64_t program, std::size_t axis) const {
    for (std::size_t before = 0; before < axis; ++before) program /= extents[before];
    return program % extents[axis];
  }
};

/// What a launch asked of an HBM slice.
struct SliceRecord {
  hardware::SliceUse use;
  SlicePlaces places;
};

struct LaunchRecord {
  /// The first program of PE number `pe`; the ones before that of the next PE are its others.
  std::int64_t first_program(std::int64_t pe) const {
    return pe * (grid.count() / pes) + std::min(pe, grid.count() % pes);
  }
  /// Where a program runs.
  PeCoordinate place_of(std::int64_t program) const {
    const std::int64_t each = grid.count() / pes, longer = grid.count() % pes;  // PEs that have one more
    const bool is_longer = program < longer * (each + 1);
    const std::int64_t pe = is_longer ? program / (each + 1) : (program - longer) / each;
    return places[static_cast<std::size_t>(pe)];
  }

  std::string name;                                // "gemm#2"
  std::shared_ptr<const std::string> shared_name;  // the same, for those who outlive the launch
  const char* lasting_name = nullptr;              // the same, for as long as the simulation
  std::uint64_t stream = 0;                        // number of its queue of the device
  tl::Where called_at = {};            // the host call whose kernel it is, when the kernel is not the user's own
  std::shared_ptr<QueueTable> queues;  // channels among the programs, or null
  std::shared_ptr<const bool> without_effect;  // stores that land while it is true write nothing; null: never
  ProgramGrid grid;
  std::vector<PeCoordinate> places;  // number i of them runs the programs from first_program(i) on, one after the other
  std::int64_t pes = 0;              // so many
  std::int64_t ended = 0;            // of those
  std::shared_ptr<MulticastTable> multicasts;    // made with the first one
  std::shared_ptr<CubeMemoryTable> cube_memory;  // likewise; gone when all programs have ended
  ComputeWork work;                              // that the compute engines were asked for
  Bytes hbm_bytes;                               // moved by the programs' DMA, of multicasts once
  Bytes tcm_bytes;  // the same through the ports of the TCMs: of multicasts by each of their members
  std::map<PeCoordinate, SliceRecord> slices;  // by HBM slice
  Reference<hardware::Traffic> traffic;        // of all programs; made with the first one
  DistanceBytes distance;                      // the same by distance
  Bytes own_atomic_bytes;                      // moved by atomics in the slices of their own PEs
  Bytes fused_bytes;                           // that values within tl::fuse did not move through the TCM port
  BusiestProgram busiest;                      // of the programs that have ended
  /// The program that ended last (ties: the lowest coordinate) stands for the launch.
  Time last_start, last_end;
  Time all_programs;  // their times, added up
  PeCoordinate last_pe;
  std::shared_ptr<LaunchExplanation> explanation;  // null when nobody explains
};

}  // namespace kernbench::tile
