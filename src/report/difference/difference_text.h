// A difference for people and for scripts.
#pragma once

#include <string>

#include "report/difference/difference.h"

namespace kernbench::report {

/// Tables, ASCII unless names are not; at most 100 columns wide where `cuts` shortens long names. `a` and `b` name the
/// files.
std::string to_table(const Difference& difference, const std::string& a, const std::string& b, bool colour,
                     bool cuts = false);

/// One JSON object with a final newline (docs/json.md).
std::string to_json(const Difference& difference, const std::string& a, const std::string& b);

}  // namespace kernbench::report
