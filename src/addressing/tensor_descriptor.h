// A device tensor as kernels see it: a shape, one contiguous virtual range, and the shards that the range consists of.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interleaving.h"
#include "base/name.h"
#include "kernbench/coordinates.h"
#include "kernbench/dtype.h"
#include "kernbench/units.h"

namespace kernbench::addressing {

/// A box of the tensor in one PE's HBM slice, row-major and contiguous at `va`. Replicas of one box share their `va`:
/// each PE's page table maps it to the copy that the PE reads.
struct Shard {
  PeCoordinate owner;
  std::vector<std::int64_t> offset;  // of the box in the tensor, in elements
  std::vector<std::int64_t> shape;   // of the box
  std::uint64_t va = 0;
};

struct TensorDescriptor {
  Name name;  // for reports: "x" or "tensor#12"
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t va = 0;
  Bytes va_bytes;
  /// By coordinate; the boxes tile the tensor once (or once per replica). Of an interleaved tensor they are only what
  /// each PE works on, with the address of the first element: its bytes lie in `arrays`.
  std::vector<Shard> shards;
  /// Of an interleaved tensor: boxes that are each one array in row-major order, their granules spread over
  /// `interleaving` slices from the owner on. One box, or one for each cube. Replicas share their `va`.
  std::vector<Shard> arrays = {};
  Interleaving interleaving = {};

  bool is_interleaved() const { return !arrays.empty(); }
  /// The boxes that are contiguous in memory.
  const std::vector<Shard>& stored() const { return arrays.empty() ? shards : arrays; }

  std::int64_t numel() const {
    std::int64_t n = 1;
    for (auto extent : shape) n *= extent;
    return n;
  }
};

}  // namespace kernbench::addressing
