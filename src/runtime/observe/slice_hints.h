// HBM slices that a launch asked for much more than the others, and atomics that meet in one place: for advice.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "kernbench/units.h"
#include "runtime/observe/launch_log.h"
#include "tensor/placement/device_memory.h"

namespace kernbench::runtime {

/// What the accesses of a launch to HBM were. Names are looked up where the numbers may lead to advice; others are
/// empty.
struct SliceHints {
  static constexpr double kHot = 10;              // times the mean of the slices
  static constexpr std::int64_t kFewAtomics = 2;  // of each PE on one place

  bool of_library = false;  // the kernel is not the user's, who does not choose its tiles
  /// One slice has much more than the others.
  bool is_hot() const { return times_mean > kHot; }
  /// Most atomics of `pes` PEs were made in one place, and several of each.
  bool atomics_meet(std::int64_t pes) const {
    return pes > 1 && atomics >= kFewAtomics * pes && 2 * atomics > all_atomics;
  }

  // Without atomics: of the slice with most bytes.
  std::string slice = {};   // "sip0.cube0.pe0"
  std::string tensor = {};  // that most of them belong to; empty: not known
  Bytes slice_bytes, slice_read;
  double times_mean = 0;   // over what each of the PEs' slices would have of all bytes
  Bytes bytes, own_bytes;  // of all slices, and of the PEs' own ones
  // Of the access of HBM that most of all atomics were made to.
  std::int64_t atomics = 0, all_atomics = 0;
  std::string atomics_slice = {}, atomics_place = {};  // place: "element [0] of sum"; empty: not known
};

/// Keeps the hints of the longest launch of each kernel, in the region of interest and outside of it; of several the
/// first one. Only at its end does a run know whether it has such a region.
class SliceHintsLog {
 public:
  /// The launch has completed; its tensors are still there.
  void add(const CompletedLaunch& launch, const tensor::DeviceMemory& memory);
  /// `marked`: the run has a region of interest, and others do not count. Null: it was not launched there.
  const SliceHints* find(const std::string& kernel, bool marked) const;

 private:
  struct Longest {
    std::tuple<Time, Time, int> order;  // the lowest comes first
    SliceHints hints;
  };
  std::map<std::string, std::array<std::optional<Longest>, 2>> by_kernel_;  // [whether in the region]
};

}  // namespace kernbench::runtime
