// What made a lane invalid, in words.
#pragma once

#include <string>

#include "data/source.h"

namespace kernbench::kernel {

/// "the integer division by 0 at my.cpp:12 (kernel mine#0) made it; keep 0 out of the divisor": a sentence, and how to
/// mend it.
std::string explanation(const data::Source& source);

}  // namespace kernbench::kernel
