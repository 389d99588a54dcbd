// Which programs of a product load the same tiles in the same order, and so can load them together.
#pragma once

#include "tile/library/gemm_plan.h"

namespace kernbench::tile::library {

/// Lets the programs of `plan` that read one part of A, or of B, load it by multicast. They then walk k from one place.
/// Edges are loaded alone. False, and the plan unchanged, where no two programs read the same.
bool load_together(GemmPlan& plan);

}  // namespace kernbench::tile::library
