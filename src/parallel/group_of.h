// The group that the functions of the parallel layer are given, or mean.
#pragma once

#include "kernbench/tp/parallel_state.h"

namespace kernbench::tp {

struct GroupOf {
  /// An empty one stands for the tensor parallel group.
  explicit GroupOf(const ProcessGroup& given);
  ProcessGroup group;
  int size = 1, rank = 0;
};

}  // namespace kernbench::tp
