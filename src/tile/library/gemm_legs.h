// From which slices a tile of a matrix operand comes.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "tile/library/gemm_plan.h"
#include "tile/library/gemm_traffic.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

/// The part of a tile that one slice has.
struct GemmLeg {
  PeCoordinate owner;
  double bytes = 0;
  double occupied = 0;  // bytes that the slice's channels are occupied for, for each byte
  /// Where it lies in fewer granules than the slice has channels: the first one's channel, and their number; else 0.
  std::uint32_t channel = 0, granules = 0;
};

class GemmLegs {
 public:
  /// `transposed`: the rows of an operand's memory are the columns of its boxes.
  GemmLegs(std::span<const GemmPart> parts, const topology::Topology& topology, std::int64_t item, bool transposed);

  /// Of a tile. Valid until the next call of `forget`.
  const std::vector<GemmLeg>& of(const OperandBox& box);

 private:
  struct Hash {
    std::size_t operator()(const OperandBox& box) const;
  };

  std::span<const GemmPart> parts_;
  const topology::Topology& topology_;
  std::int64_t item_;
  bool transposed_;
  std::unordered_map<OperandBox, std::vector<GemmLeg>, Hash> legs_;
};

}  // namespace kernbench::tile::library
