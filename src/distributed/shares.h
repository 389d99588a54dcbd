// How the PEs of a SIP share out a tensor that lies on one of them, for the mapper `all_pes`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "addressing/tensor_descriptor.h"
#include "distributed/algorithms/range.h"
#include "kernbench/coordinates.h"
#include "topology/spec.h"

namespace kernbench::distributed {

/// The PE that holds all of a tensor, if one does.
std::optional<PeCoordinate> only_holder(const addressing::TensorDescriptor& tensor);

struct Shares {
  std::vector<PeCoordinate> pes = {};  // that have a share, in the order of the elements
  std::int64_t each = 0, all = 0;      // elements; the last share may be shorter

  Range of(PeCoordinate pe) const;
};

/// Equal shares of whole pages of HBM channels (cube.hbm.interleave), of as many PEs as there are pages, spread evenly
/// over the SIP. None for a flat tensor that is not on one PE alone, or too short for two shares.
std::optional<Shares> shares_of(const addressing::TensorDescriptor& flat, const topology::Topology& machine);

}  // namespace kernbench::distributed
