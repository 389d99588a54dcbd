// The result of a run as JSON: the stable interface for scripts (docs/json.md).
#pragma once

#include <string>

#include "report/result.h"

namespace kernbench::report {

/// The whole result as one JSON object in UTF-8 with a final newline. The order of keys and the format of numbers are
/// fixed: equal results give equal text. Integers are exact, other numbers the shortest text that reads back equal;
/// infinities and NaN are null; bytes that are not UTF-8 become U+FFFD.
std::string to_json(const RunResult& result);

}  // namespace kernbench::report
