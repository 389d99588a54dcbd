// What went into a run, as the description of its result says.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "report/result.h"

namespace kernbench::report {

using Texts = std::map<std::string, std::string>;

/// Texts by key, by kind of input: "bench", "parameter", "switch", "machine", "seed", "program".
std::map<std::string, Texts> inputs_of(const RunResult& result);

}  // namespace kernbench::report
