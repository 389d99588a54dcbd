// Whether two memory operations touch a common byte.
#pragma once

#include <vector>

#include "hardware/command.h"

namespace kernbench::tile {

/// Exact for strided ranges: rows are compared, not bounding boxes, so that neighbouring column blocks of one matrix
/// do not count as overlapping. Requires non-negative strides.
bool overlap(const hardware::StridedRange& a, const hardware::StridedRange& b);
bool overlap(const std::vector<hardware::DmaLeg>& a, const std::vector<hardware::DmaLeg>& b);

}  // namespace kernbench::tile
