// The group that the functions of the parallel layer are given, or mean.
#pragma once

#include "kernbench/tp/parallel_state.h"

namespace kernbench::tp {

struct GroupOf {
  /// An empty one stands for the tensor parallel group. ValueError for one that has been destroyed, as the group is
  /// that a layer has kept from before destroy_model_parallel; `call` is for that error.
  GroupOf(const ProcessGroup& given, const char* call);
  ProcessGroup group;
  int size = 1, rank = 0;
};

}  // namespace kernbench::tp
