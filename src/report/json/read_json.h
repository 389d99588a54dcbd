// Reading back what `kernbench run --json` wrote.
#pragma once

#include <string>
#include <string_view>

#include "report/result.h"

namespace kernbench::report {

/// The result that `text` holds. Unknown keys are ignored; numbers that JSON cannot hold (null) become NaN.
/// Throws one ConfigurationError for a text that is not JSON, not a result, of another schema, or in which a key is
/// missing or has a value of another type; `file` is its place.
RunResult from_json(std::string_view text, const std::string& file);

}  // namespace kernbench::report
