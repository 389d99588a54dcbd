// Carries a random kernel out in the tile language. Called in a kernel.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "generator.h"
#include "kernbench/tl.h"

namespace kernbench::testing {

/// Which branches of a program were entered, by the number of their step.
using Branches = std::map<std::size_t, bool>;

/// Throws std::logic_error when a result's type or shape is not the step's. Branches are taken by the values; or, where
/// these are not there to be read, as in `assumed` (may be null).
void execute(const std::vector<Step>& program, const std::vector<tl::Tensor>& tensors, Branches& taken,
             const Branches* assumed = nullptr);

}  // namespace kernbench::testing
