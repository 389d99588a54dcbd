// What the explanation keeps of a command while it is under way.
#pragma once

#include <optional>
#include <utility>

#include "base/small_vector.h"
#include "hardware/bounds.h"
#include "hardware/command.h"
#include "kernbench/units.h"
#include "tile/explain/path_tree.h"

namespace kernbench::tile {

/// The path to the end of a command that ended a wait.
struct EndedPath {
  Path path;
  Time finished;
  bool known = false;
};

/// Empty when nobody explains.
struct CommandExplanation {
  Path path;                        // as far as the command has come: issued, ready, started, finished
  Path started;                     // of a send: until it was started
  EndedPath granted_by, placed_by;  // until it is issued
  hardware::CommandBound bound;     // known from its start on
  /// DMA: the servers on the way of its longest leg, and how long each had been busy when it started.
  SmallVector<std::pair<hardware::ServerId, Time>, 8> on_its_way;
  std::optional<hardware::MessageArrival> arrival;  // of a receive: of the last segment that came late for it
  hardware::CommandRef send;                        // whose message that was; until the receive has finished
  hardware::CommandName send_name;
};

}  // namespace kernbench::tile
