// An interval in which a program did not go on for a reason of its own.
#pragma once

#include <cstdint>

#include "hardware/command_name.h"
#include "kernbench/tl.h"
#include "kernbench/units.h"
#include "tile/explain/activity.h"

namespace kernbench::tile {

struct ProgramStep {
  Activity activity = Activity::program;
  Time start, end;
  hardware::Cause cause;  // the command that it waited for
  tl::Where where;
  std::int64_t count = 1;  // of intervals of one kind and line that follow each other without a gap
};

}  // namespace kernbench::tile
