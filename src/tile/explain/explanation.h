// Messages about invalid lanes and their causes.
#pragma once

#include <string>

#include "numerics/memory/source.h"

namespace kernbench::tile {

/// "the integer division by 0 at my.cpp:12 (kernel mine#0) made it; keep 0 out of the divisor": a sentence, and how to
/// mend it.
std::string explanation(const numerics::Source& source);

}  // namespace kernbench::tile
