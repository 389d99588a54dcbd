// The order in which the one program of each gpu goes through its steps.
#pragma once

#include <map>
#include <vector>

#include "distributed/msccl/connections.h"
#include "distributed/msccl/schedule.h"

namespace kernbench::distributed::msccl {

/// One chunk of a step; a step that moves nothing is one, too.
struct Move {
  int gpu = 0, block = 0, step = 0;
  int part = 0;  // of the step's chunks
};

struct Order {
  std::vector<Move> moves;  // of all gpus, each after what it waits for
  int slots = 1;            // that each channel between two gpus needs for it; as few as will do
};

/// ConfigurationError for threadblocks that wait for each other in a cycle, whatever the number of slots.
Order order_of(const Schedule& schedule, const std::map<ConnectionKey, Connection>& connections);

}  // namespace kernbench::distributed::msccl
