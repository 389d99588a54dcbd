// The tree that several paths from one place make together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hardware/fabric/fabric.h"

namespace kernbench::hardware {

/// Stages in depth-first order, as a TransferRequest takes them, and the stages of each receiver's path, by index.
struct Tree {
  std::vector<Stage> stages;
  std::vector<TreeStage> places;
  std::vector<std::vector<std::uint16_t>> paths;
};

/// Paths share their stages as far as they are equal. REQUIRES: all begin at one stage, and no path is the beginning of
/// another one. Branches of a fork come in the order of the paths that go there first.
Tree tree_of(std::span<const std::span<const Stage>> paths);

}  // namespace kernbench::hardware
