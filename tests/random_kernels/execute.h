// Carries a random kernel out in the tile language. Called in a kernel.
#pragma once

#include <vector>

#include "generator.h"
#include "kernbench/tl.h"

namespace kernbench::testing {

/// Throws std::logic_error when a result's type or shape is not the step's.
void execute(const std::vector<Step>& program, const std::vector<tl::Tensor>& tensors);

}  // namespace kernbench::testing
