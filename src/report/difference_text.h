// A difference for people and for scripts.
#pragma once

#include <string>

#include "report/difference.h"

namespace kernbench::report {

/// Tables of at most 100 columns, ASCII unless names are not; `a` and `b` name the files.
std::string to_table(const Difference& difference, const std::string& a, const std::string& b, bool colour);

/// One JSON object with a final newline (docs/json.md).
std::string to_json(const Difference& difference, const std::string& a, const std::string& b);

}  // namespace kernbench::report
