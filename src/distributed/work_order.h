// What a rank gives to its device that runs in the order of the calls, in whichever streams.
#pragma once

#include <cstddef>
#include <optional>

#include "runtime/streams/stream.h"

namespace kernbench::distributed {

/// Of the collectives of a group, or of the sends and receives of a lane.
struct WorkOrder {
  std::optional<std::size_t> own_stream = {};  // of the rank's device; nothing: not made yet
  std::size_t last_stream = 0;                 // that got the last of it
  runtime::CompletionRef last = {};            // its end; null: there was none
};

}  // namespace kernbench::distributed
