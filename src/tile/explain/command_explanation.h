// What the explanation keeps of a command while it is under way.
#pragma once

#include <optional>
#include <utility>

#include "base/small_vector.h"
#include "hardware/bounds.h"
#include "hardware/command.h"
#include "kernbench/units.h"

namespace kernbench::tile {

/// Empty when nobody explains.
struct CommandExplanation {
  hardware::CommandBound bound;  // known from its start on
  /// DMA: the servers on the way of its longest leg, and how long each had been busy when it started.
  SmallVector<std::pair<hardware::ServerId, Time>, 8> on_its_way;
  std::optional<hardware::MessageArrival> arrival;  // of a receive that waited
  hardware::CommandName send;                       // whose message that was
};

}  // namespace kernbench::tile
